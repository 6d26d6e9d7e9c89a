"""A store that was put back to an older state is refused by name, by the real daemon; adopting it is said."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import apsw
import pytest
from harness.control import CONTROL_VARIABLE, DATABASE, Control
from harness.dumps import dump_copy, sequence_faults
from harness.home import Daemon, Home
from harness.wire import ask, request
from world import CLIENT, WORKER, Prepared, World

from tallyd.store.refusals import ExitCode
from tallystick.paths import Paths


def contents(paths: Paths) -> dict[str, bytes]:
    """Every file of the data directory but the lock, which says who tried last."""
    root = Path(paths.data_dir)
    files = [path for path in root.rglob("*") if path.is_file() and str(path) != paths.data_lock]
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def append_to(daemon: Daemon, world: World, key: str, count: int = 3) -> None:
    """Further appends, acknowledged."""
    for number in range(count):
        assert ask(daemon.paths, world.append(f"{key}-{number}", f"Number {number}.")).ok


def await_marker(daemon: Daemon, world: World) -> None:
    """Returns when the marker says all that is acknowledged; the daemon's own timer paces the looks."""
    spaces = ask(daemon.paths, request(CLIENT, "space_list", {"limit": 1}, project=world.project)).result
    args = {"source": world.project, "after_cursor": spaces["boundary_event_cursor"], "timeout_ms": 100}
    status = request(CLIENT, "tallystick_status", {})
    while marked(daemon.paths) < ask(daemon.paths, status).result["log_entries"] - 1:
        assert ask(daemon.paths, request(CLIENT, "events_wait", args, project=world.project)).ok


def marked(paths: Paths) -> int:
    """The position that the marker names."""
    position = json.loads(Path(paths.marker).read_text())["position"]
    assert isinstance(position, int)
    return position


def put_back(home: Home, copy: Path) -> None:
    """The data directory as it was when it was copied."""
    shutil.rmtree(home.paths.data_dir)
    shutil.copytree(copy, home.paths.data_dir)


def assert_refused(home: Home) -> str:
    """The daemon does not start, says why and how to go on, and changes nothing. Returns the store's id."""
    before = contents(home.paths)
    before.pop("tally.db-shm", None)
    refused = home.start(may_end=True)
    assert not refused.ready
    assert refused.wait() == ExitCode.STORE_PUT_BACK
    store_id = str(json.loads(Path(home.paths.marker).read_text())["store_id"])
    assert f"store {store_id}" in refused.log()
    assert f"tallyd --adopt {store_id}" in refused.log()
    after = contents(home.paths)
    after.pop("tally.db-shm", None)
    assert after in (before, {**before, "tally.db-wal": b""}), "SQLite's empty log is all that it may leave"
    return store_id


@pytest.mark.parametrize("ending", ["stopped", "killed"])
def test_a_copy_put_back(prepared: Prepared, world_home: Home, tmp_path: Path, ending: str) -> None:
    """A copied data directory is refused after further appends, whether the daemon was stopped, or was killed
    when its marker had been written."""
    shutil.copytree(world_home.paths.data_dir, tmp_path / "copy")
    daemon = world_home.start()
    append_to(daemon, prepared.world, "further")
    if ending == "stopped":
        daemon.stop()
    else:
        await_marker(daemon, prepared.world)
        daemon.process.send_signal(signal.SIGKILL)
        daemon.wait()
    put_back(world_home, tmp_path / "copy")
    assert_refused(world_home)


def test_a_lost_log(prepared: Prepared, world_home: Home) -> None:
    """Without the write-ahead log of a killed daemon, what only it held is missing, and the store refused."""
    control = Control(os.path.join(world_home.root, "control"))
    control.begin_clock()
    daemon = world_home.start(launcher={CONTROL_VARIABLE: control.path})
    control.break_writes(apsw.SQLITE_IOERR_WRITE, only=DATABASE)  # nothing is copied out of the log
    append_to(daemon, prepared.world, "in-the-log")
    await_marker(daemon, prepared.world)
    daemon.kill()
    for suffix in ("-wal", "-shm"):
        os.rename(world_home.paths.database + suffix, os.path.join(world_home.root, f"lost{suffix}"))
    assert_refused(world_home)
    for suffix in ("-wal", "-shm"):
        os.rename(os.path.join(world_home.root, f"lost{suffix}"), world_home.paths.database + suffix)
    with world_home.start():
        pass
    assert len(dump_copy(world_home.paths)["contributions"]) == len(prepared.dump["contributions"]) + 3


def test_adopting_it(prepared: Prepared, world_home: Home, tmp_path: Path) -> None:
    """``--adopt`` goes on from the older state in a new epoch: old cursors and old attempts are told so."""
    world, paths = prepared.world, world_home.paths
    shutil.copytree(paths.data_dir, tmp_path / "copy")
    with world_home.start() as daemon:
        append_to(daemon, world, "abandoned")
        spaces = ask(paths, request(CLIENT, "space_list", {"limit": 1}, project=world.project)).result
    put_back(world_home, tmp_path / "copy")
    store_id = assert_refused(world_home)
    args = {"source": world.project, "after_cursor": spaces["boundary_event_cursor"], "limit": 10}
    with world_home.start(arguments=("--adopt", store_id)):
        assert ask(paths, request(CLIENT, "tallystick_status", {})).result["epoch"] == {"number": 2}
        expired = ask(paths, request(CLIENT, "events_read", args, project=world.project))
        assert expired.kind == "cursor-expired"
        assert "dev.tallystick.epoch" in expired.problem["ext"]
        renewed = request(WORKER, "tallystick_invocation_renew", world.attempts["append"].args)
        assert ask(paths, renewed).kind == "stale-lease"
        assert ask(paths, world.append("new-epoch", "And on.")).ok
    with world_home.start():
        pass
    after = dump_copy(paths)
    assert sequence_faults(after) == []
    assert [row["operation"] for row in after["log"].values()].count("store_adopt") == 1
