"""What the daemon says of itself: versions, limits, its state, its own checks; and how it is stopped."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from tallystick.protocol import limits
from tallystick.protocol.arguments import Args, NoArgs
from tallystick.protocol.operation import ALWAYS, CORE, READS, TALLYSTICK_CORE, Kind, Mode, Placement, Socket
from tallystick.protocol.problems import Kind as ProblemKind
from tallystick.protocol.records import Record
from tallystick.protocol.shapes import (
    CheckStatus,
    DigestHex,
    DisplayName,
    FeatureId,
    FreeText,
    Identifier,
    Identifiers,
    PositiveInt,
    ProtocolVersion,
    SafeInt,
    Timestamp,
    refuse_repeats,
)

# --- records ------------------------------------------------------------------------------------------------
Versions = Annotated[tuple[ProtocolVersion, ...], Meta(min_length=1, max_length=limits.LIST_ITEMS_MAX)]


Features = Annotated[tuple[FeatureId, ...], Meta(max_length=limits.LIST_ITEMS_MAX)]


class HelloResult(Record, frozen=True, kw_only=True):
    """What `hello` settles (KCP 1.7)."""

    selected_version: ProtocolVersion
    implementation: DisplayName
    implementation_version: Identifier
    features: Features
    limits_digest: DigestHex
    server_time: Timestamp
    installation_id: Identifier

    def __post_init__(self) -> None:
        refuse_repeats("features", self.features)


class ProtocolInfo(Record, frozen=True, kw_only=True):
    """What the daemon speaks and serves, without settling anything (KCP 1.7)."""

    supported_versions: Versions
    implementation: DisplayName
    implementation_version: Identifier
    features: Features
    limits_digest: DigestHex
    server_time: Timestamp
    installation_id: Identifier

    def __post_init__(self) -> None:
        refuse_repeats("supported_versions", self.supported_versions)
        refuse_repeats("features", self.features)


class DiagnosticCheck(Record, frozen=True, kw_only=True):
    """One check and how it ended."""

    check: Identifier
    status: CheckStatus
    detail: FreeText | UnsetType = UNSET


class Diagnosis(Record, frozen=True, kw_only=True):
    """The result of `diagnose`: the worst status of its checks, and each of them."""

    status: CheckStatus
    checks: Annotated[tuple[DiagnosticCheck, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]
    generated_at: Timestamp


class ServedLimits(Record, frozen=True, kw_only=True):
    """The result of `tallystick_limits`: every limit a client can meet, by its name, and our own bundles."""

    limits: dict[str, SafeInt]
    bundles: Features


class EpochStatus(Record, frozen=True, kw_only=True):
    """The store's epoch; a restored or adopted store begins a new one."""

    number: PositiveInt


class FileSystemStatus(Record, frozen=True, kw_only=True):
    """Where the database lies; `note` says what to do where it does not outlive a container or a restart."""

    name: str
    container_layer: bool
    note: str | UnsetType = UNSET


class Status(Record, frozen=True, kw_only=True):
    """The result of `tallystick_status`: the daemon as it stands, for its owner."""

    pid: PositiveInt
    started_at: Timestamp
    store_id: Identifier
    installation_id: Identifier
    epoch: EpochStatus
    versions: dict[str, str]
    file_system: FileSystemStatus
    wal_bytes: SafeInt
    log_entries: SafeInt
    connections: SafeInt
    queued_commands: SafeInt
    waiters: SafeInt
    leases: SafeInt
    stopping: bool


class Stopping(Record, frozen=True, kw_only=True):
    """The result of `tallystick_shutdown`: the drain has begun."""

    stopping: bool


# --- arguments ----------------------------------------------------------------------------------------------
class HelloArgs(Args, frozen=True, kw_only=True):
    """Who calls, and which versions they speak; the features they ask for bind nobody (KCP 1.7)."""

    supported_versions: Annotated[
        tuple[ProtocolVersion, ...], Meta(min_length=1, max_length=limits.LIST_ITEMS_MAX)
    ]
    implementation: DisplayName
    implementation_version: Identifier
    requested_features: Annotated[tuple[FeatureId, ...], Meta(max_length=limits.LIST_ITEMS_MAX)]

    def __post_init__(self) -> None:
        refuse_repeats("supported_versions", self.supported_versions)
        refuse_repeats("requested_features", self.requested_features)


class ProtocolInfoArgs(NoArgs, frozen=True, kw_only=True):
    """None."""


class DiagnoseArgs(Args, frozen=True, kw_only=True):
    """Which checks to run; none named means all."""

    checks: Identifiers | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.checks is not UNSET:
            refuse_repeats("checks", self.checks)


class TallystickLimitsArgs(NoArgs, frozen=True, kw_only=True):
    """None."""


class TallystickStatusArgs(NoArgs, frozen=True, kw_only=True):
    """None."""


class TallystickShutdownArgs(NoArgs, frozen=True, kw_only=True):
    """None."""


# --- operations ---------------------------------------------------------------------------------------------
HELLO: Final = CORE.read(
    "hello",
    HelloArgs,
    HelloResult,
    "Agree on a protocol version; keeps no state.",
    mode=Mode.PUBLIC,
    realm=Placement.FORBIDDEN,
    project=Placement.FORBIDDEN,
    problems=ALWAYS,
)
HELLO_BY_WORKER: Final = replace(
    HELLO,
    socket=Socket.WORKER,
)
PROTOCOL_INFO: Final = CORE.read(
    "protocol_info",
    ProtocolInfoArgs,
    ProtocolInfo,
    "Versions, bundles and limits of this daemon.",
    mode=Mode.PUBLIC,
    realm=Placement.FORBIDDEN,
    project=Placement.FORBIDDEN,
    problems=ALWAYS,
)
DIAGNOSE: Final = CORE.read(
    "diagnose",
    DiagnoseArgs,
    Diagnosis,
    "Check the store, its journal and its log.",
    mode=Mode.OPERATOR,
    surface="operator",
    project=Placement.OPTIONAL,
    problems=(*READS, ProblemKind.FORBIDDEN),
)
TALLYSTICK_LIMITS: Final = TALLYSTICK_CORE.read(
    "tallystick_limits",
    TallystickLimitsArgs,
    ServedLimits,
    "Every limit a client can meet, by name, and the bundles that extend KCP.",
    mode=Mode.PUBLIC,
    realm=Placement.FORBIDDEN,
    project=Placement.FORBIDDEN,
    problems=ALWAYS,
)
TALLYSTICK_STATUS: Final = TALLYSTICK_CORE.read(
    "tallystick_status",
    TallystickStatusArgs,
    Status,
    "The daemon as it stands: process, store, epoch, queue, waiters, leases.",
    mode=Mode.OWNER,
    surface="operator",
    project=Placement.FORBIDDEN,
    problems=(*READS, ProblemKind.FORBIDDEN),
)
TALLYSTICK_SHUTDOWN: Final = TALLYSTICK_CORE.read(
    "tallystick_shutdown",
    TallystickShutdownArgs,
    Stopping,
    "Refuse new work, finish what was taken, and end the daemon.",
    kind=Kind.CONTROL,
    mode=Mode.OWNER,
    surface="operator",
    project=Placement.FORBIDDEN,
    problems=(*READS, ProblemKind.FORBIDDEN),
)

OPERATIONS: Final = (
    HELLO,
    HELLO_BY_WORKER,
    PROTOCOL_INFO,
    DIAGNOSE,
    TALLYSTICK_LIMITS,
    TALLYSTICK_STATUS,
    TALLYSTICK_SHUTDOWN,
)
