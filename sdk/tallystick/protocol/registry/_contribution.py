"""Contributions and relations, from clients and from workers."""

from typing import Final

from msgspec.structs import replace

from tallystick.protocol import arguments, records
from tallystick.protocol.problems import Kind as ProblemKind

from ._model import (
    COMMAND_ROWS,
    CONTENT_ROWS,
    FENCED,
    GUARDED_WRITES,
    LISTS,
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

_APPEND: Final = Operation(
    name="contribution_append",
    bundle=SHARED_SPACE,
    surface="external_client",
    socket=Socket.CLIENT,
    kind=Kind.WRITE,
    mode=Mode.WRITE_SPACE,
    realm=Placement.REQUIRED,
    project=Placement.REQUIRED,
    arguments=arguments.ContributionAppendArgs,
    result=records.Contribution,
    content=("body_parts",),
    problems=(*GUARDED_WRITES, ProblemKind.FORBIDDEN_SURFACE),
    events=("dev.kovee.space.contribution-appended.v1",),
    rows=(
        *COMMAND_ROWS,
        ONE_ID,
        *CONTENT_ROWS,
        RowEffect("contributions", "insert"),
        RowEffect("artifact_references", "insert", None),
        RowEffect(
            "spaces", "update", 1, ("revision", "next_space_sequence", "branch_sequence", "branch_head")
        ),
    ),
    extensions={arguments.APPEND_EXTENSION: arguments.AppendExtension},
    summary="Append an immutable contribution to a branch.",
)
_RELATE: Final = Operation(
    name="relation_assert",
    bundle=SHARED_SPACE,
    surface="external_client",
    socket=Socket.CLIENT,
    kind=Kind.WRITE,
    mode=Mode.WRITE_SPACE,
    realm=Placement.REQUIRED,
    project=Placement.REQUIRED,
    arguments=arguments.RelationAssertArgs,
    result=records.Relation,
    problems=(*GUARDED_WRITES, ProblemKind.CYCLE, ProblemKind.FORBIDDEN_SURFACE),
    events=("dev.kovee.space.relation-asserted.v1",),
    rows=(
        *COMMAND_ROWS,
        ONE_ID,
        RowEffect("relations", "insert"),
        RowEffect("spaces", "update", 1, ("revision", "branch_sequence", "branch_head")),
    ),
    extensions={arguments.APPEND_EXTENSION: arguments.AppendExtension},
    summary="Relate two objects of a space, each as it is pinned.",
)

CONTRIBUTION: Final = (
    _APPEND,
    Operation(
        name="contribution_show",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.READ_SPACE,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.ContributionShowArgs,
        result=records.Contribution,
        problems=(*READS, ProblemKind.FORBIDDEN),
        summary="One contribution.",
    ),
    Operation(
        name="contribution_list",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.READ_SPACE,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.ContributionListArgs,
        result=records.ContributionPage,
        problems=(*LISTS, ProblemKind.FORBIDDEN),
        summary="A space's contributions, a page at a time, in their order.",
    ),
    _RELATE,
    replace(
        _APPEND,
        surface="worker",
        socket=Socket.WORKER,
        mode=Mode.WORKER_FENCED,
        problems=(*_APPEND.problems, *FENCED),
        rows=(*_APPEND.rows, STEP_ROW),
        summary="Append an immutable contribution, as the attempt that speaks.",
    ),
    replace(
        _RELATE,
        surface="worker",
        socket=Socket.WORKER,
        mode=Mode.WORKER_FENCED,
        problems=(*_RELATE.problems, *FENCED),
        rows=(*_RELATE.rows, STEP_ROW),
        summary="Relate two objects of a space, as the attempt that speaks.",
    ),
)
