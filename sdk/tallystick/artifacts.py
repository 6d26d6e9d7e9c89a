"""Whole uploads and downloads: each takes several calls, which both clients make one after the other.

An upload reads its file twice: once for its SHA-256 and size, and once to send it, chunk by chunk. Under a
``key`` of the caller's it can be gone on with by another process: the same call on the same bytes asks how
many are there already, and sends the rest. Memory does not depend on the file's size.

Nothing here reads or writes but the file that it was given: the calls are yielded to a client
(``calls.descriptors.Conversation``), which sends them.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO, Final, TypedDict, Unpack

from tallystick import calls
from tallystick.calls.descriptors import Conversation, conversation
from tallystick.core import Read
from tallystick.errors import StaleRevision, UploadRejected
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol.families.artifacts import (
        Artifact,
        ArtifactBytes,
        ArtifactUpload,
        ArtifactUploadBegun,
    )
    from tallystick.protocol.families.work import InvocationClaim

_READ_BYTES: Final = 1 << 20
_SEALED_BYTES_A_SECOND: Final = 16 << 20
"""How fast the slowest machine seals: a finalize's deadline grows with the size by this."""
_FINALIZE_SECONDS_MIN: Final = 30.0


class UploadOptions(TypedDict, total=False):
    """``key``: under which another process can go on with the upload, at most 120 visible ASCII characters.
    """

    key: str
    classification_ref: str
    project: calls.AnyProject


def upload(
    source: BinaryIO, media_type: str = calls.artifacts.OCTETS, **options: Unpack[UploadOptions]
) -> Conversation[Artifact]:
    """Send what a file holds, and have it sealed: the artifact that it is from then on.

    What the daemon has of it already is not sent again. The file must be seekable; on trio it is read between
    two calls, on trio's thread. Raises ``UploadRejected`` where the file changed on the way.
    """
    key, project = options.get("key"), options.get("project")
    sha256, size = _measure(source)
    keyed: calls.WriteOptions = {} if key is None else {"key": key}
    begun: ArtifactUploadBegun = yield calls.artifacts.artifact_begin(
        sha256,
        size,
        media_type,
        classification_ref=options.get("classification_ref"),
        project=project,
        **keyed,
    )
    yield from _send(source, begun.upload_id, size, project)
    sealing: calls.WriteOptions = {} if key is None else {"key": f"{key}.seal"}
    sealing["deadline_seconds"] = _FINALIZE_SECONDS_MIN + size / _SEALED_BYTES_A_SECOND
    ended: ArtifactUpload = yield calls.artifacts.artifact_upload_finalize(
        begun.upload_id, project=project, **sealing
    )
    if ended.state != "completed":
        raise UploadRejected(begun.upload_id)
    artifact: Artifact = yield calls.artifacts.artifact_show(begun.artifact_id, project=project)
    return artifact


def download(artifact_id: str, target: BinaryIO, *, offset: int = 0) -> Conversation[int]:
    """Write an artifact's bytes from ``offset`` on to a file, in order, and return its size in all.

    What came before an error is whole: the download goes on from there.
    """
    return _receive(lambda start: calls.artifacts.artifact_get(artifact_id, start), target, offset)


def download_claimed(
    claim: InvocationClaim, artifact_id: str, target: BinaryIO, *, offset: int = 0
) -> Conversation[int]:
    """Write a file that an item of the claim's assembly carries to a file, and return its size in all."""
    return _receive(lambda start: calls.work.artifact(claim, artifact_id, start), target, offset)


class TransferMethods:
    """The methods of the clients."""

    upload = conversation(upload)
    download = conversation(download)


class WorkerTransferMethods:
    """The methods of the workers' clients."""

    download = conversation(download_claimed)


# --- their steps ------------------------------------------------------------------------------------------
def _receive(
    read: Callable[[int], Read[ArtifactBytes]], target: BinaryIO, offset: int
) -> Conversation[int]:
    while True:
        got: ArtifactBytes = yield read(offset)
        data = b64decode(got.data)
        target.write(data)
        offset += len(data)
        if offset >= got.size:
            return got.size


def _measure(source: BinaryIO) -> tuple[str, int]:
    import hashlib  # three milliseconds, and few programs upload

    digest, size = hashlib.sha256(), 0
    source.seek(0)
    while piece := source.read(_READ_BYTES):
        digest.update(piece)
        size += len(piece)
    return digest.hexdigest(), size


def _send(
    source: BinaryIO, upload_id: str, size: int, project: calls.AnyProject | None
) -> Conversation[None]:
    """Send the bytes that the daemon does not have yet. An upload that takes no more has ended, and its
    finalize says how.
    """
    try:
        received = (yield calls.artifacts.artifact_put(upload_id, 0, b"", project=project)).received_bytes
    except StaleRevision:
        return
    source.seek(received)
    while received < size:
        chunk = source.read(min(limits.ARTIFACT_CHUNK_BYTES_MAX, size - received))
        if not chunk:
            return  # the file has become shorter, which the finalize finds
        put = calls.artifacts.artifact_put(upload_id, received, chunk, project=project)
        received = (yield put).received_bytes
