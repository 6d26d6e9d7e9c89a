"""How the daemon ends: what it has taken is answered, what is new is refused, and the disk holds it all."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import apsw
import pytest
import trio
from harness.control import CONTROL_VARIABLE, SYNC_PIPE_VARIABLE, Control
from harness.home import DEATH_SECONDS_MAX
from harness.wire import Wire, ask, request
from world import CLIENT, World

from .living import living, said
from .process import Place, Tallyd
from .waiting import head, until_asleep, waits


class Slow:
    """A daemon whose disk takes its time, so that a command can be met while it is being committed."""

    def __init__(self, home: Place) -> None:
        self.control = Control(os.path.join(home.root, "control"))
        self.control.begin_clock()
        self._heard, tells = os.pipe()
        self._supervisor = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._supervisor.settimeout(DEATH_SECONDS_MAX)
        self._supervisor.bind(os.path.join(home.root, "notify"))
        env = {
            CONTROL_VARIABLE: self.control.path,
            SYNC_PIPE_VARIABLE: str(tells),
            "NOTIFY_SOCKET": self._supervisor.getsockname(),
        }
        self.daemon = Tallyd(home, env=env, launched=True, pass_fds=(tells,))
        os.close(tells)
        assert self._supervisor.recv(64) == b"READY=1"
        os.set_blocking(self._heard, False)
        try:
            while os.read(self._heard, 4096):
                pass
        except BlockingIOError:
            os.set_blocking(self._heard, True)

    def takes(self, milliseconds: int) -> None:
        """From now on each sync takes so long."""
        self.control.put("sync_ms", milliseconds)

    def a_sync_begins(self) -> None:
        """Returns when a sync has begun since the start."""
        assert os.read(self._heard, 1) == b"s"

    def the_drain_begins(self) -> None:
        """Returns when the daemon has told its supervisor that it is stopping."""
        assert self._supervisor.recv(64) == b"STOPPING=1"

    def close(self) -> None:
        os.close(self._heard)
        self._supervisor.close()


@pytest.fixture
def slow(world_home: Place) -> Iterator[Slow]:
    """Such a daemon on a copy of the world."""
    made = Slow(world_home)
    yield made
    made.close()


def test_case_027_a_drain_leaves_nothing_open(slow: Slow, world: World) -> None:
    """SIGTERM in the middle of a commit: its command is answered, a new one refused as not applied, a read
    served, a wait ended with what it has; then the log is reset, the marker says all, and the files are gone.
    """
    daemon, paths = slow.daemon, slow.daemon.paths
    with Wire(paths) as writer, Wire(paths) as late, Wire(paths) as waiter:
        waiter.send(waits(world.project, head(waiter, world.project)))
        assert late.ask(request(CLIENT, "protocol_info", {})).ok
        slow.takes(3_000)
        writer.send(world.append("d-1", "Taken before the end."))
        slow.a_sync_begins()
        daemon.process.send_signal(signal.SIGTERM)
        slow.the_drain_begins()

        refused = late.ask(world.append("d-2", "Too late."))
        assert refused.kind == "unavailable"
        assert refused.problem["ext"]["dev.tallystick.outcome"] == {"state": "not_applied"}
        assert late.ask(request(CLIENT, "tallystick_status", {})).result["stopping"] is True
        assert not os.path.exists(paths.client_socket)
        ended = waiter.receive("events_wait")
        assert ended.result["events"] == []
        daemon.process.send_signal(signal.SIGTERM)  # who is impatient changes nothing
        slow.takes(0)
        answered = writer.receive("contribution_append")
        assert answered.ok
        assert daemon.wait() == 0, daemon.log()
        for wire in (writer, late, waiter):
            assert wire.read_line() == b"", "the connection was not ended"

    for path in (paths.client_socket, paths.worker_socket, paths.client_alias, paths.worker_alias):
        assert not os.path.lexists(path)
    assert not os.path.exists(paths.database + "-wal")
    with apsw.Connection(paths.database, flags=apsw.SQLITE_OPEN_READONLY) as store:
        position, leaf = next(store.execute("SELECT position, leaf FROM log ORDER BY position DESC"))
    marker = json.loads(Path(paths.marker).read_text())
    assert marker["position"] == position
    assert bytes(leaf).hex() in json.dumps(marker)
    with Tallyd(slow.daemon.home) as again:
        assert ask(again.paths, world.append("d-1", "Taken before the end.")).raw == answered.raw
        assert ask(again.paths, world.append("d-2", "Too late.")).ok, "refused, and yet applied"


def _by_signal(number: signal.Signals) -> Callable[[Tallyd], None]:
    return lambda daemon: daemon.process.send_signal(number)


def _by_request(daemon: Tallyd) -> None:
    assert ask(daemon.paths, request(CLIENT, "tallystick_shutdown", {})).result == {"stopping": True}


ENDINGS: Final[dict[str, Callable[[Tallyd], None]]] = {
    "SIGTERM": _by_signal(signal.SIGTERM),
    "SIGINT": _by_signal(signal.SIGINT),
    "the operation": _by_request,
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_each_way_to_end_it_drains(ending: str, world_home: Place, world: World) -> None:
    """However it is asked, it ends with 0, its last words are that it stopped, and nothing is lost."""
    daemon = Tallyd(world_home)
    appended = ask(world_home.paths, world.append("e-1", "It drips."))
    ENDINGS[ending](daemon)
    assert daemon.wait() == 0
    assert daemon.log().splitlines()[-1].endswith("stopped")
    with Tallyd(world_home):
        assert ask(world_home.paths, world.append("e-1", "It drips.")).raw == appended.raw


def test_a_hundred_waits_end_with_the_drain(world_home: Place, world: World) -> None:
    """Every wait gets its reply, and then the end of its connection."""
    with Tallyd(world_home) as daemon, Wire(daemon.paths) as reader:
        cursor = head(reader, world.project)
        wires = [Wire(daemon.paths) for _ in range(100)]
        for wire in wires:
            wire.send(waits(world.project, cursor))
        until_asleep(reader, len(wires))
        daemon.process.send_signal(signal.SIGTERM)
        for wire in wires:
            with wire:
                assert wire.receive("events_wait").result["next_cursor"] == cursor
                assert wire.read_line() == b""
        assert daemon.wait() == 0


@pytest.mark.trio
async def test_an_end_that_is_asked_while_the_log_is_reset(home: Place) -> None:
    """Whoever asks while no read may begin has to wait for that, and the daemon ends all the same."""
    async with living(home) as daemon:
        stream = await trio.open_unix_socket(home.paths.client_socket)
        resets, go_on = threading.Event(), threading.Event()

        def reset() -> None:
            resets.set()
            assert go_on.wait(DEATH_SECONDS_MAX)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.to_thread.run_sync, daemon._gate.shut, reset)
            await trio.to_thread.run_sync(resets.wait, DEATH_SECONDS_MAX)
            asked = request(CLIENT, "tallystick_shutdown", {}).line
            await stream.send_all(asked)
            with trio.fail_after(DEATH_SECONDS_MAX):
                while not daemon._reader.waiting:
                    await trio.lowlevel.checkpoint()
            go_on.set()
            assert await said(stream, b"") == {"outcome": "ok", "result": {"stopping": True}}
        assert daemon.log_is_quiet
