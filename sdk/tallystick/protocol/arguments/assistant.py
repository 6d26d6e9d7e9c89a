"""Arguments of assistants and their revisions."""

from msgspec import UNSET, UnsetType

from tallystick.protocol.records import Manifest
from tallystick.protocol.shapes import (
    DigestHex,
    DisplayName,
    FreeText,
    Identifier,
    Identifiers,
    refuse_repeats,
)

from ._base import Args, PageArgs


class AssistantCreateArgs(Args, frozen=True, kw_only=True):
    """A new assistant's name, and what it is for."""

    name: DisplayName
    description: FreeText


class AssistantShowArgs(Args, frozen=True, kw_only=True):
    """Which assistant."""

    definition_id: Identifier


class AssistantListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of the realm's assistants."""


class AssistantRevisionRegisterArgs(Args, frozen=True, kw_only=True):
    """A new revision: its manifest, and the package that the manifest names."""

    definition_id: Identifier
    version: Identifier
    manifest: Manifest
    package_artifact_ref: Identifier
    package_digest: DigestHex
    config_schema_digest: DigestHex
    sdk_protocol_range: Identifier
    signature_refs: Identifiers | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.signature_refs is not UNSET:
            refuse_repeats("signature_refs", self.signature_refs)


class AssistantRevisionShowArgs(Args, frozen=True, kw_only=True):
    """Which revision."""

    assistant_revision_id: Identifier


class AssistantRevisionListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of the revisions, of one assistant where it is named."""

    definition_id: Identifier | UnsetType = UNSET
