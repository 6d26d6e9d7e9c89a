"""Claims, leases and fences, on a clock that the test owns."""

from __future__ import annotations

import pytest

from .attempt import WORKER, Worker
from .kernel import Json, Kernel


@pytest.fixture
def space(kernel: Kernel) -> Json:
    """A space to work in."""
    return kernel.space(kernel.project())


@pytest.fixture
def invocation(kernel: Kernel, space: Json) -> Json:
    """A queued invocation on a question and its evidence."""
    return kernel.invocation(
        space, kernel.said(space, "why?", "question"), kernel.said(space, "because", "evidence")
    )


@pytest.fixture
def worker(kernel: Kernel, space: Json, invocation: Json) -> Worker:
    """A worker whose lease runs 60 seconds."""
    return Worker(kernel, space, invocation, kernel.claim(invocation, key="first"))


def again(worker: Worker, key: str = "second") -> Worker:
    """A later attempt of the same invocation."""
    claimed = worker.kernel.claim(worker.invocation, key=key)
    return Worker(worker.kernel, worker.space, worker.invocation, claimed)


def test_a_claim_hands_over_everything_and_no_more(kernel: Kernel, space: Json, invocation: Json) -> None:
    """Question and evidence whole, the assembly without omissions, the pinned frontier, and no cursor or
    revision.
    """
    claimed = kernel.claim(invocation)
    assert set(claimed) == {"outcome", "result"}
    result = claimed["result"]
    assert [item["kind"] for item in result["items"]] == ["question", "evidence"]
    assert result["assembly"]["omissions"] == []
    assert result["frontier"]["frontier_id"] == result["assembly"]["frontier_ref"]
    assert result["invocation"]["state"] == "running"
    assert result["fence_epoch"] == 1
    assert space["space_id"] == result["items"][0]["space_id"]


def test_a_live_lease_keeps_others_out(kernel: Kernel, invocation: Json, worker: Worker) -> None:
    """A new key on a live lease is stale, and every fenced command gives the lease its full term."""
    kernel.ambient.advance(59)
    assert kernel.problem(kernel.claim(invocation, key="other")) == "stale-lease"
    assert worker.append()["outcome"] == "ok"
    kernel.ambient.advance(59)
    assert kernel.problem(kernel.claim(invocation, key="another")) == "stale-lease"
    assert worker.renew()["result"] == {"term_seconds": 60, "remaining_seconds": 60}
    kernel.ambient.advance(61)
    assert kernel.claim(invocation, key="late")["result"]["fence_epoch"] == 2


def test_a_lapsed_worker_works_on_until_somebody_claims(kernel: Kernel, worker: Worker) -> None:
    """The clock alone fences nobody."""
    kernel.ambient.advance(600)
    assert worker.append()["outcome"] == "ok"


def test_the_next_claim_fences_the_old_worker_in_everything(kernel: Kernel, worker: Worker) -> None:
    """Commands and replays of a fenced attempt are stale, whatever it sends."""
    assert worker.append(key="done")["outcome"] == "ok"
    kernel.ambient.advance(61)
    successor = again(worker)
    old = (
        worker.append(key="new"),
        worker.append(key="done"),
        worker.complete(),
        worker.fail(),
        worker.progress(),
        worker.renew(),
        kernel.claim(worker.invocation, key="first"),
    )
    assert [kernel.problem(answer) for answer in old] == ["stale-lease"] * len(old)
    assert successor.complete()["outcome"] == "ok"


def test_a_later_attempt_gets_the_earlier_ones_reply(kernel: Kernel, worker: Worker) -> None:
    """A step done by a dead worker is found done, byte for byte, and its key with other words is a
    mismatch.
    """
    first = worker.append("An answer.")
    kernel.ambient.advance(61)
    successor = again(worker)
    steps = successor.progress()["result"]["steps"]
    assert [(step["operation"], step["operation_key"]) for step in steps] == [
        ("contribution_append", "answer")
    ]
    assert steps[0]["reply"]["result"] == first["result"]
    assert steps[0]["reply"]["event_cursor"] == first["event_cursor"]
    assert successor.append("An answer.") == first
    assert kernel.problem(successor.append("Other words.")) == "idempotency-mismatch"


def test_a_completion_is_recovered_by_its_own_attempt_alone(kernel: Kernel, worker: Worker) -> None:
    """Its lost reply is had again; every other replay of an ended invocation is refused as stale."""
    appended = worker.append()
    assert appended["outcome"] == "ok"
    first = worker.complete()
    assert first["outcome"] == "ok"
    assert worker.complete() == first
    assert kernel.problem(worker.append()) == "stale-lease"
    assert kernel.problem(worker.append("Other words.")) == "idempotency-mismatch"
    assert kernel.problem(kernel.claim(worker.invocation, key="first")) == "stale-lease"
    assert kernel.problem(kernel.claim(worker.invocation, key="new")) == "stale-lease"


def test_leases_begin_anew_at_a_restart(kernel: Kernel, worker: Worker) -> None:
    """Nobody could renew while the daemon was down."""
    kernel.ambient.advance(600)
    kernel.reopen()
    assert kernel.problem(kernel.claim(worker.invocation, key="too-early")) == "stale-lease"
    kernel.ambient.advance(61)
    assert kernel.claim(worker.invocation, key="now")["result"]["fence_epoch"] == 2


def test_a_bare_claim_lasts_to_the_deadline_within_bounds(kernel: Kernel, space: Json) -> None:
    """At least 15 minutes, at most a day."""
    item = kernel.said(space, "why?", "question")
    short = kernel.invocation(space, item, deadline="2030-03-17T17:50:00Z")
    kernel.claim(short, term=None)
    long = kernel.invocation(space, item, deadline="2040-01-01T00:00:00Z")
    kernel.claim(long, term=None)
    assert [row[7] for row in kernel.dump()["attempts"]] == [900, 86_400]


def test_a_failure_goes_back_to_the_queue_while_attempts_remain(kernel: Kernel, space: Json) -> None:
    """max_attempts counts attempts ended by a failure; a lapsed lease does not count."""
    invocation = kernel.invocation(space, kernel.said(space, "why?", "question"), max_attempts=2)
    first = Worker(kernel, space, invocation, kernel.claim(invocation, key="a"))
    kernel.ambient.advance(61)
    second = again(first, "b")
    failed = second.fail()
    assert failed["result"]["state"] == "queued"
    assert second.fail() == failed
    third = again(first, "c")
    assert third.fail(key="f3")["result"]["state"] == "failed"
    assert kernel.problem(kernel.claim(invocation, key="d")) == "stale-lease"


def test_a_failure_that_is_not_retryable_ends_it(kernel: Kernel, space: Json) -> None:
    """Attempts left are not used where none may help."""
    invocation = kernel.invocation(space, kernel.said(space, "why?", "question"), max_attempts=5)
    worker = Worker(kernel, space, invocation, kernel.claim(invocation))
    assert worker.fail(retryable=False)["result"]["state"] == "failed"


def test_before_not_before_and_after_the_deadline(kernel: Kernel, space: Json) -> None:
    """A claim comes neither too early nor too late, and a fenced write not past the deadline."""
    item = kernel.said(space, "why?", "question")
    later = kernel.invocation(space, item, not_before="2030-03-17T18:00:00Z", deadline="2030-03-17T19:00:00Z")
    assert kernel.problem(kernel.claim(later, key="early")) == "unavailable"
    kernel.ambient.advance(15 * 60)
    worker = Worker(kernel, space, later, kernel.claim(later, key="in-time"))
    kernel.ambient.advance(2 * 3600)
    assert kernel.problem(worker.append()) == "deadline-exceeded"
    assert kernel.problem(kernel.claim(later, key="late")) == "deadline-exceeded"


@pytest.mark.parametrize(
    ("deadline", "kind"),
    [
        ("0000-02-29T00:00:00Z", "deadline-exceeded"),
        ("0001-01-01T00:00:00+23:59", "deadline-exceeded"),
        ("9999-12-31T23:59:59-23:59", None),
        ("9999-12-31T23:59:60Z", None),
        ("2099-01-01T00:00:00.123456789+05:30", None),
    ],
)
def test_any_time_of_the_wire_is_a_time(kernel: Kernel, space: Json, deadline: str, kind: str | None) -> None:
    """The first and the last that the protocol can write, as a deadline and as a beginning."""
    asked = {
        "assistant_deployment_id": "dep-local-dev",
        "assistant_deployment_revision": 1,
        "deadline": deadline,
    }
    answered = kernel.write("invocation_create", asked, project=space["project_id"])
    assert answered["outcome"] == "ok" if kind is None else kernel.problem(answered) == kind
    asked |= {"deadline": "9999-12-31T23:59:59-23:59", "not_before": deadline}
    made = kernel.ok("invocation_create", asked, project=space["project_id"])
    assert made["not_before"] == deadline
    claimed = kernel.claim(made)
    if kind is None:
        assert kernel.problem(claimed) == "unavailable"
        assert deadline in claimed["problem"]["detail"]
    else:
        assert claimed["outcome"] == "ok"


def test_a_deadline_in_the_past_is_refused(kernel: Kernel, space: Json) -> None:
    """Nothing is queued that nobody could do."""
    refused = kernel.write(
        "invocation_create",
        {
            "assistant_deployment_id": "dep-local-dev",
            "assistant_deployment_revision": 1,
            "deadline": "2020-01-01T00:00:00Z",
        },
        project=space["project_id"],
    )
    assert kernel.problem(refused) == "deadline-exceeded"


def test_a_cancel_fences_the_worker(kernel: Kernel, space: Json, worker: Worker) -> None:
    """A canceled invocation's worker may do nothing more."""
    canceled = kernel.ok(
        "invocation_cancel",
        {"invocation_id": worker.invocation["invocation_id"], "reason": "no longer of use"},
        project=space["project_id"],
    )
    assert canceled["state"] == "canceled"
    assert kernel.problem(worker.append()) == "stale-lease"
    assert kernel.problem(worker.complete()) == "stale-lease"
    assert "no longer" not in repr(kernel.dump())
    events = kernel.read("events_read", {"source": space["project_id"], "limit": 100})["result"]["events"]
    assert events[-1]["payload"]["reason"] == "no longer of use"


def test_a_worker_keeps_to_its_space_and_project(kernel: Kernel, space: Json, worker: Worker) -> None:
    """Elsewhere there is nothing for it."""
    neighbour = kernel.space(space["project_id"], "another")
    worker.named = {"space_id": neighbour["space_id"], "branch_id": neighbour["main_branch_id"]}
    assert kernel.problem(worker.append()) == "not-found"
    abroad = kernel.space(kernel.project("abroad"))
    worker.named = {"space_id": abroad["space_id"], "branch_id": abroad["main_branch_id"]}
    assert kernel.problem(worker.append(project=abroad["project_id"], key="k2")) == "not-found"


def test_an_unknown_attempt_is_not_found(kernel: Kernel, worker: Worker) -> None:
    """A guessed id is no attempt at all."""
    worker.binding["attempt_id"] = "att-" + "0" * 32
    assert kernel.problem(worker.append()) == "not-found"


def test_a_person_between_claim_and_append_is_not_noticed(
    kernel: Kernel, space: Json, worker: Worker
) -> None:
    """An append at the head lands behind what a person said meanwhile."""
    kernel.said(space, "meanwhile")
    assert worker.append()["outcome"] == "ok"


def test_a_worker_cancels_nothing(kernel: Kernel, space: Json, worker: Worker) -> None:
    """There are no children of an attempt here; one that does not hold its invocation is told so first."""
    args = {"invocation_id": worker.invocation["invocation_id"], **worker.binding}

    def cancel(**changed: object) -> str:
        how: Json = {"project": space["project_id"], "socket": WORKER}
        return kernel.problem(kernel.write("invocation_cancel", {**args, **changed}, **how))

    assert [cancel(), cancel(invocation_id="inv-none")] == ["not-found"] * 2
    assert cancel(fence_epoch=2) == "stale-lease"
    assert worker.complete()["outcome"] == "ok"
    assert cancel() == "stale-lease"
    shown = kernel.read(
        "invocation_show", {"invocation_id": args["invocation_id"]}, project=space["project_id"]
    )
    assert shown["result"]["state"] == "succeeded"


@pytest.mark.parametrize("result_ref", ["", "two words", "r" * 129, None, {"ref": "res-1"}])
def test_a_result_is_named_by_an_identifier(kernel: Kernel, worker: Worker, result_ref: object) -> None:
    """Anything else is invalid, and the attempt goes on."""
    args = {"invocation_id": worker.invocation["invocation_id"], **worker.binding}
    refused = kernel.write("invocation_complete", {**args, "result_ref": result_ref}, socket=WORKER)
    assert kernel.problem(refused) == "invalid"
    done = kernel.write("invocation_complete", {**args, "result_ref": "r" * 128}, socket=WORKER)
    assert done["result"]["state"] == "succeeded"


def test_an_erased_item_makes_the_claim_unavailable(kernel: Kernel, invocation: Json) -> None:
    """Never a placeholder in the place of what an assembly pinned."""
    body = kernel.dump()["contributions"][1][7]
    for table in ("bodies", "object_keys"):
        kernel.store.writer.execute(f"DELETE FROM {table} WHERE body = ?", (body,))
    refused = kernel.claim(invocation)
    assert kernel.problem(refused) == "unavailable"
    assert "contrib-" in refused["problem"]["detail"]
