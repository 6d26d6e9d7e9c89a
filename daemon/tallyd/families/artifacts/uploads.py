"""Artifacts: bytes that are declared, arrive, and are sealed once they are what was declared.

Finalize is a command of two transactions, since a gigabyte cannot be hashed inside one::

    begin_sealing   the upload becomes ``sealing``, its artifact ``verifying``; nobody is answered
    (outside)       the vault reads the staging file once: hashed, sealed, on the disk
    finalize        the upload has ended: artifact available, its key stored; or rejected. Event, key, reply

A crash anywhere leaves an upload that is ``sealing``, and the same command sent again goes on with it; the
key leads to the stored reply only from the second transaction on. What a run sealed that no second
transaction spoke of is noise under a key that nobody has.

Begin, show, credential, finalize and abort are KCP's (section 8). How bytes come and go over the socket is
``artifact_bytes``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

import msgspec

from tallyd.admission import Admission
from tallyd.families.artifacts import rows
from tallyd.families.artifacts.rows import ArtifactRow, UploadRow
from tallyd.families.artifacts.sealing import SealingWork
from tallyd.families.shared.family import Errand
from tallyd.families.shared.host import Host
from tallyd.families.shared.results import Served, check_revision, given, optional
from tallyd.ledger import pages, skeleton, times
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallyd.ledger.view import SpaceRow, View
from tallyd.vault import Order, Sealing, digest
from tallyd.vault.sealing import RUN_RANDOM_BYTES
from tallystick.protocol import limits
from tallystick.protocol.canonical import canonical
from tallystick.protocol.digests import cod
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.families.artifacts import (
    ArtifactShowArgs,
    ArtifactUploadAbortArgs,
    ArtifactUploadBeginArgs,
    ArtifactUploadCredentialArgs,
    ArtifactUploadFinalizeArgs,
    ArtifactUploadShowArgs,
    DisclosureManifestShowArgs,
    TallystickArtifactBeginArgs,
    TallystickArtifactListArgs,
)
from tallystick.protocol.families.contributions import CONTRIBUTION_APPEND
from tallystick.protocol.problems import forbidden, invalid, not_found, rate_limited, unavailable

UPLOAD_SCHEMA: Final = "schema:artifact-upload-v1"
ARTIFACT_SCHEMA: Final = "schema:artifact-v1"
EXPIRED: Final = "dev.tallystick.artifact.upload-expired.v1"
EXPIRE: Final = "artifact_upload_expire"
"""What the log calls the system command that writes an expiry down."""
_LOOK_SECONDS: Final = 60.0
"""Between two looks for uploads that have expired: to commands and reads they are expired at once."""
_VERIFIER: Final = "tallyd-vault-v1"
_NO_SCANNERS: Final = cod("kovee-scanner-set", "schema:kovee-scanner-set-v1", {"scanners": []})


class Erasing(msgspec.Struct, frozen=True):
    """An artifact's key is gone: its sealed file is to go."""

    artifact_id: str
    version: str


# --- begin --------------------------------------------------------------------------------------------------
def begin(tx: Transaction, request: Request[ArtifactUploadBeginArgs], admission: Admission) -> Applied:
    """``artifact_upload_begin``: the client writes the staging file itself."""
    args = request.args
    return _begin(tx, request, admission, args, "prepared", limits.ARTIFACT_UPLOAD_BYTES_MAX)


def begin_chunked(
    tx: Transaction, request: Request[TallystickArtifactBeginArgs], admission: Admission
) -> Applied:
    """``tallystick_artifact_begin``: the bytes come over the socket."""
    args = request.args
    return _begin(tx, request, admission, args, "uploading", limits.ARTIFACT_BYTES_MAX)


def _begin(
    tx: Transaction,
    request: AnyRequest,
    admission: Admission,
    args: ArtifactUploadBeginArgs | TallystickArtifactBeginArgs,
    state: str,
    max_bytes: int,
) -> Applied:
    """Of the declared SHA-256 only a keyed commitment is kept."""
    _check_uploads(tx, admission)
    check_revision(request, 0, "an upload that is not there yet")
    if args.declared_size > max_bytes:
        raise invalid(
            f"$.args.declared_size: {max_bytes} bytes are the most that an upload begun so may have"
        )
    declared_keys, keys = tx.keep_keys()
    digits, expires_ms = tx.new_id(), tx.now_ms + limits.UPLOAD_SECONDS_MAX * 1000
    classification = given(args.classification_ref, rows.CLASS_DEFAULT)
    upload = UploadRow(
        position=tx.position,
        id=tx.new_id(),
        revision=1,
        state=state,
        owner_ref=admission.actor,
        declared_size=args.declared_size,
        declared_media_type=args.declared_media_type,
        declared_commitment=digest.commitment(keys.digest, args.declared_raw_sha256),
        declared_keys=declared_keys,
        classification_ref=classification,
        max_bytes=max_bytes,
        created_ms=tx.now_ms,
        expires_ms=expires_ms,
        ends_ms=expires_ms,
    )
    artifact = ArtifactRow(
        position=tx.position,
        id=digits,
        revision=1,
        state="pending",
        owner_ref=admission.actor,
        classification_ref=classification,
        created_by=admission.author,
        created_ms=tx.now_ms,
    )
    tx.insert("artifact_uploads", **msgspec.structs.asdict(upload))
    tx.insert("artifacts", **msgspec.structs.asdict(artifact))
    tx.register(upload.id)
    tx.emit(_event(artifact, digits, "upload-began", UPLOAD_SCHEMA, 1, rows.begun_record(upload, artifact)))
    return Applied(revision=1)


def _check_uploads(view: View, admission: Admission) -> None:
    """Raises Refusal ``forbidden`` for who may write nowhere: bytes that nobody could refer to only fill the
    disk; ``rate-limited`` for an agent that has as many uploads open as one may have.
    """
    if admission.agent is None:
        return
    if not admission.writes_somewhere(view, CONTRIBUTION_APPEND.name):
        raise forbidden("an upload is for who may contribute to some space; ask a steward to be added to one")
    _check_open(view, admission.actor)


def _check_open(view: View, actor: str) -> None:
    now = view.wall_ms()
    row = view.one(
        "SELECT count(*), min(ends_ms) FROM artifact_uploads "
        "WHERE terminal_ms IS NULL AND ends_ms > ? AND owner_ref = ?",
        now,
        actor,
    )
    assert row is not None
    count, first_ends_ms = row
    assert isinstance(count, int)
    if count < limits.AGENT_OPEN_UPLOADS_MAX:
        return
    assert isinstance(first_ends_ms, int)
    raise rate_limited(
        -(-(first_ends_ms - now) // 1000),
        f"{count} of this agent's uploads have not ended, which is as many as an agent may have; finalize or "
        f"abort one, or come again when the first of them has expired",
    )


def _event(
    artifact: ArtifactRow, digits: bytes, what: str, schema: str, revision: int, payload: bytes
) -> Event:
    """An event of an artifact's own stream: realm-level, since it stands in no project."""
    return Event(
        event_id=digits,
        type=f"dev.kovee.artifact.{what}.v1",
        schema_ref=schema,
        resource=artifact.artifact_id,
        resource_revision=revision,
        stream=artifact.position,
        project=None,
        classification=artifact.classification_ref,
        payload=payload,
    )


# --- finalize -----------------------------------------------------------------------------------------------
def begin_sealing(
    tx: Transaction, request: Request[ArtifactUploadFinalizeArgs], admission: Admission
) -> SealingWork:
    """The first transaction of ``artifact_upload_finalize``. An upload that a crash left ``sealing`` is gone
    on with, and nothing is written.
    """
    args = request.args
    row = rows.own_upload(tx, admission, args.upload_id)
    if row.state != "sealing":
        rows.check_moves(row, "sealing", "nothing can be finalized twice; show it to see how it ended")
    check_revision(request, row.revision, f"upload {row.upload_id}")
    keys = tx.object_keys(row.declared_keys)
    if keys is None:
        raise unavailable(f"what was declared for upload {row.upload_id} was erased; begin another one")
    artifact = rows.artifact_at(tx, row.position)
    if row.state != "sealing":
        ends_ms = max(row.ends_ms, tx.now_ms + limits.UPLOAD_SECONDS_MAX * 1000)
        tx.update("artifact_uploads", {"position": row.position}, state="sealing", ends_ms=ends_ms)
        tx.update("artifacts", {"position": row.position}, state="verifying")
    return SealingWork(
        Order(
            upload_id=row.upload_id,
            artifact_id=artifact.artifact_id,
            artifact=artifact.id,
            size=row.declared_size,
            media_type=row.declared_media_type,
            commitment=row.declared_commitment,
            commitment_key=keys.digest,
            random=tx.random(RUN_RANDOM_BYTES),
        )
    )


def finalize(tx: Transaction, request: Request[ArtifactUploadFinalizeArgs], admission: Admission) -> Applied:
    """The second transaction of ``artifact_upload_finalize``, with what the vault did in between."""
    args, sealing = request.args, tx.outside
    assert isinstance(sealing, Sealing)
    assert sealing.order.upload_id == args.upload_id, "a run of another upload"
    row = rows.own_row(tx, admission, args.upload_id)
    if row.state != "sealing":
        raise rows.ended(row, "what was sealed meanwhile is thrown away")
    observation = _observation(row, sealing)
    upload = _end(
        tx,
        row,
        state="completed" if sealing.matches else "rejected",
        sealed_ms=tx.now_ms,
        terminal_ms=tx.now_ms,
        sealed_storage_version=sealing.version,
        observation_digest=observation,
    )
    if sealing.matches:
        artifact = _make_available(tx, upload, sealing)
    else:
        artifact = _move_artifact(tx, row.position, "rejected")
    said = {
        "artifact_id": artifact.artifact_id,
        "upload_id": upload.upload_id,
        "state": artifact.state,
        "verification_digest": observation.hex(),
    }
    payload = skeleton.encode(said)
    tx.emit(_event(artifact, tx.new_id(), artifact.state, ARTIFACT_SCHEMA, artifact.revision, payload))
    return Applied(result=rows.upload_record(tx, upload), revision=upload.revision)


def _make_available(tx: Transaction, upload: UploadRow, sealing: Sealing) -> ArtifactRow:
    """From here on the run's keys are in the database, and only from here on."""
    number, _ = tx.keep_keys(sealing.order.object_random)
    return _move_artifact(
        tx,
        upload.position,
        "available",
        size=upload.declared_size,
        media_type=upload.declared_media_type,
        sealed_storage_version=sealing.version,
        verification_digest=upload.observation_digest,
        content_digest=sealing.content_digest,
        keys=number,
        available_ms=tx.now_ms,
    )


def _observation(row: UploadRow, sealing: Sealing) -> bytes:
    """What the verifier saw, as one digest. Of the bytes only the keyed digest goes in."""
    seen = sealing.content_digest
    said = {
        "upload_id": row.upload_id,
        "sealed_storage_ref": rows.STORAGE,
        "sealed_storage_version": sealing.version,
        "observed_size": sealing.observed_size,
        "observed_media_type": row.declared_media_type,
        "observed_content_digest": None if seen is None else seen.hex(),
        "matches": sealing.matches,
        "verifier_identity_ref": _VERIFIER,
        "scanner_set_digest": _NO_SCANNERS,
    }
    return bytes.fromhex(cod("kovee-artifact-observation", "schema:artifact-verification-v1", said))


def _end(tx: Transaction, row: UploadRow, *, state: str, **columns: int | str | bytes | None) -> UploadRow:
    assert state in rows.UPLOADS[row.state], f"{row.state} → {state}"
    revision = row.revision + 1
    tx.update("artifact_uploads", {"position": row.position}, revision=revision, state=state, **columns)
    return msgspec.structs.replace(row, revision=revision, state=state, **columns)


def _move_artifact(
    tx: Transaction, position: int, state: str, **columns: int | str | bytes | None
) -> ArtifactRow:
    row = rows.artifact_at(tx, position)
    assert state in rows.ARTIFACTS[row.state], f"{row.state} → {state}"
    revision = row.revision + 1
    tx.update("artifacts", {"position": position}, revision=revision, state=state, **columns)
    return msgspec.structs.replace(row, revision=revision, state=state, **columns)


# --- other ends ---------------------------------------------------------------------------------------------
def abort(tx: Transaction, request: Request[ArtifactUploadAbortArgs], admission: Admission) -> Applied:
    """``artifact_upload_abort``: in any state before its end."""
    args = request.args
    row = rows.own_upload(tx, admission, args.upload_id)
    rows.check_moves(row, "aborted", "nothing of it can be aborted; show it to see how it ended")
    check_revision(request, row.revision, f"upload {row.upload_id}")
    reason, text = None, optional(args.reason)
    said: dict[str, object] = {"upload_id": row.upload_id, "state": "aborted"}
    if text is not None:
        reason, _ = tx.seal(canonical(text))
        said["reason"] = skeleton.place(skeleton.NAME, reason)
    columns = {} if reason is None else {"reason": reason}
    upload = _end(tx, row, state="aborted", terminal_ms=tx.now_ms, **columns)
    artifact = _move_artifact(tx, row.position, "unavailable")
    payload = skeleton.encode(said)
    tx.emit(_event(artifact, tx.new_id(), "upload-aborted", UPLOAD_SCHEMA, upload.revision, payload))
    return Applied(
        result=rows.upload_record(tx, upload),
        revision=upload.revision,
        follow_up=partial(_drop_staging, upload.upload_id),
    )


def _drop_staging(upload_id: str, host: Host) -> None:
    """An upload has ended: its staging file is not wanted any more. Raises OSError."""
    host.vault.staging.drop(upload_id)


def expire(_due: object, tx: Transaction) -> bool:
    """A system command: an upload whose time has run out is written down as it is shown."""
    row = rows.first_expired(tx)
    if row is None:
        return False
    upload = _end(tx, row, state="expired", terminal_ms=row.ends_ms)
    artifact = _move_artifact(tx, row.position, "unavailable")
    payload = skeleton.encode({"upload_id": upload.upload_id, "state": upload.state})
    event = _event(artifact, tx.new_id(), "upload-expired", UPLOAD_SCHEMA, upload.revision, payload)
    tx.emit(msgspec.structs.replace(event, type=EXPIRED))
    return True


EXPIRY: Final = Errand(name=EXPIRE, look=rows.first_expired, command=expire, every_seconds=_LOOK_SECONDS)


def erase(tx: Transaction, row: ArtifactRow) -> Erasing | None:
    """Inside the transaction of a command that erases: the keys go, of what was sealed and of what was
    declared, and with them every way to read the bytes or to test a guess. From here on the artifact reads
    ``erased``.

    Returns what is to be done when that is durable (``Vault.erase``, then ``erased``); None where there is no
    file.
    """
    upload = rows.upload_at(tx, row.position)
    for number in (row.keys, upload.declared_keys):
        if number is not None:
            tx.forget_keys(number)
    if row.state != "available":
        return None
    version = row.sealed_storage_version
    assert version is not None
    moved = _move_artifact(
        tx,
        row.position,
        "erasing",
        size=None,
        media_type=None,
        verification_digest=None,
        content_digest=None,
        keys=None,
        available_ms=None,
        retention_ms=tx.now_ms,
    )
    return Erasing(moved.artifact_id, version)


def erased(tx: Transaction, row: ArtifactRow) -> None:
    """The sealed file of an artifact that was being erased is gone from the disk."""
    assert "erased" in rows.ARTIFACTS[row.state]
    tx.update("artifacts", {"position": row.position}, state="erased", sealed_storage_version=None)


# --- references ---------------------------------------------------------------------------------------------
def referable(tx: Transaction, admission: Admission, space: SpaceRow, artifact_id: str, at: str) -> int:
    """The position of an artifact that a contribution to a space may carry: one that its author sees. Raises
    Refusal ``not-found`` or ``invalid``.
    """
    row = rows.seen_artifact(tx, admission, artifact_id)
    if not _reaches_worker(tx, admission, space, row):
        raise not_found("artifact", artifact_id)
    if row.state != "available":
        state = rows.shown_state(row)
        raise invalid(
            f"{at}.artifact_ref: artifact {artifact_id} is {state}; only an available one can be referred to"
        )
    return row.position


def _reaches_worker(view: View, admission: Admission, space: SpaceRow, row: ArtifactRow) -> bool:
    """Whether a worker may hand an artifact on. One on the owner's channel does not see whatever the owner
    sees: it refers to what the space's readers have already, and to what its channel uploaded since the
    claim. An agent's worker sees what its agent sees.
    """
    attempt = admission.attempt
    if attempt is None or admission.agent is not None:
        return True
    if row.owner_ref == admission.actor and row.position > attempt.claim:
        return True
    return space.position in rows.carriers_spaces(view, row)


def refer(tx: Transaction, artifacts: Iterable[int], contribution: int) -> None:
    """Remembers which artifacts a contribution carries."""
    for position in dict.fromkeys(artifacts):
        tx.insert("artifact_references", artifact=position, contribution=contribution)


# --- reads --------------------------------------------------------------------------------------------------
def upload_show(view: View, request: Request[ArtifactUploadShowArgs], admission: Admission) -> Served:
    """``artifact_upload_show``."""
    args = request.args
    row = rows.own_upload(view, admission, args.upload_id)
    return Served(rows.upload_record(view, row), row.revision)


def credential(
    host: Host, view: View, request: Request[ArtifactUploadCredentialArgs], admission: Admission
) -> Served:
    """``artifact_upload_credential``: where the client writes; made afresh each time, and stored nowhere."""
    args = request.args
    row = rows.own_upload(view, admission, args.upload_id)
    rows.check_writable(row)
    said = {
        "upload_id": row.upload_id,
        "credential": {
            "kind": "local-staging-file",
            "path": host.vault.staging.path(row.upload_id),
            "write_mode": "truncate-then-write",
        },
        "max_bytes": row.max_bytes,
        "audience": row.owner_ref,
        "expires_at": times.rfc3339(row.expires_ms),
    }
    return Served(canonical(said))


def show(view: View, request: Request[ArtifactShowArgs], admission: Admission) -> Served:
    """``artifact_show``."""
    args = request.args
    row = rows.seen_artifact(view, admission, args.artifact_id)
    return Served(rows.artifact_record(rows.classified(view, row)), row.revision)


def list_(view: View, request: Request[TallystickArtifactListArgs], admission: Admission) -> Served:
    """``tallystick_artifact_list``: what the actor sees, in the order in which it was begun; what it does not
    see stands in no container of its, and is not counted.
    """
    args = request.args
    state = optional(args.state)
    asked = pages.ask("list:artifacts", args, (state,))
    snapshot = pages.open_page(view, asked, "artifacts")
    shown = rows.seen_artifacts(view, admission, snapshot.after, snapshot.bound)
    found = (
        (row.position, rows.artifact_record(rows.classified(view, row)))
        for row in shown
        if state in (None, rows.shown_state(row))
    )
    return Served(pages.page(view, asked, snapshot, found))


def disclosure_manifest_show(
    _view: View, request: Request[DisclosureManifestShowArgs], _admission: Admission
) -> Served:
    """``disclosure_manifest_show``: nothing discloses anything yet, so there is none."""
    args = request.args
    raise not_found("disclosure manifest", args.disclosure_id)
