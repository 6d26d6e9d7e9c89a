"""Each operation of the registry once while the daemon may open nothing: it answers, and works afterwards."""

from __future__ import annotations

import os
import resource
import sys
from typing import Final

import pytest
from entries import Entry
from expected import ENTRIES
from harness.wire import Reply, Request, Wire
from scene import Scene
from service.process import Place, Tallyd

LAST: Final = ["deployment_drain", "deployment_activate"]
"""What others stand on ends with these, so they come after them."""
NOT_HERE: Final = {"tallystick_shutdown", "model_complete"}
"""The first ends the daemon; the second is always `unavailable`."""
TRIED: Final = sorted(
    (entry for entry in ENTRIES.values() if entry.name not in NOT_HERE),
    key=lambda entry: (entry.name in LAST, entry.name),
)


def lowest_free(pid: int) -> int:
    """The lowest descriptor that is free in a process: with this for its limit it can open nothing."""
    taken = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
    return next(number for number in range(len(taken) + 1) if number not in taken)


@pytest.mark.skipif(sys.platform != "linux", reason="limits are set from outside here")
def test_each_operation_without_descriptors(home: Place) -> None:
    """Each is answered, or `unavailable`, and none is a defect; the same works when files may be opened."""
    with Tallyd(home) as daemon:
        scene = Scene(daemon.paths)
        for entry in TRIED:
            reply = _while_lacking(daemon, _right(scene, entry))
            assert reply.raw, entry
            assert reply.kind != "internal", (str(entry), reply.value)
            again = scene.owner.send(_right(scene, entry))
            assert again.kind not in ("internal", "unavailable"), (str(entry), again.value)
        assert "defect" not in daemon.log(), daemon.log()


def _right(scene: Scene, entry: Entry) -> Request:
    """What is right of a worker is asked under an attempt of its own: it may end with it."""
    return scene.right(entry, scene.new_attempt() if entry.binding else None)


def _while_lacking(daemon: Tallyd, asked: Request) -> Reply:
    """The reply to a request while the daemon may open nothing; its connection was let in before."""
    with Wire(daemon.paths, asked.socket) as wire:
        wire._socket.sendall(b"{}\n")
        assert wire.read_line()
        before = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (lowest_free(daemon.pid), before[1]))
        try:
            return wire.ask(asked)
        finally:
            resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, before)
