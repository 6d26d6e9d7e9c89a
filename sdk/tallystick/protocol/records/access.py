"""Records of who may see and do what in a space: participants, grants, and prepared widenings."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.shapes import (
    DigestHex,
    GrantStatus,
    Identifier,
    ParticipantKind,
    ParticipantRole,
    ParticipantStatus,
    PreparedChangeState,
    SafeInt,
    SpaceVisibility,
    StatusToken,
    Timestamp,
)

from ._base import Page, Record


class SpaceParticipant(Record, frozen=True, kw_only=True):
    """A subject's part in a space: in which role, and how far it is admitted."""

    participant_id: Identifier
    space_id: Identifier
    subject_ref: Identifier
    subject_revision: SafeInt | UnsetType = UNSET
    kind: ParticipantKind
    role: ParticipantRole
    authority_source_ref: Identifier
    status: ParticipantStatus
    revision: SafeInt


class SpaceParticipantPage(Page, frozen=True, kw_only=True):
    """The result of `space_participant_list`; who was removed stays listed, as `revoked`."""

    items: Annotated[tuple[SpaceParticipant, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


class SpaceAccessGrant(Record, frozen=True, kw_only=True):
    """What a subject may do in a space without taking part in it, up to which classification, until when."""

    space_access_id: Identifier
    space_id: Identifier
    subject_ref: Identifier
    revision: SafeInt
    source_membership_or_policy_ref: Identifier
    allowed_actions: tuple[StatusToken, ...]
    classification_ceiling_ref: Identifier | UnsetType = UNSET
    authorization_epoch: SafeInt
    expires_at: Timestamp | UnsetType = UNSET
    status: GrantStatus
    granted_by_or_policy_use_ref: Identifier
    created_at: Timestamp


class SpaceAccessGrantPage(Page, frozen=True, kw_only=True):
    """The result of `space_access_grant_list`; revoked grants stay listed."""

    items: Annotated[tuple[SpaceAccessGrant, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


class SpaceAccessWidening(Record, frozen=True, kw_only=True):
    """A prepared widening of who may see a space, and what became of it.

    It binds what its confirmation is about: the space's revision and, by a digest, its every contribution.
    `decision_receipt_ref` and `terminal_at` are there once it has ended.
    """

    widening_id: Identifier
    space_id: Identifier
    expected_space_revision: SafeInt
    prior_visibility: SpaceVisibility
    proposed_visibility: SpaceVisibility
    prior_policy_set_ref: Identifier
    proposed_policy_set_ref: Identifier
    prior_default_classification_ref: Identifier
    proposed_default_classification_ref: Identifier
    affected_frontier_refs: tuple[Identifier, ...]
    affected_item_set_digest: DigestHex
    classification_join_ref: Identifier
    destination_audience_digest: DigestHex
    subject_digest: DigestHex
    prepared_by_principal: Identifier
    decision_receipt_ref: Identifier | UnsetType = UNSET
    state: PreparedChangeState
    revision: SafeInt
    created_at: Timestamp
    terminal_at: Timestamp | UnsetType = UNSET


class SpaceAccessWideningPage(Page, frozen=True, kw_only=True):
    """The result of `space_access_widen_list`."""

    items: Annotated[tuple[SpaceAccessWidening, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]
