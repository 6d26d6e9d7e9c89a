"""Our lists of contributions and relations, each with what became of it; KCP's own lists are closed."""

from __future__ import annotations

from typing import Final

from tallyd.admission import Admission
from tallyd.families.dispositions import disposed_item
from tallyd.families.shared import objects
from tallyd.families.shared.lists import Narrowed, Rows, page_of, rows_of_space, withholder
from tallyd.families.shared.objects import refuse_unreachable
from tallyd.families.shared.results import Served, branch_of, optional, space_in
from tallyd.ledger import log, pages
from tallyd.ledger.log import LogRow
from tallyd.ledger.view import SpaceRow, View
from tallyd.ledger.withheld import ABOVE_CEILING, Withheld
from tallystick.protocol.envelope import Request
from tallystick.protocol.families.contributions import (
    TallystickContributionListArgs,
    TallystickRelationListArgs,
    TallystickRelationShowArgs,
)
from tallystick.protocol.problems import not_found

_LOG_COLUMNS: Final = ", ".join(f"log.{name}" for name in log.COLUMNS)


def contribution_list(
    view: View, request: Request[TallystickContributionListArgs], admission: Admission
) -> Served:
    """``tallystick_contribution_list``."""
    args = request.args
    space = space_in(view, admission, args.space_id)
    branch, kind = optional(args.branch_id), optional(args.kind)
    if branch is not None:
        branch_of(space, branch)
    asked = pages.ask(f"list:disposed-contributions:{space.space_id}", args, (branch, kind))
    wanted = Narrowed("(:kind IS NULL OR o.kind = :kind)", {"kind": kind})
    return _disposed(view, admission, space, asked, "contribution", wanted)


def relation_list(view: View, request: Request[TallystickRelationListArgs], admission: Admission) -> Served:
    """``tallystick_relation_list``: an object that is not in the space has no relations there."""
    args = request.args
    space = space_in(view, admission, args.space_id)
    kind, ref = optional(args.kind), optional(args.object_ref)
    end = None if ref is None else objects.referable(view, admission, space, ref)
    asked = pages.ask(f"list:relations:{space.space_id}", args, (kind, ref))
    wanted = Narrowed(
        "(:kind IS NULL OR o.kind = :kind) AND (:end IS NULL OR :end IN (o.from_object, o.to_object))",
        {"kind": kind, "end": None if end is None else end.position},
    )
    return _disposed(view, admission, space, asked, "relation", wanted)


def _disposed(
    view: View, admission: Admission, space: SpaceRow, asked: pages.Ask, what: str, wanted: Narrowed
) -> Served:
    withheld = Withheld()

    def rows(snapshot: pages.Snapshot) -> Rows:
        return _disposed_rows(view, admission, space, snapshot, what, wanted, withheld)

    return page_of(view, admission, asked, rows, withheld)


def _disposed_rows(
    view: View,
    admission: Admission,
    space: SpaceRow,
    snapshot: pages.Snapshot,
    what: str,
    wanted: Narrowed,
    withheld: Withheld,
) -> Rows:
    """What is withheld is counted before the list is narrowed; from the owner nothing is, and nothing is
    looked at that is not wanted.
    """
    withholds = withholder(view, admission, space)
    columns = f"{wanted.sql}, o.branch_sequence, {_LOG_COLUMNS}"
    looked_at = wanted if admission.agent is None else Narrowed("TRUE", wanted.values)
    cursor = rows_of_space(view, space, snapshot, f"{what}s", columns, looked_at)
    for is_wanted, sequence, *values in cursor:
        row = LogRow(*values)
        if withholds(str(row.classification)):
            withheld.add(sequence, ABOVE_CEILING)
        elif is_wanted:
            assert row.payload is not None
            yield row.position, disposed_item(view, what, row, view.render_with_marks(row.payload))
            withheld.close_range()
    withheld.close_range()


def relation_show(view: View, request: Request[TallystickRelationShowArgs], admission: Admission) -> Served:
    """``tallystick_relation_show``."""
    args = request.args
    row, project = objects.relation(view, args.relation_id), admission.project
    space = None if row is None else view.space_at(row.space)
    if row is None or space is None or project is None or space.project != project.position:
        raise not_found("relation", args.relation_id)
    if not admission.sees(view, space):
        raise not_found("relation", args.relation_id)
    refuse_unreachable(view, admission, space, row.classification, args.relation_id)
    made = view.log_row(row.position)
    assert made.payload is not None
    return Served(disposed_item(view, "relation", made, view.render(made.payload)), objects.REVISION)
