"""Frontiers: a branch as it stands at one moment, pinned."""

from __future__ import annotations

from typing import Final

import msgspec

from tallyd.admission import Admission
from tallyd.families.shared.lists import Rows, page_of, rows_of_space
from tallyd.families.shared.results import Served, branch_of, check_revision, space_in
from tallyd.ledger import ids, pages, skeleton, times
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallyd.ledger.view import SpaceRow, View
from tallystick.protocol.digests import cod
from tallystick.protocol.envelope import Request
from tallystick.protocol.families.context import FrontierPinArgs, FrontierShowArgs, TallystickFrontierListArgs
from tallystick.protocol.problems import not_found

FRONTIER_SCHEMA: Final = "schema:space-frontier-v1"


class FrontierRow(msgspec.Struct, frozen=True):
    """A row of ``frontiers``, its fields in the table's order."""

    position: int
    id: bytes
    space: int
    branch_sequence: int
    branch_head: bytes
    project_event_cursor: str
    created_ms: int
    digest: bytes

    @property
    def frontier_id(self) -> str:
        return ids.text("front", self.id)


_SELECT: Final = f"SELECT {', '.join(FrontierRow.__struct_fields__)} FROM frontiers WHERE position = ?"


def _members(space: SpaceRow, row: FrontierRow) -> dict[str, object]:
    return {
        "frontier_id": row.frontier_id,
        "revision": 1,
        "space_id": space.space_id,
        "branch_id": space.branch_id,
        "branch_sequence": row.branch_sequence,
        "branch_head_digest": row.branch_head.hex(),
        "project_event_cursor": row.project_event_cursor,
        "external_source_cursors": [],
        "created_at": times.rfc3339(row.created_ms),
    }


def record(space: SpaceRow, row: FrontierRow) -> bytes:
    """A frontier's record; it holds no content."""
    return skeleton.encode({**_members(space, row), "digest": row.digest.hex()})


def pin_row(tx: Transaction, space: SpaceRow, digits: bytes) -> FrontierRow:
    """Writes the frontier of a space's branch as it stands now."""
    cursor = tx.project_cursor(space.project, tx.log.project_sequence(space.project))
    row = FrontierRow(
        position=tx.position,
        id=digits,
        space=space.position,
        branch_sequence=space.branch_sequence,
        branch_head=space.branch_head,
        project_event_cursor=cursor,
        created_ms=tx.now_ms,
        digest=b"",
    )
    digest = bytes.fromhex(cod("kovee-frontier", FRONTIER_SCHEMA, _members(space, row)))
    row = msgspec.structs.replace(row, digest=digest)
    tx.insert("frontiers", **{field: getattr(row, field) for field in row.__struct_fields__})
    return row


def pin(tx: Transaction, request: Request[FrontierPinArgs], admission: Admission) -> Applied:
    """``frontier_pin``: in any status of the space, whose revision it leaves alone."""
    args = request.args
    assert admission.project is not None
    space = space_in(tx, admission, args.space_id)
    branch_of(space, args.branch_id)
    check_revision(request, space.revision, f"space {space.space_id}")
    digits = tx.new_id()
    row = pin_row(tx, space, digits)
    tx.emit(
        Event(
            event_id=digits,
            type="dev.kovee.space.frontier-pinned.v1",
            schema_ref=FRONTIER_SCHEMA,
            resource=row.frontier_id,
            resource_revision=1,
            stream=space.position,
            project=space.project,
            classification=space.default_classification_ref,
            payload=record(space, row),
        )
    )
    return Applied(revision=1)


def at(view: View, position: int) -> FrontierRow:
    """The frontier that the command at a position pinned."""
    row = view.db.execute(_SELECT, (position,)).fetchone()
    assert row is not None, f"log row {position} pinned no frontier"
    return FrontierRow(*row)


def show(view: View, request: Request[FrontierShowArgs], admission: Admission) -> Served:
    """``frontier_show``."""
    args = request.args
    assert admission.project is not None
    position = view.position_of("front", args.frontier_id)
    values = None if position is None else view.db.execute(_SELECT, (position,)).fetchone()
    row = None if values is None else FrontierRow(*values)
    space = None if row is None else view.space_at(row.space)
    if (
        row is None
        or space is None
        or row.frontier_id != args.frontier_id
        or space.project != admission.project.position
    ):
        raise not_found("frontier", args.frontier_id)
    if not admission.sees(view, space):
        raise not_found("frontier", args.frontier_id)
    return Served(record(space, row), 1)


def frontier_list(view: View, request: Request[TallystickFrontierListArgs], admission: Admission) -> Served:
    """``tallystick_frontier_list``: those that assemblies pinned, too. A frontier holds places and digests
    alone, so whoever reads the space sees all.
    """
    args = request.args
    space = space_in(view, admission, args.space_id)
    asked = pages.ask(f"list:frontiers:{space.space_id}", args)

    def rows(snapshot: pages.Snapshot) -> Rows:
        columns = ", ".join(f"o.{name}" for name in FrontierRow.__struct_fields__)
        for values in rows_of_space(view, space, snapshot, "frontiers", columns):
            row = FrontierRow(*values)
            yield row.position, record(space, row)

    return page_of(view, admission, asked, rows, None)
