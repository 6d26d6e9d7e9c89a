"""How the daemon starts: what it says when and to whom, the rights on what it makes, and how it refuses."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import apsw
import pytest
from harness.control import CONTROL_VARIABLE, SYNC_PIPE_VARIABLE, Control
from harness.home import DEATH_SECONDS_MAX
from harness.wire import Wire, ask, request
from world import CLIENT, WORKER, World

from tallyd.store.refusals import ExitCode

from .process import Ended, NewHome, Place, Tallyd, command_of, environment_of, run_to_its_end, tree


# --- readiness ----------------------------------------------------------------------------------------------
@pytest.fixture
def supervisor(home: Place) -> Iterator[socket.socket]:
    """The datagram socket of a service manager."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.settimeout(DEATH_SECONDS_MAX)
        channel.bind(os.path.join(home.root, "notify"))
        yield channel


def test_case_092_ready_is_said_after_the_sockets_are_bound(home: Place, supervisor: socket.socket) -> None:
    """A service manager hears READY=1 when both sockets take clients and not before, and STOPPING=1."""
    env = {"NOTIFY_SOCKET": supervisor.getsockname()}
    process = subprocess.Popen(
        command_of(home.paths), env=environment_of(home, env), stderr=subprocess.DEVNULL
    )
    try:
        assert supervisor.recv(4096) == b"READY=1"
        for to in (CLIENT, WORKER):
            with Wire(home.paths, to) as wire:
                assert wire.fileno() >= 0
        process.terminate()
        assert supervisor.recv(4096) == b"STOPPING=1"
        assert process.wait(DEATH_SECONDS_MAX) == 0
    finally:
        process.kill()


def test_an_abstract_address_of_the_supervisor(home: Place) -> None:
    """A name that begins with @ is in the abstract namespace, as systemd has it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.settimeout(DEATH_SECONDS_MAX)
        name = f"tally-test-{os.path.basename(home.root)}"
        channel.bind("\0" + name)
        with Tallyd(home, env={"NOTIFY_SOCKET": "@" + name}):
            assert channel.recv(4096) == b"READY=1"


def test_a_supervisor_that_is_gone_does_not_matter(home: Place) -> None:
    """Where nobody hears it, it is said in the log, and the daemon serves."""
    with Tallyd(home, env={"NOTIFY_SOCKET": os.path.join(home.root, "nobody")}) as daemon:
        daemon.heard("the supervisor could not be told READY=1")


def test_whoever_is_refused_says_no_ready(home: Place, supervisor: socket.socket) -> None:
    """A daemon that does not start tells the service manager nothing."""
    os.makedirs(home.paths.data_dir, 0o755)
    ended = run_to_its_end(home, env={"NOTIFY_SOCKET": supervisor.getsockname()})
    assert ended.code == ExitCode.BAD_DIRECTORY
    supervisor.setblocking(False)
    with pytest.raises(BlockingIOError):
        supervisor.recv(1)


def test_a_starter_that_died_does_not_take_the_daemon_along(home: Place) -> None:
    """Nobody reads its word any more: the daemon serves all the same."""
    reads, writes = os.pipe()
    os.close(reads)
    process = subprocess.Popen(
        command_of(home.paths, "--ready-fd", str(writes)),
        env=environment_of(home),
        pass_fds=(writes,),
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writes)
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if "nobody heard" in line:
                break
        assert ask(home.paths, request(CLIENT, "protocol_info", {})).ok
        process.terminate()
        assert process.wait(DEATH_SECONDS_MAX) == 0
    finally:
        process.kill()
        process.communicate()


# --- signals ------------------------------------------------------------------------------------------------
def test_sigterm_during_the_first_start(home: Place) -> None:
    """A start that is ended in the middle of its database's first commit is gone on with by the next."""
    control = Control(os.path.join(home.root, "control"))
    control.begin_clock()
    control.put("sync_ms", 600_000)
    heard, tells = os.pipe()
    env = {CONTROL_VARIABLE: control.path, SYNC_PIPE_VARIABLE: str(tells)}
    process = subprocess.Popen(
        command_of(home.paths, launched=True),
        env=environment_of(home, env),
        pass_fds=(tells,),
        stderr=subprocess.DEVNULL,
    )
    os.close(tells)
    try:
        assert os.read(heard, 1) == b"s"
        process.terminate()
        assert process.wait(DEATH_SECONDS_MAX) == -signal.SIGTERM
    finally:
        process.kill()
        os.close(heard)
    assert not os.path.exists(home.paths.client_socket)
    with Tallyd(home) as daemon, Wire(daemon.paths) as wire:
        assert wire.ask(request(CLIENT, "diagnose", {})).result["status"] == "pass"


# --- what it makes ------------------------------------------------------------------------------------------
def test_case_088_nothing_it_makes_is_open_to_others(world_home: Place, world: World) -> None:
    """Under a umask of nothing every directory is 0700 and every file and socket 0600, while it runs and
    after.
    """
    before = os.umask(0)
    try:
        daemon = Tallyd(world_home)
    finally:
        os.umask(before)
    with daemon:
        assert ask(daemon.paths, world.append("m-1", "It drips.")).ok
        running = modes(world_home.root)
    assert {"tally.db-wal", "tally.sock", "tally-worker.sock", "lock", "store.json"} <= {
        Path(name).name for name in running
    }
    assert {name: mode for name, mode in running.items() if mode & 0o177} == {}
    assert {name: mode for name, mode in modes(world_home.root).items() if mode & 0o177} == {}


def modes(root: str) -> dict[str, int]:
    """Rights of all files below a directory but those that clients staged; its directories must be closed to
    others.
    """
    found = {}
    for directory, _, names in os.walk(root):
        if directory != root:
            assert stat.S_IMODE(os.lstat(directory).st_mode) == 0o700, directory
        if os.path.basename(directory) == "staging":
            continue
        for name in names:
            try:
                status = os.lstat(os.path.join(directory, name))
            except FileNotFoundError:
                continue  # a file that was written aside and has its name by now
            if not stat.S_ISLNK(status.st_mode):
                found[os.path.relpath(os.path.join(directory, name), root)] = stat.S_IMODE(status.st_mode)
    return found


# --- refusals -----------------------------------------------------------------------------------------------
Arrange = Callable[[Place, NewHome], "Arranged"]


class Arranged:
    """What a refused daemon is given beside its places."""

    def __init__(self, *arguments: str, env: dict[str, str] | None = None, named: str = "") -> None:
        self.arguments = arguments
        self.env = env or {}
        self.named = named
        """What the sentence must name."""


def _relative(_: Place, __: NewHome) -> Arranged:
    return Arranged(env={"TALLY_STATE_DIR": "somewhere"}, named="TALLY_STATE_DIR")


def _bad_hook(_: Place, __: NewHome) -> Arranged:
    return Arranged("--test-hooks", env={"TALLYD_ABORT": "sometimes"}, named="TALLYD_ABORT")


def _hook(_: Place, __: NewHome) -> Arranged:
    return Arranged(env={"TALLYD_ABORT": "before_commit:project_create"}, named="TALLYD_ABORT")


def _hold(_: Place, __: NewHome) -> Arranged:
    return Arranged(env={"TALLYD_BATCH_HOLD": "2"}, named="TALLYD_BATCH_HOLD")


def _open_directory(home: Place, _: NewHome) -> Arranged:
    os.chmod(home.paths.data_dir, 0o755)
    return Arranged(named=f"chmod 700 {home.paths.data_dir}")


def _file_for_socket(home: Place, _: NewHome) -> Arranged:
    with Tallyd(home):
        pass  # the store now knows its place
    Path(home.paths.client_socket).write_text("somebody's notes")
    return Arranged(named=home.paths.client_socket)


def _newer(home: Place, _: NewHome) -> Arranged:
    _execute(home.paths.database, "PRAGMA user_version=9999")
    return Arranged(named="newer")


def _damaged(home: Place, _: NewHome) -> Arranged:
    with open(home.paths.database, "r+b") as file:
        file.seek(4096 + 8)
        file.write(b"\xff" * 2048)
    return Arranged(named=home.paths.database)


def _missing(home: Place, _: NewHome) -> Arranged:
    os.rename(home.paths.database, home.paths.database + ".away")
    return Arranged(named=home.paths.database)


def _lost_key(home: Place, _: NewHome) -> Arranged:
    path = _a_key(home)
    os.rename(path, os.path.join(home.root, "key.away"))
    return Arranged(named=path)


def _wrong_key(home: Place, _: NewHome) -> Arranged:
    path = _a_key(home)
    Path(path).write_bytes(bytes(32))
    return Arranged(named=path)


def _not_put_back(_: Place, __: NewHome) -> Arranged:
    return Arranged("--adopt", "store-" + "0" * 32, named="--adopt")


def _unreadable(home: Place, _: NewHome) -> Arranged:
    Path(home.paths.marker).write_text("{")
    return Arranged(named=home.paths.marker)


def _foreign(home: Place, _: NewHome) -> Arranged:
    os.rename(home.paths.database, home.paths.database + ".away")
    _execute(home.paths.database, "CREATE TABLE photographs(id)")
    os.chmod(home.paths.database, 0o600)
    return Arranged(named=home.paths.database)


def _held_data(home: Place, new_home: NewHome) -> Arranged:
    other = new_home()
    other.paths = home.paths._replace(
        runtime_dir=other.paths.runtime_dir, client_socket=other.paths.client_socket
    )
    running = Tallyd(other)
    assert running.ready
    return Arranged(named=f"pid {running.pid}")


def _held_sockets(home: Place, new_home: NewHome) -> Arranged:
    other = new_home()
    other.paths = other.paths._replace(runtime_dir=home.paths.runtime_dir)
    running = Tallyd(other)
    assert running.ready
    return Arranged(named=f"pid {running.pid}")


def _execute(database: str, sql: str) -> None:
    connection = apsw.Connection(database)
    connection.execute(sql).fetchall()
    connection.close()


def _a_key(home: Place) -> str:
    return os.path.join(home.paths.keys_dir, min(os.listdir(home.paths.keys_dir)))


REFUSED: Final[dict[str, tuple[ExitCode, Arrange]]] = {
    "a relative directory": (ExitCode.BAD_CONFIGURATION, _relative),
    "a hook that says nothing": (ExitCode.BAD_CONFIGURATION, _bad_hook),
    "a hook without its flag": (ExitCode.TEST_HOOKS_WITHOUT_FLAG, _hook),
    "a hold without its flag": (ExitCode.TEST_HOOKS_WITHOUT_FLAG, _hold),
    "a directory open to others": (ExitCode.BAD_DIRECTORY, _open_directory),
    "a file in a socket's place": (ExitCode.BAD_DIRECTORY, _file_for_socket),
    "a newer schema": (ExitCode.NEWER_SCHEMA, _newer),
    "a damaged database": (ExitCode.CORRUPT, _damaged),
    "a missing database": (ExitCode.MISSING_DATABASE, _missing),
    "a lost key": (ExitCode.LOST_KEY, _lost_key),
    "another key": (ExitCode.WRONG_KEY, _wrong_key),
    "an adoption of another store": (ExitCode.ADOPTION_REFUSED, _not_put_back),
    "a marker that cannot be read": (ExitCode.UNREADABLE_MARKER, _unreadable),
    "another program's database": (ExitCode.FOREIGN_DATABASE, _foreign),
    "a held data directory": (ExitCode.DATA_DIRECTORY_HELD, _held_data),
    "held sockets": (ExitCode.RUNTIME_DIRECTORY_HELD, _held_sockets),
}
DESTRUCTIVE: Final = ("rm ", "delete", "remove it", "erase", "--force", "reset", "overwrite")


@pytest.mark.parametrize("case", REFUSED)
def test_each_refusal_has_its_code_and_a_sentence(case: str, world_home: Place, new_home: NewHome) -> None:
    """A daemon that may not start ends with the code of its reason and one sentence that names what it is
    about, and changes nothing.
    """
    code, arrange = REFUSED[case]
    arranged = arrange(world_home, new_home)
    before = tree(world_home.paths.data_dir), tree(world_home.paths.state_dir)
    ended = run_to_its_end(world_home, *arranged.arguments, env=arranged.env)

    assert ended.code == code, ended.said
    sentence = ended.said.splitlines()[-1]
    assert sentence.startswith("tallyd: ")
    assert arranged.named in sentence
    assert "Traceback" not in ended.said
    assert not any(word in ended.said.lower() for word in DESTRUCTIVE)
    after = tree(world_home.paths.data_dir), tree(world_home.paths.state_dir)
    assert [set(a.items()) ^ set(b.items()) for a, b in zip(before, after, strict=True)] == [set(), set()]


def test_case_023_a_database_that_another_program_locks(world_home: Place) -> None:
    """It is told from damage and from a failed disk, and passes when the other has gone."""
    connection = apsw.Connection(world_home.paths.database)
    connection.execute("PRAGMA locking_mode=EXCLUSIVE; BEGIN IMMEDIATE").fetchall()
    ended = run_to_its_end(world_home)
    assert ended.code == ExitCode.DATABASE_BUSY, ended.said
    connection.execute("ROLLBACK").fetchall()
    connection.close()
    with Tallyd(world_home):
        pass


def test_a_disk_that_fails_at_the_start(home: Place) -> None:
    """A full disk is a reason of its own, and a start after there is room again makes the store."""
    control = Control(os.path.join(home.root, "control"))
    control.begin_clock()
    control.break_writes(apsw.SQLITE_FULL)
    env = {CONTROL_VARIABLE: control.path}
    ended = run_to_its_end(home, env=env, command=command_of(home.paths, launched=True))
    assert ended.code == ExitCode.STORAGE_FAILED, ended.said
    assert "Traceback" not in ended.said
    control.mend()
    with Tallyd(home, env=env, launched=True):
        pass


IN_PROCESS: Final = {
    ExitCode.NETWORK_FILE_SYSTEM: "test_case_035_a_network_file_system_is_refused_before_anything_is_made",
    ExitCode.PROBE_FAILED: "test_what_two_processes_cannot_share_is_refused",
    ExitCode.OLD_SQLITE: "test_case_038_an_old_sqlite_touches_nothing",
    ExitCode.MIGRATION_FAILED: "test_a_step_that_fails_is_undone_whole",
    ExitCode.SETTING_NOT_TAKEN: "test_a_setting_that_is_not_taken_is_refused",
}
"""What this machine cannot be made to do to a process is tried on the store itself, by these tests."""
ELSEWHERE: Final = {
    ExitCode.DATABASE_BUSY: "test_case_023_a_database_that_another_program_locks",
    ExitCode.STORAGE_FAILED: "test_a_disk_that_fails_at_the_start",
    ExitCode.STORE_PUT_BACK: "test_case_081_a_copy_put_back_is_refused_and_adopted",
    ExitCode.CLOCK_OUT_OF_RANGE: "test_a_clock_that_no_timestamp_can_hold",
    ExitCode.RESOURCES_LACKING: "test_a_start_without_threads",
    ExitCode.DEFECT: "test_a_fault_of_its_own_has_a_code",
    ExitCode.LOCK_LOST: "test_case_002_what_was_taken_away_ends_the_daemon",
}


def test_every_exit_code_is_reached() -> None:
    """There is no code of which no test has seen a daemon, or its store, end."""
    reached = {code for code, _ in REFUSED.values()} | IN_PROCESS.keys() | ELSEWHERE.keys()
    assert reached == set(ExitCode)
    tests = Path(__file__).parents[1]
    sources = "".join(path.read_text() for path in tests.rglob("test_*.py"))
    for name in (*IN_PROCESS.values(), *ELSEWHERE.values()):
        assert f"def {name}(" in sources, name


def test_a_hook_is_refused_before_anything_is_made(home: Place) -> None:
    """With the variable of a crash hook and without its flag not even a directory is there afterwards."""
    ended: Ended = run_to_its_end(home, env={"TALLYD_ABORT": "before_commit:project_create"})
    assert ended.code == ExitCode.TEST_HOOKS_WITHOUT_FLAG
    assert os.listdir(home.root) == []


def test_a_hook_fires_once_at_its_nth_command(world_home: Place, world: World) -> None:
    """At the second append of a client: a replay, a refusal and a worker's append are none of that kind."""
    env = {"TALLYD_ABORT": "after_commit:contribution_append@client#2"}
    daemon = Tallyd(world_home, "--test-hooks", env=env)
    first = world.append("h-1", "One.")
    with Wire(world_home.paths) as client, Wire(world_home.paths, WORKER) as worker:
        assert client.ask(first).ok
        assert client.ask(first).ok
        assert client.ask(first.changed(kind="claim")).kind == "idempotency-mismatch"
        step = world.as_worker(world.append("h-2", "A step.", kind="synthesis"), world.attempts["append"])
        assert worker.ask(step).ok
        client.send(world.append("h-3", "Two."))
        assert client.read_line() == b""
    assert daemon.wait() == -signal.SIGABRT
