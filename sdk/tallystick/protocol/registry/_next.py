"""Waiting for work: the oldest invocation that may be claimed, now or as soon as there is one."""

from typing import Final

from tallystick.protocol import arguments, records
from tallystick.protocol.problems import Kind as ProblemKind

from ._model import (
    COMMAND_ROWS,
    TALLYSTICK_WORKER,
    WRITES,
    Kind,
    Mode,
    Operation,
    Placement,
    RowEffect,
    Socket,
)

NEXT: Final = (
    Operation(
        name="tallystick_invocation_next",
        bundle=TALLYSTICK_WORKER,
        surface="worker",
        socket=Socket.WORKER,
        kind=Kind.WRITE,
        waits=True,
        mode=Mode.WORKER_NEXT,
        realm=Placement.REQUIRED,
        project=Placement.FORBIDDEN,
        arguments=arguments.TallystickInvocationNextArgs,
        result=records.InvocationNext,
        problems=(*WRITES, ProblemKind.STALE_LEASE),
        events=("dev.kovee.invocation.claimed.v1",),
        rows=(
            *COMMAND_ROWS,
            RowEffect("ids", "insert", None),  # of the participant too, where it is new in the space
            RowEffect("attempts", "insert"),
            RowEffect("attempts", "update", None, ("state", "ending")),
            RowEffect("participants", "insert", None),
            RowEffect("invocations", "update", 1, ("state", "revision")),
        ),
        summary="Take the oldest invocation of some deployments that can be taken, or wait for one.",
    ),
)
"""Where there is nothing to take in time, nothing is written, and the key stays free."""
