"""Gates as they are stored, and their record."""

from __future__ import annotations

from typing import Final

import msgspec

from tallyd.ledger import ids, skeleton, times
from tallyd.ledger.view import SpaceRow, View
from tallystick.protocol.statements import RANKS, Strength

PREFIX: Final = "gate"
ACTIVE: Final = "active"
SIGNED: Final = RANKS["ssh"]
"""From this rank on a verdict is signed."""
STRENGTHS: Final[dict[int, Strength]] = {rank: strength for strength, rank in RANKS.items()}


class Deciders(msgspec.Struct, frozen=True):
    """Whose verdicts count; the ids sorted, each once."""

    owner: bool
    agents: tuple[str, ...]
    signers: tuple[str, ...]


class Rules(msgspec.Struct, frozen=True):
    """What a gate asks for. ``rank`` is that of the weakest verdict that counts."""

    rank: int
    quorum: int
    deciders: Deciders
    term_seconds: int
    rounds_max: int


class GateRow(msgspec.Struct, frozen=True):
    """A row of ``gates``, its fields in the table's order."""

    position: int
    id: bytes
    space: int
    name: str
    revision: int
    rank: int
    quorum: int
    deciders: str
    term_seconds: int
    rounds_max: int
    last_event: int
    state: str

    @property
    def gate_id(self) -> str:
        return ids.text(PREFIX, self.id)

    @property
    def rules(self) -> Rules:
        deciders = msgspec.json.decode(self.deciders, type=Deciders)
        return Rules(self.rank, self.quorum, deciders, self.term_seconds, self.rounds_max)


COLUMNS: Final = ", ".join(GateRow.__struct_fields__)
SELECT: Final = f"SELECT {COLUMNS} FROM gates "


def named(view: View, space: SpaceRow, name: str) -> GateRow | None:
    """The gate of that name in a space, retired or not."""
    row = view.db.execute(SELECT + "WHERE space = ? AND name = ?", (space.position, name)).fetchone()
    return None if row is None else GateRow(*row)


def stored(deciders: Deciders) -> str:
    """Deciders as canonical JSON, by which the tables' own rules find them."""
    return skeleton.encode(deciders).decode()


def last_leaf(view: View, row: GateRow) -> str:
    """The leaf of the newest event about a gate."""
    return view.log_row(row.last_event).leaf.hex()


def record(
    view: View, space: SpaceRow, row: GateRow, by: str, defined_ms: int, leaf: str | None = None
) -> bytes:
    """A gate's record. ``by`` and ``defined_ms`` are of its first definition."""
    rules = row.rules
    said: dict[str, object] = {
        "gate_id": row.gate_id,
        "project_id": view.resource_at(space.project),
        "space_id": space.space_id,
        "name": row.name,
        "revision": row.revision,
        "state": row.state,
        "minimum": STRENGTHS[rules.rank],
        "quorum": rules.quorum,
        "deciders": rules.deciders,
        "term_seconds": rules.term_seconds,
        "rounds_max": rules.rounds_max,
        "by": by,
        "at": times.rfc3339(defined_ms),
    }
    if leaf is not None:
        said["last_leaf"] = leaf
    return skeleton.encode(said)
