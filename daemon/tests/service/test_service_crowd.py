"""A crowd: agents with all the connections that they can get, a log unread, and an owner who works on."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final

import apsw
import pytest
from harness.home import DEATH_SECONDS_MAX
from harness.wire import Request, Wire, request
from scene import Actor, add_agent
from world import CLIENT, World

from .process import NewHome, Place, Tallyd, command_of, environment_of

_AGENTS: Final = 25
_DESCRIPTORS: Final = 1_024
"""Of the daemon, so that a test may fill them: 50 are listeners, 64 are kept, the rest are connections."""
_APPENDS: Final = 200
_P99_SECONDS_MAX: Final = 0.1
_TIMES_QUIET_MAX: Final = 3
"""A machine that takes long for the owner alone may take so many times as long in the crowd."""


@contextmanager
def _unread(home: Place) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon whose log goes to a pipe that is full, and that may have few descriptors."""
    said, say = os.pipe()
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    try:
        while True:
            os.write(writes, bytes(4096))
    except BlockingIOError:
        os.set_blocking(writes, True)
    limited = ["prlimit", f"--nofile={_DESCRIPTORS}:{_DESCRIPTORS}"]
    process = subprocess.Popen(
        [*limited, *command_of(home.paths, "--ready-fd", str(say))],
        env=environment_of(home) | {"PATH": os.environ["PATH"]},
        pass_fds=(say,),
        stderr=writes,
    )
    os.close(say)
    try:
        assert select.select([said], [], [], DEATH_SECONDS_MAX)[0]
        assert os.read(said, 6) == b"ready "
        yield process
    finally:
        process.kill()
        process.wait()
        for descriptor in (said, reads, writes):
            os.close(descriptor)


def _fill(agent: Actor, line: bytes) -> list[socket.socket]:
    """Connections of an agent, each with a request, until one is refused."""
    held: list[socket.socket] = []
    while True:
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        held.append(connected)
        connected.settimeout(DEATH_SECONDS_MAX)
        try:
            connected.connect(agent.paths.client_socket)
            connected.sendall(line)
            answer = connected.recv(65_536)
        except (BrokenPipeError, ConnectionResetError):
            answer = b""
        if b'"outcome":"ok"' not in answer:
            return held


def _damage(world: World, home: Place) -> Request:
    """One bit of the sealed body of the world's question is flipped; the read that meets it."""
    contribution = world.question["contribution_id"]
    with closing(apsw.Connection(home.paths.database)) as db:
        found = db.execute(
            "SELECT body, sealed FROM bodies JOIN contributions USING (body) JOIN log USING (position) "
            "WHERE resource = ?",
            (contribution,),
        ).fetchone()
        assert found is not None
        body, sealed = found
        changed = bytearray(sealed)
        changed[len(changed) // 2] ^= 1
        db.execute("UPDATE bodies SET sealed = ? WHERE body = ?", (bytes(changed), body))
    return request(CLIENT, "contribution_show", {"contribution_id": contribution}, project=world.project)


def _p99_seconds(home: Place, world: World, damaged: Request | None = None) -> float:
    """Of the owner's appends, each on a connection of its own; a read of what is damaged between."""
    taken = []
    for number in range(_APPENDS):
        with Wire(home.paths) as wire:
            began = time.monotonic()
            assert wire.ask(world.append(f"crowd-{number}", "It drips.")).ok
            taken.append(time.monotonic() - began)
            if damaged is not None:
                assert wire.ask(damaged).kind == "unavailable"
    return sorted(taken)[int(_APPENDS * 0.99) - 1]


@pytest.mark.skipif(not os.path.exists("/usr/bin/prlimit"), reason="there is no prlimit here")
def test_a_crowd_leaves_the_owner_its_place(world_home: Place, world: World, new_home: NewHome) -> None:
    """With 25 agents at all their bounds, a log that nobody reads and a body that is damaged and read, 99 of
    100 of the owner's appends take less than a tenth of a second; then an agent is revoked, and the daemon is
    ended, at once. On a machine where the owner alone waits longer than a third of that, measured in the same
    run on a daemon without the crowd, they take less than three times as long as there.
    """
    quiet_home = new_home()
    quiet_home.copy_of(world.home)
    with Tallyd(quiet_home):
        quiet = _p99_seconds(quiet_home, world)
    damaged = _damage(world, world_home)
    line = request(CLIENT, "realm_show", {}).line
    held: list[socket.socket] = []
    with _unread(world_home) as process:
        owner = Actor(world_home.paths)
        agents = [add_agent(owner, f"agent {number}") for number in range(_AGENTS)]
        for agent in agents:
            held += _fill(agent, line)
        crowded = _p99_seconds(world_home, world, damaged)
        assert crowded < max(_P99_SECONDS_MAX, _TIMES_QUIET_MAX * quiet), (crowded, quiet)
        shown = owner.ask("tallystick_agent_show", {"agent_id": agents[0].name})
        revoked = owner.send(
            request(
                CLIENT,
                "tallystick_agent_revoke",
                {"agent_id": agents[0].name},
                key="crowd-revoke",
                revision=shown.result["revision"],
            )
        )
        assert revoked.ok
        assert held[0].recv(1) == b"", "its connections have ended"
        assert owner.ask("tallystick_shutdown", {}, key="crowd-down").ok
        assert process.wait(DEATH_SECONDS_MAX) == 0
    for connected in held:
        connected.close()
