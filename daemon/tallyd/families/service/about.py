"""What the daemon says of itself without looking at anybody's objects: versions, bundles, limits."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from tallyd.admission import Admission
from tallyd.families.shared.host import Host
from tallyd.families.shared.results import Served
from tallyd.ledger import skeleton, times
from tallyd.ledger.view import View
from tallystick.protocol import limits
from tallystick.protocol.canonical import canonical
from tallystick.protocol.digests import limits_digest
from tallystick.protocol.envelope import PROTOCOL_VERSION, Request
from tallystick.protocol.families.service import (
    HelloArgs,
    ProtocolInfoArgs,
    TallystickLimitsArgs,
    TallystickShutdownArgs,
    TallystickStatusArgs,
)
from tallystick.protocol.problems import unsupported_version
from tallystick.protocol.registry import FEATURES, OWN_BUNDLES

IMPLEMENTATION: Final = "tallyd"


@cache
def implementation_version() -> str:
    """The installed distribution's version, read once: there may be no descriptor to read it again."""
    try:
        return version("tallystick")
    except PackageNotFoundError:
        return "0.0.0"


def _about(view: View) -> dict[str, object]:
    return {
        "implementation": IMPLEMENTATION,
        "implementation_version": implementation_version(),
        "features": FEATURES,
        "limits_digest": limits_digest(),
        "server_time": times.rfc3339(view.wall_ms()),
        "installation_id": view.identity.installation_id,
    }


def hello(view: View, request: Request[HelloArgs], _admission: Admission) -> Served:
    """``hello``: agrees on a version; keeps no state."""
    args = request.args
    if PROTOCOL_VERSION not in args.supported_versions:
        raise unsupported_version(
            f"$.args.supported_versions has no version in common with this daemon, which speaks "
            f"{PROTOCOL_VERSION}"
        )
    return Served(skeleton.encode({"selected_version": PROTOCOL_VERSION, **_about(view)}))


def protocol_info(view: View, _request: Request[ProtocolInfoArgs], _admission: Admission) -> Served:
    """``protocol_info``."""
    return Served(skeleton.encode({"supported_versions": [PROTOCOL_VERSION], **_about(view)}))


def served_limits(_view: View, _request: Request[TallystickLimitsArgs], _admission: Admission) -> Served:
    """``tallystick_limits``: every whole-numbered limit that a client can meet, by its name in small
    letters.
    """
    named = {
        name.lower(): value
        for name, value in vars(limits).items()
        if name.isupper() and isinstance(value, int) and not isinstance(value, bool)
    }
    return Served(skeleton.encode({"limits": named, "bundles": OWN_BUNDLES}))


def status(host: Host, _view: View, _request: Request[TallystickStatusArgs], _admission: Admission) -> Served:
    """``tallystick_status``: the daemon as it stands."""
    return Served(canonical(host.status()))


def shutdown(
    host: Host, _view: View, _request: Request[TallystickShutdownArgs], _admission: Admission
) -> Served:
    """``tallystick_shutdown``: the daemon answers what it has taken, and ends."""
    host.stop()
    return Served(skeleton.encode({"stopping": True}))
