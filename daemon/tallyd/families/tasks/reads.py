"""Tasks as they are read: one, a project's, and those that the reader could claim now."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import msgspec

from tallyd.admission import Admission
from tallyd.families.shared.lists import Rows, page_of
from tallyd.families.shared.results import Served, optional, space_in
from tallyd.families.tasks import rows
from tallyd.families.tasks.claiming import claimable
from tallyd.families.tasks.commands import find
from tallyd.families.tasks.rows import Sight
from tallyd.ledger import claims, pages, skeleton
from tallyd.ledger.claims import TASKS, TaskRow
from tallyd.ledger.view import SpaceRow, View
from tallyd.ledger.withheld import ABOVE_CEILING, Withheld
from tallystick.protocol.envelope import Request
from tallystick.protocol.families.tasks import (
    TallystickTaskListArgs,
    TallystickTaskReadyArgs,
    TallystickTaskShowArgs,
)


def show(view: View, request: Request[TallystickTaskShowArgs], admission: Admission) -> Served:
    """``tallystick_task_show``."""
    sight = Sight(view, admission)
    row, space = find(view, admission, sight, request.args.task_id)
    return Served(view.render(rows.record_now(view, sight, row, space)), row.revision)


def ready(view: View, request: Request[TallystickTaskReadyArgs], admission: Admission) -> Served:
    """``tallystick_task_ready``: as many as asked for and as fit one reply."""
    args, sight = request.args, Sight(view, admission)
    only = _only(view, admission, optional(args.space_id))
    room, items, passed_over = pages.Room(), list[bytes](), 0
    for found in claimable(view, admission, only):
        if found.in_the_way:
            passed_over += 1
            continue
        item = view.render_with_marks(rows.record_now(view, sight, found.row, found.space))
        if len(items) == args.limit or not room.takes(item):
            break
        items.append(item)
    embedded = skeleton.embedded(b"[" + b",".join(items) + b"]")
    return Served(skeleton.encode({"items": embedded, "passed_over": passed_over}))


def _only(view: View, admission: Admission, space_id: str | None) -> SpaceRow | None:
    return None if space_id is None else space_in(view, admission, space_id)


# --- list ---------------------------------------------------------------------------------------------------
def list_(view: View, request: Request[TallystickTaskListArgs], admission: Admission) -> Served:
    """``tallystick_task_list``, narrowed by what is so now."""
    args, project = request.args, admission.project
    assert project is not None
    narrowed = (
        optional(args.space_id),
        optional(args.state),
        optional(args.assignee),
        optional(args.actor),
        optional(args.label),
    )
    only = _only(view, admission, narrowed[0])
    asked = pages.ask(f"list:tasks:{project.project_id}", args, narrowed)
    withheld = Withheld()

    def listed(snapshot: pages.Snapshot) -> Rows:
        return _listed(view, admission, only, snapshot, args, withheld)

    return page_of(view, admission, asked, listed, withheld)


def _listed(
    view: View,
    admission: Admission,
    only: SpaceRow | None,
    snapshot: pages.Snapshot,
    args: TallystickTaskListArgs,
    withheld: Withheld,
) -> Rows:
    """What is withheld is counted before the list is narrowed."""
    sight = Sight(view, admission)
    for row in _rows(view, admission, sight, only, snapshot):
        space = sight.space(row.space)
        assert space is not None
        if not sight.reaches(row.space, row.classification):
            sequence = view.number("SELECT project_sequence FROM log WHERE position = ?", row.position)
            withheld.add(sequence, ABOVE_CEILING)
        elif _is_wanted(view, row, args):
            yield row.position, view.render_with_marks(rows.record_now(view, sight, row, space))
            withheld.close_range()
    withheld.close_range()


def _rows(
    view: View, admission: Admission, sight: Sight, only: SpaceRow | None, snapshot: pages.Snapshot
) -> Iterator[TaskRow]:
    """Tasks of the spaces that the reader sees, in the order in which they were created."""
    assert admission.project is not None
    if only is not None:
        spaces = [only.position]
    else:
        found = view.all("SELECT position FROM spaces WHERE project = ?", admission.project.position)
        spaces = [int(str(position)) for (position,) in found]
    streams = [_of_space(view, each, snapshot) for each in spaces if sight.space(each) is not None]
    return heapq.merge(*streams, key=lambda row: row.position)


def _of_space(view: View, space: int, snapshot: pages.Snapshot) -> Iterator[TaskRow]:
    """A few are read at a time: a page is of some of many spaces."""
    after, some = snapshot.after, 4
    while True:
        found = view.all(
            TASKS + "WHERE t.space = ? AND t.position > ? AND t.position <= ? ORDER BY t.position LIMIT ?",
            space,
            after,
            snapshot.bound,
            some,
        )
        for values in found:
            row = rows.of(values)
            after = row.position
            yield row
        if len(found) < some:
            return
        some = min(4 * some, 256)


def _is_wanted(view: View, row: TaskRow, args: TallystickTaskListArgs) -> bool:
    state, assignee, actor, label = (
        optional(args.state),
        optional(args.assignee),
        optional(args.actor),
        optional(args.label),
    )
    if state not in (None, row.state) or assignee not in (None, row.assignee):
        return False
    if label is not None and label not in msgspec.json.decode(row.labels):
        return False
    if actor is None:
        return True
    holder = claims.held(view, row)
    return holder is not None and holder.actor == actor
