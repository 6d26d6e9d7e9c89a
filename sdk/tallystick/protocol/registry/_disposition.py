"""What is said of contributions and relations afterwards: each once of each."""

from typing import Final

from tallystick.protocol import arguments, records
from tallystick.protocol.problems import Kind as ProblemKind

from ._model import (
    ARTIFACT_ERASED,
    COMMAND_ROWS,
    GUARDED_WRITES,
    ONE_ID,
    SHARED_SPACE,
    Kind,
    Mode,
    Operation,
    Placement,
    RowEffect,
    Socket,
)

_DISPOSITION: Final = (
    RowEffect("dispositions", "insert"),
    RowEffect("spaces", "update", columns=("revision",)),
)
_DISPOSED: Final = (*COMMAND_ROWS, ONE_ID, *_DISPOSITION)

DISPOSITION: Final = (
    Operation(
        name="contribution_withdraw",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.WRITE,
        mode=Mode.WRITE_SPACE,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.ContributionWithdrawArgs,
        result=records.ContributionWithdrawal,
        problems=GUARDED_WRITES,
        events=("dev.kovee.space.contribution-withdrawn.v1",),
        rows=_DISPOSED,
        summary="Say that nobody stands by a contribution any longer.",
    ),
    Operation(
        name="contribution_supersede",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.WRITE,
        mode=Mode.WRITE_SPACE,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.ContributionSupersedeArgs,
        result=records.ContributionSupersession,
        problems=(*GUARDED_WRITES, ProblemKind.CYCLE),
        events=("dev.kovee.space.contribution-superseded.v1",),
        rows=_DISPOSED,
        summary="Put another contribution in the place of one.",
    ),
    Operation(
        name="relation_retract",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.WRITE,
        mode=Mode.WRITE_SPACE,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.RelationRetractArgs,
        result=records.RelationDisposition,
        problems=GUARDED_WRITES,
        events=("dev.kovee.space.relation-retracted.v1",),
        rows=_DISPOSED,
        summary="Say that a relation is no longer asserted.",
    ),
)

REDACTION: Final = (
    Operation(
        name="contribution_redact",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.WRITE,
        mode=Mode.STEWARD,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.ContributionRedactArgs,
        result=records.ContributionRedaction,
        problems=GUARDED_WRITES,
        events=("dev.kovee.space.contribution-redacted.v1",),
        rows=(
            *COMMAND_ROWS,
            RowEffect("ids", "insert", 2),
            *_DISPOSITION,
            RowEffect("erasures", "insert"),
            RowEffect("bodies", "delete"),
            RowEffect("object_keys", "delete", None),
            ARTIFACT_ERASED,
        ),
        summary="Erase a contribution's body.",
    ),
)
