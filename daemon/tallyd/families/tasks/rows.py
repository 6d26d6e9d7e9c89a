"""Tasks as they are stored, and their record as it is now.

A task is a contribution of the kind ``goal``, which says it, and a row, which has its state. The row is
``tallyd.ledger.claims``'; which states may follow which stands in ``lifecycle_steps`` and here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from tallyd.admission import Admission
from tallyd.families.shared import objects
from tallyd.ledger import calls, claims, lifecycles, skeleton, times
from tallyd.ledger.calls import Claiming, Hold
from tallyd.ledger.claims import TASK_FIELDS, TASKS, ClaimRow, TaskRow
from tallyd.ledger.lifecycles import Lifecycle
from tallyd.ledger.transaction import Event, Transaction
from tallyd.ledger.view import SpaceRow, Value, View
from tallystick.protocol import limits

KIND: Final = "goal"
TASK_SCHEMA: Final = "schema:tallystick-task-v1"

LIFECYCLE: Final[Lifecycle] = {
    "": frozenset({"ready", "blocked"}),
    "blocked": frozenset({"ready", "canceled"}),
    "ready": frozenset({"blocked", "claimed", "canceled"}),
    "claimed": frozenset({"ready", "done", "failed", "canceled"}),
    "failed": frozenset({"ready", "blocked"}),
    "canceled": frozenset({"ready", "blocked"}),
    "done": frozenset(),
}
CLAIM_LIFECYCLE: Final[Lifecycle] = {
    "": frozenset({"running"}),
    "running": frozenset({"done", "failed", "released", "canceled", "fenced"}),
    **{ended: frozenset[str]() for ended in ("done", "failed", "released", "canceled", "fenced")},
}


class Sight:
    """What one reader sees of a project. It remembers the reader's rights in each space, so it is made anew
    for each command or read.
    """

    def __init__(self, view: View, admission: Admission) -> None:
        self._view = view
        self._admission = admission
        self._spaces: dict[int, SpaceRow | None] = {}
        self._reaches: dict[tuple[int, str], bool] = {}

    def space(self, position: int) -> SpaceRow | None:
        """The space at a position, where the reader sees it."""
        if position not in self._spaces:
            space = self._view.space_at(position)
            seen = space is not None and self._admission.sees(self._view, space)
            self._spaces[position] = space if seen else None
        return self._spaces[position]

    def reaches(self, position: int, classification: str) -> bool:
        """Whether the reader sees the space and may read something of that classification there."""
        found = self._reaches.get((position, classification))
        if found is None:
            space = self.space(position)
            found = space is not None and self._admission.rights(self._view, space).reaches(
                self._view, classification
            )
            self._reaches[position, classification] = found
        return found


class Bearing(msgspec.Struct, frozen=True, kw_only=True):
    """What bears on a task beside its own row, as far as its reader sees it."""

    at_ms: int
    erased: bool = False
    disposed: Sequence[str] = ()
    needs: Sequence[str] = ()
    blocked_by: Sequence[dict[str, str]] = ()
    hidden: int = 0
    unlocks: Sequence[str] = ()
    notes: Sequence[str] = ()
    notes_more: int = 0
    receipt: str | None = None

    def with_note(self, ref: str) -> Bearing:
        """The same with one note more."""
        shown = [*self.notes, ref]
        over = max(0, len(shown) - limits.TASK_NOTES_SHOWN_MAX)
        return msgspec.structs.replace(self, notes=shown[over:], notes_more=self.notes_more + over)


# --- what bears on it ---------------------------------------------------------------------------------------
def bearing(view: View, sight: Sight, row: TaskRow) -> Bearing:
    needs, blocked_by, hidden = _needs(view, sight, row)
    for hold in holds(view, row.position):
        if sight.space(hold.space) is None:
            hidden += 1
        else:
            blocked_by.append({"ref": hold.ref, "state": hold.state})
    notes, more = _notes(view, row)
    disposed = view.all("SELECT kind FROM dispositions WHERE target = ? ORDER BY position", row.position)
    return Bearing(
        at_ms=view.number("SELECT recorded_ms FROM log WHERE position = ?", row.position),
        erased=view.one("SELECT 1 FROM bodies WHERE body = ?", row.body) is None,
        disposed=[str(kind) for (kind,) in disposed],
        needs=needs,
        blocked_by=blocked_by,
        hidden=hidden,
        unlocks=_unlocks(view, sight, row),
        notes=notes,
        notes_more=more,
        receipt=None if row.receipt is None else objects.ref_at(view, row.receipt),
    )


def _needs(view: View, sight: Sight, row: TaskRow) -> tuple[list[str], list[dict[str, str]], int]:
    """Tasks that it needs, those of them that are not done, and how many of the latter are not seen."""
    needs: list[str] = []
    blocked_by: list[dict[str, str]] = []
    hidden = 0
    for needed in needed_by(view, row.position):
        unmet = needed.state != "done"
        if not sight.reaches(needed.space, needed.classification):
            hidden += unmet
            continue
        needs.append(needed.task_id)
        if unmet:
            blocked_by.append({"ref": needed.task_id, "state": needed.state})
    return needs, blocked_by, hidden


def needed_by(view: View, position: int) -> list[TaskRow]:
    """The tasks that a task needs, in the order in which they were created."""
    rows = view.all(
        TASKS + "JOIN task_needs AS n ON n.needs = t.position WHERE n.task = ? ORDER BY n.needs", position
    )
    return [of(values) for values in rows]


def needing(view: View, position: int) -> list[TaskRow]:
    """The tasks that need a task, in the order in which they were created."""
    rows = view.all(
        TASKS + "JOIN task_needs AS n ON n.task = t.position WHERE n.needs = ? ORDER BY n.task", position
    )
    return [of(values) for values in rows]


def of(values: Sequence[Any]) -> TaskRow:
    """A row of ``TASKS``."""
    return TaskRow(*values)


def _unlocks(view: View, sight: Sight, row: TaskRow) -> list[str]:
    if row.state == "done":
        return []
    seen = [each for each in needing(view, row.position) if sight.reaches(each.space, each.classification)]
    return [each.task_id for each in seen[: limits.TASKS_UNLOCKED_SHOWN_MAX]]


def _notes(view: View, row: TaskRow) -> tuple[list[str], int]:
    newest = view.all(
        "SELECT log.resource FROM task_notes AS n JOIN log ON log.position = n.note WHERE n.task = ? "
        "ORDER BY n.note DESC LIMIT ?",
        row.position,
        limits.TASK_NOTES_SHOWN_MAX,
    )
    notes = [str(ref) for (ref,) in reversed(newest)]
    if len(notes) < limits.TASK_NOTES_SHOWN_MAX:
        return notes, 0
    count = view.number("SELECT count(*) FROM task_notes WHERE task = ?", row.position)
    return notes, count - len(notes)


def holds(view: View, position: int) -> list[Hold]:
    """What holds a task beside its needs, by whatever family."""
    return [hold for held in calls.of(view).holds for hold in held(view, position)]


# --- its record ---------------------------------------------------------------------------------------------
def record(
    view: View, row: TaskRow, space: SpaceRow, seen: Bearing, claim: dict[str, object] | None
) -> bytes:
    """Skeleton of a task's record."""
    view.note(row.classification, row.task_id)
    said: dict[str, object] = {
        "task_id": row.task_id,
        "contribution_ref": row.contribution_id,
        "project_id": view.resource_at(space.project),
        "space_id": space.space_id,
        "state": row.state,
        "revision": row.revision,
        "title": skeleton.place(skeleton.MEMBER, f"{row.body}.title"),
        "brief": skeleton.place(skeleton.MEMBER, f"{row.body}.brief"),
        "priority": row.priority,
        "needs": seen.needs,
        "labels": skeleton.embedded(row.labels.encode()),
        "reserve": bool(row.reserve),
        "attempts_max": row.attempts_max,
        "failed_attempts": row.failed_attempts,
        "lapses": row.lapses if row.state == "claimed" else 0,  # in a row: an end ends the row
        "classification_ref": row.classification,
        "by": row.creator,
        "at": times.rfc3339(seen.at_ms),
        "erased": seen.erased,
        "blocked_by": seen.blocked_by,
        "hidden": seen.hidden,
        "unlocks": seen.unlocks,
        "notes": seen.notes,
        "notes_more": seen.notes_more,
        **_optional(row, seen),
    }
    if claim is not None:
        said["claim"] = claim
    return skeleton.encode(said)


def _optional(row: TaskRow, seen: Bearing) -> dict[str, object]:
    """The members that are left out where there is nothing to say."""
    said: dict[str, object] = {}
    if row.assignee:
        said["assignee"] = row.assignee
    if row.repository:
        said["repository"] = row.repository
    if row.paths != "[]":
        said["paths"] = skeleton.embedded(row.paths.encode())
    if seen.disposed:
        said["disposed"] = seen.disposed
    if seen.receipt is not None:
        said["receipt_ref"] = seen.receipt
    return said


def record_now(view: View, sight: Sight, row: TaskRow, space: SpaceRow) -> bytes:
    """The same, with all that has to be looked up for it."""
    holder = claims.held(view, row)
    return record(
        view, row, space, bearing(view, sight, row), None if holder is None else claims.record(view, holder)
    )


# --- its row ------------------------------------------------------------------------------------------------
def insert(tx: Transaction, row: TaskRow) -> None:
    lifecycles.change(LIFECYCLE, "", row.state)
    tx.insert("tasks", **{name: getattr(row, name) for name in TASK_FIELDS})


def change(tx: Transaction, row: TaskRow, **columns: Value) -> TaskRow:
    """Changes a task's row, which gets the next revision."""
    state = columns.get("state")
    if state == row.state:
        del columns["state"]
    elif state is not None:
        lifecycles.change(LIFECYCLE, row.state, str(state))
    columns["revision"] = row.revision + 1
    tx.update("tasks", {"position": row.position}, **columns)
    return msgspec.structs.replace(row, **columns)


def event(
    tx: Transaction, row: TaskRow, space: SpaceRow, type_: str, said: dict[str, object] | None = None
) -> None:
    """Tells what became of a task, in its space: ids, labels and closed words alone."""
    payload = {
        "task_id": row.task_id,
        "contribution_ref": row.contribution_id,
        "space_id": space.space_id,
        "state": row.state,
        "revision": row.revision,
        **(said or {}),
    }
    tx.emit(
        Event(
            event_id=tx.new_id(),
            type=type_,
            schema_ref=TASK_SCHEMA,
            resource=row.task_id,
            resource_revision=row.revision,
            stream=space.position,
            project=space.project,
            classification=row.classification,
            payload=skeleton.encode(payload),
        )
    )


def end_claim(tx: Transaction, space: SpaceRow, row: TaskRow, claim: ClaimRow, state: str) -> None:
    """The claim may do nothing more, what it had taken is free, and its lease ends with this command."""
    lifecycles.change(CLAIM_LIFECYCLE, claim.state, state)
    key: dict[str, Value] = {"task": claim.task, "ordinal": claim.ordinal}
    tx.update("task_claims", key, state=state, ending=tx.position)
    for ended in calls.of(tx).claim_ended:
        ended(tx, Claiming(space, row, claim.ordinal))
    tx.lease_changes.append(lambda: tx.claim_leases.end(claim.task))


def wake(tx: Transaction, space: SpaceRow) -> None:
    """Whoever waits for a task, of this space or of the project, may find one."""
    tx.wake(space.space_id)
    tx.wake(tx.resource_at(space.project))
