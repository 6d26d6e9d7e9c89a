"""Arguments of artifacts whose bytes come and go over the socket: ours."""

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import (
    ArtifactChunk,
    ArtifactReadBytes,
    ArtifactState,
    DigestHex,
    Identifier,
    MediaType,
    SafeInt,
)

from ._base import Args, PageArgs


class TallystickArtifactBeginArgs(Args, frozen=True, kw_only=True):
    """What the bytes will be. Their digest is content: it tells whether one guessed them."""

    declared_raw_sha256: DigestHex
    declared_size: SafeInt
    declared_media_type: MediaType
    classification_ref: Identifier | UnsetType = UNSET


class TallystickArtifactPutArgs(Args, frozen=True, kw_only=True):
    """A chunk and where it belongs. An empty chunk at 0 asks how many bytes are there."""

    upload_id: Identifier
    offset: SafeInt
    data: ArtifactChunk


class TallystickArtifactListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of the artifacts, of those in one state alone where it is given."""

    state: ArtifactState | UnsetType = UNSET


class TallystickArtifactGetArgs(Args, frozen=True, kw_only=True):
    """Which bytes of which artifact; without a length, as many as a reply takes."""

    artifact_id: Identifier
    offset: SafeInt
    length: ArtifactReadBytes | UnsetType = UNSET
