"""Spaces: where people and assistants put what they have to say.

What may be done to a space itself follows from its status:

=========== ================ ================== =================
status      open             frozen             archived
=========== ================ ================== =================
freeze      frozen           refused            refused
reopen      refused          open               refused
archive     archived         archived           refused
metadata,   open             frozen             refused
narrowing,
widening
restrict    open             frozen             archived
=========== ================ ================== =================

Nothing of it deletes history, and nothing of it is the way to let somebody see more: that is a widening,
prepared and then confirmed (``widenings``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tallyd.admission import Admission
from tallyd.families.participants import OWNERS_AUTHORITY, join
from tallyd.families.shared import objects
from tallyd.families.shared.results import Served, check_revision, given, optional, space_in
from tallyd.ledger import ids, pages, skeleton, times
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallyd.ledger.view import SPACE_COLUMNS, ProjectRow, SpaceRow, Value, View
from tallystick.protocol.canonical import canonical
from tallystick.protocol.digests import branch_genesis
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.families.access_changes import SPACE_ACCESS_WIDEN_PREPARE
from tallystick.protocol.families.projects import (
    SPACE_ARCHIVE,
    SPACE_FREEZE,
    SPACE_POLICY_NARROW,
    SPACE_REOPEN,
    SPACE_RESTRICT,
    SPACE_UPDATE_METADATA,
    SpaceCreateArgs,
    SpacePolicyNarrowArgs,
    SpaceShowArgs,
    SpaceUpdateMetadataArgs,
)
from tallystick.protocol.problems import forbidden, not_found, stale_revision

SPACE_SCHEMA: Final = "schema:space-v1"

LIFECYCLE: Final[dict[str, dict[str, str]]] = {
    "open": {
        SPACE_FREEZE.name: "frozen",
        SPACE_ARCHIVE.name: "archived",
        SPACE_UPDATE_METADATA.name: "open",
        SPACE_POLICY_NARROW.name: "open",
        SPACE_ACCESS_WIDEN_PREPARE.name: "open",
        SPACE_RESTRICT.name: "open",
    },
    "frozen": {
        SPACE_REOPEN.name: "open",
        SPACE_ARCHIVE.name: "archived",
        SPACE_UPDATE_METADATA.name: "frozen",
        SPACE_POLICY_NARROW.name: "frozen",
        SPACE_ACCESS_WIDEN_PREPARE.name: "frozen",
        SPACE_RESTRICT.name: "frozen",
    },
    "archived": {
        SPACE_RESTRICT.name: "archived",
    },
}
"""The status after each operation, by the status before. What is not named is refused."""


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


def create(tx: Transaction, request: Request[SpaceCreateArgs], admission: Admission) -> Applied:
    """``space_create``: with its main branch and its first steward, in one event."""
    args = request.args
    project = admission.project
    assert project is not None
    check_revision(request, 0, "a space that is not there yet")
    purpose = optional(args.purpose_contribution_ref)
    if purpose is not None and not objects.contribution_in_project(tx, admission, purpose):
        raise not_found("contribution", purpose)
    row = _new_row(tx, args, project, admission.author, purpose)
    tx.insert("spaces", **{field: getattr(row, field) for field in row.__struct_fields__})
    tx.register(row.main_branch)
    join(tx, row.position, admission.author, "principal", "steward", OWNERS_AUTHORITY)
    tx.emit(
        Event(
            event_id=row.id,
            type="dev.kovee.space.created.v1",
            schema_ref=SPACE_SCHEMA,
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
    tx: Transaction, args: SpaceCreateArgs, project: ProjectRow, author: str, purpose: str | None
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


# --- what is done to a space itself -------------------------------------------------------------------------
def check_status(request: AnyRequest, space: SpaceRow) -> str:
    """The status after the operation. Raises Refusal ``stale-revision`` where the present one forbids it."""
    after = LIFECYCLE[space.status].get(request.operation.name)
    if after is None:
        raise stale_revision(
            space.revision,
            f"space {space.space_id} is {space.status}: no {request.operation.name} while it is",
        )
    return after


def freeze(tx: Transaction, request: AnyRequest, admission: Admission) -> Applied:
    """``space_freeze``: nothing further is written in it until it is reopened."""
    space, status = _target(tx, request, admission)
    return _changed(tx, admission, space, "dev.kovee.space.frozen.v1", status=status)


def reopen(tx: Transaction, request: AnyRequest, admission: Admission) -> Applied:
    """``space_reopen``."""
    space, status = _target(tx, request, admission)
    return _changed(tx, admission, space, "dev.kovee.space.reopened.v1", status=status)


def archive(tx: Transaction, request: AnyRequest, admission: Admission) -> Applied:
    """``space_archive``: for good."""
    space, status = _target(tx, request, admission)
    return _changed(tx, admission, space, "dev.kovee.space.archived.v1", status=status)


def restrict(tx: Transaction, request: AnyRequest, admission: Admission) -> Applied:
    """``space_restrict``: there from now on for its participants, and for whoever holds a grant."""
    space, _ = _target(tx, request, admission)
    if space.visibility == "restricted":
        raise stale_revision(space.revision, f"space {space.space_id} is restricted already")
    return _changed(tx, admission, space, "dev.kovee.space.restricted.v1", visibility="restricted")


def update_metadata(
    tx: Transaction, request: Request[SpaceUpdateMetadataArgs], admission: Admission
) -> Applied:
    """``space_update_metadata``: what is left out stays; with nothing named it is a revision all the same."""
    args = request.args
    space, _ = _target(tx, request, admission)
    purpose = optional(args.purpose_contribution_ref)
    if purpose is not None:
        _check_purpose(tx, admission, space, purpose)
    title = optional(args.title)
    return _changed(
        tx,
        admission,
        space,
        "dev.kovee.space.updated.v1",
        title=space.title if title is None else tx.seal(canonical(title))[0],
        purpose_contribution_ref=purpose or space.purpose_contribution_ref,
    )


def _check_purpose(tx: Transaction, admission: Admission, space: SpaceRow, purpose: str) -> None:
    found = objects.contribution(tx, purpose)
    if found is None or found.space != space.position:
        raise not_found("contribution in this space", purpose)
    objects.refuse_unreachable(tx, admission, space, found.classification, purpose)


def policy_narrow(tx: Transaction, request: Request[SpacePolicyNarrowArgs], admission: Admission) -> Applied:
    """``space_policy_narrow``: what is left out stays. Between names whose order is declared it only
    narrows.
    """
    args = request.args
    space, _ = _target(tx, request, admission)
    policy = given(args.policy_set_ref, space.policy_set_ref)
    classification = given(args.default_classification_ref, space.default_classification_ref)
    orders = tx.orders
    _check_narrows(
        "policy_set_ref", space.policy_set_ref, policy, orders.policies.compare(policy, space.policy_set_ref)
    )
    _check_narrows(
        "default_classification_ref",
        space.default_classification_ref,
        classification,
        orders.compare_classifications(classification, space.default_classification_ref),
    )
    return _changed(
        tx,
        admission,
        space,
        "dev.kovee.space.policy-narrowed.v1",
        policy_set_ref=policy,
        default_classification_ref=classification,
    )


def _check_narrows(member: str, before: str, after: str, compared: int | None) -> None:
    """Names that no order knows are incomparable, and taken as the protocol takes them."""
    if compared is not None and compared < 0:
        raise forbidden(
            f"$.args.{member}: {after} is wider than {before}, by the order that the owner declared, and "
            f"this operation only narrows; to widen a space, prepare it with space_access_widen_prepare"
        )


def _target(tx: Transaction, request: AnyRequest, admission: Admission) -> tuple[SpaceRow, str]:
    """The space that the command is about, its revision and status checked, and the status after it."""
    space = space_in(tx, admission, str(getattr(request.args, "space_id")))  # noqa: B009
    objects.refuse_above(tx, admission, space)
    check_revision(request, space.revision, f"space {space.space_id}")
    return space, check_status(request, space)


def _changed(tx: Transaction, admission: Admission, space: SpaceRow, type_: str, **columns: Value) -> Applied:
    """The space one revision on, told by one event with the whole record."""
    assert admission.project is not None
    row = tx.update_space(space, revision=space.revision + 1, **columns)
    tx.emit(
        Event(
            event_id=tx.new_id(),
            type=type_,
            schema_ref=SPACE_SCHEMA,
            resource=row.space_id,
            resource_revision=row.revision,
            stream=row.position,
            project=row.project,
            classification=row.default_classification_ref,
            payload=record(admission.project.project_id, row),
        )
    )
    return Applied(revision=row.revision)


# --- reads --------------------------------------------------------------------------------------------------
def show(view: View, request: Request[SpaceShowArgs], admission: Admission) -> Served:
    """``space_show``."""
    args = request.args
    assert admission.project is not None
    row = space_in(view, admission, args.space_id)
    objects.refuse_above(view, admission, row)
    return Served(view.render(record(admission.project.project_id, row)), row.revision)


def list_(view: View, request: AnyRequest, admission: Admission) -> Served:
    """``space_list``: a project's spaces, in the order in which they were made."""
    project = admission.project
    assert project is not None
    return Served(page(view, admission, project, f"list:spaces:{project.project_id}", request.args))


def page(view: View, admission: Admission, project: ProjectRow, source: str, args: object) -> bytes:
    """A page of a project's spaces that are seen, as the list that ``source`` names."""
    asked = pages.ask(source, args)
    snapshot = pages.open_page(view, asked, project)
    rows = _rows(view, admission, project, snapshot)
    return pages.page(view, asked, snapshot, rows)


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
        held = admission.rights(view, row)
        if held.reads and held.reaches(view, row.default_classification_ref):
            yield row.position, view.render_with_marks(record(project.project_id, row))
