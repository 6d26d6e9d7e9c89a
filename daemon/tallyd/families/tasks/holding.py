"""What the holder of a task does with it: renew, done, fail, release. And what a new epoch does to holders.

Each of a holder's commands shows the claim's id, and renews its lease. A lease that ran out ends nothing by
itself: until somebody takes the task over, the claim is the current one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec import UNSET

from tallyd.admission import Admission
from tallyd.families.contributions.contributions import Saying
from tallyd.families.contributions.data import Data, say_data
from tallyd.families.shared.family import Step
from tallyd.families.shared.results import check_open, check_revision, given
from tallyd.families.tasks import rows
from tallyd.families.tasks.commands import note_of, refuse_blank
from tallyd.families.tasks.rows import Bearing, Sight
from tallyd.ledger import claims, skeleton
from tallyd.ledger.claims import ClaimRow, TaskRow
from tallyd.ledger.transaction import Applied, Transaction
from tallyd.ledger.view import SpaceRow, View
from tallystick.protocol import limits
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.families.tasks import (
    DONE,
    FAILED,
    FREED,
    RELEASED,
    TallystickTaskDoneArgs,
    TallystickTaskFailArgs,
    TallystickTaskReleaseArgs,
    TallystickTaskRenewArgs,
)
from tallystick.protocol.problems import invalid

RECEIPT: Final = "result"
RECEIPT_SCHEMA: Final = "schema:tallystick-receipt-v1"
NEW_EPOCH: Final = "new_epoch"
"""Why a claim was ended that is of an epoch before this one."""


class _Held(NamedTuple):
    """The claim that speaks, which is the current one, its task, and what bears on that."""

    claim: ClaimRow
    row: TaskRow
    space: SpaceRow
    sight: Sight
    seen: Bearing

    @property
    def said(self) -> dict[str, object]:
        """What the event of its end tells of a claim."""
        return {"claim_ref": self.claim.reference_id, "fence": self.claim.ordinal}


def _current(view: View, admission: Admission) -> tuple[ClaimRow, TaskRow]:
    """Raises Refusal ``stale-lease``, naming who holds the task now."""
    claim, row = admission.claim, admission.task
    assert claim is not None
    assert row is not None
    if not claim.is_current(view):
        raise claims.refuse(view, row, f"this claim is {_ended(claim)}, and its holder stops here")
    return claim, row


def _ended(claim: ClaimRow) -> str:
    return "of an earlier epoch" if claim.state == "running" else claim.state


def _held(tx: Transaction, request: AnyRequest, admission: Admission) -> _Held:
    claim, row = _current(tx, admission)
    space = tx.space_at(row.space)
    assert space is not None
    check_open(space)
    check_revision(request, row.revision, f"task {row.task_id}")
    sight = Sight(tx, admission)
    return _Held(claim, row, space, sight, rows.bearing(tx, sight, row))


def renew(tx: Transaction, _request: Request[TallystickTaskRenewArgs], admission: Admission) -> bytes:
    """``tallystick_task_renew``: the full term from now. Writes nothing."""
    claim, row = _current(tx, admission)
    tx.claim_leases.renew(row.position, claim.term_seconds)
    remaining = int(tx.claim_leases.remaining_seconds(row.position))
    return skeleton.encode({"term_seconds": claim.term_seconds, "remaining_seconds": remaining})


# --- done ---------------------------------------------------------------------------------------------------
def done(tx: Transaction, request: Request[TallystickTaskDoneArgs], admission: Admission) -> Applied:
    """``tallystick_task_done``."""
    args, held = request.args, _held(tx, request, admission)
    refuse_blank("receipt", args.receipt)
    needing = rows.needing(tx, held.row.position)
    receipt = Data(
        kind=RECEIPT,
        schema_ref=RECEIPT_SCHEMA,
        value={"task_id": held.row.task_id, "text": args.receipt},
        text=args.receipt,
        about=(held.row.contribution_id,),
        sources=given(args.source_refs, ()),
        artifacts=given(args.artifact_refs, ()),
        classification=held.row.classification,
    )
    saying, seen = _say(tx, admission, held, receipt)
    rows.end_claim(tx, held.space, held.row, held.claim, "done")
    row = rows.change(tx, held.row, state="done", claim=None, receipt=saying.position)
    unlocked = _unlock(tx, held.sight, needing)
    rows.event(tx, row, saying.space, DONE, {**held.said, "receipt_ref": saying.contribution_id})
    seen = msgspec.structs.replace(seen, receipt=saying.contribution_id, unlocks=())
    result = {
        "task": skeleton.embedded(rows.record(tx, row, saying.space, seen, None)),
        "unlocked": unlocked[: limits.TASKS_UNLOCKED_SHOWN_MAX],
        "unlocked_count": len(unlocked),
    }
    return Applied(result=skeleton.encode(result), revision=saying.space.revision)


def _say(tx: Transaction, admission: Admission, held: _Held, data: Data) -> tuple[Saying, Bearing]:
    """Says something about the task that is a note of it too."""
    saying = say_data(tx, admission, held.space, data)
    tx.insert("task_notes", task=held.row.position, note=saying.position)
    return saying, held.seen.with_note(saying.contribution_id)


def _unlock(tx: Transaction, sight: Sight, needing: Sequence[TaskRow]) -> list[str]:
    """A need of each of these is met; those that became ready, as far as the actor sees them."""
    unlocked: list[str] = []
    for each in needing:
        left = each.unmet - 1
        if left or each.state != "blocked":
            tx.update("tasks", {"position": each.position}, unmet=left)
            continue
        ready = rows.change(tx, each, state="ready", unmet=left)
        space = tx.space_at(ready.space)
        assert space is not None
        rows.wake(tx, space)
        if sight.reaches(ready.space, ready.classification):
            unlocked.append(ready.task_id)
    return unlocked


# --- fail, release ------------------------------------------------------------------------------------------
def fail(tx: Transaction, request: Request[TallystickTaskFailArgs], admission: Admission) -> Applied:
    """``tallystick_task_fail``: ready again while attempts remain, else failed."""
    args, held = request.args, _held(tx, request, admission)
    refuse_blank("text", args.text)
    failed = held.row.failed_attempts + 1
    again = args.retryable and failed < held.row.attempts_max
    failure = note_of(held.row, args.text, "failure", args.source_refs, args.artifact_refs)
    saying, seen = _say(tx, admission, held, failure)
    rows.end_claim(tx, held.space, held.row, held.claim, "failed")
    row = rows.change(tx, held.row, state="ready" if again else "failed", claim=None, failed_attempts=failed)
    said = {"note_ref": saying.contribution_id, "retryable": args.retryable, "failed_attempts": failed}
    rows.event(tx, row, saying.space, FAILED, {**held.said, **said})
    if again:
        rows.wake(tx, saying.space)
    result = rows.record(tx, row, saying.space, seen, None)
    return Applied(result=result, revision=saying.space.revision)


def release(tx: Transaction, request: Request[TallystickTaskReleaseArgs], admission: Admission) -> Applied:
    """``tallystick_task_release``: it counts no attempt."""
    args, held = request.args, _held(tx, request, admission)
    space, seen, said = held.space, held.seen, held.said
    if args.note is not UNSET:
        refuse_blank("note", args.note)
        data = note_of(held.row, args.note, "release", args.source_refs, args.artifact_refs)
        saying, seen = _say(tx, admission, held, data)
        space, said = saying.space, {**said, "note_ref": saying.contribution_id}
    elif given(args.source_refs, ()) or given(args.artifact_refs, ()):
        raise invalid("$.args: references stand beside a note; say in one what they show")
    rows.end_claim(tx, held.space, held.row, held.claim, "released")
    row = rows.change(tx, held.row, state="ready", claim=None)
    rows.event(tx, row, space, RELEASED, said)
    rows.wake(tx, space)
    revision = row.revision if args.note is UNSET else space.revision
    return Applied(result=rows.record(tx, row, space, seen, None), revision=revision)


# --- a new epoch --------------------------------------------------------------------------------------------
def fence_earlier(tx: Transaction) -> bool:
    """Ends some claims of epochs before this one; their tasks are ready. False where there are none left."""
    earlier = claims.of_earlier_epochs(tx, limits.CLAIMS_FENCED_AT_ONCE_MAX)
    for claim in earlier:
        row = claims.task_at(tx, claim.task)
        assert row is not None
        space = tx.space_at(row.space)
        assert space is not None
        rows.end_claim(tx, space, row, claim, "fenced")
        row = rows.change(tx, row, state="ready", claim=None)
        said = {"claim_ref": claim.reference_id, "fence": claim.ordinal, "reason_class": NEW_EPOCH}
        rows.event(tx, row, space, FREED, said)
    return bool(earlier)


FENCE_EARLIER: Final = Step("tallystick_task_new_epoch", fence_earlier)
