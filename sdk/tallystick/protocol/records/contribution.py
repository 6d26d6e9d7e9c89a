"""Records of contributions, the relations among them, and what is said of them afterwards."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.shapes import (
    ContributionKind,
    DigestHex,
    EpistemicPosture,
    Identifier,
    ReactionState,
    RelationKind,
    SafeInt,
    StatusToken,
    Timestamp,
)

from ._base import First, Page, Record
from .part import ContributionPart


class Contribution(Record, frozen=True, kw_only=True):
    """An immutable contribution to a space; a client cannot recompute `content_digest`, which is keyed."""

    contribution_id: Identifier
    revision: First
    realm_id: Identifier
    project_id: Identifier
    space_id: Identifier
    origin_branch_id: Identifier
    origin_branch_sequence: SafeInt
    space_sequence: SafeInt
    author_actor_ref: Identifier
    kind: ContributionKind
    schema_ref: Identifier
    body_parts: Annotated[tuple[ContributionPart, ...], Meta(min_length=1)]
    subject_refs: tuple[Identifier, ...]
    source_refs: tuple[Identifier, ...]
    epistemic_posture: EpistemicPosture | UnsetType = UNSET
    invocation_ref: Identifier | UnsetType = UNSET
    context_assembly_ref: Identifier | UnsetType = UNSET
    causation_ref: Identifier | UnsetType = UNSET
    classification_ref: Identifier
    retention_policy_ref: Identifier
    content_digest: DigestHex
    created_at: Timestamp


class ContributionPage(Page, frozen=True, kw_only=True):
    """The result of `contribution_list`."""

    items: Annotated[tuple[Contribution, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


class ObjectRef(Record, frozen=True, kw_only=True):
    """An object at one revision, pinned by its digest: an endpoint of a relation."""

    object_ref: Identifier
    revision: SafeInt
    digest: DigestHex


class Relation(Record, frozen=True, kw_only=True):
    """An immutable relation between two objects of a space."""

    relation_id: Identifier
    revision: First
    space_id: Identifier
    origin_branch_id: Identifier
    branch_sequence: SafeInt
    author_actor_ref: Identifier
    kind: RelationKind
    from_ref: ObjectRef
    to_ref: ObjectRef
    rationale_ref: Identifier | UnsetType = UNSET
    relation_class: Literal["semantic_assertion"]
    classification_ref: Identifier
    schema_ref: Identifier
    digest: DigestHex
    created_at: Timestamp


class ContributionDisposition(Record, frozen=True, kw_only=True):
    """What the three dispositions of a contribution share; the contribution's record stays.

    `replacement_ref` is there where it is superseded, `payload_removed_at` where it is redacted.
    """

    disposition_id: Identifier
    contribution_ref: Identifier
    replacement_ref: Identifier | UnsetType = UNSET
    reason_class: StatusToken
    authorized_by_ref: Identifier
    payload_removed_at: Timestamp | UnsetType = UNSET
    created_at: Timestamp


class ContributionWithdrawal(ContributionDisposition, frozen=True, kw_only=True):
    """The result of `contribution_withdraw`: nobody stands by it any longer."""

    kind: Literal["withdraw"]


class ContributionSupersession(ContributionDisposition, frozen=True, kw_only=True):
    """The result of `contribution_supersede`: another contribution stands in its place."""

    kind: Literal["supersede"]


class ContributionRedaction(ContributionDisposition, frozen=True, kw_only=True):
    """The result of `contribution_redact`: its body is erased."""

    kind: Literal["redact"]


class RelationDisposition(Record, frozen=True, kw_only=True):
    """The result of `relation_retract`: it is no longer asserted; the relation's record stays."""

    disposition_id: Identifier
    relation_ref: Identifier
    kind: Literal["retract"]
    authorized_by_ref: Identifier
    reason_class: StatusToken
    created_at: Timestamp


class Reaction(Record, frozen=True, kw_only=True):
    """One actor's reaction to an object, under a key; for presentation only."""

    reaction_id: Identifier
    space_id: Identifier
    target_ref: Identifier
    target_revision: SafeInt
    target_digest: DigestHex
    actor_ref: Identifier
    key: StatusToken
    state: ReactionState
    revision: SafeInt
    updated_at: Timestamp
