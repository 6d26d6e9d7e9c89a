"""Deadlines, on a clock of the test's own: what the client owes ends its connection when it is late."""

from __future__ import annotations

import pytest
import trio
from door.desk import Caller, Open, Opener
from trio.testing import MockClock

from tallyd.door import DoorLimits
from tallystick.protocol import limits


async def seconds_to_the_end(caller: Caller, clock: MockClock) -> float:
    """How long it is from now until the door ends this connection."""
    begin = clock.current_time()
    assert await caller.ended()
    return clock.current_time() - begin


@pytest.mark.trio
async def test_case_065_a_first_request_that_does_not_come(house: Open, autojump_clock: MockClock) -> None:
    """A connection that says nothing is ended after the time for a first request."""
    caller = await house.caller()
    assert await seconds_to_the_end(caller, autojump_clock) == pytest.approx(limits.FIRST_REQUEST_SECONDS_MAX)
    assert house.door.connections == 0


@pytest.mark.trio
async def test_an_idle_connection(house: Open, autojump_clock: MockClock) -> None:
    """After a reply a connection may be idle for an hour, counted from that reply, and is then ended."""
    caller = await house.caller()
    await caller.ask("echo a")
    await trio.testing.wait_all_tasks_blocked()
    autojump_clock.jump(limits.IDLE_SECONDS_MAX - 1)
    assert await caller.ask("echo b") == "b"
    assert await seconds_to_the_end(caller, autojump_clock) == pytest.approx(limits.IDLE_SECONDS_MAX)


@pytest.mark.trio
async def test_a_line_that_does_not_end(house: Open, autojump_clock: MockClock) -> None:
    """A line must be whole in its time from its first byte on, however often a byte of it comes."""
    caller = await house.caller()
    await caller.ask("echo a")
    begin = trio.current_time()
    await caller.send(b"e")
    for byte in b"cho":
        await house.settled()
        autojump_clock.jump(limits.LINE_SECONDS_MAX / 4)
        await caller.send(bytes([byte]))
    assert await caller.ended()
    assert trio.current_time() - begin == pytest.approx(limits.LINE_SECONDS_MAX)


@pytest.mark.trio
async def test_an_oversize_line_that_does_not_end(house: Open, autojump_clock: MockClock) -> None:
    """An oversize line is answered at once; that its rest does not come ends the connection like any late
    line."""
    caller = await house.caller()
    await caller.send(b"x" * (limits.REQUEST_BYTES_MAX + 1))
    assert await caller.line() == "oversize for prin-owner"
    assert await seconds_to_the_end(caller, autojump_clock) <= limits.LINE_SECONDS_MAX


@pytest.mark.trio
async def test_a_late_line_does_not_take_the_requests_before_it_along(
    house: Open, autojump_clock: MockClock
) -> None:
    """Where a line is late, what came whole before it is still answered; then the connection ends."""
    caller = await house.caller()
    await caller.send(b"read a\nunfinished")
    await house.desk.heard("start read a")
    await house.settled()
    autojump_clock.jump(limits.LINE_SECONDS_MAX * 2)
    await house.settled()
    assert house.door.connections == 1
    house.desk.answer("a")
    assert await caller.line() == "answer a"
    assert await caller.ended()


@pytest.mark.trio
async def test_a_line_is_not_late_while_it_is_not_read(open_door: Opener, mock_clock: MockClock) -> None:
    """The time of a line stands still while the door does not read the connection, which is not the
    client's fault."""
    house = open_door(DoorLimits(pipelined_requests_max=1))
    caller = await house.caller()
    await caller.send(b"read a\nread ")
    await house.desk.heard("start read a")
    await house.settled()
    mock_clock.jump(limits.LINE_SECONDS_MAX * 3)
    await house.settled()
    house.desk.answer("a")
    await house.settled()
    assert house.door.connections == 1
    await caller.send(b"b\n")
    await house.desk.heard("start read b")
    house.desk.answer("b")
    assert await caller.lines(2) == ["answer a", "answer b"]


@pytest.mark.trio
async def test_a_connection_with_a_wait_is_not_idle(house: Open, autojump_clock: MockClock) -> None:
    """A request in flight is the daemon's debt, not the client's: no deadline runs, however long it takes."""
    caller = await house.caller()
    begin = autojump_clock.current_time()
    assert await caller.ask(f"wait a {limits.IDLE_SECONDS_MAX * 3}") == "late a"
    assert autojump_clock.current_time() - begin == pytest.approx(limits.IDLE_SECONDS_MAX * 3)
    assert await caller.ask("echo b") == "b"


@pytest.mark.trio
async def test_a_client_that_does_not_read(open_door: Opener, mock_clock: MockClock) -> None:
    """Its replies are kept up to a bound, no further request of it is started, and when it has not read
    anything for so long it is ended; others are served all the while."""
    house = open_door()
    deaf, other = await house.caller(), await house.caller()
    reply_bytes = limits.REPLY_BYTES_MAX
    await deaf.say(*[f"size {reply_bytes}"] * 60)
    await house.settled()
    started = house.desk.log.count("start size")
    assert started <= limits.REPLY_BACKLOG_BYTES_MAX / reply_bytes + 2
    assert await other.ask("echo served") == "served"
    mock_clock.jump(limits.REPLY_READ_SECONDS_MAX - 1)
    await house.settled()
    assert house.door.connections == 2
    mock_clock.jump(2)
    await house.settled()
    assert house.door.connections == 1
    assert house.desk.log.count("start size") == started
    assert await other.ask("echo still") == "still"


@pytest.mark.trio
async def test_a_client_that_reads_slowly_is_not_ended(open_door: Opener, mock_clock: MockClock) -> None:
    """Whoever takes something within the time gets everything, whatever the whole takes."""
    house = open_door()
    slow = await house.caller()
    reply_bytes = limits.REPLY_BYTES_MAX
    await slow.say(*[f"size {reply_bytes}"] * 12, "echo end")
    taken = b""
    while not taken.endswith(b"end\n"):
        mock_clock.jump(limits.REPLY_READ_SECONDS_MAX - 1)
        await house.settled()
        part = await slow.socket.recv(reply_bytes)
        assert part
        taken = taken[-10:] + part
        await house.settled()
    assert house.desk.log.count("start size") == 12


@pytest.mark.trio
async def test_a_client_that_does_not_read_loses_what_it_has_in_flight(
    open_door: Opener, mock_clock: MockClock
) -> None:
    """When a client is ended for not reading, its requests in flight are abandoned."""
    house = open_door()
    deaf = await house.caller()
    await deaf.say(f"size {limits.REPLY_BYTES_MAX}", "wait a 600")
    await house.desk.heard("start wait a")
    await house.settled()
    mock_clock.jump(limits.REPLY_READ_SECONDS_MAX + 1)
    await house.settled()
    assert "abandon a" in house.desk.log
    assert house.door.connections == 0
