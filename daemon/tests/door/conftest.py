"""Fixtures of the door's tests: short directories, and doors that run for the length of a test."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import trio

sys.path.insert(0, str(Path(__file__).parents[1]))  # as mypy sees it: the helpers are the package ``door``

from door.desk import Asked, Desk, Open, Opener

from tallyd.door import Channel, Door, DoorLimits
from tallyd.door.poller import Poller
from tallystick.protocol.operation import Socket


@pytest.fixture
def runtime_dir() -> Iterator[str]:
    """A private directory with a path short enough for sockets."""
    directory = tempfile.mkdtemp(prefix="ty", dir="/tmp")
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def channel(runtime_dir: str) -> Channel:
    """The owner's client channel."""
    return Channel(
        socket=Socket.CLIENT,
        actor="prin-owner",
        strength="peer-uid",
        path=os.path.join(runtime_dir, "tally.sock"),
        allowed_uid=os.geteuid(),
    )


@pytest.fixture
async def open_door(nursery: trio.Nursery, channel: Channel) -> AsyncIterator[Opener]:
    """Opens doors that run until the test ends."""
    opened: list[Open] = []

    def open_one(caps: DoorLimits | None = None, poller: Poller | None = None) -> Open:
        desk = Desk()
        door: Door[Asked] = Door(desk, caps if caps is not None else DoorLimits(), poller)
        desk.attach(door)
        door.listen(channel)
        scope = trio.CancelScope()
        opened.append(Open(door, desk, channel, [], scope))

        async def run() -> None:
            with scope:
                await door.run()

        nursery.start_soon(run)
        return opened[-1]

    yield open_one
    for one in opened:
        one.stop.cancel()
        for caller in one.callers:
            caller.close()


@pytest.fixture
async def house(open_door: Opener) -> Open:
    """A running door with the product's caps."""
    return open_door()
