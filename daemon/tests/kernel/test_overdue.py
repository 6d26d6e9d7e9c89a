"""Invocations that nobody ends: by a deadline that passes, and by attempts that lapse one after the other."""

from __future__ import annotations

from typing import Any

import pytest

from tallyd.clerk import SystemCommand
from tallyd.families.work.overdue import OVERDUE
from tallystick.protocol import limits

from .attempt import WORKER, Worker
from .kernel import START_MS, Json, Kernel

TERM_SECONDS = 60


@pytest.fixture
def space(kernel: Kernel) -> Json:
    """A space to work in."""
    return kernel.space(kernel.project())


def invocation(kernel: Kernel, space: Json, **args: Any) -> Json:
    """A queued invocation on a question."""
    return kernel.invocation(space, kernel.said(space, "why?", "question"), **args)


def shown(kernel: Kernel, asked: Json) -> Json:
    """An invocation as it is now."""
    named = {"invocation_id": asked["invocation_id"]}
    result: Json = kernel.read("invocation_show", named, project=asked["project_id"])["result"]
    return result


def failures(kernel: Kernel, project: str) -> list[Json]:
    """What events tell of failures in a project, oldest first."""
    asked = {"source": project, "limit": 100, "type_prefixes": ["dev.tallystick.invocation.failed"]}
    return [event["payload"] for event in kernel.read("events_read", asked)["result"]["events"]]


def look(kernel: Kernel) -> None:
    """What the daemon does every few seconds."""
    look, end = OVERDUE.look, OVERDUE.command
    assert end is not None
    if (due := look(kernel.view)) is not None:
        kernel.clerk.run([SystemCommand(OVERDUE.name, lambda tx: end(due, tx))])


def deadline(seconds: int) -> str:
    """A deadline so long after the test's beginning."""
    assert START_MS == 1_900_000_000_000
    return f"2030-03-17T17:{46 + (40 + seconds) // 60:02d}:{(40 + seconds) % 60:02d}Z"


@pytest.mark.parametrize("held", [False, True], ids=["queued", "held"])
def test_a_deadline_that_passes_ends_it(kernel: Kernel, space: Json, held: bool) -> None:
    """It is failed, an event says why, and the attempt that has it is over; nothing ends before its time."""
    asked = invocation(kernel, space, deadline=deadline(30))
    worker = Worker(kernel, space, asked, kernel.claim(asked)) if held else None
    kernel.ambient.advance(30)
    look(kernel)
    assert shown(kernel, asked)["state"] == ("running" if held else "queued")
    kernel.ambient.advance(1)
    look(kernel)
    ended = shown(kernel, asked)
    assert (ended["state"], "terminal_at" in ended) == ("failed", True)
    (told,) = failures(kernel, asked["project_id"])
    assert (told["reason_class"], told["state"], "attempt_ref" in told) == ("deadline_passed", "failed", held)
    if worker is not None:
        assert kernel.problem(worker.append()) == "stale-lease"
    look(kernel)
    assert len(failures(kernel, asked["project_id"])) == 1


def test_attempts_that_lapse_are_counted_and_end_it(kernel: Kernel, space: Json) -> None:
    """A worker that is killed each time is given it so often and no more; the last lapse is its end."""
    asked = invocation(kernel, space)
    for number in range(limits.INVOCATION_LAPSED_ATTEMPTS_MAX):
        assert kernel.claim(asked, key=f"claim-{number}")["outcome"] == "ok"
        look(kernel)
        assert shown(kernel, asked)["state"] == "running"
        kernel.ambient.advance(TERM_SECONDS + 1)
    refused = kernel.claim(asked, key="once-more")
    assert kernel.problem(refused) == "stale-lease"
    look(kernel)
    assert shown(kernel, asked)["state"] == "failed"
    (told,) = failures(kernel, asked["project_id"])
    assert (told["reason_class"], told["fence_epoch"]) == ("lapsed", limits.INVOCATION_LAPSED_ATTEMPTS_MAX)


def test_the_last_attempt_may_still_succeed(kernel: Kernel, space: Json) -> None:
    """Whoever is alive ends it, however many lapsed before."""
    asked = invocation(kernel, space)
    for number in range(limits.INVOCATION_LAPSED_ATTEMPTS_MAX):
        claimed = kernel.claim(asked, key=f"claim-{number}")
        kernel.ambient.advance(TERM_SECONDS + (number < limits.INVOCATION_LAPSED_ATTEMPTS_MAX - 1))
    worker = Worker(kernel, space, asked, claimed)
    assert worker.renew()["outcome"] == "ok"
    look(kernel)
    assert worker.complete()["outcome"] == "ok"
    assert shown(kernel, asked)["state"] == "succeeded"
    assert failures(kernel, asked["project_id"]) == []


def test_what_no_lapse_may_follow_is_given_to_nobody(kernel: Kernel, space: Json) -> None:
    """Whoever takes what comes next is not given it a sixth time, nor kept from what is behind it."""
    asked = invocation(kernel, space)
    for number in range(limits.INVOCATION_LAPSED_ATTEMPTS_MAX):
        assert kernel.claim(asked, key=f"claim-{number}")["outcome"] == "ok"
        kernel.ambient.advance(TERM_SECONDS + 1)
    behind = invocation(kernel, space)
    named = {"deployments": [asked["assistant_deployment_id"]], "wait_ms": 0, "term_seconds": TERM_SECONDS}
    given = kernel.ok("tallystick_invocation_next", named, key="next", socket=WORKER)
    assert given["invocation"]["invocation_id"] == behind["invocation_id"]


def test_why_an_attempt_failed_is_told_and_can_be_erased(kernel: Kernel, space: Json) -> None:
    """The reason stands in the event's payload, and an erasure takes it away."""
    asked = invocation(kernel, space)
    worker = Worker(kernel, space, asked, kernel.claim(asked))
    worker.fail(reason="ValueError: the tap is blue")
    (told,) = failures(kernel, asked["project_id"])
    assert (told["reason_class"], told["reason"]) == ("tests_fail", "ValueError: the tap is blue")
    kernel.ok("tallystick_erase", {"object_ref": asked["invocation_id"], "reason_class": "mistake"})
    (told,) = failures(kernel, asked["project_id"])
    assert "blue" not in str(told)


def test_who_cannot_claim_is_told_whether_it_is_held_or_over(kernel: Kernel, space: Json) -> None:
    """A held lease comes with the seconds that it still runs; what is over with how it ended."""
    asked = invocation(kernel, space)
    worker = Worker(kernel, space, asked, kernel.claim(asked))
    kernel.ambient.advance(17.5)
    held = kernel.claim(asked, key="another")["problem"]["ext"]
    assert held == {"dev.tallystick.lease": {"remaining_seconds": 43}}
    worker.complete()
    over = kernel.claim(asked, key="third")["problem"]["ext"]
    assert over == {"dev.tallystick.lease": {"ended": "succeeded"}}
