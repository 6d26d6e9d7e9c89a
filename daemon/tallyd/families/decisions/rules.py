"""What a decision meets when it comes to stand, and what becomes of it when it falls.

A decision meets each one that stands in its space, where it reaches, if that has its key and another value
and neither narrows the other, or if one of the two excludes the other. Each such pair is a conflict, which
lasts until one of the two no longer stands. Nothing is refused for a conflict: it is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from tallyd.families.decisions import rows
from tallyd.families.decisions.rows import DecisionRow, folded
from tallyd.ledger.calls import Disposal
from tallyd.ledger.transaction import Transaction
from tallyd.ledger.view import SpaceRow, View
from tallystick.protocol import limits, places
from tallystick.protocol.places import Place
from tallystick.protocol.problems import forbidden, stale_revision

SAME_KEY: Final = "same_key"
EXCLUDED: Final = "excluded"


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that is to stand. ``excludes`` are keys, each with the value that it rules out, or None for
    any; ``passes_over`` are the positions of what falls to it.
    """

    key: str
    value: str
    place: Place
    narrows: frozenset[int]
    excludes: Sequence[tuple[str, str | None]]
    passes_over: frozenset[int]


class Met(msgspec.Struct, frozen=True):
    """What a candidate meets: conflicts, by the other's position, and how many agree with it."""

    conflicts: dict[int, str]
    agreeing: int


def meets(view: View, space: SpaceRow, new: Candidate) -> Met:
    """Raises Refusal ``stale-revision`` where there is too much to compare with."""
    conflicts: dict[int, str] = {}
    agreeing = compared = 0
    same = rows.standing_of_key(view, space.position, new.key)
    if len(same) >= limits.DECISIONS_OF_KEY_ITEMS_MAX:
        raise _too_many(space, f"{len(same)} decisions stand for {new.key}")
    for other in _reached(same, new):
        compared = _counted(space, new, compared)
        content = rows.said(view, other)
        if content is None:
            if other.is_signed:
                conflicts[other.position] = SAME_KEY
        elif folded(content["value"]) == folded(new.value):
            agreeing += 1
        elif other.position not in new.narrows:
            conflicts[other.position] = SAME_KEY
    for other, value in _excluded(view, space, new):
        compared = _counted(space, new, compared)
        content = rows.said(view, other)
        if content is not None and (value is None or folded(value) == folded(content["value"])):
            conflicts.setdefault(other.position, EXCLUDED)
    for other in _excluding(view, space, new):
        compared = _counted(space, new, compared)
        content = rows.said(view, other)
        if content is not None and _rules_out(content["excludes"], new):
            conflicts.setdefault(other.position, EXCLUDED)
    return Met(conflicts, agreeing)


def _reached(found: Sequence[DecisionRow], new: Candidate) -> Iterator[DecisionRow]:
    for other in found:
        if other.position not in new.passes_over and places.overlap(other.place, new.place):
            yield other


def _excluded(view: View, space: SpaceRow, new: Candidate) -> Iterator[tuple[DecisionRow, str | None]]:
    """What stands of the keys that it rules out."""
    for key, value in new.excludes:
        for other in _reached(rows.standing_of_key(view, space.position, key), new):
            yield other, value


def _excluding(view: View, space: SpaceRow, new: Candidate) -> Iterator[DecisionRow]:
    """What stands and rules out its key."""
    found = view.all(
        rows.SELECT + "JOIN decision_exclusions AS e ON e.decision = d.position "
        'WHERE e.space = ? AND e."key" = ? ORDER BY d.position',
        space.position,
        new.key,
    )
    return _reached([rows.of(values) for values in found], new)


def _rules_out(excludes: Sequence[dict[str, str]], new: Candidate) -> bool:
    return any(
        each["key"] == new.key and ("value" not in each or folded(each["value"]) == folded(new.value))
        for each in excludes
    )


def _counted(space: SpaceRow, new: Candidate, compared: int) -> int:
    if compared >= limits.DECISIONS_COMPARED_ITEMS_MAX:
        raise _too_many(space, f"more than {compared} decisions bear on {new.key} there")
    return compared + 1


def _too_many(space: SpaceRow, why: str) -> Exception:
    return stale_revision(space.revision, f"{why} in space {space.space_id}; settle some of them first")


# --- standing and falling -----------------------------------------------------------------------------------
def stand(tx: Transaction, row: DecisionRow, excluded_keys: Sequence[str], met: Met) -> None:
    """Writes what stands with a decision. The conflicts' event is the next that the command emits."""
    place = row.place
    if place != Place("", ()):
        for node in place.nodes or (places.ROOT,):
            tx.insert(
                "decision_places",
                space=row.space,
                repository=row.repository,
                node=node,
                decision=row.position,
            )
    for key in dict.fromkeys(excluded_keys):
        tx.insert("decision_exclusions", space=row.space, key=key, decision=row.position)
    for other, cause in met.conflicts.items():
        a, b = sorted((other, row.position))
        tx.insert("decision_conflicts", a=a, b=b, cause=cause, opened=tx.event_position, ended=None)


def disposed(tx: Transaction, disposal: Disposal) -> None:
    """A contribution was withdrawn, superseded or redacted: a decision that it was falls, or binds nobody.
    Raises Refusal ``forbidden`` for what was ratified by signature, which falls to a ratified one alone.
    """
    row = rows.decision_at(tx, disposal.target)
    if row is None:
        return
    if disposal.kind == "redacted":
        if not row.is_signed:
            _unbind(tx, row, disposal.position)
        return
    if row.is_signed and row.state == "standing":
        raise forbidden(
            f"{row.decision_id} was ratified by signature: it falls to a decision that is ratified at its "
            f"rank or above; record one that supersedes it, and open the gate {rows.GATE} for it"
        )
    if row.state in ("proposed", "standing"):
        _unbind(tx, row, disposal.position)
        tx.update("decisions", {"position": row.position}, state=disposal.kind, revision=row.revision + 1)


def _unbind(tx: Transaction, row: DecisionRow, position: int) -> None:
    """Takes away what stands with a decision, and ends its conflicts."""
    if row.state != "standing":
        return
    if row.place != Place("", ()):
        for node in row.place.nodes or (places.ROOT,):
            tx.delete(
                "decision_places",
                space=row.space,
                repository=row.repository,
                node=node,
                decision=row.position,
            )
    for key in dict.fromkeys(rows.labels_of(tx, row).excludes):
        tx.delete("decision_exclusions", space=row.space, key=key, decision=row.position)
    for other in rows.contesting(tx, row.position):
        a, b = sorted((other, row.position))
        tx.update("decision_conflicts", {"a": a, "b": b}, ended=position)
