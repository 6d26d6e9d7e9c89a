"""Agreeing on a version, and the daemon itself: its checks, its limits, its state, and stopping it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Unpack

from tallystick.calls.descriptors import read
from tallystick.calls.values import AnyProject, ReadOptions, optional_project
from tallystick.core import Read, prepare

if TYPE_CHECKING:
    from tallystick.protocol.families.service import (
        Diagnosis,
        HelloResult,
        ProtocolInfo,
        ServedLimits,
        Status,
        Stopping,
    )

IMPLEMENTATION: Final = "tallystick-sdk"
IMPLEMENTATION_VERSION: Final = "0.1.0"


def hello(
    supported_versions: Sequence[str] = ("0.1",), features: Sequence[str] = (), **options: Unpack[ReadOptions]
) -> Read[HelloResult]:
    """Which version both speak, and which bundles of operations the daemon serves whole."""
    arguments = {
        "supported_versions": list(supported_versions),
        "implementation": IMPLEMENTATION,
        "implementation_version": IMPLEMENTATION_VERSION,
        "requested_features": list(features),
    }
    return Read("hello", arguments, "service.HelloResult", realm_id=None, **options)


GREETING: Final = prepare(hello()).line
"""What each connection begins with: the reply names the store that is behind it."""


def protocol_info(**options: Unpack[ReadOptions]) -> Read[ProtocolInfo]:
    """What the daemon speaks and serves. Unlike ``hello`` it agrees on nothing."""
    return Read("protocol_info", {}, "service.ProtocolInfo", realm_id=None, **options)


def diagnose(
    checks: Sequence[str] = (), *, project: AnyProject | None = None, **options: Unpack[ReadOptions]
) -> Read[Diagnosis]:
    """The daemon's checks of itself; none named means all."""
    return Read(
        "diagnose",
        {"checks": list(checks) or None},
        "service.Diagnosis",
        project_id=optional_project(project),
        **options,
    )


def served_limits(**options: Unpack[ReadOptions]) -> Read[ServedLimits]:
    """Every limit that a client can meet, by its name, and the daemon's own bundles."""
    return Read("tallystick_limits", {}, "service.ServedLimits", realm_id=None, **options)


def status(**options: Unpack[ReadOptions]) -> Read[Status]:
    """The daemon as it stands: for its owner."""
    return Read("tallystick_status", {}, "service.Status", **options)


def shutdown(**options: Unpack[ReadOptions]) -> Read[Stopping]:
    """Ask the daemon to finish what it has begun and stop: for its owner. It has no key: it writes nothing.
    """
    return Read("tallystick_shutdown", {}, "service.Stopping", **options)


# --- methods ----------------------------------------------------------------------------------------------
class ServiceMethods:
    """The methods of the clients."""

    hello = read(hello)
    protocol_info = read(protocol_info)
    diagnose = read(diagnose)
    limits = read(served_limits)
    status = read(status)
    shutdown = read(shutdown)


class ServiceWorkerMethods:
    """The methods of the workers' clients."""

    hello = read(hello)
