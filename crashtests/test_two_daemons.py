"""Two daemons for one store, or one place of sockets: one wins, and the other changes nothing."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from harness.dumps import differences, dump_live
from harness.home import Home, NewHome
from harness.wire import ask
from world import Prepared

from tallyd.store.refusals import ExitCode

HELD = {"data": ExitCode.DATA_DIRECTORY_HELD, "runtime": ExitCode.RUNTIME_DIRECTORY_HELD}


@pytest.mark.parametrize("shared", HELD)
def test_the_second_is_refused(prepared: Prepared, world_home: Home, new_home: NewHome, shared: str) -> None:
    """It ends with the code of what is held, and names the holder; the first goes on as if nothing were
    (case 102).
    """
    paths = world_home.paths
    other = new_home(paths.data_dir, None) if shared == "data" else new_home(None, paths.runtime_dir)
    with world_home.start() as first:
        sockets = os.stat(paths.client_socket), os.stat(paths.worker_socket)
        second = other.start(may_end=True)
        assert not second.ready
        assert second.wait() == HELD[shared]
        assert f"pid {first.pid}" in second.log()
        assert (os.stat(paths.client_socket), os.stat(paths.worker_socket)) == sockets
        assert differences(prepared.dump, dump_live(paths)) == []
        assert ask(paths, prepared.world.append("still-here", "Undisturbed.")).ok
    assert not os.path.exists(other.paths.client_socket)
    if shared == "runtime":
        assert not os.path.exists(other.paths.database)
        assert not os.path.exists(other.paths.keys_dir)


def test_a_race_has_one_winner(world_home: Home, prepared: Prepared) -> None:
    """Of four that start at once one is ready, and the others end with the code of what it holds."""
    with ThreadPoolExecutor(4) as starters:
        started = list(starters.map(lambda _: world_home.start(may_end=True), range(4)))
    [winner] = [daemon for daemon in started if daemon.ready]
    assert {daemon.wait() for daemon in started if daemon is not winner} == {HELD["data"]}
    assert ask(world_home.paths, prepared.world.show_space()).ok
    winner.stop()


def test_a_killed_one_holds_nothing(world_home: Home) -> None:
    """What a daemon held goes with its process, however it ends: the next one starts at once."""
    for _ in range(3):
        world_home.start().kill()
    with world_home.start() as daemon:
        assert daemon.ready
