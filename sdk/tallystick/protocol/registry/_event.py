"""Reading and following events."""

from typing import Final

from tallystick.protocol import arguments, records
from tallystick.protocol.problems import Kind as ProblemKind

from ._model import READS, SHARED_SPACE, Kind, Mode, Operation, Placement, Socket

_FOLLOWING: Final = (*READS, ProblemKind.FORBIDDEN, ProblemKind.CURSOR_EXPIRED)

EVENT: Final = (
    Operation(
        name="events_read",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.READ_PROJECT,
        realm=Placement.REQUIRED,
        project=Placement.OPTIONAL,
        arguments=arguments.EventsReadArgs,
        result=records.EventPage,
        problems=_FOLLOWING,
        summary="A project's events after a cursor.",
    ),
    Operation(
        name="events_wait",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.WAIT,
        mode=Mode.READ_PROJECT,
        realm=Placement.REQUIRED,
        project=Placement.OPTIONAL,
        arguments=arguments.EventsWaitArgs,
        result=records.EventBatch,
        problems=_FOLLOWING,
        summary="A project's events after a cursor, waiting for the first of them.",
    ),
    Operation(
        name="event_payload",
        bundle=SHARED_SPACE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.READ_PROJECT,
        realm=Placement.REQUIRED,
        project=Placement.OPTIONAL,
        arguments=arguments.EventPayloadArgs,
        result=records.EventPayload,
        problems=(*READS, ProblemKind.FORBIDDEN),
        summary="One event's payload.",
    ),
)
