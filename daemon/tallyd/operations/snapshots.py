"""Snapshots: what a source holds, and the cursor from which its events go on."""

from __future__ import annotations

from tallyd.admission import Admission
from tallyd.ledger.view import View
from tallyd.operations import events, spaces
from tallyd.operations.results import Served
from tallystick.protocol.envelope import Request
from tallystick.protocol.families.snapshots import SnapshotReadArgs


def read(view: View, request: Request[SnapshotReadArgs], admission: Admission) -> Served:
    """``snapshot_read``: the source is a project, and its items are those of its spaces that are seen."""
    args = request.args
    project = events.source_of(view, admission, args.source, None)
    return Served(spaces.page(view, admission, project, f"snap:spaces:{project.project_id}", args))
