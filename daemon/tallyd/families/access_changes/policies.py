"""Prepared changes of a project's access policy and default classification.

They reach every space of the project, in whatever status or visibility. Confirming moves the project's
revision, and is told by the change's event alone. A change lists the frontiers of what it reaches: so it is
there for those alone who see all the spaces where these were pinned, and its events with it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tallyd.admission import Admission
from tallyd.families.access_changes import prepared
from tallyd.families.access_changes.prepared import ChangeKind, ChangeRow, Scope
from tallyd.families.shared.results import Served, check_revision, given
from tallyd.ledger import log, pages
from tallyd.ledger.orders import Orders
from tallyd.ledger.transaction import Applied, Refused, Transaction
from tallyd.ledger.view import ProjectRow, View, Viewer
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.families.access_changes import (
    ProjectAccessPolicyChangeCancelArgs,
    ProjectAccessPolicyChangeConfirmArgs,
    ProjectAccessPolicyChangePrepareArgs,
    ProjectAccessPolicyChangeShowArgs,
)
from tallystick.protocol.problems import not_found

POLICY_CHANGE: Final = ChangeKind(
    kind="project_policy",
    what="policy change",
    prefix="papc",
    id_member="change_id",
    schema_ref="schema:project-access-policy-change-v1",
    events="dev.kovee.project.policy-change",
)


def prepare(
    tx: Transaction, request: Request[ProjectAccessPolicyChangePrepareArgs], admission: Admission
) -> Applied:
    """``project_access_policy_change_prepare``."""
    args = request.args
    project = _project(admission)
    check_revision(request, project.revision, f"project {project.project_id}")
    policy = given(args.proposed_policy_set_ref, project.policy_set_ref)
    classification = given(args.proposed_default_classification_ref, project.default_classification_ref)
    subject: dict[str, object] = {
        "project_id": project.project_id,
        "expected_project_revision": project.revision,
        "prior_policy_set_ref": project.policy_set_ref,
        "proposed_policy_set_ref": policy,
        "prior_default_classification_ref": project.default_classification_ref,
        "proposed_default_classification_ref": classification,
    }
    beside: dict[str, object] = {
        "effective_change": effective_change(tx.orders, project, policy, classification),
        "classification_join_ref": project.default_classification_ref,
        "destination_audience_digest": prepared.audience_digest(
            {"scope": "project", "project_id": project.project_id}
        ),
    }
    return prepared.prepare(
        tx,
        POLICY_CHANGE,
        admission.author,
        _scope(tx, project),
        subject,
        beside,
        "affected_space_frontier_refs",
    )


def effective_change(orders: Orders, project: ProjectRow, policy: str, classification: str) -> str:
    """``narrowing`` where nothing gets wider, ``widening`` where nothing gets narrower, by the orders that
    the owner declared; else, and for what no order knows, ``incomparable``.
    """
    compared = (
        orders.policies.compare(policy, project.policy_set_ref),
        orders.compare_classifications(classification, project.default_classification_ref),
    )
    known = [one for one in compared if one is not None]
    if len(known) == len(compared):
        if min(known) >= 0:
            return "narrowing"
        if max(known) <= 0:
            return "widening"
    return "incomparable"


def confirm(
    tx: Transaction, request: Request[ProjectAccessPolicyChangeConfirmArgs], admission: Admission
) -> Applied | Refused:
    """``project_access_policy_change_confirm``."""
    args = request.args
    project = _project(admission)
    row = _find(tx, project, args.change_id)
    prepared.check_prepared(request, POLICY_CHANGE, row, prepared.CONFIRM)
    scope = _scope(tx, project)
    if prepared.has_moved(tx, row, scope):
        return prepared.find_stale(tx, POLICY_CHANGE, row)
    proposed = msgspec.json.decode(row.record, type=_Proposed)
    tx.update_project(
        project,
        revision=project.revision + 1,
        policy_set_ref=proposed.proposed_policy_set_ref,
        default_classification_ref=proposed.proposed_default_classification_ref,
    )
    return prepared.end(tx, POLICY_CHANGE, scope, row, prepared.CONFIRM, args.decision_receipt_ref)


class _Proposed(msgspec.Struct):
    """What a change's record proposes."""

    proposed_policy_set_ref: str
    proposed_default_classification_ref: str


def cancel(
    tx: Transaction, request: Request[ProjectAccessPolicyChangeCancelArgs], admission: Admission
) -> Applied:
    """``project_access_policy_change_cancel``."""
    args = request.args
    project = _project(admission)
    row = _find(tx, project, args.change_id)
    prepared.check_prepared(request, POLICY_CHANGE, row, prepared.CANCEL)
    return prepared.end(tx, POLICY_CHANGE, _scope(tx, project), row, prepared.CANCEL)


# --- reads --------------------------------------------------------------------------------------------------
def show(view: View, request: Request[ProjectAccessPolicyChangeShowArgs], admission: Admission) -> Served:
    """``project_access_policy_change_show``."""
    args = request.args
    row = _find(view, _project(admission), args.change_id)
    if not _shown(view, admission, row):
        raise not_found("policy change", args.change_id)
    return Served(prepared.record(POLICY_CHANGE, row), row.revision)


def list_(view: View, request: AnyRequest, admission: Admission) -> Served:
    """``project_access_policy_change_list``: the project's changes, in whatever state."""
    project = _project(admission)
    asked = pages.ask(f"list:papc:{project.project_id}", request.args)

    def shown(row: ChangeRow) -> bool:
        return _shown(view, admission, row)

    return Served(prepared.page(view, POLICY_CHANGE, project, asked, shown))


def event_shown(view: View, admission: Viewer, row: log.LogRow) -> bool:
    """Whether an event may be shown to an actor who sees its stream: that of a change that is not there for
    them is not.
    """
    if row.schema_ref != POLICY_CHANGE.schema_ref or admission.agent is None:
        return True
    change = prepared.find(view, POLICY_CHANGE, str(row.resource))
    assert change is not None, f"log row {row.position} tells of a policy change that is not there"
    return _shown(view, admission, change)


_LISTED: Final = (
    "SELECT DISTINCT f.space FROM json_each(?, '$.affected_space_frontier_refs') AS listed "
    "JOIN ids ON ids.id = unhex(substr(listed.value, ?)) JOIN frontiers AS f ON f.position = ids.position"
)


def _shown(view: View, admission: Viewer, row: ChangeRow) -> bool:
    if admission.agent is None:
        return True
    spaces = [
        view.space_at(int(listed[0]))
        for listed in view.db.execute(_LISTED, (row.record.decode(), len("front-") + 1))
    ]
    return all(space is not None and admission.sees(view, space) for space in spaces)


def _project(admission: Admission) -> ProjectRow:
    assert admission.project is not None
    return admission.project


def _find(view: View, project: ProjectRow, change_id: str) -> ChangeRow:
    row = prepared.find(view, POLICY_CHANGE, change_id)
    if row is None or row.project != project.position:
        raise not_found("policy change", change_id)
    return row


def _scope(view: View, project: ProjectRow) -> Scope:
    spaces = view.db.execute(
        "SELECT position FROM spaces WHERE project = ? ORDER BY position", (project.position,)
    )
    return Scope(
        project=project.position,
        subject=project.position,
        revision=project.revision,
        classification=project.default_classification_ref,
        spaces=tuple(int(row[0]) for row in spaces),
    )
