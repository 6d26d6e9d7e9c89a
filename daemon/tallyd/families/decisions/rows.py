"""Decisions as they are stored, and their record as it is now.

A decision is a contribution of the kind ``decision_reference``, which says it, and a row here, which has its
state. The labels that nobody can erase stand in the event that recorded it; value, reason, tags and the
values that it excludes stand in the contribution's body alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final
from unicodedata import normalize

import msgspec

from tallyd.ledger import ids, skeleton, times
from tallyd.ledger.view import SpaceRow, View
from tallystick.protocol import places
from tallystick.protocol.places import Place

KIND: Final = "decision_reference"
SCHEMA: Final = "schema:tallystick-decision-v1"
GATE: Final = "decisions"
"""The gate that makes proposals of what agents decide, where a space has it."""
SIGNED: Final = 3
"""From this rank on a verdict is signed, and what it ratified falls to a ratified decision alone."""
STRENGTHS: Final = {1: "peer", 2: "credential", 3: "ssh", 4: "ssh-sk"}

Reaches = Callable[[str], bool]
"""Whether the reader may read something of a classification."""


class DecisionRow(msgspec.Struct, frozen=True):
    """A row of ``decisions``, its fields in the table's order."""

    position: int
    id: bytes
    space: int
    key: str
    repository: str
    region: str
    state: str
    revision: int
    ratified_by: int | None
    rank: int
    review_ms: int | None

    @property
    def decision_id(self) -> str:
        return ids.text("dec", self.id)

    @property
    def place(self) -> Place:
        return places.stored(self.repository, self.region)

    @property
    def is_signed(self) -> bool:
        """Whether it was ratified by signature."""
        return self.rank >= SIGNED


class Labels(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What cannot be erased of a decision: the payload of the event that recorded it."""

    decision_id: str
    contribution_ref: str
    space_id: str
    key: str
    state: str
    origin: str
    proposed_because: str | None = None
    repository: str | None = None
    paths: list[str] | None = None
    supersedes: list[str] = []
    narrows: list[str] = []
    depends_on: list[str] = []
    excludes: list[str] = []
    reversibility: str | None = None
    review_after: str | None = None


class Words(msgspec.Struct, frozen=True):
    """Which of a decision's texts there are: of how many tags, and of which exclusions with a value."""

    body: int
    tags: int
    valued: frozenset[int]
    erased: bool = False

    def text(self, path: str) -> msgspec.Raw:
        """A place for one of them."""
        return skeleton.place(skeleton.MEMBER, f"{self.body}.{path}")


class Made(msgspec.Struct, frozen=True):
    """How, by whom and when a decision was recorded."""

    classification: str
    author: str
    recorded_ms: int


class Bearing(msgspec.Struct, frozen=True, kw_only=True):
    """What bears on a decision, as far as its reader sees it: ids, and what was counted."""

    superseded_by: str | None = None
    contested_by: Sequence[str] = ()
    agreeing: int = 0
    narrowed_by: Sequence[str] = ()
    challenged_by: Sequence[str] = ()
    basis_changed: bool = False
    would_meet: Sequence[str] | None = None


COLUMNS: Final = ", ".join(f'd."{name}"' for name in DecisionRow.__struct_fields__)
SELECT: Final = f"SELECT {COLUMNS} FROM decisions AS d "


def decision_at(view: View, position: int) -> DecisionRow | None:
    """The decision whose contribution stands at a position."""
    row = view.one(SELECT + "WHERE d.position = ?", position)
    return None if row is None else of(row)


def decision(view: View, decision_id: str) -> DecisionRow | None:
    """The decision of that id, wherever it stands."""
    position = view.position_of("dec", decision_id)
    return None if position is None else decision_at(view, position)


def of(values: Sequence[Any]) -> DecisionRow:
    """A row of `SELECT`."""
    return DecisionRow(*values)


def labels_of(view: View, row: DecisionRow) -> Labels:
    """What its recording told: its event is the one after its contribution's."""
    told = view.log_row(row.position + 1)
    assert told.payload is not None
    return msgspec.json.decode(told.payload, type=Labels)


def said(view: View, row: DecisionRow) -> dict[str, Any] | None:
    """The value of its data part, or None where it was erased. Raises ContentDamaged."""
    body = view.number("SELECT body FROM contributions WHERE position = ?", row.position)
    content = view.content(body)
    if content is None:
        return None
    value: dict[str, Any] = msgspec.json.decode(content)[0]["value"]
    return value


def words_of(view: View, row: DecisionRow, content: dict[str, Any] | None) -> Words:
    """Of a decision whose data part says this."""
    body = view.number("SELECT body FROM contributions WHERE position = ?", row.position)
    if content is None:
        return Words(body, 0, frozenset(), erased=True)
    valued = {index for index, each in enumerate(content.get("excludes", ())) if "value" in each}
    return Words(body, len(content.get("tags", ())), frozenset(valued))


def folded(value: str) -> str:
    """A value as it is compared: NFC, without white space at its ends."""
    return normalize("NFC", value).strip()


# --- what bears on it ---------------------------------------------------------------------------------------
def bearing(view: View, row: DecisionRow, value: str | None, reaches: Reaches) -> Bearing:
    """What bears on a decision now. ``value`` is None where it was erased."""
    return Bearing(
        superseded_by=_successor(view, row, reaches),
        contested_by=refs(view, contesting(view, row.position), reaches),
        agreeing=0 if value is None else agreeing(view, row, value, reaches),
        narrowed_by=refs(view, _narrowing(view, row), reaches),
        challenged_by=_challenges(view, row, reaches),
        basis_changed=_basis_changed(view, row),
    )


def contesting(view: View, position: int) -> list[int]:
    """The decisions with which one is in conflict, in their order."""
    found = view.all(
        "SELECT b FROM decision_conflicts WHERE a = ?1 AND ended IS NULL UNION "
        "SELECT a FROM decision_conflicts WHERE b = ?1 AND ended IS NULL ORDER BY 1",
        position,
    )
    return [int(str(other)) for (other,) in found]


def agreeing(view: View, row: DecisionRow, value: str, reaches: Reaches) -> int:
    """How many others stand for its key, where it reaches, with an equal value."""
    if row.state != "standing":
        return 0
    count = 0
    for other in standing_of_key(view, row.space, row.key):
        if other.position != row.position and places.overlap(other.place, row.place):
            if not reaches(classification_at(view, other.position)):
                continue
            content = said(view, other)
            count += content is not None and folded(content["value"]) == folded(value)
    return count


def standing_of_key(view: View, space: int, key: str) -> list[DecisionRow]:
    """All decisions of a key that stand in a space, in their order."""
    rows = view.all(
        SELECT + "WHERE d.space = ? AND d.\"key\" = ? AND d.state = 'standing' ORDER BY d.position",
        space,
        key,
    )
    return [of(values) for values in rows]


def refs(view: View, positions: Iterable[int], reaches: Reaches) -> list[str]:
    """The ids of decisions, of those that the reader may read."""
    found = (decision_at(view, position) for position in positions)
    return [
        each.decision_id
        for each in found
        if each is not None and reaches(classification_at(view, each.position))
    ]


def id_at(view: View, position: int) -> str:
    """The id of the decision whose contribution stands at a position."""
    row = view.one("SELECT id FROM decisions WHERE position = ?", position)
    assert row is not None
    assert isinstance(row[0], bytes)
    return ids.text("dec", row[0])


def classification_at(view: View, position: int) -> str:
    """The classification of a contribution."""
    row = view.one("SELECT classification FROM contributions WHERE position = ?", position)
    assert row is not None
    return str(row[0])


def _successor(view: View, row: DecisionRow, reaches: Reaches) -> str | None:
    found = view.one(
        "SELECT replacement FROM dispositions WHERE target = ? AND kind = 'superseded'", row.position
    )
    if found is None or found[0] is None:
        return None
    position = int(str(found[0]))
    if not reaches(classification_at(view, position)):
        return None
    other = decision_at(view, position)
    if other is not None:
        return other.decision_id
    return str(view.log_row(position).resource)


def _narrowing(view: View, row: DecisionRow) -> list[int]:
    found = view.all(
        "SELECT l.decision FROM decision_links AS l JOIN decisions AS d ON d.position = l.decision "
        "WHERE l.target = ? AND l.kind = 'narrows' AND d.state = 'standing' ORDER BY 1",
        row.position,
    )
    return [int(str(position)) for (position,) in found]


def _challenges(view: View, row: DecisionRow, reaches: Reaches) -> list[str]:
    found = view.all(
        "SELECT log.resource, r.classification FROM relations AS r JOIN log ON log.position = r.position "
        "WHERE r.to_object = ? AND r.kind = 'challenges' AND NOT EXISTS "
        "(SELECT 1 FROM dispositions WHERE target = r.position AND kind = 'retracted') ORDER BY r.position",
        row.position,
    )
    return [str(ref) for ref, classification in found if reaches(str(classification))]


def _basis_changed(view: View, row: DecisionRow) -> bool:
    found = view.one(
        "SELECT 1 FROM decision_links AS l JOIN decisions AS d ON d.position = l.target "
        "WHERE l.decision = ? AND l.kind = 'depends_on' AND d.state <> 'standing' LIMIT 1",
        row.position,
    )
    return found is not None


# --- the record ---------------------------------------------------------------------------------------------
def record(
    view: View,
    space: SpaceRow,
    row: DecisionRow,
    made: Made,
    labels: Labels,
    words: Words,
    bears: Bearing,
) -> bytes:
    """The record's skeleton."""
    told: dict[str, object] = {
        "decision_id": row.decision_id,
        "contribution_ref": labels.contribution_ref,
        "project_id": view.resource_at(space.project),
        "space_id": space.space_id,
        "state": row.state,
        "revision": row.revision,
        "key": row.key,
        "value": words.text("value"),
        "reason": words.text("reason"),
        "origin": labels.origin,
        "supersedes": labels.supersedes,
        "narrows": labels.narrows,
        "depends_on": labels.depends_on,
        "excludes": [_exclusion(index, key, words) for index, key in enumerate(labels.excludes)],
        "tags": [words.text(f"tags.{index}") for index in range(words.tags)],
        "classification_ref": made.classification,
        "by": made.author,
        "at": times.rfc3339(made.recorded_ms),
        "erased": words.erased,
        "contested_by": bears.contested_by,
        "agreeing": bears.agreeing,
        "narrowed_by": bears.narrowed_by,
        "challenged_by": bears.challenged_by,
        "basis_changed": bears.basis_changed,
        "review_due": row.state == "standing"
        and row.review_ms is not None
        and row.review_ms <= view.wall_ms(),
    }
    optional = {
        "proposed_because": labels.proposed_because,
        "repository": labels.repository,
        "paths": labels.paths,
        "reversibility": labels.reversibility,
        "review_after": labels.review_after,
        "superseded_by": bears.superseded_by,
        "ratified": ratified(view, row),
        "would_meet": bears.would_meet,
    }
    return skeleton.encode(told | {name: each for name, each in optional.items() if each is not None})


def _exclusion(index: int, key: str, words: Words) -> dict[str, object]:
    if index not in words.valued:
        return {"key": key}
    return {"key": key, "value": words.text(f"excludes.{index}.value")}


def ratified(view: View, row: DecisionRow) -> dict[str, object] | None:
    """By which verdict it was ratified, and whether that verdict's key was revoked since."""
    if row.ratified_by is None:
        return None
    found = view.one(
        "SELECT v.id, v.decider, log.recorded_ms, coalesce(k.state, '') FROM verdicts AS v "
        'JOIN log ON log.position = v.position LEFT JOIN signer_keys AS k ON k.position = v."key" '
        "WHERE v.position = ?",
        row.ratified_by,
    )
    assert found is not None
    digits, decider, at, state = found
    assert isinstance(digits, bytes)
    return {
        "verdict_id": ids.text("verd", digits),
        "strength": STRENGTHS[row.rank],
        "decider": decider,
        "at": times.rfc3339(int(str(at))),
        "key_revoked": state == "revoked",
    }


def shown(view: View, space: SpaceRow, row: DecisionRow, reaches: Reaches) -> bytes:
    """The record's skeleton, as the decision is now, for a reader."""
    told = view.log_row(row.position)
    made = Made(str(told.classification), str(told.author), told.recorded_ms)
    view.note(made.classification, row.decision_id)
    labels, content = labels_of(view, row), said(view, row)
    value = None if content is None else str(content["value"])
    bears = bearing(view, row, value, reaches)
    return record(view, space, row, made, labels, words_of(view, row, content), bears)
