"""Uploads and artifacts as rows: their lifecycles, who sees them, and how they are shown.

One command makes an upload and its artifact; its position names both. The lifecycles are KCP's (section 8),
with ``erasing``, which is ours: to a client it reads ``erased``.

An upload that has run out of time is ``expired`` from that moment on, whether or not its row says so yet:
``now_as`` gives the row as it will be written. So nothing that is refused for its age is ever shown as open.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from tallyd.admission import Admission
from tallyd.ledger import ids, skeleton, times
from tallyd.ledger.view import View
from tallystick.protocol.digests import cod
from tallystick.protocol.problems import Refusal, not_found, stale_revision

UPLOADS: Final[dict[str, frozenset[str]]] = {
    "prepared": frozenset({"uploading", "sealing", "aborted", "expired"}),
    "uploading": frozenset({"sealing", "aborted", "expired"}),
    "sealing": frozenset({"sealed", "completed", "rejected", "aborted", "expired"}),
    "sealed": frozenset({"verifying", "aborted", "expired"}),
    "verifying": frozenset({"completed", "rejected"}),
    "completed": frozenset(),
    "rejected": frozenset(),
    "expired": frozenset(),
    "aborted": frozenset(),
}
"""What an upload in a state may become. ``sealed`` and ``verifying`` lie inside the transaction that ends an
upload, since its bytes are verified while they are sealed: no row is ever left in them."""

ARTIFACTS: Final[dict[str, frozenset[str]]] = {
    "pending": frozenset({"verifying", "unavailable"}),
    "verifying": frozenset({"scanning", "available", "rejected", "unavailable"}),
    "scanning": frozenset({"available", "quarantined", "rejected", "unavailable"}),
    "available": frozenset({"erasing"}),
    "quarantined": frozenset({"available", "rejected", "erasing"}),
    "rejected": frozenset(),
    "unavailable": frozenset(),
    "erasing": frozenset({"erased"}),
    "erased": frozenset(),
}
"""What an artifact in a state may become. There is no scanner, so none is scanned or quarantined."""

WRITABLE: Final = frozenset({"prepared", "uploading"})
"""Uploads whose bytes may still come."""

CLASS_DEFAULT: Final = "class-default"
"""Of an upload that says nothing of its class: the artifact then goes by what carries it."""
STORAGE: Final = "artifact-store-local"
ENCRYPTION: Final = "enc-aes-256-gcm-own-key-v1"
"""How the bytes of an artifact are kept: sealed with AES-256-GCM under a key of its own, which is erased with
it.
"""
AUTHORIZATION: Final = "authz-owner-local-v1"


class UploadRow(msgspec.Struct, frozen=True):
    """A row of ``artifact_uploads``, its fields in the table's order."""

    position: int
    id: bytes
    revision: int
    state: str
    owner_ref: str
    declared_size: int
    declared_media_type: str
    declared_commitment: bytes
    declared_keys: int
    classification_ref: str
    max_bytes: int
    created_ms: int
    expires_ms: int
    ends_ms: int
    sealed_ms: int | None = None
    terminal_ms: int | None = None
    sealed_storage_version: str | None = None
    observation_digest: bytes | None = None
    reason: int | None = None

    @property
    def upload_id(self) -> str:
        return ids.text("upl", self.id)

    def now_as(self, now_ms: int) -> UploadRow:
        """The upload at a moment: expired where its time has run out."""
        if self.terminal_ms is not None or now_ms < self.ends_ms:
            return self
        return msgspec.structs.replace(
            self, state="expired", revision=self.revision + 1, terminal_ms=self.ends_ms
        )


class ArtifactRow(msgspec.Struct, frozen=True):
    """A row of ``artifacts``, its fields in the table's order."""

    position: int
    id: bytes
    revision: int
    state: str
    owner_ref: str
    classification_ref: str
    created_by: str
    created_ms: int
    size: int | None = None
    media_type: str | None = None
    sealed_storage_version: str | None = None
    verification_digest: bytes | None = None
    content_digest: bytes | None = None
    keys: int | None = None
    available_ms: int | None = None
    retention_ms: int | None = None

    @property
    def artifact_id(self) -> str:
        return ids.text("art", self.id)

    def now_as(self, upload: UploadRow) -> ArtifactRow:
        """The artifact of an upload as it is at a moment."""
        if upload.state != "expired" or "unavailable" not in ARTIFACTS[self.state]:
            return self
        return msgspec.structs.replace(self, state="unavailable", revision=self.revision + 1)


_UPLOAD: Final = f"SELECT {', '.join(UploadRow.__struct_fields__)} FROM artifact_uploads "
_ARTIFACT: Final = f"SELECT {', '.join(ArtifactRow.__struct_fields__)} FROM artifacts "


# --- looking up ---------------------------------------------------------------------------------------------
def upload_at(view: View, position: int) -> UploadRow:
    """The upload that a command made."""
    row = view.db.execute(_UPLOAD + "WHERE position = ?", (position,)).fetchone()
    assert row is not None, "an artifact without its upload"
    return UploadRow(*row)


def artifact_at(view: View, position: int) -> ArtifactRow:
    """The artifact that a command made."""
    row = view.db.execute(_ARTIFACT + "WHERE position = ?", (position,)).fetchone()
    assert row is not None, "an upload without its artifact"
    return ArtifactRow(*row)


def find_upload(view: View, upload_id: str) -> UploadRow | None:
    """The upload of that id, whoever asks, as its row is."""
    position = view.position_of("upl", upload_id)
    if position is None:
        return None
    row = view.db.execute(_UPLOAD + "WHERE position = ?", (position,)).fetchone()
    found = None if row is None else UploadRow(*row)
    return found if found is not None and found.upload_id == upload_id else None


def find_artifact(view: View, artifact_id: str) -> ArtifactRow | None:
    """The artifact of that id, whoever asks, as its row is."""
    position = view.position_of("art", artifact_id)
    if position is None:
        return None
    row = view.db.execute(_ARTIFACT + "WHERE position = ?", (position,)).fetchone()
    found = None if row is None else ArtifactRow(*row)
    return found if found is not None and found.artifact_id == artifact_id else None


def own_row(view: View, admission: Admission, upload_id: str) -> UploadRow:
    """The upload of that id as its row is, where it is the actor's own, or the owner asks. Raises Refusal
    ``not-found``.
    """
    row = find_upload(view, upload_id)
    if row is None or (admission.agent is not None and row.owner_ref != admission.actor):
        raise not_found("upload", upload_id)
    return row


def own_upload(view: View, admission: Admission, upload_id: str) -> UploadRow:
    """The same as it is now."""
    return own_row(view, admission, upload_id).now_as(view.wall_ms())


def seen_artifact(view: View, admission: Admission, artifact_id: str) -> ArtifactRow:
    """The artifact of that id as it is now, where the actor sees it: made by it, or carried by a contribution
    in a space that it sees, and not above its ceiling there. Raises Refusal ``not-found``.
    """
    row = find_artifact(view, artifact_id)
    if row is None or not _sees(view, admission, row):
        raise not_found("artifact", artifact_id)
    return as_it_is(view, row)


def as_it_is(view: View, row: ArtifactRow) -> ArtifactRow:
    """An artifact as it is now: unavailable from the moment on in which its upload expired."""
    return row.now_as(upload_at(view, row.position).now_as(view.wall_ms()))


def seen_artifacts(view: View, admission: Admission, after: int, bound: int) -> Iterator[ArtifactRow]:
    """The artifacts begun after one position and not after another that the actor sees, each as it is now."""
    now = view.wall_ms()
    found = view.db.execute(
        _ARTIFACT + "WHERE position > ? AND position <= ? ORDER BY position", (after, bound)
    )
    for values in found:
        row = ArtifactRow(*values)
        if _sees(view, admission, row):
            yield row.now_as(upload_at(view, row.position).now_as(now))


def shown_state(row: ArtifactRow) -> str:
    """The state as KCP has it."""
    return "erased" if row.state == "erasing" else row.state


def _sees(view: View, admission: Admission, row: ArtifactRow) -> bool:
    if admission.agent is None or row.owner_ref == admission.actor:
        return True
    classes = classes_of(view, row)
    for position in carriers_spaces(view, row):
        space = view.space_at(position)
        if space is None:
            continue
        held = admission.rights(view, space)
        if held.reads and all(held.reaches(view, one) for one in classes):
            return True
    return False


def carriers_spaces(view: View, row: ArtifactRow) -> list[int]:
    """The spaces in which a contribution carries an artifact."""
    found = view.all(
        "SELECT DISTINCT c.space FROM artifact_references AS r "
        "JOIN contributions AS c ON c.position = r.contribution WHERE r.artifact = ?",
        row.position,
    )
    return [int(str(position)) for (position,) in found]


def classes_of(view: View, row: ArtifactRow) -> set[str]:
    """How an artifact is classified: as its uploader said; else as all that carries it. Who may read it
    reaches each of these.
    """
    if row.classification_ref != CLASS_DEFAULT:
        return {row.classification_ref}
    found = view.all(
        "SELECT DISTINCT c.classification FROM artifact_references AS r "
        "JOIN contributions AS c ON c.position = r.contribution WHERE r.artifact = ?",
        row.position,
    )
    return {str(name) for (name,) in found} or {CLASS_DEFAULT}


def classified(view: View, row: ArtifactRow) -> ArtifactRow:
    """An artifact with the highest of its classes, where their order says which that is."""
    classes = classes_of(view, row)
    compare = view.orders.compare_classifications
    for one in sorted(classes):
        if all((compared := compare(one, other)) is not None and compared >= 0 for other in classes):
            return msgspec.structs.replace(row, classification_ref=one)
    return row


def carried_by(view: View, contribution: int) -> list[ArtifactRow]:
    """The artifacts that a contribution carries: they are erased with it."""
    rows = view.db.execute(
        _ARTIFACT + "WHERE position IN (SELECT artifact FROM artifact_references WHERE contribution = ?) "
        "ORDER BY position",
        (contribution,),
    )
    return [ArtifactRow(*row) for row in rows]


def open_uploads(view: View) -> set[str]:
    """The uploads that have not ended: whose staging files are wanted."""
    now = view.wall_ms()
    rows = view.all("SELECT id FROM artifact_uploads WHERE terminal_ms IS NULL AND ends_ms > ?", now)
    return {ids.text("upl", row[0]) for row in rows if isinstance(row[0], bytes)}


def with_files(view: View, *, erasing: bool = False) -> list[ArtifactRow]:
    """The artifacts that have a sealed file; those alone that are being erased."""
    rows = view.db.execute(
        _ARTIFACT
        + "WHERE sealed_storage_version IS NOT NULL AND (NOT ? OR state = 'erasing') ORDER BY position",
        (erasing,),
    )
    return [ArtifactRow(*row) for row in rows]


def sealed_files(view: View) -> set[tuple[str, str]]:
    """Artifact id and version of each sealed file that a row names."""
    return {(row.artifact_id, row.sealed_storage_version or "") for row in with_files(view)}


def first_expired(view: View) -> UploadRow | None:
    """An upload whose time has run out and whose row does not say so yet."""
    row = view.db.execute(
        _UPLOAD + "WHERE terminal_ms IS NULL AND ends_ms <= ? ORDER BY ends_ms LIMIT 1", (view.wall_ms(),)
    ).fetchone()
    return None if row is None else UploadRow(*row)


# --- states -------------------------------------------------------------------------------------------------
def check_moves(row: UploadRow, state: str, otherwise: str) -> None:
    """Raises Refusal ``stale-revision`` where an upload, as it is now, may not become that."""
    if state not in UPLOADS[row.state]:
        raise ended(row, otherwise)


def check_writable(row: UploadRow) -> None:
    """Raises Refusal ``stale-revision`` where no bytes may come any more."""
    if row.state not in WRITABLE:
        raise ended(row, "takes no bytes any more; show it to see how it stands")


def ended(row: UploadRow, otherwise: str) -> Refusal:
    """What is said of an upload that is past what was asked of it: by name, with its state and since when."""
    if row.state == "expired":
        when = times.rfc3339(row.terminal_ms or row.ends_ms)
        detail = f"upload {row.upload_id} expired at {when}; begin another one and send the bytes to it"
    else:
        detail = f"upload {row.upload_id} is {row.state}, and {otherwise}"
    return stale_revision(row.revision, detail)


# --- records ------------------------------------------------------------------------------------------------
def begun_record(upload: UploadRow, artifact: ArtifactRow) -> bytes:
    """What a begin answers: references and bounds, and never the digest that was declared."""
    return skeleton.encode(
        {
            "upload_id": upload.upload_id,
            "artifact_id": artifact.artifact_id,
            "revision": upload.revision,
            "state": upload.state,
            "declared_size": upload.declared_size,
            "declared_media_type": upload.declared_media_type,
            "classification_ref": upload.classification_ref,
            "max_bytes": upload.max_bytes,
            "expires_at": times.rfc3339(upload.expires_ms),
            "created_at": times.rfc3339(upload.created_ms),
        }
    )


def upload_record(view: View, row: UploadRow) -> bytes:
    """An upload's record."""
    artifact_id = artifact_at(view, row.position).artifact_id
    said: dict[str, object] = {
        "upload_id": row.upload_id,
        "artifact_id": artifact_id,
        "realm_id": ids.REALM_ID,
        "owner_ref": row.owner_ref,
        "revision": row.revision,
        "declared_size": row.declared_size,
        "declared_media_type": row.declared_media_type,
        "classification_ref": row.classification_ref,
        "staging_storage_ref": f"staging:{row.upload_id}",
        "state": row.state,
        "authorization_dependency_set_ref": AUTHORIZATION,
        "authority_digest": _authority(row, artifact_id),
        "max_bytes": row.max_bytes,
        "expires_at": times.rfc3339(row.expires_ms),
        "idempotency_key": view.log_row(row.position).idempotency_key,
        "created_at": times.rfc3339(row.created_ms),
    }
    if row.sealed_storage_version is not None:
        said["sealed_storage_version"] = row.sealed_storage_version
    if row.observation_digest is not None:
        said["seal_observation_digest"] = row.observation_digest.hex()
    for member, moment in (("sealed_at", row.sealed_ms), ("terminal_at", row.terminal_ms)):
        if moment is not None:
            said[member] = times.rfc3339(moment)
    return skeleton.encode(said)


def _authority(row: UploadRow, artifact_id: str) -> str:
    said = {"actor_ref": row.owner_ref, "artifact_id": artifact_id, "upload_id": row.upload_id}
    return cod("kovee-authority", "schema:kovee-authority-v1", said)


def artifact_record(row: ArtifactRow) -> bytes:
    """An artifact's record: size, media type and storage while it is available, and never a digest of its
    bytes.
    """
    said: dict[str, object] = {
        "artifact_id": row.artifact_id,
        "realm_id": ids.REALM_ID,
        "owner_ref": row.owner_ref,
        "revision": row.revision,
        "state": shown_state(row),
        "classification_ref": row.classification_ref,
        "encryption_key_ref": ENCRYPTION,
        "created_by": row.created_by,
        "created_at": times.rfc3339(row.created_ms),
    }
    if row.state == "available":
        assert row.verification_digest is not None
        assert row.available_ms is not None
        said["size"] = row.size
        said["media_type"] = row.media_type
        said["sealed_storage_ref"] = STORAGE
        said["sealed_storage_version"] = row.sealed_storage_version
        said["verification_digest"] = row.verification_digest.hex()
        said["available_at"] = times.rfc3339(row.available_ms)
    if row.retention_ms is not None:
        said["retention_until"] = times.rfc3339(row.retention_ms)
    return skeleton.encode(said)
