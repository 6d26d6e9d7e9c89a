"""A disk that is full, broken or slow, under the real daemon: what is answered, and what goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

import apsw
import pytest
from cells import Promise, judge_diagnosis, judge_effect, wal_bytes
from expected import find_cell
from harness.control import CONTROL_VARIABLE, DATABASE, LOG, SYNC_PIPE_VARIABLE, Control
from harness.dumps import differences, dump_copy, dump_live, effects, without
from harness.home import Daemon, Home
from harness.wire import Reply, Request, Wire, ask, request
from world import CLIENT, Prepared

from tallyd.store.refusals import ExitCode
from tallystick.protocol.limits import WAL_GATE_BYTES

APPEND: Final = find_cell("contribution_append").rows
FLUSH_MS: Final = 200
READ_SECONDS_MAX: Final = 0.05
WRITE_ERRORS: Final = {
    "full": (apsw.SQLITE_FULL, "not_applied"),
    "broken": (apsw.SQLITE_IOERR_WRITE, "unknown"),
}
"""What the disk says, and what the daemon can say of a command then."""


class Disk:
    """The disk under a daemon: its faults, and the pipe on which it says that a sync has begun."""

    def __init__(self, home: Home) -> None:
        self.control = Control(os.path.join(home.root, "control"))
        self.control.begin_clock()
        self._said, self._say = os.pipe()
        self._home = home

    def start(self) -> Daemon:
        variables = {CONTROL_VARIABLE: self.control.path, SYNC_PIPE_VARIABLE: str(self._say)}
        return self._home.start(launcher=variables, descriptors=(self._say,))

    def next_sync(self) -> None:
        """Returns when a sync has begun since the last ``forget_syncs``."""
        assert os.read(self._said, 1)

    def forget_syncs(self) -> None:
        """Takes what was said so far out of the pipe."""
        os.set_blocking(self._said, False)
        try:
            while os.read(self._said, 4096):
                pass
        except BlockingIOError:
            os.set_blocking(self._said, True)

    def close(self) -> None:
        os.close(self._said)
        os.close(self._say)


@pytest.fixture
def disk(world_home: Home) -> Iterator[Disk]:
    """Under the daemon of ``world_home``."""
    disk = Disk(world_home)
    yield disk
    disk.close()


def outcome(reply: Reply) -> str:
    """The outcome that an ``unavailable`` names."""
    assert reply.kind == "unavailable", reply.value
    return str(reply.problem["ext"]["dev.tallystick.outcome"]["state"])


# --- writes that fail ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(("error", "told"), WRITE_ERRORS.values(), ids=WRITE_ERRORS)
def test_a_failed_write(prepared: Prepared, world_home: Home, disk: Disk, error: int, told: str) -> None:
    """A command that a full disk does not take was not applied, and one that a failing disk did not take has
    an unknown outcome; reads go on, and the next command works when the disk does, without a restart (case
    32)."""
    world = prepared.world
    sent = world.append("unlucky", "No room for this.")
    with disk.start() as daemon:
        disk.control.break_writes(error)
        assert outcome(ask(daemon.paths, sent)) == told
        assert outcome(ask(daemon.paths, world.append("next", "Nor for this."))) == told
        assert ask(daemon.paths, world.show_space()).ok
        assert differences(prepared.dump, dump_live(daemon.paths)) == []
        disk.control.mend()
        first = ask(daemon.paths, sent)
        assert first.ok
        assert ask(daemon.paths, sent).raw == first.raw
        judge_diagnosis(daemon.paths)
    judge_effect(prepared.dump, dump_copy(world_home.paths), APPEND)


def test_the_nth_write_that_fails(prepared: Prepared, world_home: Home, disk: Disk) -> None:
    """Whichever write of a command fails, the first, the second and so on, nothing of it is there; sent again
    it is done once."""
    world = prepared.world
    done = 0
    with disk.start() as daemon:
        while True:
            sent = world.append(f"nth-{done}", f"Number {done}.")
            disk.control.break_writes(apsw.SQLITE_IOERR_WRITE, passing=done, only=LOG)
            reply = ask(daemon.paths, sent)
            disk.control.mend()
            if reply.ok:
                break
            assert outcome(reply) == "unknown"
            assert ask(daemon.paths, sent).ok
            done += 1
        judge_diagnosis(daemon.paths)
    assert done >= 4, "a command writes several pages"
    # Each of them changed the space, which is one row.
    each = tuple(effect for effect in APPEND if effect.action == "insert") * (done + 1)
    judge_effect(prepared.dump, dump_copy(world_home.paths), (*each, *(e for e in APPEND if e not in each)))


def test_tidying_up_on_a_full_disk(prepared: Prepared, world_home: Home, disk: Disk) -> None:
    """What the clerk does when it is idle may fail too: the next command finds it at work."""
    world = prepared.world
    with disk.start() as daemon:
        assert ask(daemon.paths, world.append("before", "There is room.")).ok
        before = dump_live(daemon.paths)
        assert before["outbox"], Promise.EXACT_ROWS
        disk.control.break_writes(apsw.SQLITE_FULL, only=LOG)
        tried = disk.control.get("writes")
        waited = wait_for_nothing(daemon, world.project)
        while disk.control.get("writes") == tried:
            assert ask(daemon.paths, waited).ok
        assert differences(before, dump_live(daemon.paths)) == []
        disk.control.mend()
        assert ask(daemon.paths, world.append("after", "Again there is.")).ok
        judge_diagnosis(daemon.paths)
    assert dump_copy(world_home.paths)["outbox"] == {}


def wait_for_nothing(daemon: Daemon, project: str, timeout_ms: int = 500) -> Request:
    """A wait for what never comes: the daemon's own timer ends it."""
    spaces = ask(daemon.paths, request(CLIENT, "space_list", {"limit": 1}, project=project)).result
    args = {
        "source": project,
        "after_cursor": spaces["boundary_event_cursor"],
        "timeout_ms": timeout_ms,
    }
    return request(CLIENT, "events_wait", args, project=project)


def test_an_idle_daemon_sleeps(prepared: Prepared, disk: Disk) -> None:
    """When what a command left is tidied up, nothing runs: for two seconds no thread but the loop's wakes."""
    world = prepared.world
    with disk.start() as daemon:
        assert ask(daemon.paths, world.append("before", "And now nothing.")).ok
        waited = wait_for_nothing(daemon, world.project)
        while dump_live(daemon.paths)["outbox"]:
            assert ask(daemon.paths, waited).ok
        assert ask(daemon.paths, wait_for_nothing(daemon, world.project, 1_500)).ok
        before = wakings(daemon)
        assert ask(daemon.paths, wait_for_nothing(daemon, world.project, 2_000)).ok
        assert wakings(daemon) - before <= 1


def wakings(daemon: Daemon) -> int:
    """How often the process's threads were woken so far, without the one that serves the sockets."""
    total = 0
    for task in Path(f"/proc/{daemon.pid}/task").iterdir():
        if int(task.name) != daemon.pid:
            status = (task / "status").read_text()
            total += int(status.rpartition("\nvoluntary_ctxt_switches:")[2].split()[0])
    return total


# --- syncs that fail ----------------------------------------------------------------------------------------
def test_a_failed_sync(prepared: Prepared, world_home: Home, disk: Disk) -> None:
    """A commit whose sync fails is answered by nobody: the process ends, and what the disk holds is found by
    the next start. Sent again, the command is done once."""
    sent = prepared.world.append("unsynced", "Did it get there?")
    daemon = disk.start()
    disk.control.break_syncs(only=LOG)
    assert ask(daemon.paths, sent).raw == b""
    assert daemon.wait() == ExitCode.STORAGE_FAILED
    disk.control.mend()
    with disk.start() as daemon:
        first = ask(daemon.paths, sent)
        assert first.ok
        assert ask(daemon.paths, sent).raw == first.raw
        judge_diagnosis(daemon.paths)
    judge_effect(prepared.dump, dump_copy(world_home.paths), APPEND)


@pytest.mark.parametrize("fault", ["write", "sync"])
def test_the_log_cannot_be_reset(prepared: Prepared, world_home: Home, disk: Disk, fault: str) -> None:
    """A checkpoint that fails, between two batches too, loses nothing and stops nobody; when the disk works
    again the write-ahead log is reset."""
    world = prepared.world
    long = "x" * 60_000
    with disk.start() as daemon, Wire(daemon.paths) as wire:
        if fault == "write":
            disk.control.break_writes(apsw.SQLITE_FULL, only=DATABASE)
        else:
            disk.control.break_syncs(only=DATABASE)
        count = 0
        while wal_bytes(daemon.paths) <= WAL_GATE_BYTES + 500_000:
            assert wire.ask(world.append(f"long-{count}", long)).ok
            count += 1
        assert wire.ask(world.show_space()).ok
        disk.control.mend()
        assert wire.ask(world.append("mended", "Short.")).ok
        size = wal_bytes(daemon.paths)
        for _ in range(10):
            assert wire.ask(world.append(f"long-{count}", long)).ok
            count += 1
        assert wal_bytes(daemon.paths) == size, "the log was not begun again"
        judge_diagnosis(daemon.paths)
    new = effects(differences(without(prepared.dump, "outbox"), dump_copy(world_home.paths)))
    assert new["contributions", "insert", frozenset()] == count + 1


# --- a slow disk --------------------------------------------------------------------------------------------
def test_reads_beside_a_slow_flush(prepared: Prepared, disk: Disk) -> None:
    """With a flush of 200 ms a read beside a write is answered within 50 ms, and before the write."""
    world = prepared.world
    took = []
    with disk.start() as daemon, Wire(daemon.paths) as writer, Wire(daemon.paths) as reader:
        assert reader.ask(world.show_space()).ok
        disk.control.put("sync_ms", FLUSH_MS)
        for number in range(5):
            disk.forget_syncs()
            writer.send(world.append(f"slow-{number}", "Slowly."))
            disk.next_sync()
            began = perf_counter()
            revision = reader.ask(world.show_space()).result["revision"]
            took.append(perf_counter() - began)
            written = writer.receive("contribution_append")
            assert written.value["revision"] == revision + 1, "the read was not beside the write"
        disk.control.mend()
    assert median(took) < READ_SECONDS_MAX
