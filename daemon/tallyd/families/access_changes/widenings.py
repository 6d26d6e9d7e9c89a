"""Prepared widenings of who may see a space: its visibility, its policy, its default classification.

``space_restrict`` and ``space_policy_narrow`` only ever narrow; the way back is this one. Confirming moves
the space's revision, and is told by the widening's event alone.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tallyd.admission import Admission, check_rights, may_steward
from tallyd.families.access_changes import prepared
from tallyd.families.access_changes.prepared import ChangeKind, ChangeRow, Scope
from tallyd.families.projects.spaces import check_status
from tallyd.families.shared.results import Served, check_revision, given, optional, space_in
from tallyd.ledger import pages
from tallyd.ledger.transaction import Applied, Refused, Transaction
from tallyd.ledger.view import SpaceRow, View
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.families.access_changes import (
    SpaceAccessWidenCancelArgs,
    SpaceAccessWidenConfirmArgs,
    SpaceAccessWidenListArgs,
    SpaceAccessWidenPrepareArgs,
    SpaceAccessWidenShowArgs,
)
from tallystick.protocol.problems import not_found

WIDENING: Final = ChangeKind(
    kind="space_widening",
    what="widening",
    prefix="widen",
    id_member="widening_id",
    schema_ref="schema:space-access-widening-v1",
    events="dev.kovee.space.access-widening",
)


def prepare(tx: Transaction, request: Request[SpaceAccessWidenPrepareArgs], admission: Admission) -> Applied:
    """``space_access_widen_prepare``: in any space that is not archived."""
    args = request.args
    space = space_in(tx, admission, args.space_id)
    check_status(request, space)
    check_revision(request, space.revision, f"space {space.space_id}")
    visibility = given(args.proposed_visibility, space.visibility)
    subject: dict[str, object] = {
        "space_id": space.space_id,
        "expected_space_revision": space.revision,
        "prior_visibility": space.visibility,
        "proposed_visibility": visibility,
        "prior_policy_set_ref": space.policy_set_ref,
        "proposed_policy_set_ref": given(args.proposed_policy_set_ref, space.policy_set_ref),
        "prior_default_classification_ref": space.default_classification_ref,
        "proposed_default_classification_ref": given(
            args.proposed_default_classification_ref, space.default_classification_ref
        ),
    }
    beside: dict[str, object] = {
        "classification_join_ref": space.default_classification_ref,
        "destination_audience_digest": prepared.audience_digest(
            {"scope": "space", "space_id": space.space_id, "visibility": visibility}
        ),
    }
    return prepared.prepare(
        tx, WIDENING, admission.author, _scope(space), subject, beside, "affected_frontier_refs"
    )


def confirm(
    tx: Transaction, request: Request[SpaceAccessWidenConfirmArgs], admission: Admission
) -> Applied | Refused:
    """``space_access_widen_confirm``."""
    args = request.args
    row, space = _steered(tx, request, admission, args.widening_id)
    prepared.check_prepared(request, WIDENING, row, prepared.CONFIRM)
    if prepared.has_moved(tx, row, _scope(space)):
        return prepared.find_stale(tx, WIDENING, row)
    proposed = msgspec.json.decode(row.record, type=_Proposed)
    tx.update_space(
        space,
        revision=space.revision + 1,
        visibility=proposed.proposed_visibility,
        policy_set_ref=proposed.proposed_policy_set_ref,
        default_classification_ref=proposed.proposed_default_classification_ref,
    )
    return prepared.end(tx, WIDENING, _scope(space), row, prepared.CONFIRM, args.decision_receipt_ref)


class _Proposed(msgspec.Struct):
    """What a widening's record proposes."""

    proposed_visibility: str
    proposed_policy_set_ref: str
    proposed_default_classification_ref: str


def cancel(tx: Transaction, request: Request[SpaceAccessWidenCancelArgs], admission: Admission) -> Applied:
    """``space_access_widen_cancel``: in any status of the space."""
    args = request.args
    row, space = _steered(tx, request, admission, args.widening_id)
    prepared.check_prepared(request, WIDENING, row, prepared.CANCEL)
    return prepared.end(tx, WIDENING, _scope(space), row, prepared.CANCEL)


# --- reads --------------------------------------------------------------------------------------------------
def show(view: View, request: Request[SpaceAccessWidenShowArgs], admission: Admission) -> Served:
    """``space_access_widen_show``."""
    args = request.args
    row, _ = _find(view, admission, args.widening_id)
    return Served(prepared.record(WIDENING, row), row.revision)


def list_(view: View, request: Request[SpaceAccessWidenListArgs], admission: Admission) -> Served:
    """``space_access_widen_list``: of the project's spaces that the actor sees, or of the one that is
    named.
    """
    args = request.args
    project, space_id = admission.project, optional(args.space_id)
    assert project is not None
    named = None if space_id is None else space_in(view, admission, space_id)
    asked = pages.ask(f"list:widenings:{project.project_id}", args, (space_id,))
    seen: dict[int, bool] = {}

    def shown(row: ChangeRow) -> bool:
        if named is not None:
            return row.subject == named.position
        if row.subject not in seen:
            space = view.space_at(row.subject)
            seen[row.subject] = space is not None and admission.sees(view, space)
        return seen[row.subject]

    return Served(prepared.page(view, WIDENING, project, asked, shown))


# --- where a widening stands --------------------------------------------------------------------------------
def _find(view: View, admission: Admission, widening_id: str) -> tuple[ChangeRow, SpaceRow]:
    """The widening and its space, where the actor sees it. Raises Refusal ``not-found``."""
    row = prepared.find(view, WIDENING, widening_id)
    space = None if row is None else view.space_at(row.subject)
    project = admission.project
    if row is None or space is None or project is None or space.project != project.position:
        raise not_found("widening", widening_id)
    if not admission.sees(view, space):
        raise not_found("widening", widening_id)
    return row, space


def _steered(
    view: View, request: AnyRequest, admission: Admission, widening_id: str
) -> tuple[ChangeRow, SpaceRow]:
    """The same for whoever answers for the space. Raises Refusal ``not-found`` or ``forbidden``."""
    row, space = _find(view, admission, widening_id)
    otherwise = f"{request.operation.name} is for stewards of space {space.space_id}"
    check_rights(view, admission, space, may_steward, otherwise)
    return row, space


def _scope(space: SpaceRow) -> Scope:
    return Scope(
        project=space.project,
        subject=space.position,
        revision=space.revision,
        classification=space.default_classification_ref,
        spaces=(space.position,),
    )
