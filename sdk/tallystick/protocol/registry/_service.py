"""Negotiation, diagnosis, and the daemon itself."""

from typing import Final

from msgspec.structs import replace

from tallystick.protocol import arguments, records
from tallystick.protocol.problems import Kind as ProblemKind

from ._model import ALWAYS, CORE, READS, TALLYSTICK_CORE, Kind, Mode, Operation, Placement, Socket

_HELLO: Final = Operation(
    name="hello",
    bundle=CORE,
    surface="external_client",
    socket=Socket.CLIENT,
    kind=Kind.READ,
    mode=Mode.PUBLIC,
    realm=Placement.FORBIDDEN,
    project=Placement.FORBIDDEN,
    arguments=arguments.HelloArgs,
    result=records.HelloResult,
    problems=ALWAYS,
    summary="Agree on a protocol version; keeps no state.",
)

SERVICE: Final = (
    _HELLO,
    replace(_HELLO, socket=Socket.WORKER),
    Operation(
        name="protocol_info",
        bundle=CORE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.PUBLIC,
        realm=Placement.FORBIDDEN,
        project=Placement.FORBIDDEN,
        arguments=arguments.ProtocolInfoArgs,
        result=records.ProtocolInfo,
        problems=ALWAYS,
        summary="Versions, bundles and limits of this daemon.",
    ),
    Operation(
        name="diagnose",
        bundle=CORE,
        surface="operator",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.OPERATOR,
        realm=Placement.REQUIRED,
        project=Placement.OPTIONAL,
        arguments=arguments.DiagnoseArgs,
        result=records.Diagnosis,
        problems=(*READS, ProblemKind.FORBIDDEN),
        summary="Check the store, its journal and its log.",
    ),
    Operation(
        name="tallystick_limits",
        bundle=TALLYSTICK_CORE,
        surface="external_client",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.PUBLIC,
        realm=Placement.FORBIDDEN,
        project=Placement.FORBIDDEN,
        arguments=arguments.TallystickLimitsArgs,
        result=records.ServedLimits,
        problems=ALWAYS,
        summary="Every limit a client can meet, by name, and the bundles that extend KCP.",
    ),
    Operation(
        name="tallystick_status",
        bundle=TALLYSTICK_CORE,
        surface="operator",
        socket=Socket.CLIENT,
        kind=Kind.READ,
        mode=Mode.OWNER,
        realm=Placement.REQUIRED,
        project=Placement.FORBIDDEN,
        arguments=arguments.TallystickStatusArgs,
        result=records.Status,
        problems=(*READS, ProblemKind.FORBIDDEN),
        summary="The daemon as it stands: process, store, epoch, queue, waiters, leases.",
    ),
    Operation(
        name="tallystick_shutdown",
        bundle=TALLYSTICK_CORE,
        surface="operator",
        socket=Socket.CLIENT,
        kind=Kind.CONTROL,
        mode=Mode.OWNER,
        realm=Placement.REQUIRED,
        project=Placement.FORBIDDEN,
        arguments=arguments.TallystickShutdownArgs,
        result=records.Stopping,
        problems=(*READS, ProblemKind.FORBIDDEN),
        summary="Refuse new work, finish what was taken, and end the daemon.",
    ),
)
