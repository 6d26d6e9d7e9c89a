"""Participants: who takes part in a space, and in which role."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.arguments import Args, PageArgs
from tallystick.protocol.operation import LISTS, SHARED_SPACE, Mode, RowEffect
from tallystick.protocol.records import Page, Record
from tallystick.protocol.shapes import (
    DigestHex,
    Identifier,
    ParticipantKind,
    ParticipantRole,
    ParticipantStatus,
    SafeInt,
)


# --- records ------------------------------------------------------------------------------------------------
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


# --- arguments ----------------------------------------------------------------------------------------------
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


# --- operations ---------------------------------------------------------------------------------------------
SPACE_PARTICIPANT_ADD: Final = SHARED_SPACE.write(
    "space_participant_add",
    SpaceParticipantAddArgs,
    SpaceParticipant,
    "Propose a participant.",
    mode=Mode.STEWARD,
    event="dev.kovee.space.participant-added.v1",
    rows=(RowEffect("participants", "insert"),),
)
SPACE_PARTICIPANT_ACTIVATE: Final = SHARED_SPACE.write(
    "space_participant_activate",
    SpaceParticipantActivateArgs,
    SpaceParticipant,
    "Activate a participant, exactly as proposed.",
    mode=Mode.OPERATOR,
    surface="operator",
    event="dev.kovee.space.participant-activated.v1",
    rows=(RowEffect("participants", "update", columns=("revision", "status")),),
)
SPACE_PARTICIPANT_UPDATE: Final = SHARED_SPACE.write(
    "space_participant_update",
    SpaceParticipantUpdateArgs,
    SpaceParticipant,
    "Give a participant another role, or mute it, or let it speak again.",
    mode=Mode.STEWARD,
    event="dev.kovee.space.participant-updated.v1",
    rows=(RowEffect("participants", "update", columns=("revision", "role", "status")),),
)
SPACE_PARTICIPANT_REMOVE: Final = SHARED_SPACE.write(
    "space_participant_remove",
    SpaceParticipantRemoveArgs,
    SpaceParticipant,
    "Remove a participant for good.",
    mode=Mode.STEWARD,
    event="dev.kovee.space.participant-removed.v1",
    rows=(RowEffect("participants", "update", columns=("revision", "status")),),
)
SPACE_PARTICIPANT_LIST: Final = SHARED_SPACE.read(
    "space_participant_list",
    SpaceParticipantListArgs,
    SpaceParticipantPage,
    "A space's participants, a page at a time, in order of creation.",
    mode=Mode.READ_SPACE,
    problems=LISTS,
)

OPERATIONS: Final = (
    SPACE_PARTICIPANT_ADD,
    SPACE_PARTICIPANT_ACTIVATE,
    SPACE_PARTICIPANT_UPDATE,
    SPACE_PARTICIPANT_REMOVE,
    SPACE_PARTICIPANT_LIST,
)
