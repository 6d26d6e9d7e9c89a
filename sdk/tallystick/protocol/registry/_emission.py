"""The events that a worker's application writes."""

from typing import Final

from tallystick.protocol import arguments, records
from tallystick.protocol.problems import Kind as ProblemKind

from ._model import (
    COMMAND_ROWS,
    CONTENT_ROWS,
    DEVELOPER_ASSISTANT,
    FENCED,
    ONE_ID,
    STEP_ROW,
    WRITES,
    Emission,
    Kind,
    Mode,
    Operation,
    Placement,
    Socket,
)

EMISSION: Final = (
    Operation(
        name="application_event_emit",
        bundle=DEVELOPER_ASSISTANT,
        surface="worker",
        socket=Socket.WORKER,
        kind=Kind.WRITE,
        mode=Mode.WORKER_FENCED,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.ApplicationEventEmitArgs,
        result=records.EmittedEvent,
        content=("payload",),
        problems=(*WRITES, ProblemKind.FORBIDDEN, *FENCED),
        emission=Emission.OF_CALLER,
        rows=(*COMMAND_ROWS, ONE_ID, *CONTENT_ROWS, STEP_ROW),
        summary="Write an event of the application's own type, as the attempt that speaks.",
    ),
)
