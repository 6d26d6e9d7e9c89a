"""What a lens shows: its kind, narrowed by its query, in the order of its sort.

The grammar is ``tallystick.protocol.lens_grammar``; here it is evaluated. Nothing of a query becomes part of
an SQL text: its words are bound as values.

What is shown is found by the space's stream and sequence, as a list of contributions is. A snapshot fixes it:
contributions, relations and dispositions that were made later are not looked at. What a reader's ceiling does
not reach is not there for them, be it a contribution or a relation on its card.

A card holds every relation of its contribution. Where those do not fit an item, the card goes on in the next
item, with the same contribution and the relations that follow. So a place in a list is a contribution's
stream sequence and, inside a card that goes on, the branch sequence of the last relation shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from msgspec import UNSET

from tallyd.admission import Admission
from tallyd.admission.access import Rights
from tallyd.families.shared import objects
from tallyd.families.shared.results import optional
from tallyd.ledger import events, log, pages, skeleton
from tallyd.ledger.view import SpaceRow, Value, View
from tallystick.protocol import limits
from tallystick.protocol.canonical import canonical
from tallystick.protocol.lens_grammar import LensQuery, LensSort
from tallystick.protocol.problems import invalid

WORKBENCH: Final = "workbench"
"""The one kind that shows cards: contributions other than utterances, with what leaves and reaches them."""

_PLACES_OF_A_CARD: Final = 2**31
"""A place is the contribution's stream sequence times this, plus the branch sequence of a relation, or 0."""


class Plan(msgspec.Struct, frozen=True):
    """What a lens asks for, read and found good."""

    cards: bool
    query: LensQuery
    sort: LensSort

    @property
    def filters(self) -> tuple[str, ...]:
        """What a continuation is bound to: what is shown, and in which order."""
        return (canonical([self.cards, self.query, self.sort]).decode(),)

    @property
    def leaves_out_retracted(self) -> bool:
        return "retracted" in (optional(self.query.without) or ())


class Found(msgspec.Struct, frozen=True):
    """A contribution that is shown."""

    row: log.LogRow
    kind: str
    branch_sequence: int


class Relation(msgspec.Struct, frozen=True):
    """A relation on a card."""

    record: bytes
    branch_sequence: int
    leaves: bool
    """It leads from the card's contribution, and not to it."""


def items(
    view: View, admission: Admission, space: SpaceRow, plan: Plan, snapshot: pages.Snapshot
) -> Iterator[tuple[int, bytes]]:
    """Each item with its place, from the snapshot's place on. Raises Refusal ``invalid`` where the query
    names what is not in the space.
    """
    held = admission.rights(view, space)
    where = _where(view, space, plan, snapshot.bound, held)
    shown, after_relation = 0, 0
    if snapshot.after >= 0:
        shown, after_relation = divmod(snapshot.after, _PLACES_OF_A_CARD)
    for found in _contributions(view, space, plan, where, _stretch(plan, shown, bool(after_relation))):
        assert found.row.payload is not None
        assert found.row.stream_sequence is not None
        if not held.reaches(view, str(found.row.classification)):
            continue
        place = found.row.stream_sequence * _PLACES_OF_A_CARD
        events.note(view, found.row)
        record = view.render_with_marks(found.row.payload)
        if plan.cards:
            reached = _relations(view, found.row.position, plan, snapshot.bound, held, after_relation)
            for last, part in _card(found, record, reached):
                yield place + last, part
        else:
            yield place, _contribution(found, record)
        after_relation = 0


# --- items --------------------------------------------------------------------------------------------------
def _contribution(found: Found, record: bytes) -> bytes:
    said = {
        "item_kind": "contribution",
        "branch_sequence": found.branch_sequence,
        "contribution": skeleton.embedded(record),
    }
    return skeleton.encode(said)


def _card(found: Found, record: bytes, relations: Iterator[Relation]) -> Iterator[tuple[int, bytes]]:
    """The card in as many items as it takes, one as a rule: each with the branch sequence of its last
    relation, or 0 where none is left.
    """
    here: list[Relation] = []
    room = _room_beside(record)
    for relation in relations:
        fits = room.takes(relation.record) and len(here) < limits.LIST_ITEMS_MAX
        if here and not fits:
            yield here[-1].branch_sequence, _card_item(found, record, here)
            here, room = [], _room_beside(record)
            room.takes(relation.record)
        here.append(relation)
    yield 0, _card_item(found, record, here)


def _room_beside(record: bytes) -> pages.Room:
    room = pages.Room()
    room.takes(record)
    return room


def _card_item(found: Found, record: bytes, relations: Sequence[Relation]) -> bytes:
    leaving = b",".join(relation.record for relation in relations if relation.leaves)
    reaching = b",".join(relation.record for relation in relations if not relation.leaves)
    said = {
        "item_kind": "card",
        "card_kind": found.kind,
        "branch_sequence": found.branch_sequence,
        "contribution": skeleton.embedded(record),
        "relations_out": skeleton.embedded(b"[" + leaving + b"]"),
        "relations_in": skeleton.embedded(b"[" + reaching + b"]"),
    }
    return skeleton.encode(said)


# --- what is found ------------------------------------------------------------------------------------------
class Where(msgspec.Struct, frozen=True):
    """Conditions on a contribution ``c`` and its row of ``log``, and the values that are bound in them."""

    sql: str
    values: tuple[Value, ...]


_CONTRIBUTIONS: Final = (
    f"SELECT {', '.join('log.' + name for name in log.COLUMNS)}, c.kind, c.branch_sequence "
    "FROM log JOIN contributions AS c ON c.position = log.position "
    "WHERE log.stream = ? AND log.stream_sequence BETWEEN ? AND ?"
)
_IN: Final = "IN (SELECT value FROM json_each(?))"


def _stretch(plan: Plan, shown: int, again: bool) -> tuple[int, int]:
    """The stream sequences to look at, after what was shown; ``again``: beginning with it once more."""
    beside = 0 if again else 1
    if not plan.sort.descending:
        return shown + beside, limits.SAFE_INTEGER_MAX
    return 0, shown - beside if shown else limits.SAFE_INTEGER_MAX


def _contributions(
    view: View, space: SpaceRow, plan: Plan, where: Where, stretch: tuple[int, int]
) -> Iterator[Found]:
    order = "DESC" if plan.sort.descending else "ASC"
    cursor = view.db.execute(
        f"{_CONTRIBUTIONS}{where.sql} ORDER BY log.stream_sequence {order}",
        (space.position, *stretch, *where.values),
    )
    for *row, kind, branch_sequence in cursor:
        yield Found(log.LogRow(*row), kind, branch_sequence)


def _where(view: View, space: SpaceRow, plan: Plan, bound: int, held: Rights) -> Where:
    query = plan.query
    conditions: list[tuple[str, tuple[Value, ...]]] = [("log.position <= ?", (bound,))]
    if plan.cards or query.select == "typed_cards":
        conditions.append(("c.kind <> 'utterance'", ()))
    for column, words in (
        ("c.kind", optional(query.kinds)),
        ("log.author", optional(query.authors)),
        ("c.classification", optional(query.classifications)),
    ):
        if words is not None:
            conditions.append((f"{column} {_IN}", (_texts(words),)))
    for comparison, sequence in ((">=", query.since_sequence), ("<=", query.until_sequence)):
        if sequence is not UNSET:
            conditions.append((f"c.branch_sequence {comparison} ?", (sequence,)))
    if query.postures is not UNSET:
        said = [b'"epistemic_posture":"%b"' % posture.encode() for posture in query.postures]
        conditions.append((" OR ".join(["instr(log.payload, ?)"] * len(said)), tuple(said)))
    if query.related_to is not UNSET or query.relation_kinds is not UNSET:
        conditions.append(_related(view, space, plan, bound, held))
    if query.without is not UNSET:
        conditions.append((f"NOT {_disposed('c')}", (_texts(query.without), bound)))
    return Where(
        "".join(f" AND ({sql})" for sql, _ in conditions),
        tuple(value for _, values in conditions for value in values),
    )


def _texts(words: Sequence[str]) -> str:
    return skeleton.encode(words).decode()


def _disposed(table: str) -> str:
    """Takes the kinds of dispositions, and the last position that is looked at."""
    return (
        f"EXISTS (SELECT 1 FROM dispositions AS d WHERE d.target = {table}.position AND d.kind {_IN} "
        "AND d.position <= ?)"
    )


_RETRACTED: Final = _texts(["retracted"])


def _related(
    view: View, space: SpaceRow, plan: Plan, bound: int, held: Rights
) -> tuple[str, tuple[Value, ...]]:
    """That a contribution has a relation that the query asks for, and that the reader may read."""
    query = plan.query
    conditions = ["(r.from_object = c.position OR r.to_object = c.position)", "r.position <= ?"]
    values: list[Value] = [bound]
    if query.related_to is not UNSET:
        other = objects.in_space(view, space, query.related_to)
        if other is None:
            raise invalid(
                f"$.query_ast.related_to: {query.related_to} is no contribution and no relation of space "
                f"{space.space_id}; name one that is, with lens_update"
            )
        conditions.append("c.position <> ? AND (r.from_object = ? OR r.to_object = ?)")
        values += [other.position] * 3
    if query.relation_kinds is not UNSET:
        conditions.append(f"r.kind {_IN}")
        values.append(_texts(query.relation_kinds))
    if plan.leaves_out_retracted:
        conditions.append(f"NOT {_disposed('r')}")
        values += [_RETRACTED, bound]
    above = _out_of_reach(view, space, held)
    if above:
        conditions.append(f"r.classification NOT {_IN}")
        values.append(_texts(above))
    return f"EXISTS (SELECT 1 FROM relations AS r WHERE {' AND '.join(conditions)})", tuple(values)


def _out_of_reach(view: View, space: SpaceRow, held: Rights) -> list[str]:
    """Classifications of relations of the space that the reader's ceiling does not reach."""
    if None in held.ceilings:
        return []
    rows = view.db.execute("SELECT DISTINCT classification FROM relations WHERE space = ?", (space.position,))
    return [str(name) for (name,) in rows.fetchall() if not held.reaches(view, str(name))]


_RELATIONS: Final = (
    "SELECT log.payload, r.branch_sequence, r.from_object = ?, r.classification FROM relations AS r "
    "JOIN log ON log.position = r.position WHERE (r.from_object = ? OR r.to_object = ?) "
    "AND r.branch_sequence > ? AND r.position <= ?"
)


def _relations(
    view: View, position: int, plan: Plan, bound: int, held: Rights, after: int
) -> Iterator[Relation]:
    """Of the contribution made at a position, in the order of the branch, after one of them."""
    sql, values = _RELATIONS, [position, position, position, after, bound]
    retracted: list[Value] = []
    if plan.leaves_out_retracted:
        sql += f" AND NOT {_disposed('r')}"
        retracted = [_RETRACTED, bound]
    cursor = view.db.execute(f"{sql} ORDER BY r.branch_sequence", (*values, *retracted))
    for payload, branch_sequence, leaves, classification in cursor:
        if held.reaches(view, classification):
            yield Relation(view.render_with_marks(payload), branch_sequence, bool(leaves))
