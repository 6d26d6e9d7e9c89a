"""Arguments of the participants of spaces."""

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import (
    DigestHex,
    Identifier,
    ParticipantKind,
    ParticipantRole,
    ParticipantStatus,
    SafeInt,
)

from ._base import Args, PageArgs


class SpaceParticipantAddArgs(Args, frozen=True, kw_only=True):
    """Who is proposed for which space, and in which role."""

    space_id: Identifier
    subject_ref: Identifier
    kind: ParticipantKind
    role: ParticipantRole
    subject_revision: SafeInt | UnsetType = UNSET


class SpaceParticipantActivateArgs(Args, frozen=True, kw_only=True):
    """Which participant, and the digest of what was proposed: nobody else is let in unseen."""

    participant_id: Identifier
    subject_digest: DigestHex


class SpaceParticipantUpdateArgs(Args, frozen=True, kw_only=True):
    """Which participant, and the new role or status where they are named."""

    participant_id: Identifier
    role: ParticipantRole | UnsetType = UNSET
    status: ParticipantStatus | UnsetType = UNSET


class SpaceParticipantRemoveArgs(Args, frozen=True, kw_only=True):
    """Which participant."""

    participant_id: Identifier


class SpaceParticipantListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of a space's participants."""

    space_id: Identifier
