"""Tasks and the claims on them, as rows, and the look-ups that admission and the operations share.

A claim is to a task what an attempt is to an invocation: its id is derived from a key and never stored, its
ordinal is its fence, and its lease is in memory alone (``View.claim_leases``).
"""

from __future__ import annotations

import hashlib
import math
from typing import Final

import msgspec

from tallyd.ledger import ids, times
from tallyd.ledger.log import LogRow
from tallyd.ledger.view import View
from tallystick.protocol.problems import EXT_HOLDER, Refusal, stale_lease

CLAIMED: Final = "dev.tallystick.task.claimed.v1"
"""What a claim tells."""


class TaskRow(msgspec.Struct, frozen=True):
    """A row of ``tasks``, its fields in the table's order; then what its contribution's row says."""

    position: int
    id: bytes
    space: int
    creator: str
    state: str
    revision: int
    unmet: int
    priority: int
    assignee: str
    repository: str
    paths: str
    reserve: int
    labels: str
    attempts_max: int
    failed_attempts: int
    lapses: int
    claim: int | None
    receipt: int | None
    classification: str
    body: int

    @property
    def task_id(self) -> str:
        return ids.text("task", self.id)

    @property
    def contribution_id(self) -> str:
        """A task has the digits of the contribution that says it."""
        return ids.text("contrib", self.id)


class ClaimRow(msgspec.Struct, frozen=True):
    """A row of ``task_claims``, its fields in the table's order."""

    task: int
    ordinal: int
    id_hash: bytes
    reference: bytes
    state: str
    actor: str
    label: str | None
    epoch: int
    term_seconds: int
    claimed: int
    ending: int | None

    @property
    def reference_id(self) -> str:
        """What everybody may know of a claim."""
        return ids.text("tclm", self.reference)

    def is_current(self, view: View) -> bool:
        """Whether it may act: nobody ended it or took it over, and it is of this epoch. Its lease may have
        run out.
        """
        return self.state == "running" and self.epoch == view.epoch


TASK_FIELDS: Final = TaskRow.__struct_fields__[:-2]
"""The columns of ``tasks``."""
TASKS: Final = (
    f"SELECT {', '.join(f't.{name}' for name in TASK_FIELDS)}, c.classification, c.body "
    "FROM tasks AS t JOIN contributions AS c ON c.position = t.position "
)
_CLAIMS: Final = f"SELECT {', '.join(ClaimRow.__struct_fields__)} FROM task_claims "


def task(view: View, task_id: str) -> TaskRow | None:
    """The task of that id, in whatever project, or None."""
    position = view.position_of("task", task_id)
    return None if position is None else task_at(view, position)


def task_at(view: View, position: int) -> TaskRow | None:
    row = view.db.execute(TASKS + "WHERE t.position = ?", (position,)).fetchone()
    return None if row is None else TaskRow(*row)


def by_secret(view: View, claim_id: str) -> ClaimRow | None:
    """The claim of that secret id, looked up by its SHA-256."""
    return _claim(view, "WHERE id_hash = ?", hash_of(claim_id))


def hash_of(claim_id: str) -> bytes:
    return hashlib.sha256(claim_id.encode()).digest()


def latest(view: View, task_position: int) -> ClaimRow | None:
    """The task's last claim, or None before the first."""
    return _claim(view, "WHERE task = ? ORDER BY ordinal DESC LIMIT 1", task_position)


def held(view: View, row: TaskRow) -> ClaimRow | None:
    """The claim that holds a task; None where none does."""
    return None if row.claim is None else at(view, row.position, row.claim)


def at(view: View, task_position: int, ordinal: int) -> ClaimRow:
    found = _claim(view, "WHERE task = ? AND ordinal = ?", task_position, ordinal)
    assert found is not None, "a task names a claim that is not there"
    return found


def made_by(view: View, first: LogRow) -> ClaimRow | None:
    """The claim that the command of a row made; None where it made none."""
    if first.type != CLAIMED or first.resource is None:
        return None
    position = view.position_of("task", first.resource)
    return _claim(view, "WHERE task = ? AND claimed = ?", position, first.position)


def running(view: View) -> list[ClaimRow]:
    """Every claim of this epoch that has not ended. At start their leases begin anew."""
    rows = view.db.execute(_CLAIMS + "WHERE state = 'running' AND epoch = ?", (view.epoch,))
    return [ClaimRow(*row) for row in rows]


def of_earlier_epochs(view: View, limit: int) -> list[ClaimRow]:
    """Claims that a new epoch has still to end."""
    rows = view.db.execute(_CLAIMS + "WHERE state = 'running' AND epoch < ? LIMIT ?", (view.epoch, limit))
    return [ClaimRow(*row) for row in rows]


def of_actor(view: View, actor: str) -> int:
    """How many tasks an actor holds."""
    return view.number("SELECT count(*) FROM task_claims WHERE state = 'running' AND actor = ?", actor)


def _claim(view: View, where: str, *values: int | bytes | None) -> ClaimRow | None:
    row = view.db.execute(_CLAIMS + where, values).fetchone()
    return None if row is None else ClaimRow(*row)


# --- who holds it, in words and members ---------------------------------------------------------------------
def since(view: View, claim: ClaimRow) -> str:
    """When a claim was made."""
    return times.rfc3339(view.number("SELECT recorded_ms FROM log WHERE position = ?", claim.claimed))


def lease(view: View, claim: ClaimRow) -> dict[str, object]:
    """What is left of a claim's lease, in whole seconds; or, where nothing is, when its holder was last heard
    of.
    """
    remaining = view.claim_leases.remaining_seconds(claim.task)
    if remaining > 0.0:
        return {"remaining_seconds": math.ceil(remaining)}
    return {"silent_since": silent_since(view, claim)}


def silent_since(view: View, claim: ClaimRow) -> str:
    """When the holder of a claim was last heard of. Of one that was never heard of in this run of the daemon,
    when it made the claim.
    """
    seconds = view.claim_leases.heard_seconds_ago(claim.task)
    if seconds is None:
        return since(view, claim)
    return times.rfc3339(view.wall_ms() - int(seconds * 1000))


def record(view: View, claim: ClaimRow) -> dict[str, object]:
    """A claim as whoever sees its task may know it."""
    said: dict[str, object] = {
        "claim_ref": claim.reference_id,
        "actor": claim.actor,
        "fence": claim.ordinal,
        "since": since(view, claim),
        **lease(view, claim),
    }
    if claim.label is not None:
        said["label"] = claim.label
    return said


def refuse(view: View, row: TaskRow, what: str) -> Refusal:
    """Why a claim is not to be had or no longer good: ``what``, and who holds the task now."""
    holder = held(view, row)
    if holder is None:
        return stale_lease(f"{what}; task {row.task_id} is {row.state}, and nobody holds it")
    left = lease(view, holder)
    seconds = left.get("remaining_seconds", 0)
    how = (
        f"for {seconds} s more unless it renews"
        if seconds
        else f"and was last heard of {left['silent_since']}"
    )
    named = holder.actor if holder.label is None else f"{holder.actor} ({holder.label})"
    ext = {
        "actor": holder.actor,
        "label": holder.label,
        "fence": holder.ordinal,
        "since": since(view, holder),
        "remaining_seconds": seconds,
    }
    return stale_lease(
        f"{what}; {named} holds task {row.task_id}, fence {holder.ordinal}, {how}", {EXT_HOLDER: ext}
    )
