"""Records of artifacts whose bytes come and go over the socket: ours."""

from tallystick.protocol.shapes import Identifier, SafeInt

from ._base import Page, Record
from .artifact import Artifact


class ArtifactReceived(Record, frozen=True, kw_only=True):
    """The result of `tallystick_artifact_put`: how many bytes are there, on the disk, from the first on.

    The next chunk's offset is `received_bytes`. It never counts more than what will be read.
    """

    upload_id: Identifier
    received_bytes: SafeInt
    declared_size: SafeInt


class ArtifactPage(Page, frozen=True, kw_only=True):
    """A page of artifacts, each as it is now."""

    items: tuple[Artifact, ...]


class ArtifactBytes(Record, frozen=True, kw_only=True):
    """The result of `tallystick_artifact_get`: bytes in base64 (RFC 4648, section 4), of `size` in all."""

    artifact_id: Identifier
    offset: SafeInt
    size: SafeInt
    data: str
