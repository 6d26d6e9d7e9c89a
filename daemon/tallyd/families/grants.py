"""Grants: what somebody may do in a space without taking part in it. The owner gives and takes them back.

=========== =========
status      revoke
=========== =========
active      revoked
revoked     refused
=========== =========

``allowed_actions`` are the words ``read``, ``contribute`` and ``steward``, or names of operations
(``admission.access``); other words are refused, and allow nothing where an earlier version kept them. A grant
reaches up to its classification ceiling, and until it expires: it then allows nothing, and is shown as
``expired``, though nothing of it has been written anew. Taking one back works in an archived space as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from tallyd.admission import Admission
from tallyd.admission.access import ACTIONS, CONTRIBUTE, READ, STEWARD
from tallyd.families import deployments
from tallyd.families.participants import check_subject, refuse_archived
from tallyd.families.shared.family import Family, read, write
from tallyd.families.shared.results import Served, check_revision, optional, space_in
from tallyd.ledger import ids, pages, skeleton, times
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallyd.ledger.view import SpaceRow, View
from tallystick.protocol.envelope import Request
from tallystick.protocol.families.grants import (
    OPERATIONS,
    SPACE_ACCESS_GRANT_CREATE,
    SPACE_ACCESS_GRANT_LIST,
    SPACE_ACCESS_GRANT_REVOKE,
    SpaceAccessGrantCreateArgs,
    SpaceAccessGrantListArgs,
    SpaceAccessGrantRevokeArgs,
)
from tallystick.protocol.problems import invalid, not_found

GRANT_SCHEMA: Final = "schema:space-access-grant-v1"
REVOKE: Final = "revoke"

LIFECYCLE: Final[dict[str, dict[str, str]]] = {"active": {REVOKE: "revoked"}, "revoked": {}}
"""The status after each thing that may be done, by the status before. Expiry is no status: it is derived."""

SOURCE: Final = "policy-owner-local"
"""What a grant rests on (KCP's word): the owner's own authority over this store."""

_EPOCH: Final = 1
"""Of authorization: there is one authority, and it has not changed hands."""


class GrantRow(msgspec.Struct, frozen=True):
    """A row of ``grants``, its fields in the table's order."""

    position: int
    id: bytes
    space: int
    subject_ref: str
    revision: int
    source_ref: str
    allowed_actions: str
    ceiling_ref: str | None
    authorization_epoch: int
    expires_at: str | None
    expires_ms: int | None
    status: str
    granted_by: str
    created_ms: int

    @property
    def grant_id(self) -> str:
        return ids.text("sgrant", self.id)

    def status_at(self, now_ms: int) -> str:
        """What it is shown as: ``expired`` from its expiry on, unless it was revoked."""
        expired = self.expires_ms is not None and self.expires_ms <= now_ms
        return "expired" if expired and self.status == "active" else self.status


_COLUMNS: Final = ", ".join(GrantRow.__struct_fields__)


def record(space_id: str, row: GrantRow, now_ms: int) -> bytes:
    """A grant's record at a time; it holds no content."""
    said: dict[str, object] = {
        "space_access_id": row.grant_id,
        "space_id": space_id,
        "subject_ref": row.subject_ref,
        "revision": row.revision,
        "source_membership_or_policy_ref": row.source_ref,
        "allowed_actions": skeleton.embedded(row.allowed_actions.encode()),
        "authorization_epoch": row.authorization_epoch,
        "status": row.status_at(now_ms),
        "granted_by_or_policy_use_ref": row.granted_by,
        "created_at": times.rfc3339(row.created_ms),
    }
    for member, value in (
        ("classification_ceiling_ref", row.ceiling_ref),
        ("expires_at", row.expires_at),
    ):
        if value is not None:
            said[member] = value
    return skeleton.encode(said)


def create(tx: Transaction, request: Request[SpaceAccessGrantCreateArgs], admission: Admission) -> Applied:
    """``space_access_grant_create``."""
    args = request.args
    space = space_in(tx, admission, args.space_id)
    check_revision(request, space.revision, f"space {space.space_id}")
    refuse_archived(space)
    check_subject(tx, args.subject_ref)
    _check_grantee(tx, args)
    expires_at = optional(args.expires_at)
    row = GrantRow(
        position=tx.position,
        id=tx.new_id(),
        space=space.position,
        subject_ref=args.subject_ref,
        revision=1,
        source_ref=SOURCE,
        allowed_actions=skeleton.encode(args.allowed_actions).decode(),
        ceiling_ref=optional(args.classification_ceiling_ref),
        authorization_epoch=_EPOCH,
        expires_at=expires_at,
        expires_ms=None if expires_at is None else _still_to_come(tx, expires_at),
        status="active",
        granted_by=admission.author,
        created_ms=tx.now_ms,
    )
    tx.insert("grants", **{field: getattr(row, field) for field in row.__struct_fields__})
    tx.wake(row.subject_ref)
    return _told(tx, space, row, "created", row.id)


SUBJECTS: Final = ("agent-", "prin-", "asstdep-")
"""How the ids of those begin to whom something can be granted."""


def _check_grantee(tx: Transaction, args: SpaceAccessGrantCreateArgs) -> None:
    """Raises Refusal ``invalid`` for actions that there are not, and for what is no id of a subject;
    ``not-found`` for a deployment that is not there. Principals beside the owner are KCP's: they are kept,
    and no channel speaks as one.
    """
    unknown = sorted(set(args.allowed_actions) - ACTIONS)
    if unknown:
        raise invalid(
            f"$.args.allowed_actions: {', '.join(unknown[:8])}: there is no such action; name operations, or "
            f"{READ}, {CONTRIBUTE} or {STEWARD}"
        )
    subject = args.subject_ref
    if not subject.startswith(SUBJECTS):
        raise invalid(
            f"$.args.subject_ref {subject} is nobody's id; a grant is for an agent ({SUBJECTS[0]}…), a "
            f"principal ({SUBJECTS[1]}…) or a deployment ({SUBJECTS[2]}…)"
        )
    deployment = subject.removeprefix("asstdep-")
    if deployment != subject and deployments.find(tx, deployment) is None:
        raise not_found("deployment", deployment)


def _still_to_come(tx: Transaction, expires_at: str) -> int:
    expires_ms = times.unix_ms(expires_at)
    if expires_ms <= tx.now_ms:
        raise invalid(f"$.args.expires_at {expires_at} has passed at {tx.now}; name a later time, or none")
    return expires_ms


def revoke(tx: Transaction, request: Request[SpaceAccessGrantRevokeArgs], admission: Admission) -> Applied:
    """``space_access_grant_revoke``: an expired one too."""
    args = request.args
    row, space = _find(tx, admission, args.space_access_id)
    check_revision(request, row.revision, f"grant {row.grant_id}")
    after = LIFECYCLE[row.status].get(REVOKE)
    if after is None:
        raise invalid(f"grant {row.grant_id} is {row.status} already; there is nothing left to be revoked")
    row = msgspec.structs.replace(row, revision=row.revision + 1, status=after)
    tx.update("grants", {"position": row.position}, revision=row.revision, status=row.status)
    return _told(tx, space, row, "revoked", tx.new_id())


def _told(tx: Transaction, space: SpaceRow, row: GrantRow, what: str, event_digits: bytes) -> Applied:
    tx.emit(
        Event(
            event_id=event_digits,
            type=f"dev.kovee.space.access-grant-{what}.v1",
            schema_ref=GRANT_SCHEMA,
            resource=row.grant_id,
            resource_revision=row.revision,
            stream=space.position,
            project=space.project,
            classification=space.default_classification_ref,
            payload=record(space.space_id, row, tx.now_ms),
        )
    )
    return Applied(revision=row.revision)


def _find(view: View, admission: Admission, grant_id: str) -> tuple[GrantRow, SpaceRow]:
    """The grant and its space, where the actor sees it. Raises Refusal ``not-found``."""
    position, digits = view.position_of("sgrant", grant_id), ids.digits("sgrant", grant_id)
    values = view.db.execute(
        f"SELECT {_COLUMNS} FROM grants WHERE position = ? AND id = ?", (position, digits)
    ).fetchone()
    row = None if values is None else GrantRow(*values)
    space = None if row is None else view.space_at(row.space)
    project = admission.project
    if row is None or space is None or project is None or space.project != project.position:
        raise not_found("grant", grant_id)
    if not admission.sees(view, space):
        raise not_found("grant", grant_id)
    return row, space


# --- reads --------------------------------------------------------------------------------------------------
def list_(view: View, request: Request[SpaceAccessGrantListArgs], admission: Admission) -> Served:
    """``space_access_grant_list``: in the order in which they were given, whatever became of them."""
    args = request.args
    space, project = space_in(view, admission, args.space_id), admission.project
    assert project is not None
    asked = pages.ask(f"list:grants:{space.space_id}", args)
    snapshot = pages.open_page(view, asked, project)
    return Served(pages.page(view, asked, snapshot, _rows(view, space, snapshot)))


def _rows(view: View, space: SpaceRow, snapshot: pages.Snapshot) -> Iterator[tuple[int, bytes]]:
    now_ms = view.wall_ms()
    rows = view.db.execute(
        f"SELECT {_COLUMNS} FROM grants WHERE space = ? AND position > ? AND position <= ? ORDER BY position",
        (space.position, snapshot.after, snapshot.bound),
    )
    for values in rows:
        row = GrantRow(*values)
        yield row.position, record(space.space_id, row, now_ms)


FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        write(SPACE_ACCESS_GRANT_CREATE, create),
        write(SPACE_ACCESS_GRANT_REVOKE, revoke),
        read(SPACE_ACCESS_GRANT_LIST, list_),
    ),
    classifications=("SELECT ceiling_ref FROM grants WHERE ceiling_ref IS NOT NULL",),
)
