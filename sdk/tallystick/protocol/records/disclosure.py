"""Records of what was disclosed to whom."""

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import DigestHex, FreeText, Identifier, SafeInt, StatusToken, Timestamp

from ._base import Record


class DisclosureItem(Record, frozen=True, kw_only=True):
    """One object that was disclosed."""

    ref: Identifier
    revision: SafeInt | UnsetType = UNSET
    digest: DigestHex
    size: SafeInt


class DisclosureTransformation(Record, frozen=True, kw_only=True):
    """What was done to an object before it was disclosed."""

    kind: StatusToken
    source_digest: DigestHex
    result_digest: DigestHex


class ProviderClaims(Record, frozen=True, kw_only=True):
    """What the recipient says about the place, the keeping and the use of what it was given."""

    region: Identifier
    retention: Identifier
    training_use: Identifier


class DisclosureManifest(Record, frozen=True, kw_only=True):
    """Exactly what left the realm: to whom, for what, from which assembly."""

    disclosure_id: Identifier
    sender_realm: Identifier
    sender_project: Identifier | UnsetType = UNSET
    sender_space: Identifier | UnsetType = UNSET
    recipient_kind: StatusToken
    recipient_binding: Identifier
    purpose: FreeText
    data_classes: tuple[Identifier, ...]
    context_assembly_ref: Identifier | UnsetType = UNSET
    context_assembly_digest: DigestHex | UnsetType = UNSET
    commitment_ref: Identifier | UnsetType = UNSET
    exact_items: tuple[DisclosureItem, ...]
    transformations: tuple[DisclosureTransformation, ...]
    provider_claims: ProviderClaims | UnsetType = UNSET
    total_bytes: SafeInt
    created_at: Timestamp
    digest: DigestHex
