"""Branches: the head of one is what an append is compared with."""

from __future__ import annotations

from tallyd.admission import Admission
from tallyd.families.shared.results import Served
from tallyd.ledger import skeleton, times
from tallyd.ledger.view import View
from tallystick.protocol.envelope import Request
from tallystick.protocol.families.context import TallystickBranchShowArgs
from tallystick.protocol.problems import not_found


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
