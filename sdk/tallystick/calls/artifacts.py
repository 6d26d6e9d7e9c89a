"""Artifacts: bytes that go up over the socket or through a file, and come down again."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Final, Unpack

from tallystick.calls.descriptors import items, read, write
from tallystick.calls.values import (
    AnyProject,
    ReadOptions,
    WriteOptions,
    optional_project,
    page_arguments,
)
from tallystick.core import Read, Write
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol.families.artifacts import (
        Artifact,
        ArtifactBytes,
        ArtifactPage,
        ArtifactReceived,
        ArtifactUpload,
        ArtifactUploadBegun,
        ArtifactUploadCredential,
        DisclosureManifest,
    )

OCTETS: Final = "application/octet-stream"
"""The media type of bytes of which nothing more is said."""


def artifact_begin(
    declared_raw_sha256: str,
    declared_size: int,
    declared_media_type: str = OCTETS,
    *,
    classification_ref: str | None = None,
    project: AnyProject | None = None,
    **options: Unpack[WriteOptions],
) -> Write[ArtifactUploadBegun]:
    """Declare bytes that will come over the socket: their SHA-256 in hex, how many, of which media type."""
    arguments = _declared(declared_raw_sha256, declared_size, declared_media_type, classification_ref)
    place = optional_project(project)
    return Write(
        "tallystick_artifact_begin", arguments, "artifacts.ArtifactUploadBegun", project_id=place, **options
    )


def artifact_put(
    upload_id: str,
    offset: int,
    data: bytes,
    *,
    project: AnyProject | None = None,
    **options: Unpack[ReadOptions],
) -> Read[ArtifactReceived]:
    """Put at most ``limits.ARTIFACT_CHUNK_BYTES_MAX`` bytes where they belong; the same again does no harm,
    so it needs no key. An empty chunk at 0 asks how many bytes are there.
    """
    arguments = {"upload_id": upload_id, "offset": offset, "data": b64encode(data).decode()}
    place = optional_project(project)
    return Read(
        "tallystick_artifact_put", arguments, "artifacts.ArtifactReceived", project_id=place, **options
    )


def artifact_get(
    artifact_id: str,
    offset: int = 0,
    length: int | None = None,
    *,
    project: AnyProject | None = None,
    **options: Unpack[ReadOptions],
) -> Read[ArtifactBytes]:
    """Bytes of an available artifact from ``offset`` on, in base64; as many as a reply takes, or fewer."""
    arguments = {"artifact_id": artifact_id, "offset": offset, "length": length}
    place = optional_project(project)
    return Read("tallystick_artifact_get", arguments, "artifacts.ArtifactBytes", project_id=place, **options)


def artifact_list(
    *,
    state: str | None = None,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[ArtifactPage]:
    """A page of the artifacts that one may see, of one state alone where it is given."""
    arguments = {"state": state, **page_arguments(limit, after, snapshot)}
    return Read("tallystick_artifact_list", arguments, "artifacts.ArtifactPage", **options)


def artifact_show(
    artifact_id: str, *, project: AnyProject | None = None, **options: Unpack[ReadOptions]
) -> Read[Artifact]:
    """An artifact, without its bytes."""
    place, arguments = optional_project(project), {"artifact_id": artifact_id}
    return Read("artifact_show", arguments, "artifacts.Artifact", project_id=place, **options)


def disclosure_manifest_show(
    disclosure_id: str, *, project: AnyProject | None = None, **options: Unpack[ReadOptions]
) -> Read[DisclosureManifest]:
    """What was disclosed, to whom and for what."""
    place, arguments = optional_project(project), {"disclosure_id": disclosure_id}
    return Read(
        "disclosure_manifest_show", arguments, "artifacts.DisclosureManifest", project_id=place, **options
    )


# --- uploads into a file ----------------------------------------------------------------------------------
def artifact_upload_begin(
    declared_raw_sha256: str,
    declared_size: int,
    declared_media_type: str = OCTETS,
    *,
    classification_ref: str | None = None,
    project: AnyProject | None = None,
    **options: Unpack[WriteOptions],
) -> Write[ArtifactUploadBegun]:
    """Declare bytes that this program will write itself, into the file that the credential names."""
    arguments = _declared(declared_raw_sha256, declared_size, declared_media_type, classification_ref)
    place = optional_project(project)
    return Write(
        "artifact_upload_begin", arguments, "artifacts.ArtifactUploadBegun", project_id=place, **options
    )


def artifact_upload_show(
    upload_id: str, *, project: AnyProject | None = None, **options: Unpack[ReadOptions]
) -> Read[ArtifactUpload]:
    """An upload as it stands."""
    place, arguments = optional_project(project), {"upload_id": upload_id}
    return Read("artifact_upload_show", arguments, "artifacts.ArtifactUpload", project_id=place, **options)


def artifact_upload_credential(
    upload_id: str, *, project: AnyProject | None = None, **options: Unpack[ReadOptions]
) -> Read[ArtifactUploadCredential]:
    """Where to write the bytes of an upload."""
    place, arguments = optional_project(project), {"upload_id": upload_id}
    result = "artifacts.ArtifactUploadCredential"
    return Read("artifact_upload_credential", arguments, result, project_id=place, **options)


def artifact_upload_finalize(
    upload_id: str, *, project: AnyProject | None = None, **options: Unpack[WriteOptions]
) -> Write[ArtifactUpload]:
    """Seal the bytes if they are what was declared: then the upload is ``completed``, else ``rejected``."""
    place, arguments = optional_project(project), {"upload_id": upload_id}
    return Write(
        "artifact_upload_finalize", arguments, "artifacts.ArtifactUpload", project_id=place, **options
    )


def artifact_upload_abort(
    upload_id: str,
    *,
    reason: str | None = None,
    project: AnyProject | None = None,
    **options: Unpack[WriteOptions],
) -> Write[ArtifactUpload]:
    """End an upload that has not ended; its bytes are removed."""
    place, arguments = optional_project(project), {"upload_id": upload_id, "reason": reason}
    return Write("artifact_upload_abort", arguments, "artifacts.ArtifactUpload", project_id=place, **options)


def _declared(sha256: str, size: int, media_type: str, classification_ref: str | None) -> dict[str, object]:
    return {
        "declared_raw_sha256": sha256,
        "declared_size": size,
        "declared_media_type": media_type,
        "classification_ref": classification_ref,
    }


# --- methods ----------------------------------------------------------------------------------------------
class ArtifactsMethods:
    """The methods of the clients."""

    artifact_begin = write(artifact_begin)
    artifact_put = read(artifact_put)
    artifact_get = read(artifact_get)
    artifact_list = read(artifact_list)
    artifacts = items(artifact_list)
    artifact_show = read(artifact_show)
    disclosure_manifest_show = read(disclosure_manifest_show)
    artifact_upload_begin = write(artifact_upload_begin)
    artifact_upload_show = read(artifact_upload_show)
    artifact_upload_credential = read(artifact_upload_credential)
    artifact_upload_finalize = write(artifact_upload_finalize)
    artifact_upload_abort = write(artifact_upload_abort)
