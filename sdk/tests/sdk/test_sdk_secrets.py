"""The SDK takes secrets out of content before it is written down or sent, and says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tallyd_process import Tallyd

from tallystick import Client, calls
from tallystick.calls.agents import new_credential
from tallystick.core import Request, SecretPolicy, prepare
from tallystick.errors import NotSendable
from tallystick.forgetting import says
from tallystick.keystore import KeyStore
from tallystick.protocol import secrets
from tallystick.protocol.families.projects import Space
from tallystick.protocol.operation import Kind
from tallystick.protocol.registry import BY_SOCKET
from tallystick.protocol.secrets import Find

KEY = next(rule for rule in secrets.rules() if rule.id == "aws-access-key").examples[0]
WHERE = calls.SpaceRef("proj-1", "space-1", "branch-1")


def said(text: str, policy: SecretPolicy = "redact", key: str = "key-1") -> Request:
    """An append as it goes out."""
    return prepare(calls.contributions.append(WHERE, "claim", text, key=key), secret_policy=policy)


def test_a_request_is_made_without_its_secrets() -> None:
    """The line has the marker, and what was taken out is told by rule and count."""
    request = said(f"use {KEY} there, or {KEY}")
    assert KEY.encode() not in request.line
    assert request.line.count(b"[REDACTED:aws-access-key]") == 2
    assert request.redacted == (Find("aws-access-key", 2),)
    assert KEY not in repr(request)


def test_the_policy_is_the_callers() -> None:
    """Refused with the place and never the value, or kept."""
    with pytest.raises(NotSendable, match="aws-access-key") as caught:
        said(f"use {KEY} there", "refuse")
    assert caught.value.place == "$.args"
    assert KEY not in str(caught.value)
    assert KEY.encode() in said(f"use {KEY} there", "keep").line


def test_labels_are_left_alone() -> None:
    """A worker's attempt id is a secret and no content: it goes as it is. So does a key."""
    attempt = f"att-{'0123456789abcdef' * 2}"
    request = said("words", key=KEY)
    assert KEY.encode() in request.line
    call = calls.any_operation.by_name(
        "application_event_emit",
        {"attempt_id": attempt, "fence_epoch": 1, "type": "org.example.a", "payload": {"it": f"{attempt}"}},
        surface="worker",
        project_id="proj-1",
        key="key-1",
    )
    line = prepare(call).line
    assert line.count(attempt.encode()) == 1
    assert b'"it":"[REDACTED:tallystick-claim]"' in line


def test_case_b23_every_example_through_every_content_argument() -> None:
    """Of every write of both sockets: none is in the bytes that are kept and sent."""
    for (socket, name), operation in BY_SOCKET.items():
        if operation.kind is not Kind.WRITE:
            continue
        for path in operation.texts:
            outer, _, inner = path.partition(".")
            for rule in secrets.rules():
                for text in rule.examples:
                    value = {inner: {"x": [text]}} if inner else [{"x": text}]
                    call = calls.any_operation.by_name(
                        name, {outer: value}, surface=socket.value, project_id="proj-1", key="key-1"
                    )
                    request = prepare(call)
                    assert request.redacted, (name, path, rule.id)
                    assert text.encode() not in request.line


@pytest.fixture
def client(tallyd: Tallyd) -> Iterator[Client]:
    with Client(tallyd.runtime_dir) as client:
        yield client


@pytest.fixture
def space(client: Client) -> Space:
    return client.space_create(client.project_create("kitchen").value, "the tap").value


def test_a_reply_says_what_was_redacted(client: Client, space: Space) -> None:
    """Rule and count beside the record, of which the text has the marker."""
    reply = client.append(space, "claim", f"use {KEY} there")
    assert reply.redacted == (Find("aws-access-key", 1),)
    assert reply.value.body_parts[0].text == "use [REDACTED:aws-access-key] there"
    assert client.append(space, "claim", "a tap drips").redacted == ()


def test_a_daemon_redacts_what_a_client_keeps(tallyd: Tallyd, space: Space) -> None:
    """Its owner decides, whatever the client was opened with."""
    with Client(tallyd.runtime_dir, secrets="keep") as client:
        reply = client.append(space, "claim", f"use {KEY} there")
        assert reply.value.body_parts[0].text == "use [REDACTED:aws-access-key] there"
        assert reply.redacted == ()


def test_the_key_store_never_has_a_secret(tmp_path: Path) -> None:
    """What is kept before the first try is what will be sent. The same call finds it again."""
    store = KeyStore(str(tmp_path / "keys.log"), actor="prin-owner")
    request = said(f"use {KEY} there")
    assert not store.record(request).was_there
    assert store.record(said(f"use {KEY} there"), may_be_there=True).was_there
    kept = (tmp_path / "keys.log").read_bytes()
    assert KEY.encode() not in kept
    assert b"[REDACTED:aws-access-key]" in kept


def test_what_a_key_store_kept_of_an_older_list_is_forgotten_too() -> None:
    """A pending request that still has the secret says what was erased with the marker."""
    line = said(f"use {KEY} there", "keep").line.decode()
    words = frozenset({"text/plain", "use [REDACTED:aws-access-key] there"})
    assert says(line, words)
    assert not says(line, frozenset({"text/plain", "something else"}))


def test_a_new_credential_is_known_for_one() -> None:
    """Wherever it is pasted."""
    assert secrets.redact(f"log in with {new_credential()} then")[1] == (Find("tallystick-credential", 1),)
