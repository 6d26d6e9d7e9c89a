"""Without descriptors, threads or room the daemon lives, says why, and works as soon as it has them again."""

from __future__ import annotations

import os
import resource
import shutil
import sys
from pathlib import Path
from typing import Final

import pytest
from harness.wire import Wire, ask, request
from scene import Actor, add_agent
from world import CLIENT, World

from tallyd.store.refusals import ExitCode
from tallystick.protocol import limits

from .lacks import limited, lowest_free
from .process import Place, Tallyd, command_of, give_to_a_user, run_to_its_end

on_linux: Final = pytest.mark.skipif(sys.platform != "linux", reason="limits are set from outside here")
STATUS: Final = request(CLIENT, "tallystick_status", {})


def limits_of(pid: int) -> tuple[int, int]:
    return resource.prlimit(pid, resource.RLIMIT_NOFILE)


@on_linux
def test_the_real_daemon_raises_its_soft_limit(home: Place) -> None:
    """It may have as many descriptors as its hard limit and its caps allow, though its starter had fewer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))
    try:
        daemon = Tallyd(home)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with daemon:
        wanted = limits.CONNECTIONS_MAX + limits.DESCRIPTORS_RESERVED
        assert limits_of(daemon.pid)[0] >= min(hard, wanted)


@on_linux
def test_slow_reads_without_descriptors(world_home: Place, world: World) -> None:
    """A read on a thread that finds no descriptor is `unavailable`, and says so; it is one line in the log
    with a count, commands go on, and the same read works when there are descriptors again.
    """
    slow = request(CLIENT, "diagnose", {})
    with Tallyd(world_home) as daemon, Wire(daemon.paths) as wire:
        assert wire.ask(slow).ok
        with limited(daemon.pid, resource.RLIMIT_NOFILE, lowest_free(daemon.pid)):
            for _ in range(40):
                refused = wire.ask(slow)
                assert refused.kind == "unavailable", refused.value
                assert "descriptor" in refused.problem["detail"]
            assert wire.ask(world.append("l-1", "It drips.")).ok
        assert wire.ask(slow).ok
        assert daemon.heard("a request was not served").count("a request was not served") == 1
        assert "defect" not in daemon.log()


@on_linux
def test_an_agent_that_could_not_be_served_is_not_added(home: Place) -> None:
    """Its two listeners and a connection for each have to fit beside the owner's share; otherwise the refusal
    says what to raise, nothing is added, and it is as soon as there is room.
    """
    with Tallyd(home) as daemon:
        owner = Actor(daemon.paths)
        with limited(daemon.pid, resource.RLIMIT_NOFILE, limits.DESCRIPTORS_RESERVED + 64 + 16):
            args = {"name": "one too many", "credential_sha256": "0" * 64}
            refused = owner.ask("tallystick_agent_add", args, key="many")
            assert refused.kind == "unavailable"
            assert "ulimit -n" in refused.problem["detail"]
            assert owner.done("tallystick_agent_list", {"limit": 9})["items"] == []
        agent = add_agent(owner, "one more")
        assert agent.ask("realm_show", {}).ok


def _blocked(home: Place) -> Path:
    """The place of agents' directories, in which none can be made: a file stands there."""
    parent = Path(home.paths.runtime_dir, "agents")
    if parent.exists():
        shutil.rmtree(parent)
    parent.write_text("in the way")
    return parent


def test_no_room_for_an_agents_directory(home: Place) -> None:
    """An agent with a uid of its own is refused where its directory cannot be made, and the daemon lives."""
    with Tallyd(home) as daemon:
        owner = Actor(daemon.paths)
        parent = _blocked(home)
        args = {"name": "x", "credential_sha256": "0" * 64, "peer_uid": 45_678}
        refused = owner.ask("tallystick_agent_add", args, key="blocked")
        assert refused.kind == "unavailable"
        assert "its sockets cannot be made in" in refused.problem["detail"]
        parent.unlink()
        assert add_agent(owner, "y", peer_uid=45_678)


def test_a_start_without_room_for_agents(home: Place) -> None:
    """Where agents' directories cannot be made any more, each next start serves the owner, and says so."""
    with Tallyd(home) as daemon:
        agent = add_agent(Actor(daemon.paths), "guest", peer_uid=45_678)
    _blocked(home)
    with Tallyd(home) as daemon:
        assert ask(home.paths, STATUS).ok
        daemon.heard(f"agent {agent.name} has no sockets")
    os.unlink(os.path.join(home.paths.runtime_dir, "agents"))
    with Tallyd(home):
        assert os.path.exists(agent.paths.client_socket)


def test_the_data_directory_goes_while_it_runs(home: Place) -> None:
    """It ends by itself with the code for what was taken away, and says so, also where a file stands."""
    daemon = Tallyd(home)
    assert daemon.ready
    os.rename(home.paths.data_dir, home.paths.data_dir + ".away")
    Path(home.paths.data_dir).write_text("in the way")
    assert daemon.wait() == ExitCode.LOCK_LOST
    assert "was removed or replaced while tallyd held it" in daemon.log()
    assert "Traceback" not in daemon.log()


@on_linux
@pytest.mark.skipif(os.geteuid() != 0, reason="root alone can run a daemon as a user of its own")
def test_a_start_without_threads(home: Place) -> None:
    """A user who may have no further thread gets a code for that, and a sentence that says what to raise."""
    _, prefix = give_to_a_user(home)
    ended = run_to_its_end(home, command=["prlimit", "--nproc=1:1", *prefix, *command_of(home.paths)])
    assert ended.code == ExitCode.RESOURCES_LACKING, ended.said
    assert "ulimit -u" in ended.said.splitlines()[-1]


def test_a_fault_of_its_own_has_a_code(home: Place) -> None:
    """What nobody foresaw ends a start with the code for that, its place, and none of its words."""
    program = (
        "import sys\n"
        "from tallyd.service.main import run\n"
        "class Broken:\n"
        "    def monotonic(self): return 0.0\n"
        "    def random(self, count): return bytes(count)\n"
        "    def wall_ms(self): raise LookupError('secret content')\n"
        "sys.exit(run(sys.argv[1:], Broken()))\n"
    )
    places = command_of(home.paths)[3:]
    ended = run_to_its_end(home, command=[sys.executable, "-c", program, *places])
    assert ended.code == ExitCode.DEFECT, ended.said
    assert "LookupError" in ended.said
    assert "secret" not in ended.said
    assert ended.said.splitlines()[-1].startswith("tallyd: a fault of its own")
