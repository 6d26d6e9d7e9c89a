"""The next invocation: which one a waiting worker is given, what it is told where there is none, and by what
it is woken.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from tallyd.admission import Speaker
from tallyd.clerk import Answer, Command
from tallyd.ledger.transaction import Idle
from tallystick.protocol.envelope import decode_request
from tallystick.protocol.operation import Socket

from .agents import Agent
from .kernel import START_MS, Json, Kernel

WORKER: Final = Socket.WORKER
BUILT_IN: Final = "dep-local-dev"
NOTHING: Final[Json] = {
    "invocation": None,
    "attempt_id": None,
    "fence_epoch": None,
    "assembly": None,
    "frontier": None,
    "items": [],
}
TERM: Final = 60


def args_of(*deployments: str, **more: Any) -> Json:
    return {"deployments": deployments or (BUILT_IN,), "wait_ms": 1000, "term_seconds": TERM, **more}


def asked(kernel: Kernel, *deployments: str, key: str = "next", **more: Any) -> Json:
    """What the owner's worker is answered."""
    return kernel.write("tallystick_invocation_next", args_of(*deployments, **more), key=key, socket=WORKER)


def of(answered: Json) -> str | None:
    """The invocation that was handed over, if one was."""
    assert answered["outcome"] == "ok", answered
    taken = answered["result"]["invocation"]
    return None if taken is None else str(taken["invocation_id"])


def answer(kernel: Kernel, op: str, args: Json, socket: Socket = WORKER, **how: Any) -> Answer:
    """The clerk's whole answer, with what it wakes and when to look again."""
    line, _ = kernel.request(op, args, **how)
    command = Command(decode_request(line, socket), Speaker("prin-owner", "peer-uid", socket))
    return kernel.clerk.run([command])[0]


def idle(kernel: Kernel, *deployments: str) -> Idle:
    """What the clerk says where there is nothing."""
    found = answer(kernel, "tallystick_invocation_next", args_of(*deployments), key="idle").idle
    assert isinstance(found, Idle)
    return found


def deployment(kernel: Kernel) -> str:
    """Another active deployment of the built-in assistant."""
    made = kernel.ok(
        "deployment_create",
        {
            "assistant_revision_id": "asstrev-local-dev",
            "config_ref": "cfg",
            "config_digest": "0" * 64,
            "secret_binding_set_ref": "none",
            "secret_binding_set_digest": "0" * 64,
            "policy_ref": "policy-default",
            "pool_ref": "pool",
            "security_profile": "developer",
            "concurrency_policy": "serial-branch",
            "rollout_policy": {},
        },
    )
    named = {"assistant_deployment_id": made["assistant_deployment_id"]}
    kernel.ok("deployment_activate", named)
    return str(made["assistant_deployment_id"])


@pytest.fixture
def space(kernel: Kernel) -> Json:
    """A space to work in."""
    return kernel.space(kernel.project())


def question(kernel: Kernel, space: Json, **more: Any) -> Json:
    """A queued invocation on a question of its own."""
    return kernel.invocation(space, kernel.said(space, "why?", "question"), **more)


def test_the_oldest_is_given_first_as_a_claim_gives_it(kernel: Kernel, space: Json) -> None:
    """Oldest first over all deployments named; the result has a claim's members and nothing else."""
    another = deployment(kernel)
    of_another = {"assistant_deployment_id": another, "assistant_deployment_revision": 2}
    ids = [question(kernel, space, **more)["invocation_id"] for more in ({}, of_another, {})]
    given = [asked(kernel, another, BUILT_IN, key=f"next-{number}") for number in range(4)]
    assert [of(one) for one in given] == [*ids, None]
    claimed = kernel.claim(question(kernel, space))["result"]
    assert given[0]["result"].keys() == claimed.keys()
    assert given[0]["result"]["items"][0]["body_parts"] == claimed["items"][0]["body_parts"]
    assert given[0].keys() == {"outcome", "result"}


def test_a_deployment_that_was_not_named_is_left_alone(kernel: Kernel, space: Json) -> None:
    """What is queued for another deployment stays queued."""
    another = deployment(kernel)
    question(kernel, space)
    assert of(asked(kernel, another)) is None


def test_the_claim_is_the_deployments_and_the_row_the_channels(kernel: Kernel, space: Json) -> None:
    """The event names the deployment as its author, the log the actor that claimed."""
    taken = question(kernel, space)
    assert of(asked(kernel)) == taken["invocation_id"]
    row = kernel.view.log_row(kernel.view.number("SELECT max(position) FROM log"))
    assert (row.actor, row.author) == ("prin-owner", f"asstdep-{BUILT_IN}")
    assert (row.operation, row.type) == ("tallystick_invocation_next", "dev.kovee.invocation.claimed.v1")


def test_nothing_writes_nothing_and_leaves_the_key_free(kernel: Kernel, space: Json) -> None:
    """Who found nothing is told so; the same key finds what came since."""
    before = kernel.fingerprint()
    assert asked(kernel)["result"] == NOTHING
    assert kernel.fingerprint() == before
    taken = question(kernel, space)
    assert of(asked(kernel)) == taken["invocation_id"]


def test_the_same_key_gives_the_same_claim_while_it_is_current(kernel: Kernel, space: Json) -> None:
    """A lost reply is asked for again, byte for byte; another attempt ends that."""
    question(kernel, space)
    question(kernel, space)
    line = kernel.request("tallystick_invocation_next", args_of(), key="lost")[0]
    first = kernel.answer(line, WORKER)
    before = kernel.fingerprint()
    assert kernel.answer(line, WORKER) == first
    assert kernel.fingerprint() == before
    kernel.ambient.advance(TERM + 1)
    taken = {"invocation_id": of(json.loads(first))}
    assert kernel.claim(taken)["outcome"] == "ok"
    assert kernel.problem(json.loads(kernel.answer(line, WORKER))) == "stale-lease"


def test_another_meaning_under_the_key_is_refused(kernel: Kernel, space: Json) -> None:
    """A key that gave an invocation gives no other."""
    question(kernel, space)
    asked(kernel)
    assert kernel.problem(asked(kernel, term_seconds=61)) == "idempotency-mismatch"


def test_the_term_is_the_leases(kernel: Kernel, space: Json) -> None:
    """A worker that falls silent keeps it for as long as it said."""
    taken = question(kernel, space)
    asked(kernel, term_seconds=20)
    kernel.ambient.advance(19)
    assert of(asked(kernel, key="early")) is None
    kernel.ambient.advance(1)
    again = asked(kernel, key="late")
    assert (of(again), again["result"]["fence_epoch"]) == (taken["invocation_id"], 2)


def test_time_alone_brings_the_earliest(kernel: Kernel, space: Json) -> None:
    """Where there is nothing, it is known when to look again: a lease's end, a not_before, or never."""
    assert idle(kernel).again_seconds is None
    question(kernel, space)
    asked(kernel, term_seconds=50)
    assert idle(kernel).again_seconds == 50
    question(kernel, space, not_before="2030-03-17T17:47:10Z")
    until = (1_900_000_030_000 - START_MS) / 1000
    assert idle(kernel).again_seconds == until
    kernel.ambient.advance(until)
    assert asked(kernel, key="then")["result"]["invocation"] is not None
    assert idle(kernel).again_seconds == 50 - until


def test_a_deadline_that_comes_first_is_waited_for_by_nobody(kernel: Kernel, space: Json) -> None:
    """What can be claimed only after its deadline is never claimable."""
    question(kernel, space, deadline="2030-03-17T17:47:10Z")
    asked(kernel, term_seconds=50)
    assert idle(kernel).again_seconds is None
    kernel.ambient.advance(51)
    assert of(asked(kernel, key="late")) is None


def test_what_cannot_be_handed_over_keeps_nothing_back(kernel: Kernel, space: Json) -> None:
    """An invocation with an erased item is passed over, and is told of by its own claim."""
    broken = question(kernel, space)
    said = kernel.said(space, "and this?", "question")
    whole = kernel.invocation(space, said)
    body = kernel.dump()["contributions"][0][7]
    for table in ("bodies", "object_keys"):
        kernel.store.writer.execute(f"DELETE FROM {table} WHERE body = ?", (body,))
    assert of(asked(kernel)) == whole["invocation_id"]
    assert kernel.problem(kernel.claim(broken)) == "unavailable"


def test_an_unknown_deployment_is_not_found(kernel: Kernel) -> None:
    """Nobody waits for what will never be there."""
    assert kernel.problem(asked(kernel, BUILT_IN, "dep-nowhere")) == "not-found"


@pytest.mark.parametrize(
    "wrong",
    [
        {"deployments": []},
        {"deployments": [BUILT_IN, BUILT_IN]},
        {"wait_ms": 30_001},
        {"wait_ms": -1},
        {"term_seconds": 9},
        {"term_seconds": 86_401},
    ],
)
def test_arguments_have_bounds(kernel: Kernel, wrong: Json) -> None:
    """At least one deployment, each once; waits and terms within their limits."""
    assert kernel.problem(asked(kernel, **wrong)) == "invalid"


# --- agents -------------------------------------------------------------------------------------------------
def next_of(agent: Agent, *deployments: str, key: str = "next") -> Json:
    return agent.send("tallystick_invocation_next", args_of(*deployments), WORKER, key=key)


def test_an_agent_is_given_what_is_bound_to_it_where_it_contributes(kernel: Kernel, space: Json) -> None:
    """Others are passed over; a deployment that is not bound to it is not there."""
    elsewhere = kernel.space(space["project_id"], "elsewhere")
    question(kernel, elsewhere)
    taken = question(kernel, space)
    agent = Agent(kernel, "bound", deployments=[BUILT_IN])
    assert of(next_of(agent)) is None
    agent.join(space, "observer")
    assert of(next_of(agent)) is None
    kernel.ok(
        "space_participant_update",
        {"participant_id": agent.part["participant_id"], "role": "contributor"},
        project=space["project_id"],
    )
    given = next_of(agent)
    assert of(given) == taken["invocation_id"]
    assert kernel.problem(next_of(Agent(kernel, "unbound"))) == "not-found"
    assert kernel.problem(next_of(agent, BUILT_IN, deployment(kernel), key="two")) == "not-found"


def test_an_agent_that_was_removed_is_given_its_claim_no_more(kernel: Kernel, space: Json) -> None:
    """Authority is judged at each replay; the key's claim is there again for nobody else."""
    question(kernel, space)
    agent = Agent(kernel, "bound", deployments=[BUILT_IN])
    agent.join(space)
    given = next_of(agent)
    assert next_of(agent) == given
    agent.leave(space)
    assert kernel.problem(next_of(agent)) == "not-found"
    assert of(asked(kernel)) is None


def test_an_attempt_ends_with_the_right_to_claim_it(kernel: Kernel, space: Json) -> None:
    """An agent that may write in the space no more, muted or removed, works on under no attempt either."""
    taken = question(kernel, space)
    agent = Agent(kernel, "bound", deployments=[BUILT_IN])
    agent.join(space)
    given = next_of(agent)["result"]
    binding = {"attempt_id": given["attempt_id"], "fence_epoch": given["fence_epoch"]}
    mine = {"invocation_id": taken["invocation_id"], **binding}
    assert agent.send("tallystick_invocation_renew", mine, WORKER)["outcome"] == "ok"
    which = {"participant_id": agent.part["participant_id"]}
    for status, kind in (("muted", "not-found"), ("active", None)):
        kernel.ok("space_participant_update", {**which, "status": status}, project=space["project_id"])
        told = agent.send("tallystick_invocation_renew", mine, WORKER)
        assert told["outcome"] == "ok" if kind is None else kernel.problem(told) == kind
    agent.leave(space)
    assert kernel.problem(agent.send("invocation_complete", mine, WORKER, key="done")) == "not-found"


# --- what wakes ---------------------------------------------------------------------------------------------
def wakes(kernel: Kernel, op: str, args: Json, socket: Socket = Socket.CLIENT, **how: Any) -> frozenset[str]:
    told = answer(kernel, op, args, socket, **how)
    assert json.loads(told.reply)["outcome"] == "ok", told.reply
    return told.wakes


def test_what_makes_claimable_wakes(kernel: Kernel, space: Json) -> None:
    """A creation and a failure back to the queue wake those who wait for the deployment; a claim (whoever
    waits has looked at what it took), a completion, a failure for good, a cancel and a replay wake nobody.
    """
    project = space["project_id"]
    named = {"space_id": space["space_id"], "branch_id": space["main_branch_id"]}
    create = {
        **named,
        "assistant_deployment_id": BUILT_IN,
        "assistant_deployment_revision": 1,
        "deadline": "2031-01-01T00:00:00Z",
        "max_attempts": 2,
    }
    found = {"create": wakes(kernel, "invocation_create", create, project=project, key="c")}
    found["created again"] = wakes(kernel, "invocation_create", create, project=project, key="c")

    def held(key: str) -> Json:
        taken = asked(kernel, key=key)["result"]
        return {
            "invocation_id": taken["invocation"]["invocation_id"],
            "attempt_id": taken["attempt_id"],
            "fence_epoch": taken["fence_epoch"],
        }

    failed = {"reason_class": "tests_fail", "retryable": True}
    fail = "tallystick_invocation_fail"
    found["fail"] = wakes(kernel, fail, {**held("1"), **failed}, WORKER, key="f1")
    found["fail for good"] = wakes(kernel, fail, {**held("2"), **failed}, WORKER, key="f2")
    wakes(kernel, "invocation_create", create, project=project, key="d")
    claim = answer(kernel, "tallystick_invocation_next", args_of(), key="3")
    found["claim"] = claim.wakes
    taken = json.loads(claim.reply)["result"]
    done = {"invocation_id": taken["invocation"]["invocation_id"], **{
        name: taken[name] for name in ("attempt_id", "fence_epoch")
    }}  # fmt: skip
    found["complete"] = wakes(kernel, "invocation_complete", done, WORKER, key="done")
    other = kernel.ok("invocation_create", create, project=project, key="e")
    cancel = {"invocation_id": other["invocation_id"]}
    found["cancel"] = wakes(kernel, "invocation_cancel", cancel, project=project, key="x")
    assert found == {
        "create": {BUILT_IN},
        "created again": frozenset(),
        "fail": {BUILT_IN},
        "fail for good": frozenset(),
        "claim": frozenset(),
        "complete": frozenset(),
        "cancel": frozenset(),
    }


def test_what_lets_an_agent_in_wakes_it(kernel: Kernel, space: Json) -> None:
    """A participation that changes and a grant wake whoever waits as that actor."""
    agent = Agent(kernel, "bound", deployments=[BUILT_IN])
    agent.join(space)
    project = space["project_id"]
    which = {"participant_id": agent.part["participant_id"], "role": "steward"}
    assert wakes(kernel, "space_participant_update", which, project=project, key="p") == {agent.id}
    grant = {"space_id": space["space_id"], "subject_ref": agent.id, "allowed_actions": ["contribute"]}
    assert wakes(kernel, "space_access_grant_create", grant, project=project, key="g") == {agent.id}


def test_a_refused_command_wakes_nobody(kernel: Kernel, space: Json) -> None:
    """What was rolled back has made nothing claimable."""
    said = {
        "assistant_deployment_id": BUILT_IN,
        "assistant_deployment_revision": 9,
        "deadline": "2031-01-01T00:00:00Z",
    }
    told = answer(kernel, "invocation_create", said, Socket.CLIENT, project=space["project_id"], key="n")
    assert kernel.problem(json.loads(told.reply)) == "stale-revision"
    assert not told.wakes
