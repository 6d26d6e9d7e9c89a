"""Invocations that nobody will end: the daemon does.

Two things end an invocation without its worker. Its deadline passes. Or its attempts lapse, which means that
a worker took it and was never heard of again: after ``INVOCATION_LAPSED_ATTEMPTS_MAX`` of them the next one
would be no better. Either way it is ``failed``, with an event that says why (``reason_class``), and an
attempt that still runs is over with it.

What is not promised is the moment. The daemon looks every ``_LOOK_SECONDS``; until then an invocation whose
deadline has passed is still ``queued`` or ``running``, and cannot be claimed or worked on all the same.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tallyd.families import invocations
from tallyd.families.shared.family import Errand
from tallyd.ledger import attempts, ids
from tallyd.ledger.attempts import AttemptRow, InvocationRow
from tallyd.ledger.transaction import Transaction
from tallyd.ledger.view import View
from tallystick.protocol import limits

DEADLINE_PASSED: Final = "deadline_passed"
LAPSED: Final = "lapsed"
FAILED: Final = "dev.tallystick.invocation.failed.v1"

_LOOK_SECONDS: Final = 2.0
"""A look is two searches in an index."""
_ENDED_AT_ONCE_MAX: Final = 64
"""Invocations that one command ends, so that a thousand deadlines of one moment hold nobody up."""


class Due(msgspec.Struct, frozen=True):
    """Invocations, by their positions: whose deadline has passed, and whose next lapse is the last one."""

    late: tuple[int, ...]
    lapsing: tuple[int, ...]


def lapses_end(row: InvocationRow, previous: AttemptRow | None) -> bool:
    """Whether the lapse of this running attempt is the last one that the invocation may have."""
    running = previous is not None and previous.state == "running"
    return running and row.lapsed_attempts + 1 >= limits.INVOCATION_LAPSED_ATTEMPTS_MAX


def look(view: View) -> Due | None:
    """What may be due. Leases are the clerk's: which attempts have lapsed is seen there."""
    late = view.db.execute(
        "SELECT position FROM invocations WHERE state IN ('queued', 'running') AND deadline_ms < ?"
        f" ORDER BY deadline_ms LIMIT {_ENDED_AT_ONCE_MAX}",
        (view.wall_ms(),),
    )
    lapsing = view.db.execute(
        "SELECT position FROM invocations WHERE state = 'running' AND lapsed_attempts >= ?",
        (limits.INVOCATION_LAPSED_ATTEMPTS_MAX - 1,),
    )
    due = Due(tuple(int(str(row[0])) for row in late), tuple(int(str(row[0])) for row in lapsing))
    return due if due.late or due.lapsing else None


def end(due: Due, tx: Transaction) -> bool:
    """The system command. False where nothing of it was due after all."""
    ended = [_end(tx, position, DEADLINE_PASSED) for position in due.late]
    ended += [_end(tx, position, LAPSED) for position in due.lapsing]
    return any(ended)


def _end(tx: Transaction, position: int, why: str) -> bool:
    row = attempts.invocation_at(tx, position)
    if row is None or row.state not in ("queued", "running"):
        return False
    attempt = attempts.latest(tx, position)
    if why == LAPSED:
        if attempt is None or not lapses_end(row, attempt) or tx.leases.live(position):
            return False
    elif tx.now_ms <= row.deadline_ms:
        return False
    payload: dict[str, object] = {"reason_class": why, "retryable": False, "reason": None}
    columns: dict[str, int | str | None] = {"state": "failed", "terminal_ms": tx.now_ms}
    if attempt is not None and attempt.state == "running":
        payload |= {"attempt_ref": ids.text("invatt", attempt.reference), "fence_epoch": attempt.fence}
        invocations.end_attempt(tx, attempt, "fenced" if why == LAPSED else "failed")
        columns["lapsed_attempts"] = row.lapsed_attempts + (why == LAPSED)
    row = invocations.change(tx, row, **columns)
    tx.emit(invocations.event(tx, row, FAILED, payload))
    return True


OVERDUE: Final = Errand(
    name="tallystick_invocation_overdue", look=look, command=end, every_seconds=_LOOK_SECONDS
)
