"""What an actor may see and do in a space: participants, grants, ceilings.

The owner may do everything, everywhere. Anybody else gets rights in a space from two sources, and has the
rights of both:

=========================== ==================== ======================================================
source                      while                gives
=========================== ==================== ======================================================
participant, observer       active or muted      reading
participant, contributor    active               reading, writing
participant, steward        active               reading, writing, stewardship
participant, any role       muted                reading
grant                       active, not expired  what its actions say: ``read``, ``contribute``, ``steward``,
                                                 or the name of an operation, which implies reading
=========================== ==================== ======================================================

A space of visibility ``project`` may be read by whoever has rights in any space of its project; a restricted
one only by whoever has rights in it. A proposed or revoked participant has none. A grant gives reading up to
the grant's ceiling, a participation up to the agent's.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tallyd.ledger.view import SpaceRow, View
from tallystick.protocol.registry import OPERATIONS

READ: Final = "read"
CONTRIBUTE: Final = "contribute"
STEWARD: Final = "steward"

ACTIONS: Final = frozenset(operation.name for operation in OPERATIONS) | {READ, CONTRIBUTE, STEWARD}
"""What a grant can allow. Other words, which an earlier version took, allow nothing."""

_WRITERS: Final = frozenset({"contributor", "steward"})


class Rights(msgspec.Struct, frozen=True):
    """What one actor may do in one space."""

    reads: bool
    writes: bool
    stewards: bool
    actions: frozenset[str]
    """Operations that a grant names."""
    ceilings: tuple[str | None, ...]
    """One for each source of reading. The highest counts; None means no ceiling."""

    def may(self, operation: str) -> bool:
        """Whether the actor may do an operation that writes here."""
        return self.writes or operation in self.actions

    def reaches(self, view: View, classification: str) -> bool:
        """Whether the actor may read something of that classification here."""
        return any(view.orders.reaches(ceiling, classification) for ceiling in self.ceilings)


NOTHING: Final = Rights(False, False, False, frozenset(), ())
EVERYTHING: Final = Rights(True, True, True, frozenset(), (None,))


def rights(view: View, actor: str, ceiling: str | None, space: SpaceRow) -> Rights:
    """The rights of an actor, other than the owner, in a space."""
    own = _participation(view, actor, ceiling, space)
    granted = _grants(view, actor, space)
    ceilings = (*(own.ceilings if own.reads else ()), *(granted.ceilings if granted.reads else ()))
    reads = own.reads or granted.reads
    if not reads and space.visibility == "project" and is_member(view, actor, space.project):
        reads, ceilings = True, (ceiling,)
    return Rights(
        reads=reads,
        writes=own.writes or granted.writes,
        stewards=own.stewards or granted.stewards,
        actions=granted.actions,
        ceilings=ceilings,
    )


def _participation(view: View, actor: str, ceiling: str | None, space: SpaceRow) -> Rights:
    row = view.db.execute(
        "SELECT role, status FROM participants WHERE subject_ref = ? AND space = ?", (actor, space.position)
    ).fetchone()
    if row is None or row[1] not in ("active", "muted"):
        return NOTHING
    active = row[1] == "active"
    writes = active and row[0] in _WRITERS
    return Rights(True, writes, active and row[0] == "steward", frozenset(), (ceiling,))


def _grants(view: View, actor: str, space: SpaceRow) -> Rights:
    now = view.wall_ms()
    actions: set[str] = set()
    ceilings: list[str | None] = []
    rows = view.db.execute(
        "SELECT allowed_actions, ceiling_ref FROM grants WHERE subject_ref = ? AND space = ? AND status = "
        "'active' "
        "AND (expires_ms IS NULL OR expires_ms > ?)",
        (actor, space.position, now),
    )
    for allowed, ceiling in rows:
        known = _allowed(allowed)
        if known:
            actions |= known
            ceilings.append(ceiling)
    return Rights(
        reads=bool(actions),
        writes=bool(actions & {CONTRIBUTE, STEWARD}),
        stewards=STEWARD in actions,
        actions=frozenset(actions - {READ, CONTRIBUTE, STEWARD}),
        ceilings=tuple(ceilings),
    )


def writes_somewhere(
    view: View, actor: str, ceiling: str | None, operation: str, project: int | None
) -> bool:
    """Whether an actor may do an operation that writes in some space of a project; with None, of any."""
    found = view.all(
        "SELECT s.position FROM spaces AS s WHERE (?2 IS NULL OR s.project = ?2) AND s.position IN "
        "(SELECT space FROM participants WHERE subject_ref = ?1 "
        "UNION SELECT space FROM grants WHERE subject_ref = ?1)",
        actor,
        project,
    )
    for (position,) in found:
        space = view.space_at(int(str(position)))
        if space is not None and rights(view, actor, ceiling, space).may(operation):
            return True
    return False


def is_member(view: View, actor: str, project: int) -> bool:
    """Whether an actor has rights in any space of a project. Whoever has none does not see the project."""
    participates = view.one(
        "SELECT 1 FROM participants AS p JOIN spaces AS s ON s.position = p.space "
        "WHERE p.subject_ref = ? AND s.project = ? AND p.status IN ('active', 'muted') LIMIT 1",
        actor,
        project,
    )
    if participates is not None:
        return True
    granted = view.all(
        "SELECT g.allowed_actions FROM grants AS g JOIN spaces AS s ON s.position = g.space "
        "WHERE g.subject_ref = ? AND s.project = ? AND g.status = 'active' "
        "AND (g.expires_ms IS NULL OR g.expires_ms > ?)",
        actor,
        project,
        view.wall_ms(),
    )
    return any(_allowed(str(actions)) for (actions,) in granted)


def _allowed(actions: str) -> frozenset[str]:
    """What of a grant's words allows anything."""
    return ACTIONS.intersection(msgspec.json.decode(actions, type=list[str]))
