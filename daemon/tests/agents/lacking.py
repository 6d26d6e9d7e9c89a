"""Each operation of the registry, asked once while the daemon lacks something and again when it has it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from entries import Entry
from expected import ENTRIES
from harness.wire import Reply, Request, Wire
from scene import Scene
from service.process import Tallyd

LAST: Final = ["deployment_drain", "deployment_activate"]
"""What others stand on ends with these, so they come after them."""
NOT_HERE: Final = {"tallystick_shutdown", "model_complete"}
"""The first ends the daemon; the second is always `unavailable`."""
TRIED: Final = sorted(
    (entry for entry in ENTRIES.values() if entry.name not in NOT_HERE),
    key=lambda entry: (entry.name in LAST, entry.name),
)

Lack = Callable[[], AbstractContextManager[None]]
"""What takes something from the daemon, and gives it back."""


def try_each(daemon: Tallyd, lacking: Lack) -> dict[str, Reply]:
    """What each operation was answered while the daemon lacked it. None of it is a defect, and the same
    request under the same key is served afterwards.
    """
    scene, replies = Scene(daemon.paths), dict[str, Reply]()
    for entry in TRIED:
        asked = _right(scene, entry)
        replies[str(entry)] = reply = _while_lacking(daemon, asked, lacking)
        assert reply.raw, (str(entry), daemon.log())
        assert reply.kind != "internal", (str(entry), reply.value, daemon.log())
        again = scene.owner.send(asked)
        assert again.kind not in ("internal", "unavailable"), (str(entry), again.value, daemon.log())
        assert again.ok or not reply.ok, (str(entry), again.value)
    log = daemon.log()
    assert "defect" not in log, log
    assert "Traceback" not in log, log
    return replies


def _right(scene: Scene, entry: Entry) -> Request:
    """What is right of a worker is asked under an attempt of its own: it may end with it."""
    return scene.right(entry, scene.new_attempt() if entry.binding else None)


def _while_lacking(daemon: Tallyd, asked: Request, lacking: Lack) -> Reply:
    """The reply to a request while the daemon lacks it; its connection was let in before."""
    with Wire(daemon.paths, asked.socket) as wire:
        wire._socket.sendall(b"{}\n")
        assert wire.read_line()
        with lacking():
            return wire.ask(asked)
