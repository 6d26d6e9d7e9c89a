"""Calls to a model. No egress authority can be configured yet, so each is `unavailable`, and none tells."""

from typing import Final

from tallystick.protocol import arguments, records
from tallystick.protocol.problems import Kind as ProblemKind

from ._model import DEVELOPER_ASSISTANT, FENCED, WRITES, Kind, Mode, Operation, Placement, Socket

COMPLETION: Final = (
    Operation(
        name="model_complete",
        bundle=DEVELOPER_ASSISTANT,
        surface="worker",
        socket=Socket.WORKER,
        kind=Kind.WRITE,
        mode=Mode.WORKER_FENCED,
        realm=Placement.REQUIRED,
        project=Placement.REQUIRED,
        arguments=arguments.ModelCompleteArgs,
        result=records.ModelCall,
        content=(
            "prompt",
            "system",
        ),
        problems=(*WRITES, ProblemKind.FORBIDDEN, *FENCED),
        summary="Say something to a model, under a permit that is spent by it.",
    ),
)
