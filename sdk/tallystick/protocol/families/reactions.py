"""Reactions to contributions."""

from typing import Final

from tallystick.protocol.arguments import Args
from tallystick.protocol.operation import SHARED_SPACE, Emission, Mode, RowEffect
from tallystick.protocol.records import Record
from tallystick.protocol.shapes import DigestHex, Identifier, ReactionState, SafeInt, StatusToken, Timestamp


# --- records ------------------------------------------------------------------------------------------------
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


# --- arguments ----------------------------------------------------------------------------------------------
class ReactionSetArgs(Args, frozen=True, kw_only=True):
    """To which object, as it is pinned, one reacts under which key, or no longer does."""

    space_id: Identifier
    target_ref: Identifier
    target_revision: SafeInt
    target_digest: DigestHex
    key: StatusToken
    state: ReactionState


# --- operations ---------------------------------------------------------------------------------------------
REACTION_SET: Final = SHARED_SPACE.write(
    "reaction_set",
    ReactionSetArgs,
    Reaction,
    "React to an object under a key, or take that back.",
    mode=Mode.WRITE_SPACE,
    event="dev.kovee.space.reaction-set.v1",
    emission=Emission.ON_CHANGE,
    all_rows=(
        RowEffect("log", "insert"),
        RowEffect("idempotency", "insert"),
        RowEffect("ids", "insert", None),  # of the event, where it changed something
        RowEffect("outbox", "insert", None),
        RowEffect("reactions", "insert", None),  # the first time
        RowEffect("reactions", "update", None, ("state", "revision", "updated_ms")),
    ),
)

OPERATIONS: Final = (REACTION_SET,)
