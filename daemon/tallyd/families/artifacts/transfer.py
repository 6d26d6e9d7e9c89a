"""Bytes of artifacts over the socket: chunks in, chunks out, both resumable. Ours.

A chunk is no command: it changes no row, leaves no audit entry, and has no key, because the same bytes at the
same place do no harm. What it is judged by is read in a transaction; what is left to do with files comes
back as a function, for whoever may wait for the disk. Before a chunk is written, the upload is looked at once
more, in its turn (``Staging.turn``): nothing is written to an upload that was aborted or finalized meanwhile.
"""

from __future__ import annotations

import binascii
from base64 import b64encode
from functools import partial

import msgspec

from tallyd.admission import Admission
from tallyd.families.artifacts import rows
from tallyd.families.shared.host import Host
from tallyd.families.shared.results import FileIO, Served, optional
from tallyd.ledger import skeleton
from tallyd.ledger.view import View
from tallyd.vault import Damaged, Hole, NotOurs, Vault
from tallystick.protocol import limits
from tallystick.protocol.envelope import Request
from tallystick.protocol.families.artifacts import TallystickArtifactGetArgs, TallystickArtifactPutArgs
from tallystick.protocol.problems import Refusal, invalid, stale_revision, unavailable


class Chunk(msgspec.Struct, frozen=True):
    """A chunk that may be put where it says."""

    upload_id: str
    offset: int
    data: bytes
    declared_size: int


class Range(msgspec.Struct, frozen=True):
    """Bytes of an available artifact that may be read. Its ``repr`` shows no key."""

    artifact_id: str
    artifact: bytes
    version: str
    size: int
    key: bytes
    offset: int
    count: int

    def __repr__(self) -> str:
        return f"Range({self.artifact_id}, {self.offset}, {self.count})"


# --- in -----------------------------------------------------------------------------------------------------
def put(host: Host, view: View, request: Request[TallystickArtifactPutArgs], admission: Admission) -> FileIO:
    """``tallystick_artifact_put``."""
    args = request.args
    row = rows.own_upload(view, admission, args.upload_id)
    rows.check_writable(row)
    data = _decoded(args.data)
    if args.offset + len(data) > row.declared_size:
        raise invalid(
            f"$.args: the chunk would end at byte {args.offset + len(data)}, and upload {row.upload_id} was "
            f"declared with {row.declared_size}; begin another one if there is more"
        )
    return partial(_put_in_turn, host, admission, Chunk(row.upload_id, args.offset, data, row.declared_size))


def _decoded(text: str) -> bytes:
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except binascii.Error as error:
        raise invalid(f"$.args.data is not base64 (RFC 4648, section 4): {error}") from None
    if len(data) > limits.ARTIFACT_CHUNK_BYTES_MAX:
        raise invalid(
            f"$.args.data: {limits.ARTIFACT_CHUNK_BYTES_MAX} bytes are the most that a chunk may have"
        )
    return data


def _put_in_turn(host: Host, admission: Admission, chunk: Chunk) -> Served:
    with host.vault.staging.turn(chunk.upload_id):
        rows.check_writable(host.read(lambda view: rows.own_upload(view, admission, chunk.upload_id)))
        return _put(host.vault, chunk)


def _put(vault: Vault, chunk: Chunk) -> Served:
    try:
        if chunk.declared_size == 0:
            vault.staging.make_empty(chunk.upload_id)
        received = vault.staging.receive(chunk.upload_id, chunk.offset, chunk.data)
    except Hole as hole:
        raise _hole(chunk, hole.received) from None
    except NotOurs as found:
        raise unavailable(
            f"the staging file of upload {chunk.upload_id} cannot be written: {found}; abort it and begin "
            "another one"
        ) from None
    except OSError as error:
        raise unavailable(
            f"the disk did not take the chunk ({error.strerror}); what came before it is kept: make room, "
            "and put the same chunk again"
        ) from error
    said = {"upload_id": chunk.upload_id, "received_bytes": received, "declared_size": chunk.declared_size}
    return Served(skeleton.encode(said))


def _hole(chunk: Chunk, received: int) -> Refusal:
    return invalid(
        f"$.args.offset: {received} bytes of upload {chunk.upload_id} are there, so the next chunk begins at "
        f"{received}, not at {chunk.offset}",
        {"dev.tallystick.upload": {"received_bytes": received}},
    )


# --- out ----------------------------------------------------------------------------------------------------
def get(host: Host, view: View, request: Request[TallystickArtifactGetArgs], admission: Admission) -> FileIO:
    """``tallystick_artifact_get``. That the bytes of a sensitive artifact are read is noted."""
    args = request.args
    row = rows.seen_artifact(view, admission, args.artifact_id)
    return partial(read_range, host.vault, range_of(view, row, args.offset, optional(args.length)))


def range_of(view: View, row: rows.ArtifactRow, offset: int, length: int | None) -> Range:
    """Which bytes are asked for, with what opens them. Raises Refusal ``stale-revision`` or ``invalid``."""
    if row.state != "available":
        state = rows.shown_state(row)
        raise stale_revision(
            row.revision, f"artifact {row.artifact_id} is {state}; only an available one has bytes"
        )
    assert row.size is not None
    assert row.keys is not None
    assert row.sealed_storage_version is not None
    if offset > row.size:
        raise invalid(f"$.args.offset: artifact {row.artifact_id} has {row.size} bytes")
    for classification in rows.classes_of(view, row):
        view.note(classification, row.artifact_id)
    keys = view.object_keys(row.keys)
    assert keys is not None, "an available artifact without its keys"
    return Range(
        artifact_id=row.artifact_id,
        artifact=row.id,
        version=row.sealed_storage_version,
        size=row.size,
        key=keys.seal,
        offset=offset,
        count=limits.ARTIFACT_READ_BYTES_MAX if length is None else length,
    )


def read_range(vault: Vault, asked: Range) -> Served:
    """The bytes, from their file. Raises Refusal ``unavailable``."""
    try:
        data = vault.read(
            asked.artifact_id, asked.version, asked.key, asked.artifact, asked.size, asked.offset, asked.count
        )
    except Damaged as found:
        raise unavailable(
            f"the bytes of artifact {asked.artifact_id} cannot be given: {found}; show it, in case it was "
            "erased in this moment, and otherwise restore its file from a copy"
        ) from None
    except OSError as error:
        raise unavailable(
            f"the disk did not give the bytes of artifact {asked.artifact_id}: {error.strerror}"
        ) from error
    said = {
        "artifact_id": asked.artifact_id,
        "offset": asked.offset,
        "size": asked.size,
        "data": b64encode(data).decode(),
    }
    return Served(skeleton.encode(said))
