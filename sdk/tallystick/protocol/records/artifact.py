"""Records of artifacts and their uploads."""

from typing import Literal

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import (
    ArtifactState,
    DigestHex,
    Identifier,
    JsonObject,
    MediaType,
    SafeInt,
    Timestamp,
    UploadState,
)

from ._base import Record


class ArtifactUploadBegun(Record, frozen=True, kw_only=True):
    """The result of `artifact_upload_begin`.

    The digest that was declared is not repeated: whoever finds it later can tell whether they guessed bytes
    that were erased.
    """

    upload_id: Identifier
    artifact_id: Identifier
    revision: SafeInt
    state: UploadState
    declared_raw_sha256: DigestHex | UnsetType = UNSET
    declared_size: SafeInt
    declared_media_type: MediaType
    classification_ref: Identifier
    max_bytes: SafeInt
    expires_at: Timestamp
    created_at: Timestamp


class ArtifactUpload(Record, frozen=True, kw_only=True):
    """An upload: what was declared, and how far it is; `idempotency_key` is the one that began it."""

    upload_id: Identifier
    artifact_id: Identifier
    realm_id: Identifier
    owner_ref: Identifier
    revision: SafeInt
    declared_raw_sha256: DigestHex | UnsetType = UNSET
    declared_size: SafeInt
    declared_media_type: MediaType
    classification_ref: Identifier
    staging_storage_ref: Identifier
    provider_upload_ref: Identifier | UnsetType = UNSET
    state: UploadState
    sealed_storage_version: Identifier | UnsetType = UNSET
    seal_observation_digest: DigestHex | UnsetType = UNSET
    authorization_dependency_set_ref: Identifier
    authority_digest: DigestHex
    max_bytes: SafeInt
    expires_at: Timestamp
    idempotency_key: Identifier
    created_at: Timestamp
    sealed_at: Timestamp | UnsetType = UNSET
    terminal_at: Timestamp | UnsetType = UNSET


class LocalStagingFile(Record, frozen=True, kw_only=True):
    """The credential of an upload whose client writes the bytes itself: into which file, and how."""

    kind: Literal["local-staging-file"]
    path: str
    write_mode: Literal["truncate-then-write"]


class ArtifactUploadCredential(Record, frozen=True, kw_only=True):
    """The result of `artifact_upload_credential`.

    KCP leaves the credential open; it is a `LocalStagingFile`. It is made afresh each time and never stored.
    """

    upload_id: Identifier
    credential: JsonObject
    max_bytes: SafeInt
    audience: Identifier
    expires_at: Timestamp


class Artifact(Record, frozen=True, kw_only=True):
    """An artifact. Size, media type and storage are there from its sealing until it is erased.

    `raw_sha256` and `typed_byte_digest` are never sent: whoever finds them later can tell whether they
    guessed bytes that were erased.
    """

    artifact_id: Identifier
    realm_id: Identifier
    owner_ref: Identifier
    revision: SafeInt
    state: ArtifactState
    raw_sha256: DigestHex | UnsetType = UNSET
    typed_byte_digest: DigestHex | UnsetType = UNSET
    size: SafeInt | UnsetType = UNSET
    media_type: MediaType | UnsetType = UNSET
    classification_ref: Identifier
    sealed_storage_ref: Identifier | UnsetType = UNSET
    sealed_storage_version: Identifier | UnsetType = UNSET
    verification_digest: DigestHex | UnsetType = UNSET
    encryption_key_ref: Identifier
    created_by: Identifier
    created_at: Timestamp
    available_at: Timestamp | UnsetType = UNSET
    retention_until: Timestamp | UnsetType = UNSET
