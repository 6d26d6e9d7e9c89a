"""Stored results expire: a key gives its result for a week, and after that is known and never runs again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

import pytest

from tallyd.ledger.verify import Walk
from tallystick.protocol import limits
from tallystick.protocol.operation import Socket

from . import uploads
from .agents import Agent
from .attempt import WORKER, Worker
from .kernel import Json, Kernel

KEPT_SECONDS: Final = limits.IDEMPOTENCY_SECONDS_MIN
EXPIRED: Final = "idempotency-result-expired"
STALE: Final = "stale-lease"

Line = tuple[bytes, Socket]


@pytest.fixture
def space(kernel: Kernel) -> Json:
    """A space to work in."""
    return kernel.space(kernel.project())


@pytest.fixture
def invocation(kernel: Kernel, space: Json) -> Json:
    """A queued invocation."""
    return kernel.invocation(space, kernel.said(space, "why?", "question"))


def kind(kernel: Kernel, line: Line, actor: str = "prin-owner") -> str:
    """Why a line is refused."""
    return kernel.problem(json.loads(kernel.answer(*line, actor)))


def verifies(kernel: Kernel) -> bool:
    """Whether the whole log follows from its rows."""
    return list(Walk(kernel.view).slices())[-1] is None


def test_to_the_last_moment_of_the_week_the_reply_is_the_first_one(kernel: Kernel, space: Json) -> None:
    """Up to the limit the same bytes come; a millisecond later the key no longer gives its result."""
    asked = kernel.append_request(space, "Once.", key="k")
    first = kernel.answer(*asked)
    kernel.ambient.advance(KEPT_SECONDS)
    assert kernel.answer(*asked) == first
    kernel.ambient.advance(0.001)
    assert kind(kernel, asked) == EXPIRED


def project_create(kernel: Kernel, _space: Json) -> Line:
    """Its result is its event's payload."""
    return kernel.request("project_create", {"name": "another"}, key="k")


def contribution_append(kernel: Kernel, space: Json) -> Line:
    """It brings content, and so has a keyed digest of its words."""
    return kernel.append_request(space, "Once.", key="k")


def frontier_pin(kernel: Kernel, space: Json) -> Line:
    """It changes nothing that was there."""
    args = {"space_id": space["space_id"], "branch_id": space["main_branch_id"]}
    return kernel.request("frontier_pin", args, project=space["project_id"], key="k")


def invocation_cancel(kernel: Kernel, space: Json) -> Line:
    """Its result is not its event's payload."""
    made = kernel.invocation(space, kernel.said(space, "why?", "question"))
    args = {"invocation_id": made["invocation_id"]}
    return kernel.request("invocation_cancel", args, project=space["project_id"], key="k")


def upload_finalize(kernel: Kernel, _space: Json) -> Line:
    """It has two transactions."""
    upload = uploads.begin(kernel)
    uploads.stage(kernel, upload)
    return kernel.request("artifact_upload_finalize", {"upload_id": upload["upload_id"]}, key="k")


@pytest.mark.parametrize(
    "made",
    [project_create, contribution_append, frontier_pin, invocation_cancel, upload_finalize],
    ids=lambda made: made.__name__,
)
def test_an_expired_key_never_runs_again(
    kernel: Kernel, space: Json, made: Callable[[Kernel, Json], Line]
) -> None:
    """Whatever kind of command it is, and after a restart too: nothing is changed but for one row that says
    that it was refused, and the log verifies.
    """
    asked = made(kernel, space)
    assert json.loads(kernel.answer(*asked))["outcome"] == "ok"
    kernel.ambient.advance(KEPT_SECONDS + 1)
    before = kernel.dump()
    assert kind(kernel, asked) == EXPIRED
    after = kernel.dump()
    (row,) = after.pop("log")[len(before.pop("log")) :]
    assert EXPIRED in row
    assert after == {**before, "outbox": after["outbox"]}
    kernel.reopen()
    assert kind(kernel, asked) == EXPIRED
    assert verifies(kernel)


def test_an_expired_key_still_tells_other_words_apart(kernel: Kernel, space: Json) -> None:
    """Other words under an expired key are a mismatch, and are not executed either."""
    kernel.said(space, "Once.", key="k")
    kernel.ambient.advance(KEPT_SECONDS + 1)
    assert kernel.problem(kernel.append(space, "Twice.", key="k")) == "idempotency-mismatch"
    assert kernel.problem(kernel.append(space, "Once.", key="k")) == EXPIRED
    assert len(kernel.dump()["contributions"]) == 1


def test_what_an_expired_command_made_stays_readable(kernel: Kernel, space: Json) -> None:
    """The key's way to the result has expired, and nothing else: object, event and payload are still read."""
    made = kernel.said(space, "Once.", key="k")
    project = space["project_id"]
    named = {"contribution_id": made["contribution_id"]}

    def reads() -> list[Json]:
        events = kernel.read("events_read", {"source": project, "limit": 100})["result"]["events"]
        payloads = [
            kernel.read("event_payload", {"event_id": event["event_id"]}, project=project) for event in events
        ]
        return [kernel.read("contribution_show", named, project=project), *events, *payloads]

    before = reads()
    kernel.ambient.advance(KEPT_SECONDS + 1)
    assert kernel.problem(kernel.append(space, "Once.", key="k")) == EXPIRED
    assert reads() == before


def test_an_erased_command_expires_like_any_other(kernel: Kernel, space: Json) -> None:
    """Once the content is gone identifiers alone are compared, also of an expired key."""
    made = kernel.said(space, "secret", key="k")
    args = {"contribution_ref": made["contribution_id"], "reason_class": "privacy"}
    kernel.ok("contribution_redact", args, project=space["project_id"])
    kernel.ambient.advance(KEPT_SECONDS + 1)
    assert kernel.problem(kernel.append(space, "secret", key="k")) == EXPIRED
    assert kernel.problem(kernel.append(space, "secret", "question", key="k")) == "idempotency-mismatch"
    assert verifies(kernel)


def test_what_expired_stays_so_when_the_clock_steps_back(kernel: Kernel, space: Json) -> None:
    """A clock stands a year ahead for a while, and something is written: time in the store does not go back
    behind that. Nothing is executed again, and what the command made stays readable.
    """
    asked = kernel.append_request(space, "Once.", key="k")
    made = json.loads(kernel.answer(*asked))["result"]
    kernel.ambient.advance(365 * 86_400)
    assert kind(kernel, asked) == EXPIRED
    kernel.reopen()
    kernel.ambient.advance(-365 * 86_400)
    assert kind(kernel, asked) == EXPIRED
    shown = {"contribution_id": made["contribution_id"]}
    assert kernel.read("contribution_show", shown, project=space["project_id"])["result"] == made


def test_who_may_not_see_the_result_is_not_told_that_it_expired(kernel: Kernel, space: Json) -> None:
    """Authority is judged before expiry: an agent that was removed is answered as for any replay."""
    agent = Agent(kernel, "ada")
    agent.join(space)
    agent.append(space, "Mine.", key="k")
    kernel.ambient.advance(KEPT_SECONDS + 1)
    assert kernel.problem(agent.append(space, "Mine.", key="k")) == EXPIRED
    agent.leave(space)
    assert kernel.problem(agent.append(space, "Mine.", key="k")) == "not-found"


# --- invocations --------------------------------------------------------------------------------------------
def test_steps_are_kept_while_their_invocation_has_not_ended(kernel: Kernel, space: Json) -> None:
    """A later attempt, weeks on, finds each step done and gets its reply, by its key and by progress."""
    invocation = kernel.invocation(space, kernel.said(space, "why?", "question"), max_attempts=3)
    first = Worker(kernel, space, invocation, kernel.claim(invocation, key="c1"))
    done = first.append(key="answer")
    assert first.fail()["result"]["state"] == "queued"
    kernel.ambient.advance(3 * KEPT_SECONDS)
    assert first.fail()["result"]["state"] == "queued"
    later = Worker(kernel, space, invocation, kernel.claim(invocation, key="c2"))
    (step,) = later.progress()["result"]["steps"]
    assert step["reply"]["result"] == done["result"]
    kernel.ambient.advance(KEPT_SECONDS + 1)
    assert later.append(key="answer") == done
    assert kernel.claim(invocation, key="c2")["result"]["attempt_id"] == later.binding["attempt_id"]
    assert later.complete()["outcome"] == "ok"


def test_what_ended_an_invocation_expires_a_week_later(kernel: Kernel, space: Json, invocation: Json) -> None:
    """A lost reply to a completion can be had for a week; other replays of the attempt are stale as ever."""
    worker = Worker(kernel, space, invocation, kernel.claim(invocation, key="c"))
    worker.append(key="answer")
    kernel.ambient.advance(KEPT_SECONDS + 1)
    completed = worker.complete()
    kernel.ambient.advance(KEPT_SECONDS)
    assert worker.complete() == completed
    kernel.ambient.advance(1)
    assert kernel.problem(worker.complete()) == EXPIRED
    assert kernel.problem(worker.append(key="answer")) == STALE
    assert kernel.problem(kernel.claim(invocation, key="c")) == STALE


def test_a_claim_of_the_next_is_kept_while_its_attempt_works(kernel: Kernel, invocation: Json) -> None:
    """It names no invocation, and its worker still gets it again after weeks, until another took over."""
    args = {"deployments": ["dep-local-dev"], "wait_ms": 0, "term_seconds": 60}

    def next_one(key: str) -> Json:
        return kernel.write("tallystick_invocation_next", args, key=key, socket=WORKER)

    taken = next_one("n1")
    assert taken["result"]["invocation"]["invocation_id"] == invocation["invocation_id"]
    kernel.ambient.advance(2 * KEPT_SECONDS)
    again = next_one("n1")
    assert again["result"]["attempt_id"] == taken["result"]["attempt_id"]
    assert next_one("n2")["result"]["fence_epoch"] == 2
    assert kernel.problem(next_one("n1")) == STALE
