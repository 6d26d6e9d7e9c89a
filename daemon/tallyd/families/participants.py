"""Participants: who takes part in a space, in which role, and how far they are let in.

A steward proposes somebody; the owner lets in exactly who was proposed, in the role proposed, by its digest.
From then on role and status say what they may (``admission.access``). Nobody is ever taken off the list:

=========== ========== ========== ========== ========== =========
status      activate   update     to active  to muted   remove
=========== ========== ========== ========== ========== =========
proposed    active     proposed   refused    refused    revoked
active      refused    active     active     muted      revoked
muted       refused    muted      active     muted      revoked
revoked     refused    refused    refused    refused    refused
=========== ========== ========== ========== ========== =========

A subject takes part once in a space, so who was removed is never proposed again. An agent cannot raise its
own role or let itself speak again, whatever else it may do for others, and leaves the owner's part alone. An
archived space keeps its participants as they are. A space's revision is not moved by any of it.

A deployment takes part from its first claim on. Whoever mutes or removes it, or makes it an observer,
silences its workers there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from tallyd.admission import Admission, check_rights, may_steward
from tallyd.families.shared.family import Family, read, write
from tallyd.families.shared.results import Served, check_revision, given, optional, space_in
from tallyd.ledger import agents, ids, pages, skeleton
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallyd.ledger.view import SpaceRow, Value, View
from tallystick.protocol.digests import cod
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.families.participants import (
    OPERATIONS,
    SPACE_PARTICIPANT_ACTIVATE,
    SPACE_PARTICIPANT_ADD,
    SPACE_PARTICIPANT_LIST,
    SPACE_PARTICIPANT_REMOVE,
    SPACE_PARTICIPANT_UPDATE,
    SpaceParticipantActivateArgs,
    SpaceParticipantAddArgs,
    SpaceParticipantListArgs,
    SpaceParticipantRemoveArgs,
    SpaceParticipantUpdateArgs,
)
from tallystick.protocol.problems import forbidden, invalid, not_found, stale_revision

PARTICIPANT_SCHEMA: Final = "schema:space-participant-v1"
OWNERS_AUTHORITY: Final = "auth-local-uds"
"""What participations and grants rest on that somebody gave: the channel's authentication."""

ACTIVATE: Final = "activate"
UPDATE: Final = "update"
REMOVE: Final = "remove"

LIFECYCLE: Final[dict[str, dict[str, str]]] = {
    "proposed": {ACTIVATE: "active", UPDATE: "proposed", REMOVE: "revoked"},
    "active": {UPDATE: "active", "to active": "active", "to muted": "muted", REMOVE: "revoked"},
    "muted": {UPDATE: "muted", "to active": "active", "to muted": "muted", REMOVE: "revoked"},
    "revoked": {},
}
"""The status after each thing that may be done, by the status before. What is not named is refused."""

_RANK: Final = {"observer": 0, "contributor": 1, "steward": 2}


class ParticipantRow(msgspec.Struct, frozen=True):
    """A row of ``participants``, its fields in the table's order."""

    position: int
    id: bytes
    space: int
    subject_ref: str
    subject_revision: int | None
    kind: str
    role: str
    status: str
    revision: int
    authority_source_ref: str

    @property
    def participant_id(self) -> str:
        return ids.text("part", self.id)


_COLUMNS: Final = ", ".join(ParticipantRow.__struct_fields__)


def record(space_id: str, row: ParticipantRow) -> bytes:
    """A participant's record; it holds no content."""
    said: dict[str, object] = {
        "participant_id": row.participant_id,
        "space_id": space_id,
        "subject_ref": row.subject_ref,
        "kind": row.kind,
        "role": row.role,
        "authority_source_ref": row.authority_source_ref,
        "status": row.status,
        "revision": row.revision,
    }
    if row.subject_revision is not None:
        said["subject_revision"] = row.subject_revision
    return skeleton.encode(said)


def subject_digest(space_id: str, row: ParticipantRow) -> str:
    """The digest of who is proposed, in the role that is proposed now (KCP 3.4)."""
    subject = {
        "participant_id": row.participant_id,
        "space_id": space_id,
        "subject_ref": row.subject_ref,
        "kind": row.kind,
        "role": row.role,
    }
    return cod("kovee-participant-subject", PARTICIPANT_SCHEMA, subject)


# --- commands -----------------------------------------------------------------------------------------------
def add(tx: Transaction, request: Request[SpaceParticipantAddArgs], admission: Admission) -> Applied:
    """``space_participant_add``: proposes somebody."""
    args = request.args
    space = space_in(tx, admission, args.space_id)
    check_revision(request, space.revision, f"space {space.space_id}")
    refuse_archived(space)
    check_subject(tx, args.subject_ref, args.kind)
    _refuse_again(tx, space, args.subject_ref)
    row = ParticipantRow(
        position=tx.position,
        id=tx.new_id(),
        space=space.position,
        subject_ref=args.subject_ref,
        subject_revision=optional(args.subject_revision),
        kind=args.kind,
        role=args.role,
        status="proposed",
        revision=1,
        authority_source_ref=OWNERS_AUTHORITY,
    )
    _insert(tx, row)
    return _told(tx, space, row, "added", row.id)


def _refuse_again(view: View, space: SpaceRow, subject: str) -> None:
    row = view.one(
        "SELECT status FROM participants WHERE subject_ref = ? AND space = ?", subject, space.position
    )
    if row is not None:
        there = str(row[0])
        raise invalid(
            f"$.args.subject_ref: {subject} has a part in space {space.space_id} already, and it is "
            f"{there}; a subject takes part once, and who was removed is not proposed again"
        )


def check_subject(view: View, subject: str, kind: str | None = None) -> None:
    """Of subjects the daemon knows its agents alone: an id of that form must be an agent that may still
    speak, and is named as a ``service`` where a kind is named. An agent's name stands for nobody. Raises
    Refusal ``not-found`` or ``invalid``.
    """
    if ids.digits(agents.PREFIX, subject) is None:
        named = agents.named(view, subject)
        if named is not None:
            raise invalid(f"$.args.subject_ref {subject} is an agent's name; use its id, {named.agent_id}")
        return
    agent = agents.agent(view, subject)
    if agent is None:
        raise not_found("agent", subject)
    if not agent.active(view.wall_ms()):
        raise invalid(f"$.args.subject_ref: agent {subject} was revoked, or has expired; add it again")
    if kind not in (None, "service"):
        raise invalid(f"$.args.kind: agent {subject} takes part as a service, not as a {kind}")


def activate(
    tx: Transaction, request: Request[SpaceParticipantActivateArgs], admission: Admission
) -> Applied:
    """``space_participant_activate``: exactly what is proposed now."""
    args = request.args
    row, space = _find(tx, admission, args.participant_id)
    _check_done(request, space, row, ACTIVATE)
    if args.subject_digest != subject_digest(space.space_id, row):
        raise stale_revision(
            row.revision,
            f"$.args.subject_digest is not that of {row.participant_id} as it is proposed now, in the role "
            f"of {row.role}; look at it again",
        )
    return _changed(tx, space, row, "activated", status=LIFECYCLE[row.status][ACTIVATE])


def update(tx: Transaction, request: Request[SpaceParticipantUpdateArgs], admission: Admission) -> Applied:
    """``space_participant_update``: what is left out stays; with nothing named it is a revision too."""
    args = request.args
    row, space = _steered(tx, request, admission, args.participant_id)
    role, status = given(args.role, row.role), optional(args.status)
    _refuse_raising_oneself(admission, row, role, status)
    _check_done(request, space, row, UPDATE)
    return _changed(tx, space, row, "updated", role=role, status=_updated_status(row, status))


def _updated_status(row: ParticipantRow, asked: str | None) -> str:
    after = LIFECYCLE[row.status].get(UPDATE if asked is None else f"to {asked}")
    if after is None:
        raise invalid(
            f"$.args.status: {row.participant_id} is {row.status}, and an update moves a participant between "
            f"active and muted alone; it is activated and removed by operations of their own"
        )
    return after


def _refuse_raising_oneself(admission: Admission, row: ParticipantRow, role: str, status: str | None) -> None:
    if admission.agent is None or row.subject_ref != admission.actor:
        return
    if _RANK[role] > _RANK[row.role] or (row.status == "muted" and status == "active"):
        raise forbidden(
            "an agent does not raise its own role, or let itself speak again; ask another steward, or the "
            "owner"
        )


def remove(tx: Transaction, request: Request[SpaceParticipantRemoveArgs], admission: Admission) -> Applied:
    """``space_participant_remove``: for good; what they wrote stands."""
    args = request.args
    row, space = _steered(tx, request, admission, args.participant_id)
    _check_done(request, space, row, REMOVE)
    return _changed(tx, space, row, "removed", status=LIFECYCLE[row.status][REMOVE])


def join(
    tx: Transaction,
    space: int,
    subject: str,
    kind: str,
    role: str,
    authority_source: str,
    subject_revision: int | None = None,
) -> None:
    """An active participant by something else that a command does: without an event of its own."""
    row = ParticipantRow(
        position=tx.position,
        id=tx.new_id(),
        space=space,
        subject_ref=subject,
        subject_revision=subject_revision,
        kind=kind,
        role=role,
        status="active",
        revision=1,
        authority_source_ref=authority_source,
    )
    tx.register(row.id)
    _insert(tx, row)


def refuse_silenced(view: View, space: SpaceRow, subject: str) -> None:
    """Raises Refusal ``forbidden`` for a deployment that takes part in the space and may not write there: a
    steward has muted or removed it, or made it an observer. What its worker's channel may is judged before.
    """
    row = view.one(
        "SELECT status, role FROM participants WHERE subject_ref = ? AND space = ?", subject, space.position
    )
    status, role = ("", "") if row is None else map(str, row)
    if status in ("muted", "revoked") or role == "observer":
        raise forbidden(
            f"{subject} is {status} in space {space.space_id}, as {role}: its workers write nothing there "
            f"until a steward lets it"
        )


# --- what they share ----------------------------------------------------------------------------------------
def refuse_archived(space: SpaceRow) -> None:
    """Raises Refusal ``invalid`` where the space is closed for good."""
    if space.status == "archived":
        raise invalid(
            f"space {space.space_id} is archived, and who takes part in it, or is granted access, stays as "
            f"it is"
        )


def _check_done(request: AnyRequest, space: SpaceRow, row: ParticipantRow, done: str) -> None:
    """Revision, space, status, in this order. Raises Refusal ``stale-revision`` or ``invalid``."""
    check_revision(request, row.revision, f"participant {row.participant_id}")
    refuse_archived(space)
    if done not in LIFECYCLE[row.status]:
        raise invalid(f"participant {row.participant_id} is {row.status}: no {done} of it while it is")


def _insert(tx: Transaction, row: ParticipantRow) -> None:
    tx.insert("participants", **{field: getattr(row, field) for field in row.__struct_fields__})


def _changed(tx: Transaction, space: SpaceRow, row: ParticipantRow, what: str, **columns: Value) -> Applied:
    columns["revision"] = row.revision + 1
    tx.update("participants", {"position": row.position}, **columns)
    tx.wake(row.subject_ref)
    return _told(tx, space, msgspec.structs.replace(row, **columns), what, tx.new_id())


def _told(tx: Transaction, space: SpaceRow, row: ParticipantRow, what: str, event_digits: bytes) -> Applied:
    tx.emit(
        Event(
            event_id=event_digits,
            type=f"dev.kovee.space.participant-{what}.v1",
            schema_ref=PARTICIPANT_SCHEMA,
            resource=row.participant_id,
            resource_revision=row.revision,
            stream=space.position,
            project=space.project,
            classification=space.default_classification_ref,
            payload=record(space.space_id, row),
        )
    )
    return Applied(revision=row.revision)


def _find(view: View, admission: Admission, participant_id: str) -> tuple[ParticipantRow, SpaceRow]:
    """The participant and its space, where the actor sees it. Raises Refusal ``not-found``."""
    position, digits = view.position_of("part", participant_id), ids.digits("part", participant_id)
    values = view.db.execute(
        f"SELECT {_COLUMNS} FROM participants WHERE position = ? AND id = ?", (position, digits)
    ).fetchone()
    row = None if values is None else ParticipantRow(*values)
    space = None if row is None else view.space_at(row.space)
    project = admission.project
    if row is None or space is None or project is None or space.project != project.position:
        raise not_found("participant", participant_id)
    if not admission.sees(view, space):
        raise not_found("participant", participant_id)
    return row, space


def _steered(
    view: View, request: AnyRequest, admission: Admission, participant_id: str
) -> tuple[ParticipantRow, SpaceRow]:
    """The same for whoever answers for the space. Raises Refusal ``not-found`` or ``forbidden``."""
    row, space = _find(view, admission, participant_id)
    otherwise = f"{request.operation.name} is for stewards of space {space.space_id}"
    check_rights(view, admission, space, may_steward, otherwise)
    if admission.agent is not None and row.subject_ref == ids.OWNER:
        raise forbidden("the owner's part in a space is the owner's to change")
    return row, space


# --- reads --------------------------------------------------------------------------------------------------
def list_(view: View, request: Request[SpaceParticipantListArgs], admission: Admission) -> Served:
    """``space_participant_list``: in the order in which they came, whatever became of them."""
    args = request.args
    space, project = space_in(view, admission, args.space_id), admission.project
    assert project is not None
    asked = pages.ask(f"list:participants:{space.space_id}", args)
    snapshot = pages.open_page(view, asked, project)
    return Served(pages.page(view, asked, snapshot, _rows(view, space, snapshot)))


def _rows(view: View, space: SpaceRow, snapshot: pages.Snapshot) -> Iterator[tuple[int, bytes]]:
    rows = view.db.execute(
        f"SELECT {_COLUMNS} FROM participants WHERE space = ? AND position > ? AND position <= ? "
        "ORDER BY position",
        (space.position, snapshot.after, snapshot.bound),
    )
    for values in rows:
        row = ParticipantRow(*values)
        yield row.position, record(space.space_id, row)


FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        write(SPACE_PARTICIPANT_ADD, add),
        write(SPACE_PARTICIPANT_ACTIVATE, activate),
        write(SPACE_PARTICIPANT_UPDATE, update),
        write(SPACE_PARTICIPANT_REMOVE, remove),
        read(SPACE_PARTICIPANT_LIST, list_),
    ),
)
