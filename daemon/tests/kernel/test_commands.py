"""A command is one transaction, and the same intent sent again is the same command."""

from __future__ import annotations

import json

import pytest

from tallyd.ledger.verify import Walk
from tallystick.protocol.operation import Socket

from .kernel import Kernel


def test_a_replay_is_byte_identical_and_writes_nothing(kernel: Kernel) -> None:
    """The same key and intent get the same bytes, and leave no row."""
    space = kernel.space(kernel.project())
    line, socket = kernel.append_request(space, "It drips.", key="k1")
    first = kernel.answer(line, socket)
    before = kernel.dump()
    assert kernel.answer(line, socket) == first
    assert kernel.dump() == before


def test_a_replay_after_a_restart_is_byte_identical(kernel: Kernel) -> None:
    """What was answered before a restart is answered after it."""
    space = kernel.space(kernel.project())
    line, socket = kernel.append_request(space, "It drips.", key="k1")
    first = kernel.answer(line, socket)
    kernel.reopen()
    assert kernel.answer(line, socket) == first


def test_request_id_and_trace_are_not_meant(kernel: Kernel) -> None:
    """A retry under another request id and trace is the same intent."""
    space = kernel.space(kernel.project())
    first = kernel.answer(*kernel.append_request(space, "It drips.", key="k1"))
    traced = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    assert kernel.answer(*kernel.append_request(space, "It drips.", key="k1", meta=traced)) == first


@pytest.mark.parametrize("text", ["It leaks.", "It drips. "])
def test_another_content_under_a_key_is_refused_with_the_first_use(kernel: Kernel, text: str) -> None:
    """A key means one intent; the refusal tells when, and by which request, it was used first."""
    space = kernel.space(kernel.project())
    kernel.said(space, "It drips.", key="k1", meta={"request_id": "req-first"})
    before = len(kernel.dump()["contributions"])
    refused = kernel.append(space, text, key="k1")
    assert kernel.problem(refused) == "idempotency-mismatch"
    assert "req-first" in refused["problem"]["detail"]
    assert "2030-03-17T17:46:40Z" in refused["problem"]["detail"]
    assert len(kernel.dump()["contributions"]) == before


def test_keys_of_two_operations_do_not_meet(kernel: Kernel) -> None:
    """The operation is part of the triple."""
    project = kernel.project()
    assert kernel.ok("space_create", {"title": "a", "visibility": "project"}, project=project, key="same")
    assert kernel.ok("project_create", {"name": "b"}, key="same")


def test_after_erasure_identifiers_alone_are_compared(kernel: Kernel) -> None:
    """Once content and its key are gone, the same identifiers get the reply with the redaction in it; others
    mismatch.
    """
    space = kernel.space(kernel.project())
    kernel.said(space, "secret", key="k1")
    body = kernel.dump()["contributions"][0][7]
    for table in ("bodies", "object_keys"):
        kernel.store.writer.execute(f"DELETE FROM {table} WHERE body = ?", (body,))
    again = kernel.append(space, "another text", key="k1")
    assert again["outcome"] == "ok"
    assert again["result"]["body_parts"] == [{"media_type": "application/x.kovee.redacted", "text": ""}]
    assert kernel.problem(kernel.append(space, "secret", "question", key="k1")) == "idempotency-mismatch"


def test_a_refused_command_leaves_one_audit_row_and_nothing_else(kernel: Kernel) -> None:
    """A refusal inside the command rolls all of it back, and is written down."""
    space = kernel.space(kernel.project())
    kernel.clerk.tidy()
    before = kernel.dump()
    refused = kernel.append(space, "x", more={"source_refs": ["contrib-" + "0" * 32]})
    assert kernel.problem(refused) == "not-found"
    after = kernel.dump()
    assert len(after.pop("log")) == len(before.pop("log")) + 1
    assert after == before
    row = kernel.view.log_row(kernel.view.number("SELECT max(position) FROM log"))
    assert (row.outcome, row.operation, row.event_id) == ("not-found", "contribution_append", None)


def test_the_fifth_of_ten_refused_leaves_nine(kernel: Kernel) -> None:
    """One refusal in a batch touches none of the others, and each has its one row."""
    space = kernel.space(kernel.project())
    requests = [kernel.append_request(space, f"number {n}", key=f"k{n}") for n in range(10)]
    requests[4] = kernel.append_request(space, "x", key="k4", more={"kind": "system_notice"})
    positions = kernel.view.number("SELECT max(position) FROM log")
    answers = kernel.batch(requests)
    assert [answer["outcome"] for answer in answers] == ["ok"] * 4 + ["problem"] + ["ok"] * 5
    rows = kernel.view.all("SELECT outcome FROM log WHERE position > ? ORDER BY position", positions)
    assert [row[0] for row in rows] == ["applied"] * 4 + ["forbidden"] + ["applied"] * 5
    sequences = [answer["result"]["space_sequence"] for answer in answers if answer["outcome"] == "ok"]
    assert sequences == list(range(1, 10))


def test_the_log_verifies_after_all_of_it(kernel: Kernel) -> None:
    """Applied, refused and replayed commands leave a chain that its verifier accepts."""
    space = kernel.space(kernel.project())
    for n in range(20):
        kernel.append(space, f"{n}", "system_notice" if n % 7 == 0 else "claim", key=f"k{n // 2}")
    walk = Walk(kernel.view)
    assert list(walk.slices()) == [None]
    assert walk.rows == kernel.view.number("SELECT count(*) FROM log")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("actor", "prin-other"),
        ("recorded_ms", 5),
        ("outcome", "invalid"),
        ("resource", "contrib-x"),
        ("salt", b"\1" * 16),
    ],
)
def test_a_changed_field_is_found_by_position(kernel: Kernel, column: str, value: object) -> None:
    """The verifier names the first row that is not what its leaf says (case 122)."""
    space = kernel.space(kernel.project())
    for n in range(5):
        kernel.said(space, f"{n}")
    kernel.store.writer.execute(f"UPDATE log SET {column} = ? WHERE position = 4", (value,))
    faults = [fault for fault in Walk(kernel.view).slices() if fault is not None]
    assert [fault.position for fault in faults] == [4]


@pytest.mark.parametrize("column", ["payload", "idempotency_key", "reply_revision"])
def test_a_changed_stored_result_is_found(kernel: Kernel, column: str) -> None:
    """Payload, stored result and its key are under the leaf by their commitment."""
    space = kernel.space(kernel.project())
    kernel.said(space, "a")
    changed: object = 9 if column == "reply_revision" else b"{}" if column == "payload" else "other"
    kernel.store.writer.execute(f"UPDATE log SET {column} = ? WHERE position = 3", (changed,))
    faults = [fault for fault in Walk(kernel.view).slices() if fault is not None]
    assert [fault.position for fault in faults] == [3]


def test_a_broken_last_row_stops_the_next_append(kernel: Kernel) -> None:
    """The clerk reads again what it extends: a link to a changed row cannot be written."""
    space = kernel.space(kernel.project())
    kernel.store.writer.execute("UPDATE log SET actor = 'x' WHERE position = 2")
    refused = kernel.append(space, "a")
    assert kernel.problem(refused) == "unavailable"
    assert refused["problem"]["ext"]["dev.tallystick.outcome"] == {"state": "not_applied"}
    assert kernel.view.number("SELECT max(position) FROM log") == 2


def test_content_stands_once_and_sealed(kernel: Kernel) -> None:
    """No table but bodies holds content, and bodies hold it sealed."""
    space = kernel.space(kernel.project("the canary's project"), "the canary's space")
    kernel.said(space, "canary in the mine")
    assert "canary" not in repr(kernel.dump())


def test_no_table_holds_an_attempt_id(kernel: Kernel) -> None:
    """The attempt's secret is derived when its claim is served, and stands nowhere."""
    space = kernel.space(kernel.project())
    claimed = kernel.claim(kernel.invocation(space, kernel.said(space, "why?", "question")))
    attempt = claimed["result"]["attempt_id"]
    assert attempt.startswith("att-")
    dump = repr(kernel.dump())
    assert attempt not in dump
    assert attempt.removeprefix("att-") not in dump
    assert bytes.fromhex(attempt.removeprefix("att-")) not in json.dumps(dump).encode()
    assert kernel.read("events_read", {"source": space["project_id"], "limit": 100})["outcome"] == "ok"
    assert attempt not in json.dumps(
        kernel.read("events_read", {"source": space["project_id"], "limit": 100})
    )


def test_sequences_are_dense_over_commands_and_refusals(kernel: Kernel) -> None:
    """Refused commands consume no number."""
    space = kernel.space(kernel.project())
    for n in range(12):
        kernel.append(space, f"{n}", "system_notice" if n % 3 == 0 else "claim")
    events = kernel.read("events_read", {"source": space["project_id"], "limit": 100})["result"]["events"]
    assert [event["project_sequence"] for event in events] == list(range(1, len(events) + 1))
    of_space = [event["stream_sequence"] for event in events if event["stream_id"] == space["space_id"]]
    assert of_space == list(range(1, len(of_space) + 1))


def test_an_outbox_row_comes_with_its_event_and_goes_in_a_later_transaction(kernel: Kernel) -> None:
    """Inserted by the append, deleted behind it."""
    space = kernel.space(kernel.project())
    event = kernel.said(space, "a")["contribution_id"].removeprefix("contrib-")
    assert [(row[1]) for row in kernel.dump()["outbox"]] == [bytes.fromhex(event)]
    kernel.clerk.tidy()
    assert kernel.dump()["outbox"] == []


def test_refusals_beyond_the_limit_are_one_row_with_a_count(kernel: Kernel) -> None:
    """Nobody can fill the record with junk: 600 refusals a minute are written, the rest counted."""
    space = kernel.space(kernel.project())
    before = kernel.view.number("SELECT count(*) FROM log")
    line, socket = kernel.append_request(space, "x", "system_notice")
    for _ in range(650):
        kernel.answer(line, socket)
    outcomes = [row[0] for row in kernel.view.all("SELECT outcome FROM log WHERE position >= ?", before)]
    assert outcomes.count("forbidden") == 600
    assert outcomes.count("suppressed-begin") == 1
    kernel.ambient.advance(61)
    kernel.said(space, "after the minute")
    row = kernel.view.log_row(kernel.view.number("SELECT max(position) FROM log") - 1)
    assert (row.outcome, row.detail) == ("suppressed", '{"count":50}')


def test_reads_beyond_the_limit_are_one_row_with_a_count(kernel: Kernel) -> None:
    """Nobody can fill the record by reading: 600 records of sensitive reads a minute are written, allowed or
    not, and the rest counted, apart from refusals.
    """
    space = kernel.space(kernel.project())
    said = kernel.said(space, "canary", more={"classification_ref": "class-sensitive"})
    shown = {"contribution_id": said["contribution_id"]}
    before = kernel.view.number("SELECT max(position) FROM log") + 1
    for _ in range(620):
        assert kernel.read("contribution_show", shown, project=space["project_id"])["outcome"] == "ok"
    outcomes = [row[0] for row in kernel.view.all("SELECT outcome FROM log WHERE position >= ?", before)]
    assert outcomes == ["read"] * 600 + ["suppressed-begin"]
    line, socket = kernel.append_request(space, "x", "system_notice")
    kernel.answer(line, socket)
    kernel.ambient.advance(61)
    kernel.said(space, "after the minute")
    row = kernel.view.log_row(kernel.view.number("SELECT max(position) FROM log") - 1)
    assert (row.outcome, row.detail) == ("suppressed", '{"count":20,"of":"reads"}')


def test_what_was_suppressed_is_told_after_the_store_was_full(kernel: Kernel) -> None:
    """A count that was written in a transaction which came to nothing is written again."""
    space = kernel.space(kernel.project())
    line, socket = kernel.append_request(space, "x", "system_notice")
    for _ in range(650):
        kernel.answer(line, socket)
    kernel.ambient.advance(61)
    pages = kernel.view.number("PRAGMA page_count")
    kernel.store.writer.execute(f"PRAGMA max_page_count = {pages}").fetchall()
    refused = kernel.append(space, "y" * 60_000)["problem"]
    assert refused["ext"]["dev.tallystick.outcome"] == {"state": "not_applied"}
    kernel.store.writer.execute(f"PRAGMA max_page_count = {2**31}").fetchall()
    kernel.said(space, "there is room again")
    told = kernel.view.all("SELECT detail FROM log WHERE outcome = 'suppressed'")
    assert [row[0] for row in told] == ['{"count":50}']


def test_a_result_that_no_reply_could_hold_is_refused_inside(kernel: Kernel) -> None:
    """Content too deep for some read that shows it is refused, and the deepest that is allowed can be
    followed past.
    """
    space = kernel.space(kernel.project())

    def nested(depth: int) -> list[dict[str, object]]:
        value: object = 1
        for _ in range(depth):
            value = [value]
        return [{"schema_ref": "schema:x", "value": value}]

    assert kernel.problem(kernel.append(space, "", more={"body_parts": nested(57)})) == "invalid"
    deepest = kernel.append(space, "", more={"body_parts": nested(56)})
    assert deepest["outcome"] == "ok"
    kernel.said(space, "past it")
    events = kernel.read("events_read", {"source": space["project_id"], "limit": 100})
    assert [event["type"] for event in events["result"]["events"]][-2:] == [
        "dev.kovee.space.contribution-appended.v1"
    ] * 2


def test_a_worker_socket_serves_no_reads(kernel: Kernel) -> None:
    """Of the reads, hello alone is answered there."""
    space = kernel.space(kernel.project())
    refused = kernel.read(
        "space_show", {"space_id": space["space_id"]}, project=space["project_id"], socket=Socket.WORKER
    )
    assert kernel.problem(refused) == "unknown-op"
