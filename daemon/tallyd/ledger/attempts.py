"""Invocations and their attempts, as rows, and the look-ups that admission and the operations share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from tallyd.ledger import ids
from tallyd.ledger.view import SpaceRow, View

ENDED_STATES: Final = frozenset({"succeeded", "failed", "canceled"})


class InvocationRow(msgspec.Struct, frozen=True):
    """A row of ``invocations``, its fields in the table's order."""

    position: int
    id: bytes
    project: int
    space: int | None
    assembly: int | None
    deployment_id: str
    state: str
    revision: int
    not_before_ms: int
    deadline_ms: int
    max_attempts: int
    failed_attempts: int
    terminal_ms: int | None
    record: bytes
    lapsed_attempts: int
    """How many attempts were fenced by a claim after their lease had run out."""

    @property
    def invocation_id(self) -> str:
        return ids.text("inv", self.id)

    @property
    def author(self) -> str:
        """The actor that its workers' events name."""
        return f"asstdep-{self.deployment_id}"


class AttemptRow(msgspec.Struct, frozen=True):
    """A row of ``attempts``, its fields in the table's order."""

    invocation: int
    ordinal: int
    id_hash: bytes
    reference: bytes
    state: str
    channel_actor: str
    epoch: int
    term_seconds: int
    claim: int
    ending: int | None

    @property
    def fence(self) -> int:
        """The fence of an attempt is its ordinal: a later claim has a greater one."""
        return self.ordinal


_INVOCATION: Final = f"SELECT {', '.join(InvocationRow.__struct_fields__)} FROM invocations "
_ATTEMPT: Final = f"SELECT {', '.join(AttemptRow.__struct_fields__)} FROM attempts "


def invocation(view: View, invocation_id: str) -> InvocationRow | None:
    """The invocation of that id, or None."""
    position = view.position_of("inv", invocation_id)
    return None if position is None else invocation_at(view, position)


def invocation_at(view: View, position: int) -> InvocationRow | None:
    row = view.db.execute(_INVOCATION + "WHERE position = ?", (position,)).fetchone()
    return None if row is None else InvocationRow(*row)


def space_of(view: View, row: InvocationRow) -> SpaceRow | None:
    """The space that an invocation is about: its own, else that of the assembly that it hands over, else
    none.
    """
    position: int | None = row.space
    if position is None and row.assembly is not None:
        position = view.number("SELECT space FROM assemblies WHERE position = ?", row.assembly)
    return None if position is None else view.space_at(position)


def by_secret(view: View, attempt_id: str) -> AttemptRow | None:
    """The attempt of that secret id, looked up by its SHA-256."""
    id_hash = hashlib.sha256(attempt_id.encode()).digest()
    row = view.db.execute(_ATTEMPT + "WHERE id_hash = ?", (id_hash,)).fetchone()
    return None if row is None else AttemptRow(*row)


def latest(view: View, invocation_position: int) -> AttemptRow | None:
    """The invocation's last attempt, or None before the first."""
    row = view.db.execute(
        _ATTEMPT + "WHERE invocation = ? ORDER BY ordinal DESC LIMIT 1", (invocation_position,)
    ).fetchone()
    return None if row is None else AttemptRow(*row)


def unended(view: View, deployments: Sequence[str]) -> Iterator[InvocationRow]:
    """Invocations of these deployments that are queued or held by an attempt, the oldest first."""
    marks = ", ".join("?" * len(deployments))
    rows = view.db.execute(
        _INVOCATION
        + f"WHERE deployment_id IN ({marks}) AND state IN ('queued', 'running') ORDER BY position",
        tuple(deployments),
    )
    for row in rows:
        yield InvocationRow(*row)


def running(view: View) -> list[AttemptRow]:
    """Every attempt of this epoch that has not ended. At start their leases begin anew."""
    rows = view.db.execute(_ATTEMPT + "WHERE state = 'running' AND epoch = ?", (view.epoch,))
    return [AttemptRow(*row) for row in rows]


def is_current(view: View, attempt: AttemptRow, fence: int) -> bool:
    """Whether an attempt may act: it is running, is of this epoch, and has sent its own fence."""
    return attempt.state == "running" and attempt.fence == fence and attempt.epoch == view.epoch
