"""Snapshots: what a source holds, and the cursor from which its events go on."""

from __future__ import annotations

from typing import Final

from tallyd.admission import Admission
from tallyd.families import events
from tallyd.families.projects import spaces
from tallyd.families.shared.family import Family, read
from tallyd.families.shared.results import Served
from tallyd.ledger.view import View
from tallystick.protocol.envelope import Request
from tallystick.protocol.families.snapshots import OPERATIONS, SNAPSHOT_READ, SnapshotReadArgs


def read_snapshot(view: View, request: Request[SnapshotReadArgs], admission: Admission) -> Served:
    """``snapshot_read``: the source is a project, and its items are those of its spaces that are seen."""
    args = request.args
    project = events.source_of(view, admission, args.source, None)
    return Served(spaces.page(view, admission, project, f"snap:spaces:{project.project_id}", args))


FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(read(SNAPSHOT_READ, read_snapshot),),
)
