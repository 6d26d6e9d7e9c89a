"""What is read of a space beside KCP's own lists, whose results are closed: things with what became of them,
branches, frontiers, assemblies; and events with what is withheld, the realm's too.

Each list is in the order of making, over a snapshot. What stands in the space and is classified above what
the reader may read there is left out, and counted by sequence range (``ledger.withheld``), whatever the list
is narrowed to: for contributions and relations by their branch's sequence, for all else by their event's in
the space's stream. The owner is withheld nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import apsw
import msgspec

from tallyd.admission import Admission
from tallyd.admission.visibility import event_visibility
from tallyd.ledger import events as ledger_events
from tallyd.ledger import ids, log, pages, skeleton, times
from tallyd.ledger.log import LogRow
from tallyd.ledger.view import SpaceRow, Value, View
from tallyd.ledger.withheld import ABOVE_CEILING, Withheld
from tallyd.operations import dispositions, events, frontiers, objects
from tallyd.operations.contributions import refuse_unreachable
from tallyd.operations.dispositions import DispositionRow
from tallyd.operations.frontiers import FrontierRow
from tallyd.operations.results import Served, branch_of, optional, space_in
from tallystick.protocol.envelope import Request
from tallystick.protocol.families.context import (
    TallystickAssemblyListArgs,
    TallystickBranchShowArgs,
    TallystickFrontierListArgs,
)
from tallystick.protocol.families.contributions import (
    TallystickContributionListArgs,
    TallystickRelationListArgs,
    TallystickRelationShowArgs,
)
from tallystick.protocol.families.dispositions import TallystickDispositionListArgs
from tallystick.protocol.families.events import TallystickEventsReadArgs
from tallystick.protocol.problems import forbidden, not_found

Rows = Iterator[tuple[int, bytes]]
Withholds = Callable[[str], bool]
"""Whether something of a classification is kept from the reader."""


def _page(
    view: View,
    admission: Admission,
    asked: pages.Ask,
    rows: Callable[[pages.Snapshot], Rows],
    withheld: Withheld | None,
) -> Served:
    project = admission.project
    assert project is not None
    snapshot = pages.open_page(view, asked, project)
    return Served(pages.page(view, asked, snapshot, rows(snapshot), withheld))


def _withholds(view: View, admission: Admission, space: SpaceRow) -> Withholds:
    if admission.agent is None:
        return lambda _: False
    held = admission.rights(view, space)
    return lambda classification: not held.reaches(view, classification)


class _Narrowed(msgspec.Struct, frozen=True):
    """A condition on the rows ``o`` of a table, and the values that it names."""

    sql: str
    values: dict[str, Value]


_ALL: Final = _Narrowed("TRUE", {})


def _of_space(
    view: View,
    space: SpaceRow,
    snapshot: pages.Snapshot,
    table: str,
    columns: str,
    narrowed: _Narrowed = _ALL,
) -> apsw.Cursor:
    """Rows of a table whose commands told an event in the space's stream, found by stream and sequence."""
    after = 0
    if snapshot.after >= 0:
        after = view.number("SELECT stream_sequence FROM log WHERE position = ?", snapshot.after)
    place = {"stream": space.position, "after": after, "bound": snapshot.bound}
    return view.db.execute(
        f"SELECT {columns} FROM log JOIN {table} AS o ON o.position = log.position "
        "WHERE log.stream = :stream AND log.stream_sequence > :after AND log.position <= :bound "
        f"AND {narrowed.sql} ORDER BY log.stream_sequence",
        {**place, **narrowed.values},
    )


_LOG_COLUMNS: Final = ", ".join(f"log.{name}" for name in log.COLUMNS)


# --- contributions and relations ----------------------------------------------------------------------------
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
    wanted = _Narrowed("(:kind IS NULL OR o.kind = :kind)", {"kind": kind})
    return _disposed(view, admission, space, asked, "contribution", wanted)


def relation_list(view: View, request: Request[TallystickRelationListArgs], admission: Admission) -> Served:
    """``tallystick_relation_list``: an object that is not in the space has no relations there."""
    args = request.args
    space = space_in(view, admission, args.space_id)
    kind, ref = optional(args.kind), optional(args.object_ref)
    end = None if ref is None else objects.in_space(view, space, ref)
    if ref is not None and end is None:
        raise not_found("object in this space", ref)
    asked = pages.ask(f"list:relations:{space.space_id}", args, (kind, ref))
    wanted = _Narrowed(
        "(:kind IS NULL OR o.kind = :kind) AND (:end IS NULL OR :end IN (o.from_object, o.to_object))",
        {"kind": kind, "end": None if end is None else end.position},
    )
    return _disposed(view, admission, space, asked, "relation", wanted)


def _disposed(
    view: View, admission: Admission, space: SpaceRow, asked: pages.Ask, what: str, wanted: _Narrowed
) -> Served:
    withheld = Withheld()

    def rows(snapshot: pages.Snapshot) -> Rows:
        return _disposed_rows(view, admission, space, snapshot, what, wanted, withheld)

    return _page(view, admission, asked, rows, withheld)


def _disposed_rows(
    view: View,
    admission: Admission,
    space: SpaceRow,
    snapshot: pages.Snapshot,
    what: str,
    wanted: _Narrowed,
    withheld: Withheld,
) -> Rows:
    """What is withheld is counted before the list is narrowed; from the owner nothing is, and nothing is
    looked at that is not wanted.
    """
    withholds = _withholds(view, admission, space)
    columns = f"{wanted.sql}, o.branch_sequence, {_LOG_COLUMNS}"
    looked_at = wanted if admission.agent is None else _Narrowed("TRUE", wanted.values)
    cursor = _of_space(view, space, snapshot, f"{what}s", columns, looked_at)
    for is_wanted, sequence, *values in cursor:
        row = LogRow(*values)
        if withholds(str(row.classification)):
            withheld.add(sequence, ABOVE_CEILING)
        elif is_wanted:
            yield row.position, disposed_item(view, what, row)
            withheld.close_range()
    withheld.close_range()


def disposed_item(view: View, what: str, row: LogRow) -> bytes:
    """A contribution or relation, and what became of it."""
    assert row.payload is not None
    ledger_events.note(view, row)
    said = {
        what: skeleton.embedded(view.render(row.payload)),
        "dispositions": [skeleton.embedded(one) for one in dispositions.of(view, row.position)],
    }
    return skeleton.encode(said)


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
    return Served(disposed_item(view, "relation", view.log_row(row.position)), objects.REVISION)


# --- what became of things ----------------------------------------------------------------------------------
def disposition_list(
    view: View, request: Request[TallystickDispositionListArgs], admission: Admission
) -> Served:
    """``tallystick_disposition_list``: each is classified as what it is about."""
    args = request.args
    space, kind = space_in(view, admission, args.space_id), optional(args.kind)
    asked = pages.ask(f"list:dispositions:{space.space_id}", args, (kind,))
    withheld = Withheld()

    def rows(snapshot: pages.Snapshot) -> Rows:
        return _disposition_rows(view, admission, space, snapshot, kind, withheld)

    return _page(view, admission, asked, rows, withheld)


_DISPOSITIONS: Final = (
    f"SELECT log.stream_sequence, log.classification, "
    f"{', '.join('o.' + name for name in DispositionRow.__struct_fields__)} FROM dispositions AS o "
    "JOIN log ON log.position = o.position WHERE o.space = ? AND o.position > ? AND o.position <= ? "
    "ORDER BY o.position"
)


def _disposition_rows(
    view: View,
    admission: Admission,
    space: SpaceRow,
    snapshot: pages.Snapshot,
    kind: str | None,
    withheld: Withheld,
) -> Rows:
    withholds = _withholds(view, admission, space)
    cursor = view.db.execute(_DISPOSITIONS, (space.position, snapshot.after, snapshot.bound))
    for sequence, classification, *values in cursor:
        row = DispositionRow(*values)
        if withholds(classification):
            withheld.add(sequence, ABOVE_CEILING)
        elif kind is None or dispositions.KINDS[row.kind].name == kind:
            yield row.position, dispositions.record(view, row)
            withheld.close_range()
    withheld.close_range()


# --- branches, frontiers, assemblies ------------------------------------------------------------------------
def branch_show(view: View, request: Request[TallystickBranchShowArgs], admission: Admission) -> Served:
    """``tallystick_branch_show``: its head is what an append is compared with."""
    args = request.args
    position, project = view.position_of("branch", args.branch_id), admission.project
    space = None if position is None else view.space_at(position)
    if space is None or project is None or space.project != project.position:
        raise not_found("branch", args.branch_id)
    if space.branch_id != args.branch_id or not admission.sees(view, space):
        raise not_found("branch", args.branch_id)
    said = {
        "branch_id": space.branch_id,
        "space_id": space.space_id,
        "branch_sequence": space.branch_sequence,
        "branch_head_digest": space.branch_head.hex(),
        "created_by": space.created_by,
        "created_at": times.rfc3339(space.created_ms),
    }
    return Served(skeleton.encode(said), space.revision)


def frontier_list(view: View, request: Request[TallystickFrontierListArgs], admission: Admission) -> Served:
    """``tallystick_frontier_list``: those that assemblies pinned, too. A frontier holds places and digests
    alone, so whoever reads the space sees all.
    """
    args = request.args
    space = space_in(view, admission, args.space_id)
    asked = pages.ask(f"list:frontiers:{space.space_id}", args)

    def rows(snapshot: pages.Snapshot) -> Rows:
        columns = ", ".join(f"o.{name}" for name in FrontierRow.__struct_fields__)
        for values in _of_space(view, space, snapshot, "frontiers", columns):
            row = FrontierRow(*values)
            yield row.position, frontiers.record(space, row)

    return _page(view, admission, asked, rows, None)


def assembly_list(view: View, request: Request[TallystickAssemblyListArgs], admission: Admission) -> Served:
    """``tallystick_assembly_list``: without their items, so that what was erased since is no obstacle."""
    args = request.args
    space = space_in(view, admission, args.space_id)
    asked = pages.ask(f"list:assemblies:{space.space_id}", args)
    withholds, withheld = _withholds(view, admission, space), Withheld()

    def rows(snapshot: pages.Snapshot) -> Rows:
        columns = "log.position, log.stream_sequence, log.classification, log.result"
        cursor = _of_space(view, space, snapshot, "assemblies", columns)
        for position, sequence, classification, result in cursor:
            if withholds(classification):
                withheld.add(sequence, ABOVE_CEILING)
            else:
                yield position, skeleton.encode(msgspec.json.decode(result, type=_Summary))
                withheld.close_range()
        withheld.close_range()

    return _page(view, admission, asked, rows, withheld)


class _Summary(msgspec.Struct, frozen=True):
    """What of an assembly's record stands in a list."""

    assembly_id: str
    space_id: str
    branch_id: str
    audience_ref: str
    purpose: str
    trigger_refs: list[str]
    frontier_ref: str
    classification_join_ref: str
    totals: dict[str, int]
    revision: int
    created_at: str
    digest: str


# --- events -------------------------------------------------------------------------------------------------
def events_read(view: View, request: Request[TallystickEventsReadArgs], admission: Admission) -> Served:
    """``tallystick_events_read``: of a project, or of the realm, whose events are the owner's."""
    args = request.args
    cursor, prefixes = optional(args.after_cursor), optional(args.type_prefixes) or ()
    if args.source == ids.REALM_ID:
        if admission.agent is not None:
            raise forbidden("the realm's events are the owner's; name a project as the source")
        follow = events.follow_realm(view, cursor, prefixes)
        found = ledger_events.of_realm_after(view, follow.after, prefixes, args.limit)
    else:
        project = events.source_of(view, admission, args.source, None)
        follow = events.follow_project(view, project, cursor, prefixes)
        visibility = event_visibility(view, admission)
        found = ledger_events.after(view, follow.project, follow.after, prefixes, args.limit, visibility)
    said = {
        "events": skeleton.embedded(b"[" + b",".join(found.events) + b"]"),
        "withheld": found.withheld,
        "next_cursor": view.cursors.token(follow.source, found.seen, f=follow.f),
        "snapshot_epoch": f"epoch-{view.epoch}",
    }
    return Served(skeleton.encode(said))
