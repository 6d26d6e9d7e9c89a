"""One owner: what is taken away from under a daemon, what is put back, and how a person goes on."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any, Final

import pytest
import trio
from harness.dumps import dump_copy, sequence_faults
from harness.wire import Reply, Request, Wire, ask, request
from trio.testing import MockClock
from world import CLIENT, WORKER, World, complete

from tallyd.store.refusals import ExitCode
from tallystick.paths import Paths

from .living import living, said
from .process import NewHome, Place, Tallyd, run_to_its_end, tree

PROTOCOL_INFO: Final = b'{"version":"0.1","op":"protocol_info","args":{}}\n'


# --- taken away ---------------------------------------------------------------------------------------------
def _lock_removed(home: Place) -> str:
    os.rename(home.paths.data_lock, home.paths.data_lock + ".away")
    return home.paths.data_lock


def _lock_replaced(home: Place) -> str:
    os.rename(home.paths.runtime_lock, home.paths.runtime_lock + ".away")
    Path(home.paths.runtime_lock).touch(0o600)
    return home.paths.runtime_lock


def _database_replaced(home: Place) -> str:
    """Another store's database comes in its place, with a write-ahead log of its own."""
    for suffix in ("", "-wal"):
        os.rename(home.paths.database + suffix, home.paths.database + suffix + ".away")
        Path(home.paths.database + suffix).write_text("another's")
    return home.paths.database


def test_case_002_what_was_taken_away_ends_the_daemon(world: World, new_home: NewHome) -> None:
    """A daemon whose lock file or database is not the one that it holds ends by itself, says which, and
    writes nothing more, since what stands there may be another's; what it had acknowledged is there.
    """
    running: list[tuple[Tallyd, str, Reply]] = []
    for take_away in (_lock_removed, _lock_replaced, _database_replaced):
        home = new_home()
        home.copy_of(world.home)
        daemon = Tallyd(home)
        appended = ask(home.paths, world.append("o-1", "It drips."))
        running.append((daemon, take_away(home), appended))
    for daemon, taken, _ in running:
        assert daemon.wait() == ExitCode.LOCK_LOST, daemon.log()
        assert f"{taken} was removed or replaced" in daemon.log()
        assert "Traceback" not in daemon.log()
    first, _, appended = running[0]
    with Tallyd(first.home):
        assert ask(first.paths, world.append("o-1", "It drips.")).raw == appended.raw
    paths = running[2][0].paths
    assert Path(paths.database).read_text() == Path(paths.database + "-wal").read_text() == "another's"


@pytest.mark.trio
async def test_case_018_a_socket_that_was_tidied_away_is_bound_anew(
    home: Place, mock_clock: MockClock
) -> None:
    """A tidied runtime directory is noticed within ten seconds; who was connected goes on all the while."""
    async with living(home) as daemon:
        connected = await trio.open_unix_socket(home.paths.client_socket)
        assert (await said(connected, PROTOCOL_INFO))["outcome"] == "ok"
        os.unlink(home.paths.client_socket)
        os.unlink(home.paths.worker_socket)
        mock_clock.jump(10)
        with trio.fail_after(1e6):
            while not os.path.exists(home.paths.worker_socket):
                await trio.testing.wait_all_tasks_blocked()
        for path in (home.paths.client_socket, home.paths.client_alias):
            fresh = await trio.open_unix_socket(path)
            assert (await said(fresh, PROTOCOL_INFO))["outcome"] == "ok"
        assert (await said(connected, PROTOCOL_INFO))["outcome"] == "ok"
        assert daemon.log_is_quiet


# --- put back -----------------------------------------------------------------------------------------------
def _copied(home: Place, aside: str) -> None:
    shutil.copytree(home.paths.data_dir, os.path.join(home.root, aside), symlinks=True)


def _put_back(home: Place, aside: str) -> None:
    shutil.rmtree(home.paths.data_dir)
    shutil.copytree(os.path.join(home.root, aside), home.paths.data_dir, symlinks=True)


def _store_id(paths: Paths) -> str:
    found: dict[str, Any] = json.loads(Path(paths.marker).read_text())
    return str(found["store_id"])


def _read(world: World, **args: object) -> Request:
    return request(
        CLIENT, "events_read", {"source": world.project, "limit": 50, **args}, project=world.project
    )


def _list(world: World, **args: object) -> Request:
    said = {"space_id": world.space.space_id, "limit": 1, **args}
    return request(CLIENT, "contribution_list", said, project=world.project)


def test_case_081_a_copy_put_back_is_refused_and_adopted(world: World, world_home: Place) -> None:
    """A copy that is put back after further appends is refused by name, and goes on only when a person says
    so: in a new epoch, in which cursors, snapshots and attempts of the old one are told that it is over.
    """
    paths = world_home.paths
    _copied(world_home, "copy")
    with Tallyd(world_home), Wire(paths) as wire:
        assert wire.ask(world.append("a-1", "Said after the copy was made.")).ok
        cursor = wire.ask(_read(world)).result["next_cursor"]
        page = wire.ask(_list(world)).result
    _put_back(world_home, "copy")
    before = tree(paths.data_dir)

    refused = run_to_its_end(world_home)
    assert refused.code == ExitCode.STORE_PUT_BACK, refused.said
    assert f"tallyd --adopt {_store_id(paths)}" in refused.said
    assert tree(paths.data_dir) == before

    attempt = world.attempts["complete"]
    with Tallyd(world_home, "--adopt", _store_id(paths)), Wire(paths) as wire, Wire(paths, WORKER) as worker:
        _expired(wire.ask(_read(world, after_cursor=cursor)))
        continued = wire.ask(_list(world, snapshot=page["snapshot"], after=page["next"]))
        assert continued.kind == "snapshot-expired"
        assert worker.ask(complete("a-2", attempt)).kind == "stale-lease"
        assert wire.ask(world.append("a-3", "Said in the new epoch.")).ok
        assert wire.ask(request(CLIENT, "diagnose", {})).result["status"] == "pass"
        assert wire.ask(request(CLIENT, "tallystick_status", {})).result["epoch"]["number"] == 2

    with Tallyd(world_home):
        pass
    again = run_to_its_end(world_home, "--adopt", _store_id(paths))
    assert again.code == ExitCode.ADOPTION_REFUSED
    log = dump_copy(paths)["log"].values()
    assert [row["outcome"] for row in log if row["operation"] == "store_adopt"] == ["applied"]
    assert sequence_faults(dump_copy(paths)) == []


def _expired(reply: Reply) -> None:
    """An old cursor is told where to go on, and in which epoch."""
    assert reply.kind == "cursor-expired"
    ext = reply.problem["ext"]
    assert ext["dev.tallystick.epoch"]["number"] == 2
    recovery = ext["dev.kovee.recovery.cursor-expired"]
    assert set(recovery) == {"oldest_cursor", "snapshot_boundary"}


# --- what a process it runs would inherit -------------------------------------------------------------------
@pytest.mark.trio
@pytest.mark.skipif(not os.path.isdir("/proc/self/fdinfo"), reason="this system does not tell the flags")
async def test_case_042_no_descriptor_of_it_is_inherited(home: Place) -> None:
    """Every descriptor that a serving daemon opens is closed in a program that it would run."""
    before = _descriptors()
    async with living(home) as _:
        connected = await trio.open_unix_socket(home.paths.client_socket)
        assert (await said(connected, PROTOCOL_INFO))["outcome"] == "ok"
        opened = {
            descriptor: target for descriptor, target in _descriptors().items() if descriptor not in before
        }
        assert len(opened) > 10
        inherited = {target for descriptor, target in opened.items() if os.get_inheritable(descriptor)}
        assert inherited == set()


def _descriptors() -> dict[int, str]:
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue  # the one that listed them
    return found
