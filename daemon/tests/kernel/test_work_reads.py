"""What a worker reads of its invocation's assembly, on its own socket, and nothing else."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest
from world import AT_HEAD

from tallyd.ledger.orders import Order, Orders
from tallystick.protocol.operation import Socket

from .agents import Agent
from .kernel import Json, Kernel
from .uploads import BYTES, available

WORKER = Socket.WORKER


class Work:
    """A claimed invocation, and what its worker reads."""

    def __init__(self, kernel: Kernel, invocation: Json, **how: Any) -> None:
        claimed = kernel.claim(invocation, **how)["result"]
        self.kernel = kernel
        self.invocation = invocation
        self.args = {
            "invocation_id": invocation["invocation_id"],
            "attempt_id": claimed["attempt_id"],
            "fence_epoch": claimed["fence_epoch"],
        }

    def item(self, ref: str, **how: Any) -> Json:
        args = {**self.args, "object_ref": ref}
        return self.kernel.read("tallystick_invocation_item", args, socket=WORKER, **how)

    def bytes_of(self, artifact: str, offset: int = 0, **args: Any) -> Json:
        said = {**self.args, "artifact_id": artifact, "offset": offset, **args}
        return self.kernel.read("tallystick_invocation_artifact", said, socket=WORKER)


@pytest.fixture
def space(kernel: Kernel) -> Json:
    """A space to work in."""
    return kernel.space(kernel.project())


def carrying(kernel: Kernel, space: Json, artifact: str) -> Json:
    """Evidence that carries a file."""
    parts = {"body_parts": [{"artifact_ref": artifact}]}
    return kernel.said(space, "", "evidence", more=parts)


def relation(kernel: Kernel, space: Json, one: Json, other: Json) -> Json:
    """One contribution that supports another."""
    ends = {
        name: {"object_ref": each["contribution_id"], "revision": 1, "digest": each["content_digest"]}
        for name, each in (("from_ref", one), ("to_ref", other))
    }
    said = {"space_id": space["space_id"], "branch_id": space["main_branch_id"], "kind": "supports", **ends}
    return kernel.ok("relation_assert", said, project=space["project_id"], ext=AT_HEAD)


# --- items --------------------------------------------------------------------------------------------------
def test_an_item_is_read_as_it_is_with_what_became_of_it(kernel: Kernel, space: Json) -> None:
    """What was withdrawn since the claim says so; what was redacted is there without its words."""
    asked, washer, pipe = (kernel.said(space, text) for text in ("Why?", "The washer.", "The pipe."))
    work = Work(kernel, kernel.invocation(space, asked, washer, pipe))
    assert work.item(washer["contribution_id"])["result"] == {"contribution": washer, "dispositions": []}
    for op, said in (("contribution_withdraw", washer), ("contribution_redact", pipe)):
        args = {"contribution_ref": said["contribution_id"], "reason_class": "wrong"}
        kernel.ok(op, args, project=space["project_id"])
    withdrawn = work.item(washer["contribution_id"])["result"]
    assert withdrawn["contribution"] == washer
    assert [each["kind"] for each in withdrawn["dispositions"]] == ["withdraw"]
    redacted = work.item(pipe["contribution_id"])["result"]
    assert redacted["contribution"]["body_parts"][0]["media_type"] == "application/x.kovee.redacted"
    assert [each["kind"] for each in redacted["dispositions"]] == ["redact"]


def test_a_relation_and_a_trigger_are_named_too(kernel: Kernel, space: Json) -> None:
    """Whatever the assembly names: a relation that it holds, a trigger that is no item."""
    asked, washer = kernel.said(space, "Why?"), kernel.said(space, "The washer.")
    supports = relation(kernel, space, washer, asked)
    refs = [washer["contribution_id"], supports["relation_id"]]
    work = Work(kernel, kernel.invocation_on(space, refs, [asked["contribution_id"]]))
    assert work.item(supports["relation_id"])["result"] == {"relation": supports, "dispositions": []}
    assert work.item(asked["contribution_id"])["result"]["contribution"] == asked


def test_nothing_else_is_there(kernel: Kernel, space: Json) -> None:
    """Another contribution of the space, one of another space, and no id at all are one answer."""
    asked = kernel.said(space, "Why?")
    others = [kernel.said(space, "Beside."), kernel.said(kernel.space(kernel.project()), "Elsewhere.")]
    work = Work(kernel, kernel.invocation(space, asked))
    for ref in (*(other["contribution_id"] for other in others), "contrib-none", space["space_id"]):
        assert kernel.problem(work.item(ref)) == "not-found"


def test_without_an_assembly_nothing_is_named(kernel: Kernel, space: Json) -> None:
    """An invocation that was given nothing reads nothing."""
    said = kernel.said(space, "Why?")
    asked = {
        "assistant_deployment_id": "dep-local-dev",
        "assistant_deployment_revision": 1,
        "deadline": "2031-01-01T00:00:00Z",
    }
    work = Work(kernel, kernel.ok("invocation_create", asked, project=space["project_id"]))
    assert kernel.problem(work.item(said["contribution_id"])) == "not-found"
    assert kernel.problem(work.bytes_of(available(kernel)["artifact_id"])) == "not-found"


def test_a_fenced_attempt_reads_nothing(kernel: Kernel, space: Json) -> None:
    """From when another one has claimed, and when the invocation has ended; a guessed one is not there."""
    asked = kernel.said(space, "Why?")
    work = Work(kernel, kernel.invocation(space, asked))
    kernel.ambient.advance(61)
    successor = Work(kernel, work.invocation, key="again")
    assert kernel.problem(work.item(asked["contribution_id"])) == "stale-lease"
    assert successor.item(asked["contribution_id"])["outcome"] == "ok"
    guessed = {**work.args, "attempt_id": "att-" + "0" * 32, "object_ref": asked["contribution_id"]}
    assert kernel.problem(kernel.read("tallystick_invocation_item", guessed, socket=WORKER)) == "not-found"
    kernel.ok("invocation_complete", successor.args, socket=WORKER)
    assert kernel.problem(successor.item(asked["contribution_id"])) == "stale-lease"


def test_reading_does_not_renew(kernel: Kernel, space: Json) -> None:
    """A worker that only reads keeps nobody out for longer."""
    asked = kernel.said(space, "Why?")
    work = Work(kernel, kernel.invocation(space, asked))
    kernel.ambient.advance(40)
    assert work.item(asked["contribution_id"])["outcome"] == "ok"
    kernel.ambient.advance(21)
    assert kernel.claim(work.invocation, key="again")["outcome"] == "ok"


def test_a_sensitive_item_is_put_on_record(kernel: Kernel, space: Json) -> None:
    """Who reads it, and which object it is, stands in the log before it is served."""
    asked = kernel.said(space, "Why?")
    secret = kernel.said(space, "The key.", more={"classification_ref": "class-sensitive"})
    work = Work(kernel, kernel.invocation(space, asked, secret))
    before = kernel.view.number("SELECT count(*) FROM log WHERE outcome = 'read'")
    assert work.item(secret["contribution_id"])["outcome"] == "ok"
    last = kernel.view.log_row(kernel.view.number("SELECT max(position) FROM log"))
    assert kernel.view.number("SELECT count(*) FROM log WHERE outcome = 'read'") == before + 1
    assert (last.operation, last.outcome) == ("tallystick_invocation_item", "read")
    assert secret["contribution_id"] in str(last.detail)


# --- files --------------------------------------------------------------------------------------------------
def test_a_file_that_an_item_carries_is_read(kernel: Kernel, space: Json) -> None:
    """From any offset, by length; no file of anything else."""
    asked, artifact = kernel.said(space, "Why?"), available(kernel)["artifact_id"]
    evidence = carrying(kernel, space, artifact)
    work = Work(kernel, kernel.invocation(space, asked, evidence))
    whole = work.bytes_of(artifact)["result"]
    assert (b64decode(whole["data"]), whole["size"]) == (BYTES, len(BYTES))
    assert b64decode(work.bytes_of(artifact, 4, length=5)["result"]["data"]) == BYTES[4:9]
    assert kernel.problem(work.bytes_of(artifact, len(BYTES) + 1)) == "invalid"
    other = available(kernel, b"other bytes")["artifact_id"]
    carrying(kernel, space, other)
    for named in (other, "art-none"):
        assert kernel.problem(work.bytes_of(named)) == "not-found"


def test_an_erased_file_has_no_bytes(kernel: Kernel, space: Json) -> None:
    """It is said by name, and the worker goes on without it."""
    asked, artifact = kernel.said(space, "Why?"), available(kernel)["artifact_id"]
    work = Work(kernel, kernel.invocation(space, asked, carrying(kernel, space, artifact)))
    kernel.ok("tallystick_erase", {"object_ref": artifact, "reason_class": "privacy"})
    assert kernel.problem(work.bytes_of(artifact)) == "stale-revision"


def test_what_is_above_the_agents_ceiling_is_withheld(kernel: Kernel, space: Json) -> None:
    """An agent's worker reads up to what the agent may read, whatever its assembly names: a trigger, and a
    file that an item carries. That a sensitive one was asked for is on record.
    """
    kernel.view.orders = kernel.tx.orders = Orders(classifications=Order(("class-default", "class-secret")))
    ceiling = {"classification_ceiling_ref": "class-default"}
    agent = Agent(kernel, "reviewer", deployments=["dep-local-dev"], **ceiling)
    agent.join(space)
    secret = kernel.said(space, "Why?", more={"classification_ref": "class-sensitive"})
    artifact = available(kernel, classification_ref="class-secret")["artifact_id"]
    evidence = carrying(kernel, space, artifact)
    invocation = kernel.invocation_on(space, [evidence["contribution_id"]], [secret["contribution_id"]])
    named = {"invocation_id": invocation["invocation_id"]}
    claimed = agent.send("invocation_claim", named, WORKER, key="claim")["result"]
    args = {**named, "attempt_id": claimed["attempt_id"], "fence_epoch": claimed["fence_epoch"]}

    def item(ref: str) -> Json:
        return agent.send("tallystick_invocation_item", {**args, "object_ref": ref}, WORKER)

    assert item(evidence["contribution_id"])["outcome"] == "ok"
    assert kernel.problem(item(secret["contribution_id"])) == "unavailable"
    row = kernel.view.log_row(kernel.view.number("SELECT max(position) FROM log"))
    assert (row.operation, row.outcome, row.actor) == ("tallystick_invocation_item", "denied", agent.id)
    asked = {**args, "artifact_id": artifact, "offset": 0}
    read = agent.send("tallystick_invocation_artifact", asked, WORKER)
    assert kernel.problem(read) == "unavailable"
    assert artifact in read["problem"]["detail"]
