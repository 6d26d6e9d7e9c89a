"""Aliases: names that a project has for a deployment at one revision. A name is no identity, and wakes
nobody.

| status  | may become |
|---------|------------|
| active  | revoked    |
| revoked | –          |

One active alias of a project has a normalised name. Names are content: they stand sealed, and the few of a
project are opened to be compared; there is no index that a forgotten name would live on in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from unicodedata import normalize

import msgspec

from tallyd.admission import Admission
from tallyd.families import deployments
from tallyd.families.shared.family import Family, read, write
from tallyd.families.shared.results import Served, check_revision, optional
from tallyd.ledger import ids, pages, skeleton, times
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallyd.ledger.view import ContentDamaged, ProjectRow, View
from tallystick.protocol.canonical import canonical
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.families.aliases import (
    ASSISTANT_ALIAS_BIND,
    ASSISTANT_ALIAS_LIST,
    ASSISTANT_ALIAS_REVOKE,
    ASSISTANT_ALIAS_SHOW,
    ASSISTANT_ALIAS_UPDATE,
    OPERATIONS,
    AssistantAliasBindArgs,
    AssistantAliasListArgs,
    AssistantAliasRevokeArgs,
    AssistantAliasShowArgs,
    AssistantAliasUpdateArgs,
)
from tallystick.protocol.problems import invalid, not_found, stale_revision

LIFECYCLE: Final = {"active": frozenset({"active", "revoked"}), "revoked": frozenset[str]()}


class AliasRow(msgspec.Struct, frozen=True):
    """A row of ``aliases``, its fields in the table's order."""

    position: int
    id: bytes
    project: int
    revision: int
    display: int
    normalized: int
    deployment_id: str
    deployment_revision: int
    status: str
    created_by: str
    created_ms: int

    @property
    def alias_id(self) -> str:
        return ids.text("alias", self.id)


_COLUMNS: Final = ", ".join(AliasRow.__struct_fields__)


def normalized(display: str) -> str:
    """Lower case, white space collapsed (KCP section 9)."""
    return " ".join(display.lower().split())


def find(view: View, alias_id: str) -> AliasRow | None:
    """The alias of that id, in whatever project, or None."""
    position = view.position_of("alias", alias_id)
    if position is None:
        return None
    row = view.db.execute(f"SELECT {_COLUMNS} FROM aliases WHERE position = ?", (position,)).fetchone()
    return None if row is None else AliasRow(*row)


def record(project_id: str, row: AliasRow) -> bytes:
    """Skeleton of an alias's record."""
    return skeleton.encode(
        {
            "alias_binding_id": row.alias_id,
            "realm_id": ids.REALM_ID,
            "project_id": project_id,
            "revision": row.revision,
            "normalized_alias": skeleton.place(skeleton.NAME, row.normalized),
            "display_alias": skeleton.place(skeleton.NAME, row.display),
            "assistant_deployment_id": row.deployment_id,
            "deployment_revision": row.deployment_revision,
            "status": row.status,
            "created_by": row.created_by,
            "created_at": times.rfc3339(row.created_ms),
        }
    )


def _event(project: ProjectRow, row: AliasRow, what: str, digits: bytes) -> Event:
    return Event(
        event_id=digits,
        type=f"dev.kovee.assistant.alias-{what}.v1",
        schema_ref="schema:assistant-alias-binding-v1",
        resource=row.alias_id,
        resource_revision=row.revision,
        stream=row.position,
        project=project.position,
        classification=project.default_classification_ref,
        payload=record(project.project_id, row),
    )


def bind(tx: Transaction, request: Request[AssistantAliasBindArgs], admission: Admission) -> Applied:
    """``assistant_alias_bind``."""
    args = request.args
    project = admission.project
    assert project is not None
    name = normalized(args.display_alias)
    if not name:
        raise invalid("$.args.display_alias is white space alone; give it a name")
    _check_deployment(tx, args.assistant_deployment_id, args.deployment_revision)
    if _folded(canonical(name)) in _active_names(tx, project):
        raise invalid(
            "$.args.display_alias is an active alias of this project already; revoke it, or choose another"
        )
    digits = tx.new_id()
    display, _ = tx.seal(canonical(args.display_alias))
    plain, _ = tx.seal(canonical(name))
    row = AliasRow(
        position=tx.position,
        id=digits,
        project=project.position,
        revision=1,
        display=display,
        normalized=plain,
        deployment_id=args.assistant_deployment_id,
        deployment_revision=args.deployment_revision,
        status="active",
        created_by=admission.author,
        created_ms=tx.now_ms,
    )
    tx.insert("aliases", **{field: getattr(row, field) for field in row.__struct_fields__})
    tx.emit(_event(project, row, "bound", digits))
    return Applied(revision=1)


def _check_deployment(tx: Transaction, deployment_id: str, revision: int) -> None:
    deployment = deployments.find(tx, deployment_id)
    if deployment is None:
        raise not_found("deployment", deployment_id)
    if deployment.revision != revision:
        raise stale_revision(
            deployment.revision,
            f"deployment {deployment_id} is at revision {deployment.revision}; look at it again",
        )


def _active_names(tx: Transaction, project: ProjectRow) -> set[bytes | None]:
    rows = tx.all("SELECT normalized FROM aliases WHERE project = ? AND status = 'active'", project.position)
    return {_folded(_readable(tx, int(str(body)))) for (body,) in rows}


def _folded(name: bytes | None) -> bytes | None:
    """A name as it is compared: one name can be written in two ways that look the same (Unicode's NFC)."""
    return None if name is None else normalize("NFC", name.decode()).encode()


def _readable(tx: Transaction, body: int) -> bytes | None:
    """A name that cannot be opened is not compared: it keeps nobody from being given another one."""
    try:
        return tx.content(body)
    except ContentDamaged:
        return None


def update(tx: Transaction, request: Request[AssistantAliasUpdateArgs], admission: Admission) -> Applied:
    """``assistant_alias_update``: it stands for another deployment, or another revision, from now on."""
    args = request.args
    row = _changeable(tx, request, admission, args.alias_binding_id, "active")
    _check_deployment(tx, args.assistant_deployment_id, args.deployment_revision)
    return _changed(
        tx,
        admission,
        row,
        "updated",
        deployment_id=args.assistant_deployment_id,
        deployment_revision=args.deployment_revision,
    )


def revoke(tx: Transaction, request: Request[AssistantAliasRevokeArgs], admission: Admission) -> Applied:
    """``assistant_alias_revoke``."""
    args = request.args
    row = _changeable(tx, request, admission, args.alias_binding_id, "revoked")
    return _changed(tx, admission, row, "revoked", status="revoked")


def _changeable(
    tx: Transaction, request: AnyRequest, admission: Admission, alias_id: str, to: str
) -> AliasRow:
    row = _in_project(tx, admission, alias_id)
    check_revision(request, row.revision, f"alias {alias_id}")
    if to not in LIFECYCLE[row.status]:
        raise invalid(f"alias {alias_id} is {row.status}, and can be changed no more")
    return row


def _changed(
    tx: Transaction, admission: Admission, row: AliasRow, what: str, **columns: str | int
) -> Applied:
    project = admission.project
    assert project is not None
    columns["revision"] = row.revision + 1
    tx.update("aliases", {"position": row.position}, **columns)
    row = msgspec.structs.replace(row, **columns)
    tx.emit(_event(project, row, what, tx.new_id()))
    return Applied(revision=row.revision)


def _in_project(view: View, admission: Admission, alias_id: str) -> AliasRow:
    row = find(view, alias_id)
    if row is None or admission.project is None or row.project != admission.project.position:
        raise not_found("alias", alias_id)
    return row


def show(view: View, request: Request[AssistantAliasShowArgs], admission: Admission) -> Served:
    """``assistant_alias_show``."""
    args = request.args
    row = _in_project(view, admission, args.alias_binding_id)
    assert admission.project is not None
    return Served(view.render(record(admission.project.project_id, row)), row.revision)


def list_(view: View, request: Request[AssistantAliasListArgs], admission: Admission) -> Served:
    """``assistant_alias_list``, narrowed by deployment; revoked ones stay listed."""
    args = request.args
    project = admission.project
    assert project is not None
    deployment = optional(args.assistant_deployment_id)
    asked = pages.ask(f"list:aliases:{project.project_id}", args, (deployment,))
    snapshot = pages.open_page(view, asked, project)
    rows = _rows(view, project, snapshot, deployment)
    return Served(pages.page(view, asked, snapshot, rows))


def _rows(
    view: View, project: ProjectRow, snapshot: pages.Snapshot, deployment: str | None
) -> Iterator[tuple[int, bytes]]:
    rows = view.db.execute(
        f"SELECT {_COLUMNS} FROM aliases WHERE project = ?1 AND position > ?2 AND position <= ?3 "
        "AND (?4 IS NULL OR deployment_id = ?4) ORDER BY position",
        (project.position, snapshot.after, snapshot.bound, deployment),
    )
    for values in rows:
        row = AliasRow(*values)
        yield row.position, view.render_with_marks(record(project.project_id, row))


FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        write(ASSISTANT_ALIAS_BIND, bind),
        read(ASSISTANT_ALIAS_SHOW, show),
        read(ASSISTANT_ALIAS_LIST, list_),
        write(ASSISTANT_ALIAS_UPDATE, update),
        write(ASSISTANT_ALIAS_REVOKE, revoke),
    ),
)
