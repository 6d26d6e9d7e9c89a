"""Arguments of artifacts and their uploads."""

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import DigestHex, FreeText, Identifier, MediaType, SafeInt

from ._base import Args


class ArtifactUploadBeginArgs(Args, frozen=True, kw_only=True):
    """What the bytes will be. Their digest is content: it tells whether one guessed them."""

    declared_raw_sha256: DigestHex
    declared_size: SafeInt
    declared_media_type: MediaType
    classification_ref: Identifier | UnsetType = UNSET


class ArtifactUploadShowArgs(Args, frozen=True, kw_only=True):
    """Which upload."""

    upload_id: Identifier


class ArtifactUploadCredentialArgs(Args, frozen=True, kw_only=True):
    """Which upload."""

    upload_id: Identifier


class ArtifactUploadFinalizeArgs(Args, frozen=True, kw_only=True):
    """Which upload."""

    upload_id: Identifier


class ArtifactUploadAbortArgs(Args, frozen=True, kw_only=True):
    """Which upload, and why."""

    upload_id: Identifier
    reason: FreeText | UnsetType = UNSET


class ArtifactShowArgs(Args, frozen=True, kw_only=True):
    """Which artifact."""

    artifact_id: Identifier
