"""Erasing what `contribution_redact` does not reach: names, titles, reasons, payloads, free objects. Ours."""

from typing import Final

from tallystick.protocol import arguments, records

from ._model import (
    ARTIFACT_ERASED,
    GUARDED_WRITES,
    TALLYSTICK_ERASURE,
    Kind,
    Mode,
    Operation,
    Placement,
    RowEffect,
    Socket,
)

ERASURE: Final = (
    Operation(
        name="tallystick_erase",
        bundle=TALLYSTICK_ERASURE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.WRITE,
        mode=Mode.STEWARD,
        realm=Placement.REQUIRED,
        project=Placement.OPTIONAL,
        arguments=arguments.TallystickEraseArgs,
        result=records.Erasure,
        problems=GUARDED_WRITES,
        events=("dev.tallystick.content.erasing.v1",),
        rows=(
            RowEffect("log", "insert"),
            RowEffect("ids", "insert"),
            RowEffect("outbox", "insert"),
            RowEffect("idempotency", "insert"),
            RowEffect("erasures", "insert"),
            RowEffect("bodies", "delete", None),
            RowEffect("object_keys", "delete", None),
            ARTIFACT_ERASED,
        ),
        summary="Erase an object's or event's content; its keys go at once.",
    ),
)
