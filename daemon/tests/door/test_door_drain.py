"""Shutting down: no new connections, all that was taken is answered, then the end."""

from __future__ import annotations

import os

import pytest
import trio
from door.desk import Open
from trio.testing import MockClock

from tallystick.protocol import limits


@pytest.mark.trio
async def test_nobody_gets_in_while_open_connections_go_on(house: Open) -> None:
    """After accepting has stopped, socket and link are gone, and new requests still reach the dispatcher
    (to refuse)."""
    caller = await house.caller()
    await caller.ask("echo a")
    house.door.stop_accepting()
    assert os.listdir(os.path.dirname(house.channel.path)) == []
    with pytest.raises(FileNotFoundError):
        await house.caller()
    assert await caller.ask("echo b") == "b"


@pytest.mark.trio
async def test_drained_waits_for_what_is_in_flight(house: Open, nursery: trio.Nursery) -> None:
    """Drained is when all that was taken is answered and sent, what is held behind it too; idle connections
    do not count."""
    await (await house.caller()).ask("echo idle")
    caller = await house.caller()
    await caller.say("write a", "read b")
    await house.desk.heard("cut a")
    done = trio.Event()

    async def wait() -> None:
        await house.door.drained()
        done.set()

    nursery.start_soon(wait)
    await house.settled()
    house.desk.commit()
    await house.desk.heard("start read b")
    await house.settled()
    assert not done.is_set()
    house.desk.answer("b")
    await done.wait()
    assert await caller.lines(2) == ["wrote a", "answer b"]
    assert house.door.connections == 2


@pytest.mark.trio
async def test_drained_at_once(house: Open) -> None:
    """With nothing in flight there is nothing to wait for."""
    await (await house.caller()).ask("echo a")
    await house.door.drained()


@pytest.mark.trio
async def test_drained_does_not_wait_for_ever(house: Open, autojump_clock: MockClock) -> None:
    """A client that does not read its reply holds the drain for its deadline, and not longer."""
    deaf = await house.caller()
    await deaf.say(f"size {limits.REPLY_BYTES_MAX}")
    await house.desk.heard("start size")
    begin = autojump_clock.current_time()
    await house.door.drained()
    assert autojump_clock.current_time() - begin == pytest.approx(limits.REPLY_READ_SECONDS_MAX)


@pytest.mark.trio
async def test_waits_are_ended(house: Open) -> None:
    """Ending waits makes each one answer now, once."""
    callers = [await house.caller() for _ in range(3)]
    for caller, key in zip(callers, "abc", strict=True):
        await caller.say(f"wait {key} 30")
        await house.desk.heard(f"start wait {key}")
    reader = await house.caller()
    await reader.say("read r")
    await house.desk.heard("start read r")
    house.door.end_waits()
    house.door.end_waits()
    assert [await caller.line() for caller in callers] == ["early a", "early b", "early c"]
    assert [entry for entry in house.desk.log if entry.startswith("finish early")] == [
        "finish early a",
        "finish early b",
        "finish early c",
    ]


@pytest.mark.trio
async def test_all_connections_are_closed(house: Open) -> None:
    """Closing all ends every connection and abandons what is in flight."""
    callers = [await house.caller() for _ in range(3)]
    for caller, key in zip(callers, "abc", strict=True):
        await caller.say(f"read {key}")
        await house.desk.heard(f"start read {key}")
    house.door.close_all()
    for caller in callers:
        assert await caller.ended()
    assert house.desk.log[-3:] == ["abandon a", "abandon b", "abandon c"]
    house.desk.open.clear()
    assert (house.door.connections, house.door.in_flight) == (0, 0)
