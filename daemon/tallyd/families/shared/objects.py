"""What may be referred to inside a space: contributions and relations."""

from __future__ import annotations

import msgspec

from tallyd.admission import Admission
from tallyd.ledger import events
from tallyd.ledger.view import SpaceRow, View
from tallystick.protocol.problems import forbidden, not_found


class ContributionRow(msgspec.Struct, frozen=True):
    """A row of ``contributions``, its fields in the table's order."""

    position: int
    space: int
    branch_sequence: int
    kind: str
    classification: str
    digest: bytes
    size: int
    body: int


class RelationRow(msgspec.Struct, frozen=True):
    """A row of ``relations``, its fields in the table's order."""

    position: int
    space: int
    branch_sequence: int
    kind: str
    classification: str
    digest: bytes


_CONTRIBUTION = f"SELECT {', '.join(ContributionRow.__struct_fields__)} FROM contributions WHERE position = ?"
_RELATION = f"SELECT {', '.join(RelationRow.__struct_fields__)} FROM relations WHERE position = ?"

REVISION = 1
"""Contributions and relations never change: their revision is constant (KCP, Appendix A)."""


def contribution(view: View, contribution_id: str) -> ContributionRow | None:
    """The contribution of that id, wherever it stands."""
    position = view.position_of("contrib", contribution_id)
    if position is None:
        return None
    row = view.db.execute(_CONTRIBUTION, (position,)).fetchone()
    return None if row is None else ContributionRow(*row)


def relation(view: View, relation_id: str) -> RelationRow | None:
    """The relation of that id, wherever it stands."""
    position = view.position_of("rel", relation_id)
    if position is None:
        return None
    row = view.db.execute(_RELATION, (position,)).fetchone()
    return None if row is None else RelationRow(*row)


def in_space(view: View, space: SpaceRow, ref: str) -> ContributionRow | RelationRow | None:
    """The object that a reference means inside a space, or None."""
    found = contribution(view, ref) or relation(view, ref)
    return found if found is not None and found.space == space.position else None


def referable(
    view: View, admission: Admission, space: SpaceRow, ref: str, what: str = "object in this space"
) -> ContributionRow | RelationRow:
    """The object of a space that a command refers to: whoever makes a reference must see what it is to.
    Raises Refusal ``not-found``, or ``forbidden`` for what is above the actor's ceiling.
    """
    found = in_space(view, space, ref)
    if found is None:
        raise not_found(what, ref)
    refuse_unreachable(view, admission, space, found.classification, ref)
    return found


def contribution_in_project(view: View, admission: Admission, ref: str) -> bool:
    """Whether the reference is a contribution in a space of the command's project that the actor sees."""
    found, project = contribution(view, ref), admission.project
    space = None if found is None else view.space_at(found.space)
    if space is None or project is None or space.project != project.position:
        return False
    return admission.sees(view, space)


def ref_at(view: View, position: int) -> str:
    """The id of the contribution or relation made at a position. Unlike ``View.resource_at`` it is not kept
    in memory: there are many.
    """
    row = view.one("SELECT resource FROM log WHERE position = ?", position)
    assert row is not None, f"log row {position} made no object"
    return str(row[0])


def record(view: View, position: int) -> bytes:
    """The rendered record of the object made at a position: the payload of its event."""
    row = view.log_row(position)
    assert row.payload is not None
    events.note(view, row)
    return view.render(row.payload)


def refuse_above(view: View, admission: Admission, space: SpaceRow) -> None:
    """Raises Refusal ``forbidden`` where the space itself is above the reader's ceiling: what it is called
    and what its lenses say are classified as it classifies by default.
    """
    refuse_unreachable(view, admission, space, space.default_classification_ref, space.space_id)


def refuse_unreachable(
    view: View, admission: Admission, space: SpaceRow, classification: str, what: str
) -> None:
    """Raises Refusal ``forbidden`` for what is classified above the reader's ceiling in the space."""
    if admission.agent is not None and not admission.rights(view, space).reaches(view, classification):
        view.note(classification, what)
        raise forbidden(
            f"{what} is {classification}, above what this actor may read; ask a steward for a grant"
        )
