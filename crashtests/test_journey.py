"""The journey that the product exists for, with a real assistant process and a daemon that dies under it."""

from __future__ import annotations

import signal

import pytest
from harness.home import Home
from journey import ask_why, record_of, reviewer
from reviewer import STALE_LEASE


@pytest.mark.crash
def test_the_assistant_never_notices(home: Home) -> None:
    """The daemon dies when the synthesis is durable and unanswered; the assistant goes on with the next."""
    first = home.start(abort="after_commit:contribution_append@worker")
    asked = ask_why(home.paths)
    with reviewer(home.paths, asked.invocation, "Two is not three.") as assistant:
        assert first.wait() == -signal.SIGABRT
        with home.start() as second:
            assert second.pid != first.pid
            assert assistant.ends() == 0
            assert assistant.tries("contribution_append") >= 2
            record = record_of(home.paths, asked.project)
            with reviewer(home.paths, asked.invocation, "Once more.") as late:
                assert late.ends() == STALE_LEASE
            assert record_of(home.paths, asked.project) == record, "the refused one left a trace"

    [synthesis] = record.contributions["synthesis"]
    [relation] = record.relations
    [assembly] = record.assemblies
    [succeeded] = record.succeeded
    assert synthesis["body_parts"][0]["text"] == "Two is not three. (having read: question, evidence)"
    assert relation["kind"] == "addresses"
    assert relation["from_ref"]["object_ref"] == synthesis["contribution_id"]
    assert relation["to_ref"]["object_ref"] == asked.question
    assert [item["object_ref"] for item in assembly["items"]] == [asked.question, asked.evidence]
    assert assembly["omissions"] == []
    assert succeeded["invocation_id"] == asked.invocation
    sequences = [event["project_sequence"] for event in record.events]
    assert sequences == list(range(1, len(sequences) + 1))
