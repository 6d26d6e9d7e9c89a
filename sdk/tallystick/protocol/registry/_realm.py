"""The realm and its projects."""

from typing import Final

from tallystick.protocol import arguments, records

from ._model import (
    COMPARING_WRITES,
    LISTS,
    READS,
    SHARED_SPACE,
    Kind,
    Mode,
    Operation,
    Placement,
    Socket,
)

REALM: Final = (
    Operation(
        name="realm_show",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.READ_REALM,
        realm=Placement.REQUIRED,
        project=Placement.FORBIDDEN,
        arguments=arguments.RealmShowArgs,
        result=records.Realm,
        problems=READS,
        summary="The realm.",
    ),
    Operation(
        name="project_create",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.WRITE,
        mode=Mode.WRITE_REALM,
        realm=Placement.REQUIRED,
        project=Placement.FORBIDDEN,
        arguments=arguments.ProjectCreateArgs,
        result=records.Project,
        content=("name",),
        problems=COMPARING_WRITES,
        events=("dev.kovee.project.created.v1",),
        summary="Begin a project.",
    ),
    Operation(
        name="project_show",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.READ_PROJECT,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.ProjectShowArgs,
        result=records.Project,
        problems=READS,
        summary="One project.",
    ),
    Operation(
        name="project_list",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.READ_REALM,
        realm=Placement.REQUIRED,
        project=Placement.FORBIDDEN,
        arguments=arguments.ProjectListArgs,
        result=records.ProjectPage,
        problems=LISTS,
        summary="The projects, a page at a time, in order of creation.",
    ),
)
