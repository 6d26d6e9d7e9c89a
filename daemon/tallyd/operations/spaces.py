"""Spaces: where people and assistants put what they have to say."""

from __future__ import annotations

from collections.abc import Iterator

from tallyd.admission import Admission
from tallyd.ledger import ids, pages, skeleton, times
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallyd.ledger.view import SPACE_COLUMNS, ProjectRow, SpaceRow, View
from tallyd.operations import objects
from tallyd.operations.results import Served, check_revision, given, optional, space_in
from tallystick.protocol import arguments
from tallystick.protocol.canonical import canonical
from tallystick.protocol.digests import branch_genesis
from tallystick.protocol.envelope import Request
from tallystick.protocol.problems import not_found


def record(project_id: str, row: SpaceRow) -> bytes:
    """Skeleton of a space's record."""
    said: dict[str, object] = {
        "space_id": row.space_id,
        "realm_id": ids.REALM_ID,
        "project_id": project_id,
        "revision": row.revision,
        "title": skeleton.place(skeleton.NAME, row.title),
        "visibility": row.visibility,
        "status": row.status,
        "main_branch_id": row.branch_id,
        "next_space_sequence": row.next_space_sequence,
        "default_classification_ref": row.default_classification_ref,
        "policy_set_ref": row.policy_set_ref,
        "created_by": row.created_by,
        "created_at": times.rfc3339(row.created_ms),
    }
    if row.purpose_contribution_ref is not None:
        said["purpose_contribution_ref"] = row.purpose_contribution_ref
    return skeleton.encode(said)


def create(tx: Transaction, request: Request, admission: Admission) -> Applied:
    """``space_create``: with its main branch and its first steward, in one event."""
    args = request.args
    assert isinstance(args, arguments.SpaceCreateArgs)
    project = admission.project
    assert project is not None
    check_revision(request, 0, "a space that is not there yet")
    purpose = optional(args.purpose_contribution_ref)
    if purpose is not None and not objects.contribution_in_project(tx, project, purpose):
        raise not_found("contribution", purpose)
    row = _new_row(tx, args, project, admission.author, purpose)
    tx.insert("spaces", **{field: getattr(row, field) for field in row.__struct_fields__})
    tx.register(row.main_branch)
    add_participant(tx, row.position, admission.author, "principal", "steward", "auth-local-uds")
    tx.emit(
        Event(
            event_id=row.id,
            type="dev.kovee.space.created.v1",
            schema_ref="schema:space-v1",
            resource=row.space_id,
            resource_revision=1,
            stream=row.position,
            project=project.position,
            classification=row.default_classification_ref,
            payload=record(project.project_id, row),
        )
    )
    return Applied(revision=1)


def _new_row(
    tx: Transaction, args: arguments.SpaceCreateArgs, project: ProjectRow, author: str, purpose: str | None
) -> SpaceRow:
    digits, branch = tx.new_id(), tx.new_id()
    title, _ = tx.seal(canonical(args.title))
    return SpaceRow(
        position=tx.position,
        id=digits,
        project=project.position,
        revision=1,
        title=title,
        purpose_contribution_ref=purpose,
        visibility=args.visibility,
        status="open",
        main_branch=branch,
        next_space_sequence=1,
        branch_sequence=0,
        branch_head=bytes.fromhex(branch_genesis(ids.text("branch", branch))),
        default_classification_ref=given(args.default_classification_ref, project.default_classification_ref),
        policy_set_ref=given(args.policy_set_ref, project.policy_set_ref),
        created_by=author,
        created_ms=tx.now_ms,
    )


def add_participant(
    tx: Transaction,
    space: int,
    subject: str,
    kind: str,
    role: str,
    authority_source: str,
    subject_revision: int | None = None,
) -> None:
    """An active participant, without an event of its own."""
    digits = tx.new_id()
    tx.register(digits)
    tx.insert(
        "participants",
        position=tx.position,
        id=digits,
        space=space,
        subject_ref=subject,
        subject_revision=subject_revision,
        kind=kind,
        role=role,
        status="active",
        revision=1,
        authority_source_ref=authority_source,
    )


def show(view: View, request: Request, admission: Admission) -> Served:
    """``space_show``."""
    args = request.args
    assert isinstance(args, arguments.SpaceShowArgs)
    assert admission.project is not None
    row = space_in(view, admission, args.space_id)
    return Served(view.render(record(admission.project.project_id, row)), row.revision)


def list_(view: View, request: Request, admission: Admission) -> Served:
    """``space_list``: a project's spaces, in the order in which they were made."""
    project = admission.project
    assert project is not None
    asked = pages.ask(f"list:spaces:{project.project_id}", request.args)
    snapshot = pages.open_page(view, asked, lambda: view.project_head(project.position))
    return Served(
        pages.page(view, asked, snapshot, project.project_id, _rows(view, admission, project, snapshot))
    )


def _rows(
    view: View, admission: Admission, project: ProjectRow, snapshot: pages.Snapshot
) -> Iterator[tuple[int, bytes]]:
    rows = view.db.execute(
        f"SELECT {SPACE_COLUMNS} FROM spaces WHERE project = ? AND position > ? AND position <= ? ORDER BY "
        f"position",
        (project.position, snapshot.after, snapshot.bound),
    )
    for values in rows:
        row = SpaceRow(*values)
        if admission.sees(view, row):
            yield row.position, view.render(record(project.project_id, row))
