"""Secrets that a client did not take out: the daemon does, before anything is sealed, and breaks no retry."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tallystick.protocol import secrets
from tallystick.protocol.envelope import decode_request
from tallystick.protocol.operation import Socket

from .kernel import Kernel

KEY = next(rule for rule in secrets.rules() if rule.id == "aws-access-key").examples[0]
GITHUB = next(rule for rule in secrets.rules() if rule.id == "github-token").examples[0]
CLEAN = "use [REDACTED:aws-access-key] there"


def body(said: dict[str, Any]) -> str:
    """The text of a contribution."""
    return str(said["body_parts"][0]["text"])


def test_a_secret_is_redacted_before_it_is_sealed(kernel: Kernel) -> None:
    """The reply, the read and the log have the marker; what was said beside it stays."""
    space = kernel.space(kernel.project())
    said = kernel.said(space, f"use {KEY} there")
    assert body(said) == CLEAN
    named = {"contribution_id": said["contribution_id"]}
    read = kernel.read("contribution_show", named, project=space["project_id"])["result"]
    assert body(read) == CLEAN


def test_every_part_and_name_is_looked_through(kernel: Kernel) -> None:
    """Data's members and their names, titles of artifacts, names of projects and spaces."""
    assert kernel.ok("project_create", {"name": f"see {KEY}"})["name"] == "see [REDACTED:aws-access-key]"
    space = kernel.space(kernel.project(), f"see {KEY}")
    assert space["title"] == "see [REDACTED:aws-access-key]"
    data = {"schema_ref": "schema:x", "value": {"password": "hunter2-x9", KEY: [KEY]}}
    said = kernel.said(space, "words", more={"body_parts": [data]})
    assert said["body_parts"][0]["value"] == {
        "password": "[REDACTED:assignment]",
        "[REDACTED:aws-access-key]": ["[REDACTED:aws-access-key]"],
    }


def test_case_b23_a_secret_is_in_no_row_of_the_store(kernel: Kernel) -> None:
    """Every rule's example in one contribution each: no body, opened, and no row has one, and each
    contribution reads as redacted.
    """
    space = kernel.space(kernel.project())
    for rule in secrets.rules():
        for text in rule.examples:
            clean, found = secrets.redact(text)
            assert found
            assert body(kernel.said(space, text)) == clean
    rows = kernel.dump()
    opened = [kernel.view.content(int(str(row[0]))) or b"" for row in rows["bodies"]]
    kept = repr(rows) + "".join(each.decode() for each in opened)
    assert len(opened) > len(secrets.rules())
    for rule in secrets.rules():
        assert not any(json.dumps(text)[1:-1] in kept for text in rule.examples)


def test_labels_are_not_rewritten(kernel: Kernel) -> None:
    """What is no content goes through as it came: an idempotency key, an id."""
    space = kernel.space(kernel.project())
    said = kernel.said(space, "words", key=GITHUB)
    assert said["body_parts"][0]["text"] == "words"


def test_a_newer_list_breaks_no_retry(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written while no rule knew the secret is the same command afterwards, and the other way round:
    the request is digested as it came.
    """
    space = kernel.space(kernel.project())
    known = secrets.rules()
    lines = [kernel.append_request(space, f"use {KEY} there", key=key) for key in ("k1", "k2")]
    older = tuple(rule for rule in known if rule.id != "aws-access-key")
    caches = (secrets.rules, secrets._hinted, secrets._marker)

    def take(rules: tuple[secrets.Rule, ...]) -> None:
        monkeypatch.setattr(secrets, "rules", lambda: rules)
        for cached in caches[1:]:
            cached.cache_clear()

    take(older)
    first = kernel.answer(*lines[0])
    assert KEY.encode() in first
    take(known)
    assert kernel.answer(*lines[0]) == first
    redacted = kernel.answer(*lines[1])
    assert KEY.encode() not in redacted
    take(older)
    assert kernel.answer(*lines[1]) == redacted
    take(known)


def test_a_newer_secret_under_a_used_key_is_another_command(kernel: Kernel) -> None:
    """Two secrets that both read as redacted are two intents."""
    space = kernel.space(kernel.project())
    kernel.said(space, f"use {KEY} there", key="k1")
    other = kernel.append(space, f"use {KEY[:-1]}B there", key="k1")
    assert kernel.problem(other) == "idempotency-mismatch"


def test_refused_where_the_owner_says_so(kernel: Kernel) -> None:
    """Rule and count are named, the value is not, and nothing was written."""
    space = kernel.space(kernel.project())
    kernel.tx.secrets = "refuse"
    refused = kernel.append(space, f"{KEY} {KEY} password=hunter2-x9")
    assert kernel.problem(refused) == "invalid"
    assert "assignment, aws-access-key (2 times)" in refused["problem"]["detail"]
    assert KEY not in str(refused)
    assert not kernel.dump()["contributions"]


def test_kept_where_the_owner_says_so(kernel: Kernel) -> None:
    """As it came."""
    space = kernel.space(kernel.project())
    kernel.tx.secrets = "keep"
    assert body(kernel.said(space, f"use {KEY} there")) == f"use {KEY} there"


def test_what_is_too_long_once_it_is_redacted_is_refused(kernel: Kernel) -> None:
    """A text at its bound that a marker lengthens: told so, and not cut."""
    space = kernel.space(kernel.project())
    text = "password=hunter2x9".rjust(65_536)
    refused = kernel.append(space, text)
    assert kernel.problem(refused) == "invalid"
    assert "with its secrets redacted" in refused["problem"]["detail"]


def test_a_handler_is_told_what_was_redacted(kernel: Kernel) -> None:
    """For what answers with it: rule and count."""
    from tallystick.protocol.envelope import without_secrets

    space = kernel.space(kernel.project())
    line, socket = kernel.append_request(space, f"use {KEY} there")
    request = decode_request(line, socket)
    assert socket is Socket.CLIENT
    clean = without_secrets(request, "redact")
    assert clean.redacted == (secrets.Find("aws-access-key", 1),)
    assert clean.raw is request.raw
