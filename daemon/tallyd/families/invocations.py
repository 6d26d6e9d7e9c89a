"""Invocations as people and operators see them: asked for, shown, listed, canceled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from tallyd.admission import Admission, check_rights, may_write
from tallyd.families import deployments
from tallyd.families.context import assemblies
from tallyd.families.context.assemblies import AssemblyRow
from tallyd.families.deployments import DeploymentRow
from tallyd.families.shared.family import Family, read, write
from tallyd.families.shared.fence import check_fence
from tallyd.families.shared.results import Served, branch_of, check_revision, given, optional, space_in
from tallyd.ledger import attempts, ids, pages, skeleton, times
from tallyd.ledger.attempts import InvocationRow
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallyd.ledger.view import ProjectRow, SpaceRow, View
from tallystick.protocol.canonical import canonical
from tallystick.protocol.digests import cod
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.families.invocations import (
    INVOCATION_CANCEL,
    INVOCATION_CANCEL_BY_WORKER,
    INVOCATION_CREATE,
    INVOCATION_LIST,
    INVOCATION_SHOW,
    OPERATIONS,
    InvocationCancelArgs,
    InvocationCreateArgs,
    InvocationListArgs,
    InvocationShowArgs,
)
from tallystick.protocol.problems import deadline_exceeded, forbidden, invalid, not_found, stale_revision

INVOCATION_SCHEMA: Final = "schema:invocation-v1"

_COLUMNS: Final = ", ".join(InvocationRow.__struct_fields__)


def record(row: InvocationRow) -> bytes:
    """An invocation's record as it is now; it holds no content."""
    said: dict[str, object] = msgspec.json.decode(row.record)
    said["state"] = row.state
    said["revision"] = row.revision
    if row.terminal_ms is not None:
        said["terminal_at"] = times.rfc3339(row.terminal_ms)
    return skeleton.encode(said)


def not_before(row: InvocationRow) -> str:
    """When it may begin, as whoever asked for it said: with an offset it may lie past the year 9999."""
    return str(msgspec.json.decode(row.record)["not_before"])


def event(
    tx: Transaction, row: InvocationRow, type_: str, payload: dict[str, object], digits: bytes | None = None
) -> Event:
    """An event of the invocation's stream, with the members that all of them have."""
    said = {"invocation_id": row.invocation_id, "state": row.state, **payload}
    return Event(
        event_id=tx.new_id() if digits is None else digits,
        type=type_,
        schema_ref=INVOCATION_SCHEMA,
        resource=row.invocation_id,
        resource_revision=row.revision,
        stream=row.position,
        project=row.project,
        classification=_classification(tx, row),
        payload=skeleton.encode(said),
    )


def _classification(tx: Transaction, row: InvocationRow) -> str:
    space = None if row.space is None else tx.space_at(row.space)
    if space is not None:
        return space.default_classification_ref
    project = tx.project_at(row.project)
    assert project is not None
    return project.default_classification_ref


def change(tx: Transaction, row: InvocationRow, **columns: int | str | None) -> InvocationRow:
    """The invocation one revision on, with other columns as given."""
    columns["revision"] = row.revision + 1
    tx.update("invocations", {"position": row.position}, **columns)
    return msgspec.structs.replace(row, **columns)


# --- create -------------------------------------------------------------------------------------------------
def create(tx: Transaction, request: Request[InvocationCreateArgs], admission: Admission) -> Applied:
    """``invocation_create``: queued, to be claimed by a worker of an active deployment."""
    args = request.args
    project = admission.project
    assert project is not None
    if args.context_assembly_digest is not msgspec.UNSET and args.context_assembly_ref is msgspec.UNSET:
        raise invalid(
            "$.args.context_assembly_digest says nothing without context_assembly_ref; send both or neither"
        )
    deployment = _active_deployment(tx, args)
    space = _space_of(tx, admission, args)
    _check_may_invoke(tx, request, admission, space)
    assembly = _assembly_of(tx, admission, space, args)
    deadline_ms = times.unix_ms(args.deadline)
    if deadline_ms <= tx.now_ms:
        raise deadline_exceeded(f"$.args.deadline {args.deadline} has passed at {tx.now}; name a later one")
    row = _row(tx, request, project, space, assembly, deployment, deadline_ms)
    tx.insert("invocations", **{field: getattr(row, field) for field in row.__struct_fields__})
    tx.wake(row.deployment_id)
    payload: dict[str, object] = {
        "assistant_deployment_id": deployment.deployment_id,
        "context_assembly_ref": optional(args.context_assembly_ref),
    }
    tx.emit(event(tx, row, "dev.kovee.invocation.created.v1", payload, row.id))
    return Applied(result=record(row), revision=1)


def _active_deployment(tx: Transaction, args: InvocationCreateArgs) -> DeploymentRow:
    deployment = deployments.find(tx, args.assistant_deployment_id)
    if deployment is None or deployment.status != "active":
        raise not_found("active deployment", args.assistant_deployment_id)
    if deployment.revision != args.assistant_deployment_revision:
        raise stale_revision(
            deployment.revision,
            f"deployment {deployment.deployment_id} is at revision {deployment.revision}; look at it again",
        )
    return deployment


def _space_of(tx: Transaction, admission: Admission, args: InvocationCreateArgs) -> SpaceRow | None:
    space_id, branch_id = optional(args.space_id), optional(args.branch_id)
    if space_id is None:
        if branch_id is not None:
            raise not_found("branch without its space", branch_id)
        return None
    space = space_in(tx, admission, space_id)
    if branch_id is not None:
        branch_of(space, branch_id)
    if space.status == "archived":
        raise stale_revision(space.revision, f"space {space_id} is archived; ask in another one")
    return space


def _assembly_of(
    tx: Transaction, admission: Admission, space: SpaceRow | None, args: InvocationCreateArgs
) -> AssemblyRow | None:
    ref = optional(args.context_assembly_ref)
    if ref is None:
        return None
    row, stands_in = assemblies.seen(tx, admission, ref)
    if space is not None and space.position != stands_in.position:
        raise not_found("assembly", ref)
    assemblies.refuse_withheld(tx, admission, row)
    digest = optional(args.context_assembly_digest)
    if digest is not None and digest != row.digest.hex():
        raise stale_revision(
            1, f"$.args.context_assembly_digest is not the digest of {ref}; read the assembly again"
        )
    return row


def _row(
    tx: Transaction,
    request: Request[InvocationCreateArgs],
    project: ProjectRow,
    space: SpaceRow | None,
    assembly: AssemblyRow | None,
    deployment: DeploymentRow,
    deadline_ms: int,
) -> InvocationRow:
    args = request.args
    digits = tx.new_id()
    not_before = given(args.not_before, tx.now)
    max_attempts = given(args.max_attempts, 1)
    said = _immutable(tx, request, project, assembly, deployment, ids.text("inv", digits))
    said.update(not_before=not_before, max_attempts=max_attempts)
    return InvocationRow(
        position=tx.position,
        id=digits,
        project=project.position,
        space=None if space is None else space.position,
        assembly=None if assembly is None else assembly.position,
        deployment_id=deployment.deployment_id,
        state="queued",
        revision=1,
        not_before_ms=tx.now_ms if args.not_before is msgspec.UNSET else times.unix_ms(args.not_before),
        deadline_ms=deadline_ms,
        max_attempts=max_attempts,
        failed_attempts=0,
        terminal_ms=None,
        record=skeleton.encode(said),
        lapsed_attempts=0,
    )


def _immutable(
    tx: Transaction,
    request: Request[InvocationCreateArgs],
    project: ProjectRow,
    assembly: AssemblyRow | None,
    deployment: DeploymentRow,
    invocation_id: str,
) -> dict[str, object]:
    """The members of the record that never change. Refs and digests follow from the deployment, not from
    constants.
    """
    args = request.args
    assert request.meta is not None
    name = deployment.deployment_id.removeprefix("dep-")
    configured = deployments.configuration(deployment)
    policy = {"policy_ref": configured["policy_ref"], "policy_set_ref": project.policy_set_ref}
    digest = {} if assembly is None else {"context_assembly_digest": assembly.digest.hex()}
    manual = {"invocation_id": invocation_id, "request_id": request.meta.request_id}
    trigger_digest = (
        cod("kovee-manual-trigger", INVOCATION_SCHEMA, manual) if assembly is None else assembly.digest.hex()
    )
    said: dict[str, object] = {
        "invocation_id": invocation_id,
        "realm_id": ids.REALM_ID,
        "project_id": project.project_id,
        "assistant_deployment_id": deployment.deployment_id,
        "assistant_deployment_revision": deployment.revision,
        "assistant_revision_id": deployment.assistant_revision_id,
        "effective_config_ref": configured["config_ref"],
        "effective_config_digest": configured["config_digest"],
        "secret_binding_set_ref": configured["secret_binding_set_ref"],
        "secret_binding_set_digest": configured["secret_binding_set_digest"],
        "effective_policy_digest": cod("kovee-effective-policy", INVOCATION_SCHEMA, policy),
        "effective_security_profile": deployment.security_profile,
        "rollout_decision_ref": f"rollout-{name}",
        "trigger_ref": f"manual-{invocation_id}" if assembly is None else tx.resource_at(assembly.position),
        "trigger_digest": trigger_digest,
        "input_manifest_ref": ids.text("inman", tx.new_id()),
        "input_digest": cod(
            "kovee-input-manifest", INVOCATION_SCHEMA, {"invocation_id": invocation_id, **digest}
        ),
        "correlation_ref": request.meta.request_id,
        "priority": given(args.priority, 0),
        "deadline": args.deadline,
        "created_at": tx.now,
        **digest,
    }
    for member in ("space_id", "branch_id", "context_assembly_ref", "budget_reservation_set_ref"):
        value = getattr(args, member)
        if value is not msgspec.UNSET:
            said[member] = value
    if tx.causation is not None:
        said["causation_ref"] = tx.causation
    return said


# --- cancel -------------------------------------------------------------------------------------------------
_CANCELABLE: Final = frozenset({"queued", "claimed", "running"})


def cancel(tx: Transaction, request: Request[InvocationCancelArgs], admission: Admission) -> Applied:
    """``invocation_cancel`` on the client socket: ends the invocation, and fences a worker that has it."""
    args = request.args
    row = _in_project(tx, admission, args.invocation_id)
    space = None if row.space is None else tx.space_at(row.space)
    _check_may_invoke(tx, request, admission, space)
    check_revision(request, row.revision, f"invocation {row.invocation_id}")
    if row.state not in _CANCELABLE:
        raise stale_revision(
            row.revision, f"invocation {row.invocation_id} is {row.state}, and cannot be canceled"
        )
    reason = sealed_reason(tx, args.reason)
    attempt = attempts.latest(tx, row.position)
    if attempt is not None and attempt.state == "running":
        end_attempt(tx, attempt, "canceled")
    row = change(tx, row, state="canceled", terminal_ms=tx.now_ms)
    payload = {"cancellation_scope": optional(args.cancellation_scope), "reason": reason}
    tx.emit(event(tx, row, "dev.kovee.invocation.canceled.v1", payload))
    return Applied(result=record(row), revision=row.revision)


def cancel_child(tx: Transaction, request: Request[InvocationCancelArgs], admission: Admission) -> Applied:
    """``invocation_cancel`` on the worker socket: an attempt that may act has no children here, so there is
    nothing to be found (KCP section 2).
    """
    args = request.args
    check_fence(tx, request, admission)
    raise not_found("child invocation of this attempt", args.invocation_id)


def sealed_reason(tx: Transaction, reason: str | msgspec.UnsetType) -> object:
    """The place in a skeleton where a reason stands, sealed; None where none was given."""
    if reason is msgspec.UNSET:
        return None
    body, _ = tx.seal(canonical(reason))
    return skeleton.place(skeleton.NAME, body)


def end_attempt(tx: Transaction, attempt: attempts.AttemptRow, state: str) -> None:
    """The attempt may do nothing more; its lease ends when this command is in."""
    key = {"invocation": attempt.invocation, "ordinal": attempt.ordinal}
    tx.update("attempts", {**key}, state=state, ending=tx.position)
    tx.lease_changes.append(lambda: tx.leases.end(attempt.invocation))


# --- reads --------------------------------------------------------------------------------------------------
def _in_project(view: View, admission: Admission, invocation_id: str) -> InvocationRow:
    assert admission.project is not None
    row = attempts.invocation(view, invocation_id)
    if row is None or row.project != admission.project.position or not sees(view, admission, row):
        raise not_found("invocation", invocation_id)
    return row


def sees(view: View, admission: Admission, row: InvocationRow) -> bool:
    """Whether an invocation is there for the actor: it is where the space that it is about is, and else where
    its project is.
    """
    space = None if admission.agent is None else attempts.space_of(view, row)
    return space is None or admission.sees(view, space)


def _check_may_invoke(
    tx: Transaction, request: AnyRequest, admission: Admission, space: SpaceRow | None
) -> None:
    """Raises Refusal ``forbidden`` unless the actor writes where the invocation stands."""
    if admission.agent is None:
        return
    if space is None:
        raise forbidden("an invocation of no space is the owner's to make and to end; name a space")
    otherwise = f"invocations of space {space.space_id} are its contributors'"
    check_rights(tx, admission, space, may_write(request.operation.name), otherwise)


def show(view: View, request: Request[InvocationShowArgs], admission: Admission) -> Served:
    """``invocation_show``."""
    args = request.args
    row = _in_project(view, admission, args.invocation_id)
    return Served(record(row), row.revision)


def list_(view: View, request: Request[InvocationListArgs], admission: Admission) -> Served:
    """``invocation_list``: a project's invocations, narrowed by deployment, space and state as they are
    now.
    """
    args = request.args
    project = admission.project
    assert project is not None
    deployment, space_id, state = (
        optional(args.assistant_deployment_id),
        optional(args.space_id),
        optional(args.state),
    )
    space = None if space_id is None else space_in(view, admission, space_id).position
    asked = pages.ask(f"list:invocations:{project.project_id}", args, (deployment, space_id, state))
    snapshot = pages.open_page(view, asked, project)
    rows = _rows(view, admission, project, snapshot, (deployment, space, state))
    return Served(pages.page(view, asked, snapshot, rows))


def _rows(
    view: View,
    admission: Admission,
    project: ProjectRow,
    snapshot: pages.Snapshot,
    narrowed: tuple[str | None, int | None, str | None],
) -> Iterator[tuple[int, bytes]]:
    cursor = view.db.execute(
        f"SELECT {_COLUMNS} FROM invocations WHERE project = ?1 AND position > ?2 AND position <= ?3 "
        "AND (?4 IS NULL OR deployment_id = ?4) AND (?5 IS NULL OR space = ?5) AND (?6 IS NULL OR state = "
        "?6) "
        "ORDER BY position",
        (project.position, snapshot.after, snapshot.bound, *narrowed),
    )
    for values in cursor:
        row = InvocationRow(*values)
        if sees(view, admission, row):
            yield row.position, record(row)


FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        write(INVOCATION_CREATE, create),
        read(INVOCATION_SHOW, show),
        read(INVOCATION_LIST, list_, scans=("assistant_deployment_id", "space_id", "state")),
        write(INVOCATION_CANCEL, cancel),
        write(INVOCATION_CANCEL_BY_WORKER, cancel_child),
    ),
)
