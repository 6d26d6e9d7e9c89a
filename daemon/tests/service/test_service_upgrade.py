"""A store of a released version under the daemon of today: it is brought up to date, everything is there, and
whoever waits is told how far it is.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Final

import apsw
import pytest
from erasing import await_erased
from harness.dumps import dump_copy, sequence_faults
from harness.home import DEATH_SECONDS_MAX, Daemon
from harness.wire import ask, request
from released_stores import FIRST, Read, differing, unpack, versions
from world import CLIENT

from tallyd.service.ready import EXTEND_SECONDS, TELL_SECONDS, Readiness
from tallyd.store import migrations
from tallystick.paths import Paths, migration_copies

from .process import Place, command_of, environment_of

NEWEST: Final = migrations.load()[-1].number

MIGRATIONS = Path(__file__).parents[3] / "migrations"


def schema(path: str) -> int:
    """The number of the last migration that a database has."""
    with closing(apsw.Connection(path)) as connection:
        return migrations.version(connection)


def bodies(path: str) -> set[tuple[str, int]]:
    """The numbers of all bodies and of all keys of bodies."""
    with closing(apsw.Connection(path)) as connection:
        rows = connection.execute(
            "SELECT 'bodies', body FROM bodies UNION ALL SELECT 'object_keys', body FROM object_keys"
        )
        return {(str(row[0]), int(row[1])) for row in rows}


def redact(daemon: Daemon, reads: list[Read]) -> None:
    """Erases the first contribution that the reads show, and waits for the end of it."""
    listed = next(read for read in reads if read.body["op"] == "contribution_list")
    project = str(listed.body["project_id"])
    contribution = json.loads(listed.reply)["result"]["items"][0]["contribution_id"]
    args = {"contribution_ref": contribution, "reason_class": "privacy"}
    asked = request(CLIENT, "contribution_redact", args, project=project, key="redact")
    assert ask(daemon.paths, asked).ok
    await_erased(daemon, project)


# --- what is there ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("version", versions())
def test_every_record_of_a_released_version_reads_as_before(home: Place, version: str) -> None:
    """Each read is answered byte for byte as the released version did, and diagnosis passes; so it is after
    the next start.
    """
    reads = unpack(version, home)
    for _ in range(2):
        with home.start() as daemon:
            assert differing(daemon.paths, reads) == []
            checks = ask(daemon.paths, request(CLIENT, "diagnose", {})).result["checks"]
            assert {check["check"] for check in checks if check["status"] != "pass"} <= {"container_layer"}
        assert schema(home.paths.database) == NEWEST
    assert sequence_faults(dump_copy(home.paths)) == []


# --- the copy -----------------------------------------------------------------------------------------------
def test_the_copy_goes_when_the_next_start_has_succeeded(home: Place) -> None:
    """The start that migrates keeps the store as it was beside it; the one after removes that once it is
    ready.
    """
    unpack(FIRST, home)
    with home.start():
        pass
    (copy,) = migration_copies(home.paths.database)
    assert copy == f"{home.paths.database}.before-0008"
    assert schema(copy) == 7
    with home.start() as daemon:
        assert ask(daemon.paths, request(CLIENT, "tallystick_status", {})).ok
    assert migration_copies(home.paths.database) == []
    assert f"removed {copy}" in daemon.log()


def test_a_start_that_is_refused_keeps_the_copy(home: Place) -> None:
    """A start that does not become ready has proved nothing."""
    unpack(FIRST, home)
    with home.start():
        pass
    died = home.start(abort="start:before_ready", may_end=True)
    died.wait()
    assert len(migration_copies(home.paths.database)) == 1


def test_an_erasure_reaches_the_copy(home: Place) -> None:
    """What is erased after an upgrade is gone from the copy made before it too, when it is said to be
    erased.
    """
    reads = unpack(FIRST, home)
    with home.start() as daemon:
        (copy,) = migration_copies(home.paths.database)
        before = bodies(copy)
        redact(daemon, reads)
        after = bodies(copy)
    assert {table for table, _ in before - after} == {"bodies", "object_keys"}
    assert after == bodies(home.paths.database) & before


def test_junk_under_the_name_of_a_copy_keeps_no_erasure_back(home: Place) -> None:
    """What is named like a copy and is none (no database, a directory, another program's database) is named
    in the log and left as it is; the erasure is said all the same.
    """
    reads = unpack(FIRST, home)
    junk, directory, diary = (Path(f"{home.paths.database}.before-000{number}") for number in (1, 2, 3))
    junk.write_bytes(b"not a database " * 1_000)
    directory.mkdir()
    with closing(apsw.Connection(str(diary))) as connection:
        connection.execute("CREATE TABLE bodies (body INTEGER, entry TEXT)").fetchall()
        connection.execute("INSERT INTO bodies VALUES (1, 'dear')").fetchall()
    content = junk.read_bytes(), diary.read_bytes()
    with home.start() as daemon:
        redact(daemon, reads)
    with home.start() as again:
        assert ask(again.paths, request(CLIENT, "tallystick_status", {})).ok
    for started in (daemon, again):
        for path in (junk, directory, diary):
            assert f"{path} is named as a copy of this store and is none" in started.log()
    assert (junk.read_bytes(), diary.read_bytes()) == content
    assert directory.is_dir()


# --- telling whoever waits ----------------------------------------------------------------------------------
@pytest.fixture
def supervisor(home: Place) -> Iterator[socket.socket]:
    """The datagram socket of a service manager."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.settimeout(DEATH_SECONDS_MAX)
        channel.bind(os.path.join(home.root, "notify"))
        yield channel


def test_a_supervisor_hears_of_each_step(home: Place, supervisor: socket.socket) -> None:
    """While a store is brought up to date each step asks the service manager for more time and says what it
    is; READY=1 comes last, and its status with it.
    """
    unpack(FIRST, home)
    env = environment_of(home, {"NOTIFY_SOCKET": supervisor.getsockname()})
    process = subprocess.Popen(command_of(home.paths), env=env, stderr=subprocess.DEVNULL)
    try:
        heard: list[list[str]] = []
        while not heard or heard[-1][0] != "READY=1":
            heard.append(supervisor.recv(4096).decode().split("\n"))
        process.terminate()
        assert process.wait(DEATH_SECONDS_MAX) == 0
    finally:
        process.kill()
    assert heard.pop() == ["READY=1", "STATUS=ready"]
    assert {first for first, _ in heard} == {f"EXTEND_TIMEOUT_USEC={EXTEND_SECONDS * 1_000_000}"}
    steps = [status.removeprefix("STATUS=") for _, status in heard]
    assert steps[0].startswith("copying the database, ")
    assert steps[0].endswith(" %")
    assert steps[1:3] == ["verifying the copy", "writing the copy to the disk"]
    newer = [f"migration {path.stem}" for path in sorted(MIGRATIONS.glob("*.sql")) if path.stem >= "0008"]
    assert steps[3 : 3 + len(newer)] == newer
    *checked, last = steps[3 + len(newer) :]
    assert last == "committing the migrations"
    assert checked == sorted(checked)
    assert {"agents", "attempts", "erasures", "invocations"} <= {each.split()[-1] for each in checked}
    assert all(each.startswith("checking the references of ") for each in checked)
    assert not os.path.exists(home.paths.starting)


class Clock:
    """A monotonic clock that the test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def told(paths: Paths) -> dict[str, object]:
    """What stands in the file for whoever waits."""
    found = json.loads(Path(paths.starting).read_text())
    assert isinstance(found, dict)
    return found


def test_a_step_is_told_in_time_and_not_too_often(home: Place, supervisor: socket.socket) -> None:
    """However often it is called, a step is told at once and then once a second, which is far less than what
    the service manager was asked for; the file says the same.
    """
    os.makedirs(home.paths.runtime_dir)
    clock = Clock()
    readiness = Readiness(None, {"NOTIFY_SOCKET": supervisor.getsockname()}, home.paths, clock)
    heard = []
    for tick in range(50):
        clock.seconds = tick / 10
        readiness.progress("copying the database" if tick < 25 else "verifying the copy", tick)
        supervisor.setblocking(False)
        try:
            heard.append((clock.seconds, supervisor.recv(4096).decode().partition("STATUS=")[2]))
        except BlockingIOError:
            continue
        assert told(home.paths) == {
            "pid": os.getpid(),
            "step": "copying the database" if tick < 25 else "verifying the copy",
            "percent": tick,
            "seconds": round(clock.seconds - (0 if tick < 25 else 2.5), 3),
        }
    times = [at for at, _ in heard]
    assert times == [0.0, 1.0, 2.0, 2.5, 3.5, 4.5]
    assert heard[3][1] == "verifying the copy, 25 %"
    assert max(after - before for before, after in pairwise(times)) <= TELL_SECONDS < EXTEND_SECONDS / 10


def test_what_a_killed_start_has_said_is_gone(home: Place) -> None:
    """The file of a start that was killed stays until the next daemon is ready, and not beyond; a start that
    is refused takes what it has said back, and nothing that another has said.
    """
    unpack(FIRST, home)
    home.start(abort="start:upgrade_before_commit", may_end=True).wait()
    assert str(told(home.paths)["step"]).startswith("checking the references of ")
    with home.start():
        assert not os.path.exists(home.paths.starting)
    readiness = Readiness(None, {}, home.paths)
    Path(home.paths.starting).write_text("another's")
    readiness.refused()
    assert Path(home.paths.starting).exists()
    readiness.progress("copying the database", None)
    readiness.refused()
    assert not Path(home.paths.starting).exists()
