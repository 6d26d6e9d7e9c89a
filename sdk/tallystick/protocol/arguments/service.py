"""Arguments of negotiation, diagnosis and the daemon itself."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.shapes import (
    DisplayName,
    FeatureId,
    Identifier,
    Identifiers,
    ProtocolVersion,
    refuse_repeats,
)

from ._base import Args, NoArgs


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
