"""Erasure: content and its keys go in the command's own transaction; the files are cleaned behind it.

| state   | may become | means                                                                    |
|---------|------------|--------------------------------------------------------------------------|
| erasing | erased     | nobody can read it any more, through the daemon or with the key files    |
| erased  | –          | nothing of it is left in the write-ahead log, in copies or in the vault |

Deleting the rows is what erases: deleted cells are overwritten, and what other places hold are skeletons and
keyed digests whose keys went too. Behind it the write-ahead log is cut, copies made before migrations are
cleaned, sealed and staged files unlinked; then an event says ``erased``. The reply comes when that is done:
whoever has it may pull the plug, and nothing is left. Where it takes too long (a disk or a reader stands in
the way) the reply comes all the same, and says ``erasing`` where its record can. A crash in between leaves
``erasing``, and the next start goes on from there.

``contribution_redact`` reaches a contribution's body and its artifacts. ``tallystick_erase`` reaches what
else holds content: names, titles, reasons, descriptions, payloads of applications, the free objects of lenses
and deployments, in every event that an object had; an artifact's bytes, whatever carries it; and the digest
that was declared for an upload of which no artifact came.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec
from msgspec import UNSET

from tallyd.admission import Admission, check_rights, may_steward
from tallyd.families.artifacts import rows as artifact_rows
from tallyd.families.artifacts import uploads as artifacts
from tallyd.families.artifacts.rows import UploadRow
from tallyd.families.dispositions import REDACTED, dispose, refuse_second
from tallyd.families.lenses import lenses
from tallyd.families.shared import objects
from tallyd.families.shared.family import Errand, Family, write
from tallyd.families.shared.host import Host
from tallyd.families.shared.results import check_revision
from tallyd.ledger import attempts, ids, lifecycles, log, skeleton, times
from tallyd.ledger.log import LogRow
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallyd.ledger.view import SpaceRow, View
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.families.erasure import (
    CONTRIBUTION_REDACT,
    OPERATIONS,
    TALLYSTICK_ERASE,
    ContributionRedactArgs,
    TallystickEraseArgs,
)
from tallystick.protocol.problems import forbidden, invalid, not_found

ERASURE_SCHEMA: Final = "schema:tallystick-erasure-v1"
FINISH: Final = "erasure_finish"
"""The system command that writes down that nothing is left."""
OBJECT: Final = "object with content of its own"
LIFECYCLE: Final = {"erasing": frozenset({"erased"}), "erased": frozenset[str]()}


class ErasureRow(msgspec.Struct, frozen=True):
    """A row of ``erasures``, its fields in the table's order."""

    position: int
    id: bytes
    subject: str
    reason_class: str
    bodies: int
    authorized_by: str
    state: str
    created_ms: int
    erased_ms: int | None


_COLUMNS: Final = ", ".join(ErasureRow.__struct_fields__)


def record(row: ErasureRow) -> bytes:
    """An erasure's record as it is now, for an event; it holds no content."""
    said = _members(row)
    if row.erased_ms is not None:
        said["erased_at"] = times.rfc3339(row.erased_ms)
    return skeleton.encode(said)


def _living_record(row: ErasureRow) -> bytes:
    """The same for a reply, which says how far the erasure is when it is given."""
    return skeleton.encode({**_members(row), "state": skeleton.place(skeleton.ERASURE, row.position)})


def _members(row: ErasureRow) -> dict[str, object]:
    return {
        "erasure_id": ids.text("erase", row.id),
        "subject_ref": row.subject,
        "reason_class": row.reason_class,
        "bodies": row.bodies,
        "authorized_by_ref": row.authorized_by,
        "state": row.state,
        "created_at": times.rfc3339(row.created_ms),
    }


def in_progress(view: View) -> list[ErasureRow]:
    """Erasures behind which something is still to be cleaned up."""
    rows = view.db.execute(f"SELECT {_COLUMNS} FROM erasures WHERE state = 'erasing' ORDER BY position")
    return [ErasureRow(*values) for values in rows]


def _begin(tx: Transaction, admission: Admission, subject: str, reason_class: str, bodies: int) -> ErasureRow:
    row = ErasureRow(
        position=tx.position,
        id=tx.new_id(),
        subject=subject,
        reason_class=reason_class,
        bodies=bodies,
        authorized_by=admission.author,
        state=lifecycles.begin(LIFECYCLE, "erasing"),
        created_ms=tx.now_ms,
        erased_ms=None,
    )
    tx.insert("erasures", **{field: getattr(row, field) for field in row.__struct_fields__})
    return row


# --- contributions ------------------------------------------------------------------------------------------
def redact(tx: Transaction, request: Request[ContributionRedactArgs], admission: Admission) -> Applied:
    """``contribution_redact``: in any status of the space. The record stays, its body says that it was
    redacted.
    """
    args = request.args
    ref = args.contribution_ref
    target = objects.contribution(tx, ref)
    space = None if target is None else tx.space_at(target.space)
    project = admission.project
    if target is None or space is None or project is None or space.project != project.position:
        raise not_found("contribution", ref)
    if not admission.sees(tx, space):
        raise not_found("contribution", ref)
    _check_steward(tx, request, admission, space)
    objects.refuse_unreachable(tx, admission, space, target.classification, ref)
    check_revision(request, space.revision, f"space {space.space_id}")
    refuse_second(tx, ref, target, REDACTED)
    carried = artifact_rows.carried_by(tx, target.position)
    applied = dispose(tx, admission, space, target, REDACTED, args.reason_class)
    tx.forget(target.body)
    for artifact in carried:
        artifacts.erase(tx, artifact)
    row = _begin(tx, admission, ref, args.reason_class, 1 + len(carried))
    tx.register(row.id)
    return msgspec.structs.replace(applied, awaits=FINISH)


def _unfinished(tx: Transaction, position: int) -> str | None:
    """A redaction's record is the protocol's, and has no member that says how far the files are."""
    row = tx.one("SELECT state FROM erasures WHERE position = ?", position)
    return FINISH if row is not None and row[0] == "erasing" else None


def _check_steward(tx: Transaction, request: AnyRequest, admission: Admission, space: SpaceRow) -> None:
    otherwise = f"{request.operation.name} is for stewards of space {space.space_id}"
    check_rights(tx, admission, space, may_steward, otherwise)


# --- everything else ----------------------------------------------------------------------------------------
def erase(tx: Transaction, request: Request[TallystickEraseArgs], admission: Admission) -> Applied:
    """``tallystick_erase``."""
    args = request.args
    if args.object_ref is not UNSET and args.object_ref.startswith("art-"):
        return _erase_artifact(tx, admission, args.object_ref, args.reason_class)
    if args.object_ref is not UNSET and args.object_ref.startswith("upl-"):
        return _erase_upload(tx, admission, args.object_ref, args.reason_class)
    if args.object_ref is not UNSET:
        what, subject = OBJECT, args.object_ref
        rows = _rows_of_object(tx, subject)
    else:
        assert args.event_id is not UNSET
        what, subject = "event", args.event_id
        rows = [_row_of_event(tx, subject)]
    if not _seen(tx, admission, rows[0]):
        raise not_found(what, subject)
    _check_may_erase(tx, request, admission, subject, rows)
    _refuse_contribution(rows[0])
    bodies = sorted({body for row in rows for body in _bodies(row)})
    alive = [body for body in bodies if tx.one("SELECT 1 FROM bodies WHERE body = ?", body) is not None]
    if not alive:
        raise invalid(f"{subject} holds no content that is left to be erased")
    for body in alive:
        tx.forget(body)
    return _begun(tx, admission, subject, args.reason_class, len(alive))


def _begun(tx: Transaction, admission: Admission, subject: str, reason_class: str, bodies: int) -> Applied:
    row = _begin(tx, admission, subject, reason_class, bodies)
    tx.emit(_event(row, "erasing", row.id))
    return Applied(result=_living_record(row), revision=1, awaits=FINISH)


def _erase_artifact(tx: Transaction, admission: Admission, artifact_id: str, reason_class: str) -> Applied:
    """Its bytes, whoever carries it. For the owner and for who uploaded it; a steward redacts the
    contribution that carries it.
    """
    artifact = artifact_rows.seen_artifact(tx, admission, artifact_id)
    if admission.agent is not None and artifact.owner_ref != admission.actor:
        raise forbidden(f"erasing artifact {artifact_id} is for who uploaded it, and for the owner")
    if artifact.state in ("pending", "verifying"):
        raise invalid(f"the upload of artifact {artifact_id} has not ended; use artifact_upload_abort first")
    if artifact.state == "available":
        artifacts.erase(tx, artifact)
        return _begun(tx, admission, artifact_id, reason_class, 1)
    upload = artifact_rows.upload_at(tx, artifact.position)
    return _erase_declared(tx, admission, upload, artifact_id, reason_class)


def _erase_upload(tx: Transaction, admission: Admission, upload_id: str, reason_class: str) -> Applied:
    """What is kept of an upload that has ended; bytes that became an artifact are the artifact's. For the
    owner and for who uploaded.
    """
    upload = artifact_rows.own_upload(tx, admission, upload_id)
    if upload.terminal_ms is None:
        raise invalid(f"upload {upload_id} has not ended; use artifact_upload_abort first")
    return _erase_declared(tx, admission, upload, upload_id, reason_class)


def _erase_declared(
    tx: Transaction, admission: Admission, upload: UploadRow, subject: str, reason_class: str
) -> Applied:
    """Of an upload without an artifact: the digest that was declared, by which a guess could be tested, and
    why it was aborted.
    """
    erased = 0
    if upload.reason is not None and tx.one("SELECT 1 FROM bodies WHERE body = ?", upload.reason) is not None:
        tx.forget(upload.reason)
        erased += 1
    keys = tx.one("SELECT 1 FROM object_keys WHERE body = ?", upload.declared_keys)
    if upload.state != "completed" and keys is not None:
        tx.forget_keys(upload.declared_keys)
        erased += 1
    if erased == 0:
        raise invalid(f"{subject} holds no content that is left to be erased")
    return _begun(tx, admission, subject, reason_class, erased)


def _bodies(row: LogRow) -> list[int]:
    return [*skeleton.bodies(row.payload or b""), *skeleton.bodies(row.result or b"")]


def _row_of_event(tx: Transaction, event_id: str) -> LogRow:
    position = tx.position_of("evt", event_id)
    row = None if position is None else log.read(tx.db, position)
    if row is None or row.event_id != ids.digits("evt", event_id):
        raise not_found("event", event_id)
    return row


def _rows_of_object(tx: Transaction, ref: str) -> list[LogRow]:
    """The rows of every event that the object had, in one stream."""
    prefix = ref.partition("-")[0]
    position = tx.position_of(prefix, ref)
    if position is None:
        position = lenses.first_change(tx, ref)
    first = None if position is None else log.read(tx.db, position)
    if first is None or first.resource != ref or first.stream is None:
        raise not_found(OBJECT, ref)
    found = tx.db.execute(
        log.SELECT + "WHERE stream = ? AND resource = ? ORDER BY stream_sequence", (first.stream, ref)
    )
    return [LogRow(*values) for values in found]


def _refuse_contribution(row: LogRow) -> None:
    if row.resource is not None and row.resource.startswith("contrib-"):
        raise invalid(
            f"{row.resource} is a contribution; use contribution_redact, which leaves its disposition"
        )


def _seen(tx: Transaction, admission: Admission, row: LogRow) -> bool:
    """Whether what an event tells of is there for the actor."""
    if admission.agent is None:
        return True
    space = _space_of(tx, row)
    if space is None:
        return row.project is not None and admission.member(tx, row.project)
    return admission.sees(tx, space) and lenses.event_shown(tx, admission, row)


def _check_may_erase(
    tx: Transaction, request: AnyRequest, admission: Admission, subject: str, rows: list[LogRow]
) -> None:
    """Stewards of the space that it stands in, who may read it; the owner everywhere."""
    if admission.agent is None:
        return
    space = _space_of(tx, rows[0])
    if space is None:
        raise forbidden(f"{subject} stands in no space; erasing it is the owner's")
    _check_steward(tx, request, admission, space)
    for row in rows:
        objects.refuse_unreachable(tx, admission, space, str(row.classification), subject)


def _space_of(tx: Transaction, row: LogRow) -> SpaceRow | None:
    assert row.stream is not None
    invocation = attempts.invocation_at(tx, row.stream)
    return tx.space_at(row.stream) if invocation is None else attempts.space_of(tx, invocation)


# --- behind it ----------------------------------------------------------------------------------------------
def _event(row: ErasureRow, what: str, digits: bytes) -> Event:
    return Event(
        event_id=digits,
        type=f"dev.tallystick.content.{what}.v1",
        schema_ref=ERASURE_SCHEMA,
        resource=ids.text("erase", row.id),
        resource_revision=len(LIFECYCLE) - len(LIFECYCLE[row.state]),
        stream=log.REALM_STREAM,
        project=None,
        classification="class-default",
        payload=record(row),
    )


class Cleaned(msgspec.Struct, frozen=True):
    """What is gone from every file: the content of erasures up to one, and the sealed files of artifacts, by
    their positions. What was erased while the files were cleaned is cleaned by the next round.
    """

    until: int
    artifacts: tuple[int, ...]


def _last(view: View) -> int | None:
    """The last erasure that is to be cleaned up behind, by its position; what comes later is another round's.
    """
    rows = in_progress(view)
    return rows[-1].position if rows else None


def _clean(host: Host, until: int) -> Cleaned:
    """The files of erased artifacts go, sealed and staged, and from copies of the store what the store has no
    more.
    """
    erasing = host.read(lambda view: artifact_rows.with_files(view, erasing=True))
    for artifact in erasing:
        assert artifact.sealed_storage_version is not None
        upload = host.read(partial(artifact_rows.upload_at, position=artifact.position))
        host.vault.staging.drop(upload.upload_id)
        host.vault.erase(artifact.artifact_id, artifact.sealed_storage_version)
    host.clean_copies()
    return Cleaned(until, tuple(artifact.position for artifact in erasing))


def finish(cleaned: Cleaned, tx: Transaction) -> bool:
    """The system command behind the cleaning. False where there is nothing to say."""
    rows = [row for row in in_progress(tx) if row.position <= cleaned.until]
    for row in rows:
        state = lifecycles.change(LIFECYCLE, row.state, "erased")
        done = msgspec.structs.replace(row, state=state, erased_ms=tx.now_ms)
        tx.update("erasures", {"position": row.position}, state=done.state, erased_ms=done.erased_ms)
        tx.emit(_event(done, "erased", tx.new_id()))
    for artifact in artifact_rows.with_files(tx, erasing=True):
        if artifact.position in cleaned.artifacts:
            artifacts.erased(tx, artifact)
    return bool(rows)


CLEANING: Final = Errand(
    name=FINISH,
    look=_last,
    cuts_log=True,
    clean=_clean,
    command=finish,
    after=(CONTRIBUTION_REDACT, TALLYSTICK_ERASE),
)

FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        write(CONTRIBUTION_REDACT, redact, unfinished=_unfinished),
        write(TALLYSTICK_ERASE, erase),
    ),
    errands=(CLEANING,),
)
