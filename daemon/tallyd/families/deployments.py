"""Deployments: a revision of an assistant, configured. Of the realm.

| status  | may become |
|---------|------------|
| created | active     |
| active  | drained    |
| drained | active     |

Another transition is ``invalid``, looked at after the expected revision. A drained deployment takes no new
invocation; what is queued for it can still be claimed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from tallyd.admission import Admission
from tallyd.families import assistants
from tallyd.families.assistants import AROUND_RECORDS, realm_event
from tallyd.families.shared.family import Family, read, write
from tallyd.families.shared.results import Served, check_revision, optional
from tallyd.families.shared.servable import check_servable
from tallyd.ledger import ids, pages, skeleton, times
from tallyd.ledger.transaction import Applied, Transaction
from tallyd.ledger.view import View
from tallystick.protocol.canonical import canonical
from tallystick.protocol.digests import cod
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.families.deployments import (
    DEPLOYMENT_ACTIVATE,
    DEPLOYMENT_CREATE,
    DEPLOYMENT_DRAIN,
    DEPLOYMENT_LIST,
    DEPLOYMENT_SHOW,
    OPERATIONS,
    DeploymentActivateArgs,
    DeploymentCreateArgs,
    DeploymentDrainArgs,
    DeploymentListArgs,
    DeploymentShowArgs,
)
from tallystick.protocol.problems import forbidden, invalid, not_found

DEPLOYMENT_SCHEMA: Final = "schema:assistant-deployment-v1"
LIFECYCLE: Final = {
    "created": frozenset({"active"}),
    "active": frozenset({"drained"}),
    "drained": frozenset({"active"}),
}


class DeploymentRow(msgspec.Struct, frozen=True):
    """A row of ``deployments``, its fields in the table's order."""

    deployment_id: str
    revision: int
    assistant_revision_id: str
    security_profile: str
    status: str
    created_ms: int
    position: int
    activated_ms: int | None
    record: bytes | None


_COLUMNS: Final = ", ".join(DeploymentRow.__struct_fields__)


def find(view: View, deployment_id: str) -> DeploymentRow | None:
    """The deployment of that id, whatever its status, or None."""
    row = view.db.execute(
        f"SELECT {_COLUMNS} FROM deployments WHERE deployment_id = ?", (deployment_id,)
    ).fetchone()
    return None if row is None else DeploymentRow(*row)


def _immutable(row: DeploymentRow) -> dict[str, object]:
    """The members that never change; of the built-in one they follow from its name."""
    if row.record is not None:
        said: dict[str, object] = msgspec.json.decode(row.record)
        return said
    name = row.deployment_id.removeprefix("dep-")
    return {
        "config_ref": f"cfg-{name}",
        "config_digest": cod(
            "kovee-effective-config", "schema:invocation-v1", {"deployment_id": row.deployment_id}
        ),
        "secret_binding_set_ref": "secrets-none",
        "secret_binding_set_digest": cod("kovee-secret-bindings", "schema:invocation-v1", {"bindings": []}),
        "policy_ref": "policy-default",
        "pool_ref": f"pool-{name}",
        "concurrency_policy": "serial-branch",
    }


def configuration(row: DeploymentRow) -> dict[str, str]:
    """What an invocation of it runs under: refs and digests, as the deployment has them."""
    said = _immutable(row)
    return {
        name: str(said[name])
        for name in (
            "config_ref",
            "config_digest",
            "secret_binding_set_ref",
            "secret_binding_set_digest",
            "policy_ref",
        )
    }


def record(row: DeploymentRow) -> bytes:
    """Skeleton of a deployment's record as it is now."""
    said = _immutable(row)
    policy = said.pop("rollout_policy_body", None)
    said["rollout_policy"] = {} if policy is None else skeleton.place(skeleton.OBJECT, int(str(policy)))
    said |= {
        "assistant_deployment_id": row.deployment_id,
        "assistant_revision_id": row.assistant_revision_id,
        "realm_id": ids.REALM_ID,
        "revision": row.revision,
        "security_profile": row.security_profile,
        "status": row.status,
    }
    activated_ms = row.activated_ms
    if row.record is None and activated_ms is None:
        activated_ms = row.created_ms  # the built-in one was active from the first
    if activated_ms is not None:
        said["activated_at"] = times.rfc3339(activated_ms)
    return skeleton.encode(said)


def create(tx: Transaction, request: Request[DeploymentCreateArgs], _admission: Admission) -> Applied:
    """``deployment_create``: an unknown revision is not found before a profile is forbidden."""
    args = request.args
    if assistants.revision_position(tx, args.assistant_revision_id) is None:
        raise not_found("assistant revision", args.assistant_revision_id)
    if args.security_profile != "developer":
        raise forbidden("$.args.security_profile: this daemon runs workers of the developer profile alone")
    check_servable(canonical(args), AROUND_RECORDS, "$.args")
    digits = tx.new_id()
    body, _ = tx.seal(canonical(args.rollout_policy))
    said: dict[str, object] = {"rollout_policy_body": body}
    for member in (
        "config_ref",
        "config_digest",
        "secret_binding_set_ref",
        "secret_binding_set_digest",
        "policy_ref",
        "pool_ref",
        "concurrency_policy",
    ):
        said[member] = getattr(args, member)
    row = DeploymentRow(
        deployment_id=ids.text("dep", digits),
        revision=1,
        assistant_revision_id=args.assistant_revision_id,
        security_profile=args.security_profile,
        status="created",
        created_ms=tx.now_ms,
        position=tx.position,
        activated_ms=None,
        record=skeleton.encode(said),
    )
    tx.insert("deployments", **{field: getattr(row, field) for field in row.__struct_fields__})
    type_ = "dev.kovee.assistant.deployment-created.v1"
    event = realm_event(
        tx, type_, DEPLOYMENT_SCHEMA, row.deployment_id, row.position, record(row), digits=digits
    )
    tx.emit(event)
    return Applied(revision=1)


def activate(tx: Transaction, request: Request[DeploymentActivateArgs], _admission: Admission) -> Applied:
    """``deployment_activate``."""
    args = request.args
    return _become(tx, request, args.assistant_deployment_id, "active", "activated")


def drain(tx: Transaction, request: Request[DeploymentDrainArgs], _admission: Admission) -> Applied:
    """``deployment_drain``."""
    args = request.args
    return _become(tx, request, args.assistant_deployment_id, "drained", "drained")


def _become(tx: Transaction, request: AnyRequest, deployment_id: str, status: str, what: str) -> Applied:
    row = find(tx, deployment_id)
    if row is None:
        raise not_found("deployment", deployment_id)
    check_revision(request, row.revision, f"deployment {deployment_id}")
    if status not in LIFECYCLE[row.status]:
        raise invalid(f"deployment {deployment_id} is {row.status}, and cannot become {status}")
    activated = tx.now_ms if status == "active" else row.activated_ms
    key = {"deployment_id": deployment_id}
    tx.update("deployments", {**key}, revision=row.revision + 1, status=status, activated_ms=activated)
    row = msgspec.structs.replace(row, revision=row.revision + 1, status=status, activated_ms=activated)
    type_ = f"dev.kovee.assistant.deployment-{what}.v1"
    event = realm_event(
        tx, type_, DEPLOYMENT_SCHEMA, deployment_id, row.position, record(row), revision=row.revision
    )
    tx.emit(event)
    return Applied(revision=row.revision)


def show(view: View, request: Request[DeploymentShowArgs], _admission: Admission) -> Served:
    """``deployment_show``."""
    args = request.args
    row = find(view, args.assistant_deployment_id)
    if row is None:
        raise not_found("deployment", args.assistant_deployment_id)
    return Served(view.render(record(row)), row.revision)


def list_(view: View, request: Request[DeploymentListArgs], _admission: Admission) -> Served:
    """``deployment_list``, narrowed by revision; the built-in one first."""
    args = request.args
    revision = optional(args.assistant_revision_id)
    if revision is not None and assistants.revision_position(view, revision) is None:
        raise not_found("assistant revision", revision)
    asked = pages.ask("list:deployments", args, (revision,))
    snapshot = pages.open_page(view, asked, "deployments")
    return Served(pages.page(view, asked, snapshot, _rows(view, snapshot, revision)))


def _rows(view: View, snapshot: pages.Snapshot, revision: str | None) -> Iterator[tuple[int, bytes]]:
    rows = view.db.execute(
        f"SELECT {_COLUMNS} FROM deployments WHERE position > ?1 AND position <= ?2 "
        "AND (?3 IS NULL OR assistant_revision_id = ?3) ORDER BY position",
        (snapshot.after, snapshot.bound, revision),
    )
    for values in rows:
        row = DeploymentRow(*values)
        yield row.position, view.render_with_marks(record(row))


FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        write(DEPLOYMENT_CREATE, create),
        read(DEPLOYMENT_SHOW, show),
        read(DEPLOYMENT_LIST, list_),
        write(DEPLOYMENT_ACTIVATE, activate),
        write(DEPLOYMENT_DRAIN, drain),
    ),
)
