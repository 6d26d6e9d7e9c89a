"""Reactions: marks that an actor puts on an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from tallystick.calls.descriptors import write
from tallystick.calls.values import AnySpace, Linkable, WriteOptions, pinned
from tallystick.core import Write

if TYPE_CHECKING:
    from tallystick.protocol.families.reactions import Reaction


def reaction_set(
    space: AnySpace, target: Linkable, mark: str, state: str = "present", **options: Unpack[WriteOptions]
) -> Write[Reaction]:
    """Put a mark on an object, pinned as it is, or take it back (``removed``). ``mark`` is the protocol's
    ``key``; the ``key`` in the options is the command's, as everywhere.

    Where it is so already nothing changes, and the reply has no ``event_cursor``. The reply's revision is the
    reaction's; ``expected_revision`` is the space's.
    """
    pin = pinned(target)
    arguments = {
        "space_id": space.space_id,
        "target_ref": pin["object_ref"],
        "target_revision": pin["revision"],
        "target_digest": pin["digest"],
        "key": mark,
        "state": state,
    }
    return Write("reaction_set", arguments, "reactions.Reaction", project_id=space.project_id, **options)


# --- methods ----------------------------------------------------------------------------------------------
class ReactionsMethods:
    """The methods of the clients."""

    reaction_set = write(reaction_set)
