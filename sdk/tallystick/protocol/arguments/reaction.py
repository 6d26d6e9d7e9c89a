"""Arguments of reactions."""

from tallystick.protocol.shapes import DigestHex, Identifier, ReactionState, SafeInt, StatusToken

from ._base import Args


class ReactionSetArgs(Args, frozen=True, kw_only=True):
    """To which object, as it is pinned, one reacts under which key, or no longer does."""

    space_id: Identifier
    target_ref: Identifier
    target_revision: SafeInt
    target_digest: DigestHex
    key: StatusToken
    state: ReactionState
