"""A batch's rows are written together, and a command is still one thing: kept whole, or dropped whole."""

from __future__ import annotations

import pytest

from tallyd.admission import Admission
from tallyd.clerk import Clerk, Handler
from tallyd.families.context import frontiers
from tallyd.ledger.transaction import Applied, Transaction
from tallyd.ledger.verify import Walk
from tallyd.service.wiring import WIRING
from tallystick.protocol.envelope import AnyRequest
from tallystick.protocol.operation import Socket

from .kernel import Json, Kernel

PIN = (Socket.CLIENT, "frontier_pin")


def id_used_twice(tx: Transaction, request: AnyRequest, admission: Admission) -> Applied:
    """Notes a row that the database refuses when it is written."""
    for _ in range(2):
        tx.register(b"\1" * 16)
    return frontiers.pin(tx, request, admission)


def update_of_nothing(tx: Transaction, request: AnyRequest, admission: Admission) -> Applied:
    """Notes a change of a row that is not there."""
    tx.update("spaces", {"position": 1_000_000}, status="frozen")
    return frontiers.pin(tx, request, admission)


def pin_request(kernel: Kernel, space: Json) -> tuple[bytes, Socket]:
    """A frontier_pin of a space's branch."""
    args = {"space_id": space["space_id"], "branch_id": space["main_branch_id"]}
    return kernel.request("frontier_pin", args, project=space["project_id"], key="pin")


@pytest.mark.parametrize("broken", [id_used_twice, update_of_nothing])
def test_a_row_refused_when_its_command_was_complete_costs_that_command_alone(
    kernel: Kernel, broken: Handler
) -> None:
    """The batch is rolled back and run again, each alone: nine are in once, one is refused and undone."""
    space = kernel.space(kernel.project())
    kernel.clerk = Clerk(kernel.tx, kernel.ambient, {**WIRING.writes, PIN: broken}, WIRING.fenced_reads)
    requests = [kernel.append_request(space, f"number {n}", key=f"k{n}") for n in range(10)]
    requests[4] = pin_request(kernel, space)
    answers = kernel.batch(requests)
    assert kernel.problem(answers.pop(4)) == "internal"
    assert [answer["result"]["space_sequence"] for answer in answers] == list(range(1, 10))
    assert [row[0] for row in kernel.view.all("SELECT outcome FROM log ORDER BY position DESC LIMIT 10")] == (
        ["applied"] * 5 + ["internal"] + ["applied"] * 4
    )
    assert kernel.dump()["frontiers"] == []
    assert list(Walk(kernel.view).slices()) == [None]


def test_a_key_used_twice_in_a_batch_is_one_command(kernel: Kernel) -> None:
    """The second finds the first, whose rows nobody has written yet, and gets the same bytes."""
    space = kernel.space(kernel.project())
    requests = [kernel.append_request(space, text, key=key) for text, key in (("a", "k"), ("b", "other"))]
    first, _, again = kernel.batch([*requests, requests[0]])
    assert first["outcome"] == "ok"
    assert again == first
    assert len(kernel.dump()["contributions"]) == 2


def test_a_key_of_a_refused_command_is_free(kernel: Kernel) -> None:
    """Also within its batch: what was refused has used nothing."""
    space = kernel.space(kernel.project())
    refused = kernel.append_request(space, "x", "system_notice", key="k")
    answers = kernel.batch([refused, kernel.append_request(space, "y", key="k")])
    assert [answer["outcome"] for answer in answers] == ["problem", "ok"]


def test_a_command_finds_what_its_batch_wrote_before_it(kernel: Kernel) -> None:
    """A relation joins two contributions of the same batch, and its refusal beside it takes nothing away."""
    space = kernel.space(kernel.project())
    kernel.said(space, "before")
    said = [kernel.append_request(space, text, key=text) for text in ("question", "answer")]
    question, answer = kernel.batch(said)
    refs = [
        {"object_ref": made["contribution_id"], "revision": 1, "digest": made["content_digest"]}
        for made in (question["result"], answer["result"])
    ]
    args = {"space_id": space["space_id"], "branch_id": space["main_branch_id"], "kind": "addresses"}
    ext = {"dev.tallystick.append": {"at_head": True}}
    relate, wrong = (
        kernel.request(
            "relation_assert",
            {**args, "from_ref": refs[1], "to_ref": to_ref},
            project=space["project_id"],
            key=key,
            ext=ext,
        )
        for key, to_ref in (("good", refs[0]), ("bad", {**refs[0], "digest": "0" * 64}))
    )
    more = kernel.append_request(space, "more", key="more")
    shows = kernel.append_request(
        space, "source", key="source", more={"source_refs": [refs[0]["object_ref"], refs[1]["object_ref"]]}
    )
    answers = kernel.batch([more, wrong, shows, relate])
    assert [one["outcome"] for one in answers] == ["ok", "problem", "ok", "ok"]
    assert [one["result"]["origin_branch_sequence"] for one in (answers[0], answers[2])] == [4, 5]
    assert list(Walk(kernel.view).slices()) == [None]
