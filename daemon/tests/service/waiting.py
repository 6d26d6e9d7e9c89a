"""Waits as clients ask for them, and how a test knows that they sleep."""

from __future__ import annotations

import time
from typing import Final

from harness.wire import Request, Wire, request
from world import CLIENT

SECONDS_MAX: Final = 60
"""Longest for a daemon to get to where a test wants it: past it the test has failed."""


def waits(project: str, cursor: str, timeout_ms: int = 30_000, **filters: object) -> Request:
    """A wait behind a cursor."""
    args: dict[str, object] = {"source": project, "after_cursor": cursor, "timeout_ms": timeout_ms}
    if filters:
        args["filters"] = filters
    return request(CLIENT, "events_wait", args, project=project)


def head(wire: Wire, project: str) -> str:
    """A cursor behind all events of a project, which may fill several pages."""
    args: dict[str, object] = {"source": project, "limit": 512}
    while True:
        page = wire.ask(request(CLIENT, "events_read", args, project=project)).result
        if not page["events"]:
            return str(page["next_cursor"])
        args["after_cursor"] = page["next_cursor"]


def until_asleep(wire: Wire, waiters: int) -> None:
    """Returns when exactly so many waits sleep in the daemon."""
    _until(wire, "waiters", waiters)


def until_open(wire: Wire, connections: int) -> None:
    """Returns when exactly so many connections are open, the one that asks among them."""
    _until(wire, "connections", connections)


def _until(wire: Wire, name: str, number: int) -> None:
    last = time.monotonic() + SECONDS_MAX
    while (found := wire.ask(request(CLIENT, "tallystick_status", {})).result[name]) != number:
        assert time.monotonic() < last, f"{found} {name} instead of {number}"
