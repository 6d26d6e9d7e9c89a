"""Spaces."""

from typing import Final

from tallystick.protocol import arguments, records

from ._model import (
    COMMAND_ROWS,
    CONTENT_ROWS,
    GUARDED_WRITES,
    LISTS,
    READS,
    SHARED_SPACE,
    Kind,
    Mode,
    Operation,
    Placement,
    RowEffect,
    Socket,
)

SPACE: Final = (
    Operation(
        name="space_create",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.WRITE,
        mode=Mode.WRITE_PROJECT,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.SpaceCreateArgs,
        result=records.Space,
        content=("title",),
        problems=GUARDED_WRITES,
        events=("dev.kovee.space.created.v1",),
        rows=(
            *COMMAND_ROWS,
            RowEffect("ids", "insert", 3),  # space, branch, first participant
            *CONTENT_ROWS,
            RowEffect("spaces", "insert"),
            RowEffect("participants", "insert"),
        ),
        summary="Begin a space, with its main branch.",
    ),
    Operation(
        name="space_show",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.READ_SPACE,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.SpaceShowArgs,
        result=records.Space,
        problems=READS,
        summary="One space.",
    ),
    Operation(
        name="space_list",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.READ_PROJECT,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.SpaceListArgs,
        result=records.SpacePage,
        problems=LISTS,
        summary="The project's spaces, a page at a time, in order of creation.",
    ),
)
