"""Records of negotiation, diagnosis and the daemon itself."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.shapes import (
    CheckStatus,
    DigestHex,
    DisplayName,
    FeatureId,
    FreeText,
    Identifier,
    PositiveInt,
    ProtocolVersion,
    SafeInt,
    Timestamp,
    refuse_repeats,
)

from ._base import Record

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
