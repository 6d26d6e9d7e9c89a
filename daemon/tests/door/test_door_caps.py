"""Who is let in and how many: peers, caps on connections, and running out of descriptors."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec
import pytest
import trio
from door.desk import Caller, Open, Opener
from trio.testing import MockClock

from tallyd.door import DoorLimits
from tallyd.door.descriptors import Reserve, raise_soft_limit, room_for_connections
from tallystick.protocol import limits


@contextmanager
def no_more_descriptors() -> Iterator[Callable[[int], None]]:
    """Lets this process open no further descriptor; yields a function that allows so many more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)

    def allow(more: int) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(0, lowest_free + more), hard))

    try:
        allow(0)
        yield allow
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.trio
async def test_case_089_a_peer_of_another_uid(house: Open, caplog: pytest.LogCaptureFixture) -> None:
    """A peer whose uid is not the channel's is closed before a byte of it is read; logged once in a while."""
    path = house.channel.path.replace("tally.sock", "other.sock")
    house.door.listen(msgspec.structs.replace(house.channel, path=path, allowed_uid=os.geteuid() + 1))
    for _ in range(5):
        stranger = house.caller_at_once(b"echo secret\n", path)
        assert await stranger.ended()
    assert house.desk.log == []
    assert house.door.connections == 0
    assert caplog.text.count("was turned away") == 1
    assert f"uid {os.geteuid()} (pid {os.getpid()})" in caplog.text


@pytest.mark.trio
async def test_case_065_connections_over_the_cap(open_door: Opener, caplog: pytest.LogCaptureFixture) -> None:
    """Over the cap a client is told when to come again, and its connection ends; a place that is free again
    is given to the next."""
    house = open_door(DoorLimits(connections_max=2))
    inside = [await house.caller() for _ in range(2)]
    for caller in inside:
        await caller.ask("echo in")
    for _ in range(3):
        outside = house.caller_at_once(b"echo out\n")
        assert await outside.line() == "come again in 1"
        assert await outside.socket.recv(1) == b"", "the end, and no reset"
    assert caplog.text.count("2 connections are open") == 1
    inside[0].close()
    await house.settled()
    another = await house.caller()
    assert await another.ask("echo in") == "in"


@pytest.mark.trio
async def test_refusals_are_rationed(open_door: Opener, mock_clock: MockClock) -> None:
    """In one second only so many are told that the door is full; the others are closed without a word."""
    house = open_door(DoorLimits(connections_max=1))
    inside = await house.caller()
    await inside.ask("echo in")
    for _ in range(limits.REFUSED_CONNECTIONS_A_SECOND_MAX):
        assert await (await house.caller()).line() == "come again in 1"
    with pytest.raises(EOFError):
        await (await house.caller()).line()
    mock_clock.jump(1)
    assert await (await house.caller()).line() == "come again in 1"


def guests_of(house: Open, *names: str) -> list[str]:
    """Sockets of so many guests, each on a channel of its own; their paths."""
    paths = []
    for name in names:
        paths.append(house.channel.path.replace("tally.sock", f"{name}.sock"))
        guest = name.partition("-")[0]
        house.door.listen(msgspec.structs.replace(house.channel, path=paths[-1], guest=guest))
    return paths


@pytest.mark.trio
async def test_one_agent_has_an_eighth_and_the_owner_its_own(open_door: Opener) -> None:
    """Of 240 connections 64 and 15 are the owner's alone; of the other 161 one agent has 20, on both of its
    sockets together, and all agents have 120. Then there is room for the owner, and for all that is left.
    """
    house = open_door(DoorLimits(connections_max=240))
    names = [f"a{number}-{socket}" for number in range(8) for socket in ("client", "worker")]
    paths = guests_of(house, *names)
    let_in = dict.fromkeys(names, 0)
    for name, path in zip(names, paths, strict=True):
        for _ in range(11):
            let_in[name] += await house.caller_at_once(b"echo in\n", path).line() == "in"
    of_agents = [let_in[f"a{number}-client"] + let_in[f"a{number}-worker"] for number in range(8)]
    assert of_agents == [20] * 6 + [0] * 2
    for _ in range(120):
        assert await (await house.caller()).ask("echo owner") == "owner"
    assert await (await house.caller()).line() == "come again in 1"


@pytest.mark.trio
async def test_one_agent_has_an_eighth_of_the_requests_in_flight(open_door: Opener) -> None:
    """The same holds for requests: one agent's take no place of the owner's, nor of another agent's."""
    house = open_door(DoorLimits(requests_in_flight_max=240))
    paths = guests_of(house, "one", "two")
    for number in range(21):
        asker = await house.caller(paths[0])
        await asker.say(f"read one{number}")
    assert await asker.line() == "come again in 1"
    assert house.door.in_flight == 20
    for path, name in ((paths[1], "two"), (house.channel.path, "owner")):
        other = await house.caller(path)
        await other.say(f"read {name}")
        await house.desk.heard(f"start read {name}")
    house.desk.answer("one0")
    await house.settled()
    again = await house.caller(paths[0])
    await again.say("read once-more")
    await house.desk.heard("start read once-more")


@pytest.mark.trio
async def test_who_shows_an_agents_credential_counts_as_it(open_door: Opener) -> None:
    """A connection of the owner's socket that goes on as an agent has its place among that agent's."""
    house = open_door(DoorLimits(connections_max=240))
    adopted = [await house.caller() for _ in range(21)]
    said = [await caller.ask("adopt a0") for caller in adopted]
    assert said == ["adopted"] * 20 + ["come again"]
    (path,) = guests_of(house, "a0")
    assert await (await house.caller(path)).line() == "come again in 1"
    adopted[0].close()
    await house.settled()
    assert await (await house.caller(path)).ask("echo in") == "in"


@pytest.mark.trio
async def test_case_073_out_of_descriptors(
    house: Open, mock_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Without descriptors a client is refused from the reserve, accept pauses without spinning, it is
    logged once, and connections are taken again as soon as there are descriptors; open ones notice
    nothing."""
    inside = await house.caller()
    await inside.ask("echo in")
    sockets = [trio.socket.socket(trio.socket.AF_UNIX) for _ in range(4)]
    house.callers.extend(Caller(one) for one in sockets)
    with no_more_descriptors() as allow:
        await sockets[0].connect(house.channel.path)
        assert await Caller(sockets[0]).line() == "come again in 1"
        await house.settled()
        turns = house.door.turns
        await sockets[1].connect(house.channel.path)
        assert await inside.ask("echo served") == "served"
        await house.settled()
        assert house.door.turns <= turns + 2, "the loop spins"
        mock_clock.jump(limits.ACCEPT_RETRY_SECONDS * 1.5)
        assert await Caller(sockets[1]).line() == "come again in 1"
        await house.settled()
        allow(1)
        await sockets[2].connect(house.channel.path)
        mock_clock.jump(limits.ACCEPT_RETRY_SECONDS * 1.5)
        await house.settled()
        assert house.door.connections == 2
    assert caplog.text.count("accept failed: Too many open files") == 1
    assert await Caller(sockets[2]).ask("echo late") == "late"
    mock_clock.jump(limits.ACCEPT_RETRY_SECONDS * 1.5)
    await house.settled()
    with no_more_descriptors():
        await sockets[3].connect(house.channel.path)
        assert await Caller(sockets[3]).line() == "come again in 1"
    assert caplog.text.count("accept failed") == 2, "a second time is said again"


@pytest.mark.trio
async def test_a_lost_reserve_is_taken_again(house: Open, mock_clock: MockClock) -> None:
    """Where the reserve could not be taken back, the listener lives, and recovers with the next one."""
    sockets = [trio.socket.socket(trio.socket.AF_UNIX) for _ in range(3)]
    house.callers.extend(Caller(one) for one in sockets)
    with no_more_descriptors() as allow:
        house.desk.on_refuse = lambda: allow(-1_000_000)  # while it is given up, others take all there are
        await sockets[0].connect(house.channel.path)
        assert await Caller(sockets[0]).line() == "come again in 1"
        house.desk.on_refuse = lambda: None
        await sockets[1].connect(house.channel.path)
        mock_clock.jump(limits.ACCEPT_RETRY_SECONDS * 1.5)
        await house.settled()
        assert (house.door.connections, house.desk.log.count("refused")) == (0, 1)
    mock_clock.jump(limits.ACCEPT_RETRY_SECONDS * 1.5)
    assert await Caller(sockets[1]).ask("echo alive") == "alive"
    with no_more_descriptors():
        await sockets[2].connect(house.channel.path)
        assert await Caller(sockets[2]).line() == "come again in 1"


def test_the_reserve_is_one_descriptor() -> None:
    """The reserve can be given up once, and taken again once, when there is a descriptor for it."""
    with no_more_descriptors():
        reserve = Reserve()
        assert not reserve.give_up()
    reserve.take()
    assert reserve.give_up()
    assert not reserve.give_up()
    reserve.take()
    reserve.take()
    assert reserve.give_up()


def test_the_soft_limit_is_raised() -> None:
    """The soft limit of descriptors is raised to what the caps need, or to the hard limit, and leaves room
    then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.CONNECTIONS_MAX + limits.DESCRIPTORS_RESERVED
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        assert room_for_connections() == 256 - limits.DESCRIPTORS_RESERVED
        found = raise_soft_limit()
        assert found == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        assert found == (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard))
        assert raise_soft_limit() == found
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.trio
async def test_a_thousand_connections(house: Open) -> None:
    """As many connections as the descriptors of this process allow are open at once, and each is served."""
    count = min(1_000, (room_for_connections() - 200) // 2)
    callers = [await house.caller() for _ in range(count)]
    for number, caller in enumerate(callers):
        await caller.say(f"echo {number}")
    for number, caller in enumerate(callers):
        assert await caller.line() == str(number)
    assert house.door.connections == count
