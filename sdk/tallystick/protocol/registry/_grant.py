"""The grants of access to spaces."""

from typing import Final

from tallystick.protocol import arguments, records

from ._model import (
    COMMAND_ROWS,
    GUARDED_WRITES,
    LISTS,
    ONE_ID,
    SHARED_SPACE,
    Kind,
    Mode,
    Operation,
    Placement,
    RowEffect,
    Socket,
)

GRANT: Final = (
    Operation(
        name="space_access_grant_create",
        bundle=SHARED_SPACE,
        surface="operator",
        socket=Socket.CLIENT,
        kind=Kind.WRITE,
        mode=Mode.OPERATOR,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.SpaceAccessGrantCreateArgs,
        result=records.SpaceAccessGrant,
        problems=GUARDED_WRITES,
        events=("dev.kovee.space.access-grant-created.v1",),
        rows=(*COMMAND_ROWS, ONE_ID, RowEffect("grants", "insert")),
        summary="Grant a subject actions in a space.",
    ),
    Operation(
        name="space_access_grant_revoke",
        bundle=SHARED_SPACE,
        surface="operator",
        socket=Socket.CLIENT,
        kind=Kind.WRITE,
        mode=Mode.OPERATOR,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.SpaceAccessGrantRevokeArgs,
        result=records.SpaceAccessGrant,
        problems=GUARDED_WRITES,
        events=("dev.kovee.space.access-grant-revoked.v1",),
        rows=(*COMMAND_ROWS, ONE_ID, RowEffect("grants", "update", columns=("revision", "status"))),
        summary="Revoke a grant.",
    ),
    Operation(
        name="space_access_grant_list",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.READ_SPACE,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.SpaceAccessGrantListArgs,
        result=records.SpaceAccessGrantPage,
        problems=LISTS,
        summary="A space's grants, a page at a time, in order of creation.",
    ),
)
