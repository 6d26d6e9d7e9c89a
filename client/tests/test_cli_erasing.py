"""What is erased for good, from the shell, with the real daemon."""

from __future__ import annotations

import io
import os
import subprocess

import pytest
from tally_program import SECONDS_MAX, TALLY, Done, Tally

from tally_cli.exits import Exit
from tallystick.client import Client

REDACTED = [{"media_type": "application/x.kovee.redacted", "text": ""}]


def at_a_terminal(tally: Tally, answer: bytes, *arguments: str) -> Done:
    """Run it with a terminal for stdin, on which somebody has typed `answer`."""
    keyboard, terminal = os.openpty()
    try:
        os.write(keyboard, answer)
        done = subprocess.run(
            [TALLY, *arguments],
            stdin=terminal,
            env=tally.env,
            cwd=tally.root,
            capture_output=True,
            timeout=SECONDS_MAX,
            check=False,
        )
    finally:
        os.close(terminal)
        os.close(keyboard)
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_what_was_said_is_redacted_and_that_it_was_said_stays(tally: Tally, space: str) -> None:
    """Its body goes, for good; who said it and when, and everything else of it are as before."""
    ref = tally.id("say", "The key is under the mat.", "--kind", "evidence", "--space", space)
    before = tally.ok("show", ref, "--json").object
    redacted = tally.ok("redact", ref, "--reason", "secret", "--json").object
    assert (redacted["kind"], redacted["reason_class"]) == ("redact", "secret")
    after = tally.ok("show", ref, "--json").object
    assert after["body_parts"] == REDACTED
    assert {**after, "body_parts": []} == {**before, "body_parts": []}
    assert "under the mat" not in tally.ok("events", "--json").out


def test_nothing_is_redacted_twice_but_under_one_key(tally: Tally, space: str) -> None:
    """A second time is exit 0 and says so; the same key and words again are the same command."""
    ref = tally.id("say", "The key is under the mat.", "--space", space)
    first = tally.id("redact", ref, "--key", "k1")
    assert first.startswith("cdisp-")
    assert tally.id("redact", ref, "--key", "k1") == first
    again = tally.ok("redact", ref, "--json").object
    assert (again["disposition_id"], again["already"]) == (first, True)


def test_a_projects_name_is_erased(tally: Tally) -> None:
    """It reads ``[erased]`` from the reply on, and the project is there as before; once."""
    tally.ok("init")
    project = tally.id("project", "create", "the Müllers' divorce")
    erased = tally.ok("erase", project, "--reason", "privacy", "--json").object
    assert (erased["subject_ref"], erased["reason_class"]) == (project, "privacy")
    shown = tally.ok("project", "show", project, "--json").object
    assert (shown["project_id"], shown["name"]) == (project, "[erased]")
    again = tally("erase", project, "--json")
    assert (again.code, again.error["kind"]) == (Exit.PROBLEM, "invalid")
    assert "Müller" not in tally.ok("project", "list").out


def test_an_events_content_is_erased(tally: Tally, space: str) -> None:
    """By the event's id, and of that event."""
    (made,) = [
        event
        for event in tally.ok("events", "--json").objects
        if event["resource_ref"] == space and event["type"] == "dev.kovee.space.created.v1"
    ]
    assert tally.ok("show", made["event_id"]).out.count("why does the tap drip") == 1
    assert tally.id("erase", made["event_id"]).startswith("erase-")
    shown = tally.ok("show", made["event_id"]).out
    assert "why does the tap drip" not in shown
    assert "[erased]" in shown


def test_an_artifacts_bytes_are_erased(tally: Tally, space: str) -> None:
    """By the artifact's id."""
    assert space
    with Client(str(tally.runtime_dir), str(tally.data_dir), key_store=None) as client:
        artifact = client.upload(io.BytesIO(b"the key is under the mat")).artifact_id
        assert tally.id("erase", artifact).startswith("erase-")
        assert client.artifact_show(artifact).state in ("erasing", "erased")
    assert tally("erase", artifact).code == Exit.PROBLEM


def test_a_contribution_is_not_erased_but_redacted(tally: Tally, space: str) -> None:
    """Erasing one is refused with the advice to redact it, and nothing of it is gone."""
    ref = tally.id("say", "It drips.", "--space", space)
    refused = tally("erase", ref, "--json")
    assert refused.code == Exit.USAGE
    assert f"tally redact {ref}" in refused.error["message"]
    assert "It drips." in tally.ok("show", ref).out


def test_what_is_not_there_is_not_erased(tally: Tally, space: str) -> None:
    """An id that nothing has is refused by the daemon."""
    assert space
    for verb, ref in (("redact", f"contrib-{'0' * 32}"), ("erase", f"evt-{'0' * 32}"), ("erase", "proj-x")):
        missing = tally(verb, ref, "--json")
        assert (missing.code, missing.error["kind"]) == (Exit.PROBLEM, "not-found")


def test_at_a_terminal_it_is_asked_first(tally: Tally, space: str) -> None:
    """No leaves everything as it was, yes does it; the question says that it cannot be undone."""
    ref = tally.id("say", "It drips.", "--space", space)
    declined = at_a_terminal(tally, b"n\n", "redact", ref)
    assert (declined.code, declined.out) == (Exit.USAGE, "")
    assert "cannot be undone" in declined.err
    assert "stays on record" in declined.err
    assert "It drips." in tally.ok("show", ref).out
    interrupted = at_a_terminal(tally, b"\4", "redact", ref)
    assert interrupted.code == Exit.INTERRUPTED
    assert "It drips." in tally.ok("show", ref).out
    agreed = at_a_terminal(tally, b"y\n", "redact", ref)
    assert agreed.code == Exit.OK
    assert agreed.out.startswith("cdisp-")
    assert tally.ok("show", ref, "--json").object["body_parts"] == REDACTED


@pytest.mark.parametrize("option", ["--yes", "--json"])
def test_a_script_at_a_terminal_is_not_asked(tally: Tally, space: str, option: str) -> None:
    """Who says yes beforehand, or speaks JSON, is not asked; what is typed is left alone."""
    done = at_a_terminal(tally, b"n\n", "erase", space, option)
    assert (done.code, done.err) == (Exit.OK, "")
    assert tally.ok("space", "show", space, "--json").object["title"] == "[erased]"


@pytest.mark.parametrize("verb", ["redact", "erase"])
def test_the_words_say_what_is_done(tally: Tally, verb: str) -> None:
    """The help says that it cannot be undone, and what stays."""
    said = " ".join(tally.ok(verb, "--help").out.split())
    assert "It cannot be undone." in said
    assert "and when stays" in said
