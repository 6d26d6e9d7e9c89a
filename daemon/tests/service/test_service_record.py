"""What the record keeps of commands over time and over errors, on a real store with a clock of the test's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from kernel.kernel import Json, Kernel, TestAmbient

from tallyd.admission import Admission
from tallyd.clerk import Clerk
from tallyd.families.contributions import contributions
from tallyd.ledger.transaction import Applied, Transaction
from tallyd.service.wiring import WIRING
from tallystick.protocol.envelope import AnyRequest
from tallystick.protocol.operation import Socket


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    """An open kernel on a fresh store."""
    made = Kernel(tmp_path, TestAmbient())
    yield made
    made.close()


def test_ids_are_of_one_form_and_tell_the_order(kernel: Kernel) -> None:
    """A prefix and 32 hex digits, a UUID of version 7 where it is no secret; lists are in the order of making
    though the clock was set back.
    """
    project = kernel.project()
    spaces = []
    for number in range(12):
        spaces.append(kernel.space(project, f"space {number}")["space_id"])
        kernel.ambient.advance(-5)
    for made in (project, *spaces):
        prefix, _, digits = made.partition("-")
        assert re.fullmatch(r"[a-z]+", prefix)
        assert re.fullmatch(r"[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}", digits), made
    assert spaces == sorted(spaces)
    listed = kernel.read("space_list", {"limit": 50}, project=project)["result"]["items"]
    assert [item["space_id"] for item in listed] == spaces


def test_renewing_and_asking_for_progress_write_nothing(kernel: Kernel) -> None:
    """Both are in the clerk's order, and leave every row of every table as it was."""
    space = kernel.space(kernel.project())
    question = kernel.said(space, "Why?", "question")
    invocation = kernel.invocation(space, question)
    claimed = kernel.claim(invocation)["result"]
    args = {name: claimed[name] for name in ("attempt_id", "fence_epoch")}
    args["invocation_id"] = invocation["invocation_id"]
    before = kernel.fingerprint()
    for operation in ("tallystick_invocation_renew", "tallystick_invocation_progress"):
        assert kernel.read(operation, args, socket=Socket.WORKER)["outcome"] == "ok"
    assert kernel.fingerprint() == before


# --- errors of the disk in the middle -----------------------------------------------------------------------
def test_a_transaction_that_was_lost_runs_again_one_by_one(kernel: Kernel) -> None:
    """Where an error inside one command takes the whole transaction along, its neighbours are done all the
    same, each once, and that one is refused as not applied.
    """
    space = kernel.space(kernel.project())
    runs: list[str] = []

    def lost_in_the_third(tx: Transaction, request: AnyRequest, admission: Admission) -> Applied:
        assert request.meta is not None
        runs.append(request.meta.idempotency_key)
        applied = contributions.append(tx, request, admission)
        if request.meta.idempotency_key == "b-2":
            tx.db.execute("ROLLBACK")  # as SQLite does of itself after some errors
            raise apsw.FullError("database or disk is full")
        return applied

    writes = {**WIRING.writes, (Socket.CLIENT, "contribution_append"): lost_in_the_third}
    kernel.clerk = Clerk(kernel.tx, kernel.ambient, writes, WIRING.fenced_reads)
    sent = [kernel.append_request(space, f"Number {number}.", key=f"b-{number}") for number in range(5)]
    answers = kernel.batch(sent)

    refused = answers.pop(2)["problem"]
    assert refused["ext"]["dev.tallystick.outcome"] == {"state": "not_applied"}
    assert [answer["outcome"] for answer in answers] == ["ok"] * 4
    assert runs == [f"b-{n}" for n in (0, 1, 2)] + [f"b-{n}" for n in range(5)]
    assert texts(kernel, space) == [f"Number {n}." for n in (0, 1, 3, 4)]
    kernel.clerk = Clerk(kernel.tx, kernel.ambient, WIRING.writes, WIRING.fenced_reads)
    assert json.loads(kernel.answer(*sent[2]))["outcome"] == "ok"
    assert texts(kernel, space) == [f"Number {n}." for n in (0, 1, 3, 4, 2)]


def texts(kernel: Kernel, space: Json) -> list[str]:
    """What was said in the space, as it is read back."""
    args = {"space_id": space["space_id"], "limit": 50}
    page = kernel.read("contribution_list", args, project=space["project_id"])["result"]
    return [item["body_parts"][0]["text"] for item in page["items"]]


def test_a_fault_of_a_handler_is_that_commands_alone(kernel: Kernel) -> None:
    """What raises in the middle of a command undoes it whole, is answered as internal without a word of what
    was said, and its neighbours are in.
    """
    space = kernel.space(kernel.project())

    def faulty(tx: Transaction, request: AnyRequest, admission: Admission) -> Applied:
        applied = contributions.append(tx, request, admission)
        assert request.meta is not None
        if request.meta.idempotency_key == "f-1":
            raise KeyError("canary")
        return applied

    writes = {**WIRING.writes, (Socket.CLIENT, "contribution_append"): faulty}
    kernel.clerk = Clerk(kernel.tx, kernel.ambient, writes, WIRING.fenced_reads)
    sent = [kernel.append_request(space, f"Number {number}.", key=f"f-{number}") for number in range(3)]
    answers = kernel.batch(sent)
    assert [answer["outcome"] for answer in answers] == ["ok", "problem", "ok"]
    assert kernel.problem(answers[1]) == "internal"
    assert "canary" not in json.dumps(answers[1])
    assert texts(kernel, space) == ["Number 0.", "Number 2."]


# --- refusals that are counted ------------------------------------------------------------------------------
def _suppressed(kernel: Kernel) -> tuple[list[str], str]:
    """The rows of suppression there are, and what the diagnosis says of them."""
    rows = kernel.view.all("SELECT outcome FROM log WHERE outcome LIKE 'suppressed%' ORDER BY position")
    check = next(each for each in kernel.host.checks if each.name == "suppressed_refusals")
    return [str(row[0]) for row in rows], check.run(kernel.host, kernel.view, lambda piece: piece()).status


def _refuse(kernel: Kernel, count: int) -> None:
    space = kernel.space(kernel.project())
    line, socket = kernel.append_request(space, "x", "system_notice")
    for _ in range(count):
        kernel.answer(line, socket)


def test_a_drain_tells_how_many_refusals_were_suppressed(kernel: Kernel) -> None:
    """At the end the count is written down, however short the minute was."""
    _refuse(kernel, 610)
    kernel.clerk.tidy(drain=True)
    assert _suppressed(kernel) == (["suppressed-begin", "suppressed"], "pass")


def test_case_124_a_suppression_whose_count_a_crash_took_is_shown(kernel: Kernel) -> None:
    """After a crash its beginning stands alone, and the diagnosis says so, then and later."""
    _refuse(kernel, 610)
    kernel.reopen()
    assert _suppressed(kernel) == (["suppressed-begin"], "warn")
    kernel.ambient.advance(61)
    kernel.space(kernel.project())
    assert _suppressed(kernel) == (["suppressed-begin"], "warn")


# --- pages that are continued later -------------------------------------------------------------------------
def test_a_list_can_be_continued_for_a_quarter_of_an_hour(kernel: Kernel) -> None:
    """Its snapshot and its continuation are good for at least fifteen minutes, over a restart too."""
    space = kernel.space(kernel.project())
    said = [kernel.said(space, f"Number {number}.")["contribution_id"] for number in range(4)]
    args = {"space_id": space["space_id"], "limit": 2}
    first = kernel.read("contribution_list", args, project=space["project_id"])["result"]
    kernel.said(space, "Later.")
    kernel.ambient.advance(15 * 60)
    kernel.reopen()
    args |= {"snapshot": first["snapshot"], "after": first["next"]}
    second = kernel.read("contribution_list", args, project=space["project_id"])["result"]
    shown = [item["contribution_id"] for page in (first, second) for item in page["items"]]
    assert shown == said
    assert "next" not in second
