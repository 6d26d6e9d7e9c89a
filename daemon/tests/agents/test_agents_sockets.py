"""Agents' directories of sockets: they appear, survive and go on a daemon that runs; and who reaches them."""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import trio
import trio.testing
from harness.wire import Request, Wire, request
from scene import Actor, add_agent, paths_in
from service.living import living, said
from service.process import Place, Tallyd
from world import CLIENT, DEPLOYMENT, WORKER

from tallyd.store.ambient import SystemAmbient
from tallystick.paths import Paths
from tallystick.protocol.operation import Socket

NAMES: Final = {"tally.sock", "tally-worker.sock", "kovee.sock", "kovee-worker.sock"}


def mode(path: str) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


def realm(actor: Actor, to: Socket = CLIENT) -> str | None:
    """The kind of the refusal of what anybody may ask who is known; None where it is answered."""
    if to is CLIENT:
        return actor.ask("realm_show", {}).kind
    return actor.ask(
        "tallystick_invocation_next",
        {"deployments": [DEPLOYMENT], "wait_ms": 0, "term_seconds": 60},
        to=WORKER,
    ).kind


@pytest.fixture
def owner(daemon: Tallyd) -> Actor:
    return Actor(daemon.paths)


# --- coming and going ---------------------------------------------------------------------------------------
def test_a_directory_appears_with_its_agent(owner: Actor) -> None:
    """Without a restart, private, with both sockets and KCP's relative links to them; who connects there is
    the agent.
    """
    agent = add_agent(owner, "reviewer", deployments=[DEPLOYMENT])
    directory = agent.paths.runtime_dir
    assert directory == os.path.join(owner.paths.runtime_dir, "agents", agent.name)
    assert set(os.listdir(directory)) == NAMES
    assert [mode(path) for path in (os.path.dirname(directory), directory)] == [0o700, 0o700]
    for path, alias in (
        (agent.paths.client_socket, agent.paths.client_alias),
        (agent.paths.worker_socket, agent.paths.worker_alias),
    ):
        assert mode(path) == 0o600
        assert os.readlink(alias) == os.path.basename(path)
    assert (realm(agent), realm(agent, WORKER)) == (None, None)
    assert agent.ask("tallystick_status", {}).kind == "forbidden"


def test_kcps_names_lead_to_the_agent_too(owner: Actor) -> None:
    """A KCP client that is told this directory finds its sockets by the names that it knows."""
    agent = add_agent(owner, "reviewer")
    with socket.socket(socket.AF_UNIX) as plain:
        plain.connect(os.path.join(agent.paths.runtime_dir, "kovee.sock"))
        plain.sendall(request(CLIENT, "project_list", {"limit": 3}).line)
        plain.shutdown(socket.SHUT_WR)
        answered = b"".join(iter(lambda: plain.recv(65536), b""))
    assert json.loads(answered)["result"]["items"] == []


def test_main_sockets_stay_private(owner: Actor) -> None:
    """With agents beside them, directory and sockets of the owner are as without."""
    add_agent(owner, "reviewer")
    assert mode(owner.paths.runtime_dir) == 0o700
    for path in (owner.paths.client_socket, owner.paths.worker_socket):
        assert mode(path) == 0o600


END: Final[dict[str, Callable[[Tallyd], None]]] = {"a drain": Tallyd.stop, "SIGKILL": Tallyd.kill}


@pytest.mark.parametrize("end", END)
def test_an_agent_survives_a_restart(end: str, home: Place) -> None:
    """However the daemon ended, the next one listens in the same directory; who mounted it finds it there."""
    first = Tallyd(home)
    agent = add_agent(Actor(home.paths), "reviewer", deployments=[DEPLOYMENT])
    before = os.stat(agent.paths.runtime_dir).st_ino
    assert realm(agent) is None
    END[end](first)
    with Tallyd(home):
        assert (realm(agent), realm(agent, WORKER)) == (None, None)
        assert os.stat(agent.paths.runtime_dir).st_ino == before
        assert set(os.listdir(agent.paths.runtime_dir)) == NAMES


def wait_on(worker: Wire, key: str) -> None:
    args = {"deployments": [DEPLOYMENT], "wait_ms": 30_000, "term_seconds": 60}
    worker.send(request(WORKER, "tallystick_invocation_next", args, key=key))


def test_a_revocation_ends_everything_of_an_agent(owner: Actor) -> None:
    """Its sockets and directory go, its connections end: idle ones, waiting ones, and those that speak for it
    on the owner's socket. Those of others live on.
    """
    agent = add_agent(owner, "reviewer", credential="secret of the reviewer", deployments=[DEPLOYMENT])
    other = add_agent(owner, "writer")
    with (
        Wire(agent.paths) as idle,
        Wire(agent.paths, WORKER) as waiting,
        Wire(owner.paths) as shown,
        Wire(owner.paths) as owners,
        Wire(other.paths) as others,
    ):
        asked = request(CLIENT, "realm_show", {})
        for wire in (idle, owners, others):
            assert wire.ask(asked).ok
        shown._socket.sendall(authenticate("secret of the reviewer"))
        assert json.loads(shown.read_line())["result"] == {"actor": agent.name}
        wait_on(waiting, "w")
        while owner.done("tallystick_status", {})["waiters"] != 1:
            pass
        owner.done("tallystick_agent_revoke", {"agent_id": agent.name})
        for wire in (idle, waiting, shown):
            assert wire.read_line() == b""
        assert owners.ask(asked).ok
        assert others.ask(asked).ok
    assert not os.path.exists(agent.paths.runtime_dir)
    assert os.path.exists(other.paths.client_socket)
    with pytest.raises(FileNotFoundError):
        realm(agent)
    assert owner.done("tallystick_status", {})["waiters"] == 0


def test_what_a_dead_daemon_left_of_a_revoked_agent_goes(home: Place) -> None:
    """Killed between the commit and its sockets' end, the next daemon sweeps the directory, and no other."""
    env = {"TALLYD_ABORT": "after_commit:tallystick_agent_revoke"}
    daemon = Tallyd(home, "--test-hooks", env=env)
    owner = Actor(home.paths)
    agent, other = add_agent(owner, "reviewer"), add_agent(owner, "writer")
    foreign = os.path.join(os.path.dirname(agent.paths.runtime_dir), "notes")
    os.mkdir(foreign)
    with Wire(home.paths) as wire:
        wire.send(request(CLIENT, "tallystick_agent_revoke", {"agent_id": agent.name}, key="r"))
        assert wire.read_line() == b""
    assert daemon.wait() < 0
    assert set(os.listdir(agent.paths.runtime_dir)) == NAMES
    with Tallyd(home):
        assert not os.path.exists(agent.paths.runtime_dir)
        assert os.path.isdir(foreign)
        assert realm(other) is None


# --- on a clock that jumps ----------------------------------------------------------------------------------
class JumpingAmbient(SystemAmbient):
    """The daemon's clocks, on the clock that the test jumps with."""

    def __init__(self, clock: trio.testing.MockClock) -> None:
        self._clock = clock

    def wall_ms(self) -> int:
        return 1_900_000_000_000 + int(self._clock.current_time() * 1000)

    def monotonic(self) -> float:
        return self._clock.current_time()


async def asked(path: str, one: Request) -> dict[str, Any]:
    """The reply to a request, on a connection of its own."""
    return await said(await trio.open_unix_socket(path), one.line)


def agent_add(name: str, **more: object) -> Request:
    args = {"name": name, "credential_sha256": name.encode().hex().ljust(64, "0"), **more}
    return request(CLIENT, "tallystick_agent_add", args, key=name)


@pytest.mark.trio
async def test_an_expired_agents_sockets_go(home: Place, mock_clock: trio.testing.MockClock) -> None:
    """It is refused from its expiry on, and loses its sockets at the daemon's next look around."""
    async with living(home, JumpingAmbient(mock_clock)):
        paths = home.paths
        added = await asked(paths.client_socket, agent_add("brief", expires_at="2030-03-17T17:46:45Z"))
        agent = paths_in(paths, added["result"]["directory"])
        shown = request(CLIENT, "realm_show", {})
        assert (await asked(agent.client_socket, shown))["outcome"] == "ok"
        mock_clock.jump(5)  # the daemon began at 17:46:40
        refused = await asked(agent.client_socket, shown)
        assert refused["problem"]["type"].endswith(":unauthenticated")
        mock_clock.jump(10)
        while os.path.exists(agent.runtime_dir):
            await trio.lowlevel.checkpoint()


@pytest.mark.trio
async def test_a_directory_that_was_tidied_away_is_made_again(
    home: Place, mock_clock: trio.testing.MockClock
) -> None:
    """Sockets and directory of an agent that somebody removed are there again at the next look around."""
    async with living(home, JumpingAmbient(mock_clock)):
        added = await asked(home.paths.client_socket, agent_add("reviewer"))
        agent = paths_in(home.paths, added["result"]["directory"])
        for name in os.listdir(agent.runtime_dir):
            os.unlink(os.path.join(agent.runtime_dir, name))
        os.rmdir(agent.runtime_dir)
        mock_clock.jump(10)
        while not os.path.lexists(agent.worker_alias):
            await trio.lowlevel.checkpoint()
        assert (await asked(agent.client_socket, request(CLIENT, "realm_show", {})))["outcome"] == "ok"


# --- a uid of its own ---------------------------------------------------------------------------------------
UID: Final = 45_678
"""A uid that nobody has; the agent's."""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be a second uid")


def as_uid(uid: int, do: Callable[[], object]) -> Any:
    """What ``do`` returns, or the name of what it raises, in a child process of that uid and no group."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            told: object = do()
        except BaseException as error:
            told = type(error).__name__
        with os.fdopen(writes, "w") as pipe:
            json.dump(told, pipe)
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        told = json.load(pipe)
    os.waitpid(child, 0)
    return told


def exchanged(path: str, line: bytes) -> str:
    """All that comes back on a connection on which one line was sent."""
    with socket.socket(socket.AF_UNIX) as plain:
        plain.settimeout(30)
        plain.connect(path)
        try:
            plain.sendall(line)
            return b"".join(iter(lambda: plain.recv(65536), b"")).decode() if _half(plain) else ""
        except (BrokenPipeError, ConnectionResetError):
            return ""


def _half(plain: socket.socket) -> bool:
    plain.shutdown(socket.SHUT_WR)
    return True


@pytest.fixture
def reachable(home: Place) -> Place:
    """A home that others may pass through: what stands above a runtime directory is its owner's to open."""
    os.chmod(home.root, 0o711)
    return home


@pytest.fixture
def guest(reachable: Place) -> Iterator[Actor]:
    """An agent with a uid of its own, beside one without."""
    with Tallyd(reachable):
        owner = Actor(reachable.paths)
        add_agent(owner, "neighbour")
        yield add_agent(owner, "guest", peer_uid=UID, deployments=[DEPLOYMENT])


def modes(paths: Paths, agent: Paths) -> dict[str, int]:
    return {
        "runtime": mode(paths.runtime_dir),
        "agents": mode(os.path.dirname(agent.runtime_dir)),
        "own": mode(agent.runtime_dir),
    }


@needs_root
def test_an_agent_with_a_uid_of_its_own_is_let_through(guest: Actor, reachable: Place) -> None:
    """Directories that can be passed and not listed, its sockets open to all, everything else private."""
    paths = reachable.paths
    assert modes(paths, guest.paths) == {"runtime": 0o711, "agents": 0o711, "own": 0o711}
    assert {mode(path) for path in (guest.paths.client_socket, guest.paths.worker_socket)} == {0o666}
    for path in (paths.client_socket, paths.worker_socket, paths.runtime_lock):
        assert mode(path) == 0o600
    for name in os.listdir(os.path.dirname(guest.paths.runtime_dir)):
        if name != guest.name:
            neighbour = paths_in(paths, f"agents/{name}")
            assert mode(neighbour.runtime_dir) == 0o700
            assert mode(neighbour.client_socket) == 0o600


@needs_root
def test_the_peers_uid_decides(guest: Actor, reachable: Place) -> None:
    """The agent's uid is the agent there; every other, the owner's too, is closed before a byte."""
    line = request(CLIENT, "tallystick_status", {}).line
    socket_path, owners = guest.paths.client_socket, reachable.paths.client_socket
    told = as_uid(UID, lambda: exchanged(socket_path, line))
    assert json.loads(told)["problem"]["type"].endswith(":forbidden")
    for uid in (UID + 1, os.geteuid()):
        assert as_uid(uid, lambda: exchanged(socket_path, line)) == ""
        assert as_uid(uid, lambda: exchanged(guest.paths.worker_socket, line)) == ""
    for uid in (UID, UID + 1):
        assert as_uid(uid, lambda: exchanged(owners, line)) == "PermissionError"
        assert as_uid(uid, lambda: os.listdir(reachable.paths.runtime_dir)) == "PermissionError"
        assert as_uid(uid, lambda: os.listdir(guest.paths.runtime_dir)) == "PermissionError"


@needs_root
def test_the_way_is_closed_behind_the_last_of_them(guest: Actor, reachable: Place) -> None:
    """When nobody needs to pass any more, the directories above are private again."""
    owner = Actor(reachable.paths)
    second = add_agent(owner, "second", peer_uid=UID + 1)
    owner.done("tallystick_agent_revoke", {"agent_id": guest.name})
    assert mode(reachable.paths.runtime_dir) == 0o711
    owner.done("tallystick_agent_revoke", {"agent_id": second.name})
    assert mode(reachable.paths.runtime_dir) == 0o700
    assert mode(os.path.join(reachable.paths.runtime_dir, "agents")) == 0o700


@needs_root
def test_a_uid_of_its_own_survives_a_restart(reachable: Place) -> None:
    """The next daemon opens the same way again, and starts although the directory can be passed."""
    with Tallyd(reachable):
        guest = add_agent(Actor(reachable.paths), "guest", peer_uid=UID)
    with Tallyd(reachable):
        assert modes(reachable.paths, guest.paths) == {"runtime": 0o711, "agents": 0o711, "own": 0o711}
        line = request(CLIENT, "project_list", {"limit": 1}).line
        told = as_uid(UID, lambda: exchanged(guest.paths.client_socket, line))
        assert json.loads(told)["outcome"] == "ok"


def authenticate(credential: str) -> bytes:
    line = {"op": "tallystick_authenticate", "args": {"credential": credential}}
    return json.dumps(line).encode() + b"\n"


def test_a_path_that_does_not_fit_is_said(home: Place) -> None:
    """An agent whose sockets could not be made is not added: the refusal says why, and the daemon lives."""
    deep = os.path.join(home.root, "d" * (60 - len(home.root)))
    daemon = Tallyd(home, "--runtime-dir", deep)
    assert daemon.ready, daemon.log()
    owner = Actor(paths_in(home.paths, deep))
    refused = owner.ask("tallystick_agent_add", {"name": "x", "credential_sha256": "0" * 64}, key="long")
    assert refused.kind == "unavailable"
    assert "set TALLY_RUNTIME_DIR to a shorter directory" in refused.problem["detail"]
    assert owner.done("tallystick_agent_list", {"limit": 9})["items"] == []
    assert realm(owner) is None
    daemon.stop()
    assert Path(deep).is_dir()
