"""Projects and the realm: what everything else stands in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tallyd.admission import Admission
from tallyd.families.shared.results import Served, check_revision, given
from tallyd.ledger import ids, pages, skeleton, times
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallyd.ledger.view import PROJECT_COLUMNS, ProjectRow, View
from tallystick.protocol.canonical import canonical
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.families.projects import ProjectCreateArgs, ProjectUpdateMetadataArgs
from tallystick.protocol.problems import stale_revision

PROJECT_SCHEMA: Final = "schema:project-v1"
CLASS_DEFAULT: Final = "class-default"
POLICY_DEFAULT: Final = "policy-default"


def record(row: ProjectRow) -> bytes:
    """Skeleton of a project's record."""
    return skeleton.encode(
        {
            "project_id": row.project_id,
            "realm_id": ids.REALM_ID,
            "revision": row.revision,
            "name": skeleton.place(skeleton.NAME, row.name),
            "status": row.status,
            "default_classification_ref": row.default_classification_ref,
            "policy_set_ref": row.policy_set_ref,
            "created_by": row.created_by,
            "created_at": times.rfc3339(row.created_ms),
        }
    )


def create(tx: Transaction, request: Request[ProjectCreateArgs], admission: Admission) -> Applied:
    """``project_create``: an active project at revision 1."""
    args = request.args
    check_revision(request, 0, "a project that is not there yet")
    digits = tx.new_id()
    name, _ = tx.seal(canonical(args.name))
    row = ProjectRow(
        position=tx.position,
        id=digits,
        revision=1,
        name=name,
        status="active",
        default_classification_ref=given(args.default_classification_ref, CLASS_DEFAULT),
        policy_set_ref=given(args.policy_set_ref, POLICY_DEFAULT),
        created_by=admission.author,
        created_ms=tx.now_ms,
    )
    tx.insert("projects", **{field: getattr(row, field) for field in row.__struct_fields__})
    tx.emit(
        Event(
            event_id=digits,
            type="dev.kovee.project.created.v1",
            schema_ref=PROJECT_SCHEMA,
            resource=row.project_id,
            resource_revision=1,
            stream=row.position,
            project=row.position,
            classification=row.default_classification_ref,
            payload=record(row),
        )
    )
    return Applied(revision=1)


METADATA_WHILE: Final = frozenset({"active"})
"""In which status a project may be renamed."""


def update_metadata(
    tx: Transaction, request: Request[ProjectUpdateMetadataArgs], admission: Admission
) -> Applied:
    """``project_update_metadata``: another name, or the same one again, which is a revision too."""
    args = request.args
    project = admission.project
    assert project is not None
    if project.status not in METADATA_WHILE:
        raise stale_revision(
            project.revision,
            f"project {project.project_id} is {project.status}, and keeps its name while it is",
        )
    check_revision(request, project.revision, f"project {project.project_id}")
    name, _ = tx.seal(canonical(args.name))
    row = tx.update_project(project, revision=project.revision + 1, name=name)
    tx.emit(
        Event(
            event_id=tx.new_id(),
            type="dev.kovee.project.updated.v1",
            schema_ref=PROJECT_SCHEMA,
            resource=row.project_id,
            resource_revision=row.revision,
            stream=row.position,
            project=row.position,
            classification=row.default_classification_ref,
            payload=record(row),
        )
    )
    return Applied(revision=row.revision)


def show(view: View, _request: AnyRequest, admission: Admission) -> Served:
    """``project_show``."""
    assert admission.project is not None
    return Served(view.render(record(admission.project)), admission.project.revision)


def list_(view: View, request: AnyRequest, admission: Admission) -> Served:
    """``project_list``: in the order in which they were made."""
    asked = pages.ask("list:projects", request.args)
    snapshot = pages.open_page(view, asked, "projects")
    return Served(pages.page(view, asked, snapshot, _rows(view, admission, snapshot)))


def _rows(view: View, admission: Admission, snapshot: pages.Snapshot) -> Iterator[tuple[int, bytes]]:
    rows = view.db.execute(
        f"SELECT {PROJECT_COLUMNS} FROM projects WHERE position > ? AND position <= ? ORDER BY position",
        (snapshot.after, snapshot.bound),
    )
    for values in rows:
        row = ProjectRow(*values)
        if admission.member(view, row.position):
            yield row.position, view.render_with_marks(record(row))


def realm_show(view: View, _request: AnyRequest, _admission: Admission) -> Served:
    """``realm_show``: the one realm of a personal store."""
    row = view.one(
        "SELECT revision, name, status, home_region, auth_policy_ref, retention_policy_ref, "
        "encryption_key_ref, created_ms "
        "FROM realm WHERE realm_id = ?",
        ids.REALM_ID,
    )
    assert row is not None, "a store without its realm"
    revision, created_ms = row[0], row[7]
    assert isinstance(revision, int)
    assert isinstance(created_ms, int)
    said = {
        "realm_id": ids.REALM_ID,
        "installation_id": view.identity.installation_id,
        "revision": revision,
        "name": row[1],
        "status": row[2],
        "home_region": row[3],
        "auth_policy_ref": row[4],
        "retention_policy_ref": row[5],
        "encryption_key_ref": row[6],
        "created_at": times.rfc3339(created_ms),
    }
    return Served(skeleton.encode(said), revision)
