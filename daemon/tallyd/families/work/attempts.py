"""What a worker does with an invocation: claims it, works under a fence, completes or fails.

| attempt's state | ends it                                                  |
|-----------------|----------------------------------------------------------|
| running         | its own completion or failure; a cancel; the next claim after its lease ran out;
|                 | the daemon, after the deadline or the last lapse (``overdue``) |
| succeeded, failed, canceled, fenced | nothing: each is final                |

A fence is state, not authority: a worker that lost its attempt is told ``stale-lease``, whatever it sends.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from tallyd.admission import Admission, may_claim
from tallyd.families import deployments, invocations, participants
from tallyd.families.context import assemblies, frontiers
from tallyd.families.shared.fence import check_fence
from tallyd.families.work.overdue import FAILED, lapses_end
from tallyd.ledger import attempts, ids, pages, skeleton
from tallyd.ledger.attempts import ENDED_STATES, AttemptRow, InvocationRow
from tallyd.ledger.log import LogRow
from tallyd.ledger.transaction import Applied, Idle, Transaction
from tallystick.protocol import limits
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.families.work import (
    LEASE_EXTENSION,
    InvocationClaimArgs,
    InvocationCompleteArgs,
    LeaseExtension,
    TallystickInvocationFailArgs,
    TallystickInvocationNextArgs,
    TallystickInvocationProgressArgs,
    TallystickInvocationRenewArgs,
)
from tallystick.protocol.problems import (
    Refusal,
    deadline_exceeded,
    invocation_ended,
    lease_held,
    not_found,
    unavailable,
)


# --- claim --------------------------------------------------------------------------------------------------
def claim(tx: Transaction, request: Request[InvocationClaimArgs], admission: Admission) -> Applied:
    """``invocation_claim``: a new attempt with the next fence; the reply alone holds its secret id."""
    row = admission.invocation
    assert row is not None
    previous = attempts.latest(tx, row.position)
    _check_claimable(tx, row, previous)
    items = _items(tx, admission, row)
    return _take(tx, admission, Claimable(row, previous, items), _term_seconds(tx, request, row))


class Claimable(NamedTuple):
    """An invocation that may be claimed now, its last attempt so far, and what the claim hands over."""

    row: InvocationRow
    previous: AttemptRow | None
    items: list[bytes]


def _take(tx: Transaction, admission: Admission, found: Claimable, term_seconds: int) -> Applied:
    row, previous, items = found
    lapses = row.lapsed_attempts
    if previous is not None and previous.state == "running":
        lapses += 1
        tx.update(
            "attempts",
            {"invocation": previous.invocation, "ordinal": previous.ordinal},
            state="fenced",
            ending=tx.position,
        )
    ordinal = 1 if previous is None else previous.ordinal + 1
    attempt = _new_attempt(tx, admission, row, ordinal, term_seconds)
    row = invocations.change(tx, row, state="running", lapsed_attempts=lapses)
    reference = ids.text("invatt", attempt.reference)
    payload: dict[str, object] = {"attempt_id": reference, "fence_epoch": attempt.fence}
    tx.emit(invocations.event(tx, row, "dev.kovee.invocation.claimed.v1", payload))
    result = _claim_result(tx, row, attempt, items)
    if row.space is not None:
        _join_space(tx, row)
    tx.lease_changes.append(lambda: tx.leases.renew(row.position, attempt.term_seconds))
    return Applied(result=result, cursor=False)


def _items(tx: Transaction, admission: Admission, row: InvocationRow) -> list[bytes]:
    assembly = None if row.assembly is None else assemblies.at(tx, row.assembly)
    return [] if assembly is None else assemblies.items_at(tx, admission, assembly)


def _check_claimable(tx: Transaction, row: InvocationRow, previous: AttemptRow | None) -> None:
    if row.state in ENDED_STATES:
        raise invocation_ended(
            f"invocation {row.invocation_id} is {row.state}; there is nothing left to claim", row.state
        )
    if previous is not None and previous.state == "running" and tx.leases.live(row.position):
        seconds = math.ceil(tx.leases.remaining_seconds(row.position))
        raise lease_held(
            f"invocation {row.invocation_id} is held by another attempt for {seconds} s more; claim again, "
            "with a new key, when its lease has run out",
            seconds,
        )
    if lapses_end(row, previous):
        raise invocation_ended(
            f"invocation {row.invocation_id} was taken {row.lapsed_attempts + 1} times by a worker that was "
            "not heard of again; ask anew, when it is known why",
            "failed",
        )
    if tx.now_ms < row.not_before_ms:
        raise unavailable(
            f"invocation {row.invocation_id} may not begin before {invocations.not_before(row)}",
            outcome="not_applied",
        )
    if tx.now_ms > row.deadline_ms:
        raise deadline_exceeded(
            f"invocation {row.invocation_id} was to be done by its deadline, which passed"
        )


def _new_attempt(
    tx: Transaction, admission: Admission, row: InvocationRow, ordinal: int, term_seconds: int
) -> AttemptRow:
    epoch = tx.epoch
    secret = tx.attempt_id(row.position, ordinal, epoch)
    attempt = AttemptRow(
        invocation=row.position,
        ordinal=ordinal,
        id_hash=hashlib.sha256(secret.encode()).digest(),
        reference=tx.new_id(),
        state="running",
        channel_actor=admission.actor,
        epoch=epoch,
        term_seconds=term_seconds,
        claim=tx.position,
        ending=None,
    )
    tx.insert("attempts", **{field: getattr(attempt, field) for field in attempt.__struct_fields__})
    return attempt


def _term_seconds(tx: Transaction, request: AnyRequest, row: InvocationRow) -> int:
    """What the worker asked for; a client that names none gets the time to the deadline, within bounds."""
    asked = request.extension(LEASE_EXTENSION)
    if isinstance(asked, LeaseExtension):
        return asked.term_seconds
    left = (row.deadline_ms - tx.now_ms) // 1000
    return max(limits.LEASE_TERM_SECONDS_BARE_MIN, min(left, limits.LEASE_TERM_SECONDS_MAX))


def _join_space(tx: Transaction, row: InvocationRow) -> None:
    """The worker becomes a contributor of the invocation's space, where it is not one; without an event."""
    assert row.space is not None
    known = tx.one("SELECT 1 FROM participants WHERE space = ? AND subject_ref = ?", row.space, row.author)
    if known is None:
        source = f"invocation:{row.invocation_id}"
        participants.join(tx, row.space, row.author, "assistant_deployment", "contributor", source, 1)


def _claim_result(tx: Transaction, row: InvocationRow, attempt: AttemptRow, items: list[bytes]) -> bytes:
    assembly = frontier = None
    if row.assembly is not None:
        assembly = skeleton.embedded(assemblies.record_at(tx, row.assembly))
        pinned = frontiers.at(tx, row.assembly)
        space = tx.space_at(pinned.space)
        assert space is not None
        frontier = skeleton.embedded(frontiers.record(space, pinned))
    place = skeleton.place(skeleton.ATTEMPT, f"{attempt.invocation}.{attempt.ordinal}.{attempt.epoch}")
    return skeleton.encode(
        {
            "invocation": skeleton.embedded(invocations.record(row)),
            "attempt_id": place,
            "fence_epoch": attempt.fence,
            "assembly": assembly,
            "frontier": frontier,
            "items": [skeleton.embedded(item) for item in items],
        }
    )


# --- the next one -------------------------------------------------------------------------------------------
NOTHING: Final = skeleton.encode(
    {
        "invocation": None,
        "attempt_id": None,
        "fence_epoch": None,
        "assembly": None,
        "frontier": None,
        "items": [],
    }
)
"""What whoever waited in vain is answered."""


def next_(
    tx: Transaction, request: Request[TallystickInvocationNextArgs], admission: Admission
) -> Applied | Idle:
    """``tallystick_invocation_next``: a claim of the oldest invocation that the actor may claim now.

    One that cannot be handed over, because an item of its assembly was erased or is withheld, is passed over:
    it must not keep back what stands behind it, and whoever claims it by its id is told why.
    """
    args = request.args
    for deployment_id in args.deployments:
        if deployments.find(tx, deployment_id) is None:
            raise not_found("deployment", deployment_id)
    found = _oldest(tx, admission, args.deployments)
    if not isinstance(found, Claimable):
        return Idle(NOTHING, found)
    tx.author = found.row.author
    return _take(tx, admission, found, args.term_seconds)


def _oldest(tx: Transaction, admission: Admission, named: Sequence[str]) -> Claimable | float | None:
    """The oldest that may be claimed now; else after how many seconds one may be, or None: never."""
    soonest = math.inf
    for row in attempts.unended(tx, named):
        if not may_claim(tx, admission, row):
            continue
        previous = attempts.latest(tx, row.position)
        seconds = _claimable_in(tx, row, previous)
        if seconds > 0.0:
            soonest = min(soonest, seconds)
        elif (items := _items_or_none(tx, admission, row)) is not None:
            return Claimable(row, previous, items)
    return None if soonest == math.inf else soonest


def _claimable_in(tx: Transaction, row: InvocationRow, previous: AttemptRow | None) -> float:
    """Seconds until ``_check_claimable`` lets a queued or running invocation pass; infinite where its
    deadline comes first, or its last lapse.
    """
    held = previous is not None and previous.state == "running"
    if lapses_end(row, previous):
        return math.inf
    lease = tx.leases.remaining_seconds(row.position) if held else 0.0
    seconds = max(lease, (row.not_before_ms - tx.now_ms) / 1000, 0.0)
    return math.inf if tx.now_ms + seconds * 1000 > row.deadline_ms else seconds


def _items_or_none(tx: Transaction, admission: Admission, row: InvocationRow) -> list[bytes] | None:
    noted = len(tx.sensitive)
    try:
        return _items(tx, admission, row)
    except Refusal:
        del tx.sensitive[noted:]
        return None


# --- the end of an attempt ----------------------------------------------------------------------------------
def complete(tx: Transaction, request: Request[InvocationCompleteArgs], admission: Admission) -> Applied:
    """``invocation_complete``: the invocation succeeded."""
    args = request.args
    attempt, row = admission.attempt, admission.invocation
    assert attempt is not None
    assert row is not None
    invocations.end_attempt(tx, attempt, "succeeded")
    row = invocations.change(tx, row, state="succeeded", terminal_ms=tx.now_ms)
    result_ref = None if args.result_ref is msgspec.UNSET else args.result_ref
    tx.emit(invocations.event(tx, row, "dev.kovee.invocation.succeeded.v1", {"result_ref": result_ref}))
    return Applied(result=invocations.record(row), revision=row.revision, cursor=False)


def fail(tx: Transaction, request: Request[TallystickInvocationFailArgs], admission: Admission) -> Applied:
    """``tallystick_invocation_fail``: back to the queue while attempts remain, else failed."""
    args = request.args
    attempt, row = admission.attempt, admission.invocation
    assert attempt is not None
    assert row is not None
    failed = row.failed_attempts + 1
    again = args.retryable and failed < row.max_attempts
    invocations.end_attempt(tx, attempt, "failed")
    row = invocations.change(
        tx,
        row,
        state="queued" if again else "failed",
        failed_attempts=failed,
        terminal_ms=None if again else tx.now_ms,
    )
    if again:
        tx.wake(row.deployment_id)
    payload: dict[str, object] = {
        "attempt_ref": ids.text("invatt", attempt.reference),
        "fence_epoch": attempt.fence,
        "reason_class": args.reason_class,
        "retryable": args.retryable,
        "reason": invocations.sealed_reason(tx, args.reason),
    }
    tx.emit(invocations.event(tx, row, FAILED, payload))
    return Applied(result=invocations.record(row), revision=row.revision, cursor=False)


# --- fenced reads -------------------------------------------------------------------------------------------
def renew(tx: Transaction, request: Request[TallystickInvocationRenewArgs], admission: Admission) -> bytes:
    """``tallystick_invocation_renew``: the full term from now. Writes nothing."""
    attempt, row = check_fence(tx, request, admission)
    tx.leases.renew(row.position, attempt.term_seconds)
    remaining = int(tx.leases.remaining_seconds(row.position))
    return skeleton.encode({"term_seconds": attempt.term_seconds, "remaining_seconds": remaining})


def progress(
    tx: Transaction, request: Request[TallystickInvocationProgressArgs], admission: Admission
) -> bytes:
    """``tallystick_invocation_progress``: the operation keys done under this invocation, by any attempt, with
    their replies.

    Oldest first. Where the replies do not fit one, the latest are given without: ``reply`` is then absent,
    and the step is done all the same.
    """
    attempt, row = check_fence(tx, request, admission)
    tx.leases.renew(row.position, attempt.term_seconds)
    steps: list[msgspec.Raw] = []
    room = pages.Room()
    for (position,) in tx.all(
        "SELECT position FROM invocation_steps WHERE invocation = ? ORDER BY position", row.position
    ):
        assert isinstance(position, int)
        step = _step(tx, tx.log_row(position))
        if not room.takes(step):
            step = _bare_step(tx.log_row(position))
            room.takes(step)
        steps.append(skeleton.embedded(step))
    return skeleton.encode({"invocation_id": row.invocation_id, "steps": steps})


def _bare_step(done: LogRow) -> bytes:
    return skeleton.encode({"operation": done.operation, "operation_key": done.idempotency_key})


def _step(tx: Transaction, done: LogRow) -> bytes:
    reply: dict[str, object] = {"result": skeleton.embedded(tx.render_with_marks(done.reply))}
    if done.reply_revision is not None:
        reply["revision"] = done.reply_revision
    if done.reply_sequence is not None and done.project is not None:
        reply["event_cursor"] = tx.project_cursor(done.project, done.reply_sequence)
    return skeleton.encode(
        {"operation": done.operation, "operation_key": done.idempotency_key, "reply": reply}
    )
