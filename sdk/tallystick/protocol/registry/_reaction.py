"""Reactions to the objects of a space."""

from typing import Final

from tallystick.protocol import arguments, records

from ._model import (
    GUARDED_WRITES,
    SHARED_SPACE,
    Emission,
    Kind,
    Mode,
    Operation,
    Placement,
    RowEffect,
    Socket,
)

REACTION: Final = (
    Operation(
        name="reaction_set",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.WRITE,
        mode=Mode.WRITE_SPACE,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.ReactionSetArgs,
        result=records.Reaction,
        problems=GUARDED_WRITES,
        events=("dev.kovee.space.reaction-set.v1",),
        emission=Emission.ON_CHANGE,
        rows=(
            RowEffect("log", "insert"),
            RowEffect("idempotency", "insert"),
            RowEffect("ids", "insert", None),  # of the event, where it changed something
            RowEffect("outbox", "insert", None),
            RowEffect("reactions", "insert", None),  # the first time
            RowEffect("reactions", "update", None, ("state", "revision", "updated_ms")),
        ),
        summary="React to an object under a key, or take that back.",
    ),
)
