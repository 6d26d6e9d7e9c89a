"""Frontiers and context assemblies."""

from typing import Final

from msgspec.structs import replace

from tallystick.protocol import arguments, records
from tallystick.protocol.problems import Kind as ProblemKind

from ._model import (
    COMMAND_ROWS,
    FENCED,
    GUARDED_WRITES,
    ONE_ID,
    READS,
    SHARED_SPACE,
    STEP_ROW,
    Kind,
    Mode,
    Operation,
    Placement,
    RowEffect,
    Socket,
)

_ASSEMBLE: Final = Operation(
    name="context_assembly_create",
    bundle=SHARED_SPACE,
    surface="external_client",
    socket=Socket.CLIENT,
    kind=Kind.WRITE,
    mode=Mode.WRITE_SPACE,
    realm=Placement.REQUIRED,
    project=Placement.REQUIRED,
    arguments=arguments.ContextAssemblyCreateArgs,
    result=records.Assembly,
    problems=(*GUARDED_WRITES, ProblemKind.FORBIDDEN_SURFACE),
    events=("dev.kovee.space.context-assembly-created.v1",),
    rows=(
        *COMMAND_ROWS,
        RowEffect("ids", "insert", 2),
        RowEffect("frontiers", "insert"),
        RowEffect("assemblies", "insert"),
    ),
    summary="Fix what an audience is given to read, with a frontier of its own.",
)

CONTEXT: Final = (
    Operation(
        name="frontier_pin",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.WRITE,
        mode=Mode.WRITE_SPACE,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.FrontierPinArgs,
        result=records.Frontier,
        problems=GUARDED_WRITES,
        events=("dev.kovee.space.frontier-pinned.v1",),
        rows=(*COMMAND_ROWS, ONE_ID, RowEffect("frontiers", "insert")),
        summary="Pin a branch as it stands.",
    ),
    Operation(
        name="frontier_show",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.READ_SPACE,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.FrontierShowArgs,
        result=records.Frontier,
        problems=READS,
        summary="One frontier.",
    ),
    _ASSEMBLE,
    Operation(
        name="context_assembly_show",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.READ_SPACE,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.ContextAssemblyShowArgs,
        result=records.Assembly,
        problems=(*READS, ProblemKind.FORBIDDEN),
        summary="One assembly; refused where an item is no longer what it was.",
    ),
    replace(
        _ASSEMBLE,
        surface="worker",
        socket=Socket.WORKER,
        mode=Mode.WORKER_FENCED,
        problems=(*_ASSEMBLE.problems, *FENCED),
        rows=(*_ASSEMBLE.rows, STEP_ROW),
        summary="Fix what an audience is given to read, as the attempt that speaks.",
    ),
)
