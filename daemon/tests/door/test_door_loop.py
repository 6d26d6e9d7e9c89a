"""The loop: batches, wakers, timers, and standing still."""

from __future__ import annotations

import os
import threading

import pytest
import trio
from door.desk import Open
from trio.testing import MockClock

from tallystick.protocol import limits


# --- batches ------------------------------------------------------------------------------------------------
@pytest.mark.trio
async def test_a_command_alone_is_cut_at_once(house: Open) -> None:
    """A command never waits for company."""
    caller = await house.caller()
    house.desk.clerk_is_inline = True
    assert await caller.ask("write a") == "wrote a"
    assert house.desk.log == ["start write a", "cut a", "committed a"]


@pytest.mark.trio
async def test_a_batch_is_drained_for_so_many_passes(house: Open) -> None:
    """Commands that arrive during the passes before a cut are in its batch; after the last pass it is cut,
    though more are coming."""
    house.desk.clerk_is_inline = True
    callers = [house.caller_at_once(b"") for _ in range(10)]
    await house.settled()

    def next_one(key: str) -> None:
        if int(key) + 1 < len(callers):
            os.write(callers[int(key) + 1].socket.fileno(), b"write %d\n" % (int(key) + 1))

    house.desk.on_write = next_one
    await callers[0].say("write 0")
    await house.desk.heard("committed 5 6 7 8 9")
    assert limits.DRAIN_PASSES_MAX == 4
    assert [entry for entry in house.desk.log if entry.startswith("cut")] == [
        "cut 0 1 2 3 4",
        "cut 5 6 7 8 9",
    ]


@pytest.mark.trio
async def test_commands_wait_while_the_clerk_is_busy(house: Open) -> None:
    """While a batch is at the clerk nothing is cut; what came meanwhile is the next batch."""
    callers = [await house.caller() for _ in range(3)]
    for caller, key in zip(callers, "abc", strict=True):
        await caller.say(f"write {key}")
        await house.desk.heard(f"start write {key}")
    await house.settled()
    assert [entry for entry in house.desk.log if entry.startswith("cut")] == ["cut a"]
    house.desk.commit()
    await house.desk.heard("cut b c")


@pytest.mark.trio
async def test_the_clerks_waker_runs_before_the_next_cut(house: Open) -> None:
    """A batch that is done is answered before the next is cut, and a command that came in the same moment
    is in it."""
    first, second = await house.caller(), house.caller_at_once(b"")
    await first.say("write a")
    await house.desk.heard("cut a")
    await house.settled()
    os.write(second.socket.fileno(), b"write b\n")
    house.desk.commit()
    await house.desk.heard("cut b")
    assert set(house.desk.log[-3:-1]) == {"committed a", "start write b"}


@pytest.mark.trio
async def test_replies_of_a_cut_start_what_waited_for_them(house: Open) -> None:
    """With a clerk that answers inside the cut, what stood behind the command goes on without anything else
    coming."""
    house.desk.clerk_is_inline = True
    caller = await house.caller()
    await caller.say("write a", "echo b", "write c", "echo d")
    assert await caller.lines(4) == ["wrote a", "b", "wrote c", "d"]


# --- wakers -------------------------------------------------------------------------------------------------
@pytest.mark.trio
async def test_a_waker_loses_no_call(house: Open) -> None:
    """Whatever threads leave before they call a waker is seen by its callback, in the loop's thread."""
    left: list[int] = []
    seen: list[tuple[int, int]] = []
    all_seen = trio.Event()

    def callback() -> None:
        seen.append((threading.get_ident(), len(left)))
        if len(left) == 4_000:
            all_seen.set()

    wake = house.door.waker(callback)

    def leave() -> None:
        for number in range(1_000):
            left.append(number)
            wake()

    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(trio.to_thread.run_sync, leave)
        await all_seen.wait()
    assert {thread for thread, _ in seen} == {threading.get_ident()}


@pytest.mark.trio
async def test_calls_of_a_waker_are_one(house: Open) -> None:
    """Many calls before the loop comes round are one call of the callback; a later call is another."""
    calls: list[None] = []
    wake = house.door.waker(lambda: calls.append(None))
    for expected in (1, 2):
        for _ in range(10_000):
            wake()
        await house.settled()
        assert len(calls) == expected


@pytest.mark.trio
async def test_a_waker_called_by_its_own_callback(house: Open) -> None:
    """A call that comes while the callback runs is not lost: it runs again."""
    calls: list[None] = []

    def callback() -> None:
        calls.append(None)
        if len(calls) < 3:
            wake()

    wake = house.door.waker(callback)
    wake()
    await house.settled()
    assert len(calls) == 3


@pytest.mark.trio
async def test_a_waker_of_a_loop_that_has_ended(house: Open) -> None:
    """A thread that is late may call its waker when there is no loop any more."""
    wake = house.door.waker(lambda: None)
    house.stop.cancel()
    await house.settled()
    wake()


@pytest.mark.trio
async def test_a_waker_that_fails_ends_nothing(house: Open, caplog: pytest.LogCaptureFixture) -> None:
    """What a waker's callback raises is logged without its words; other wakers run, and requests go on."""
    ran: list[str] = []

    def fail() -> None:
        raise LookupError("secret content")

    for wake in (house.door.waker(fail), house.door.waker(lambda: ran.append("other"))):
        wake()
    caller = await house.caller()
    assert await caller.ask("echo on") == "on"
    assert ran == ["other"]
    assert "a waker's callback failed, which is a defect: LookupError" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.trio
async def test_a_door_that_is_cancelled_cleans_up(house: Open) -> None:
    """A cancelled door ends every connection, abandons what is in flight, and removes its files."""
    caller = await house.caller()
    await caller.say("wait a 30")
    await house.desk.heard("start wait a")
    house.stop.cancel()
    assert await caller.ended()
    assert house.desk.log[-1] == "abandon a"
    assert os.listdir(os.path.dirname(house.channel.path)) == []


# --- timers, and standing still -----------------------------------------------------------------------------
@pytest.mark.trio
async def test_timers_run_in_time_and_order(house: Open, mock_clock: MockClock) -> None:
    """Timers set from outside the loop are run when they are due, in the order of their times, cancelled
    ones never."""
    await house.settled()
    ran: list[str] = []
    begin = trio.current_time()
    for seconds, name in ((5, "b"), (2, "a"), (3, "cancelled"), (5, "c")):
        timer = house.door.call_at(begin + seconds, lambda name=name: ran.append(name))  # type: ignore[misc]
        if name == "cancelled":
            timer.cancel()
    for at, expected in ((1.9, []), (2.0, ["a"]), (4.9, ["a"]), (5.0, ["a", "b", "c"])):
        mock_clock.jump(begin + at - trio.current_time())
        await house.settled()
        assert ran == expected


@pytest.mark.trio
async def test_a_timer_that_fails(
    house: Open, mock_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """What one timer raises is logged, and the others run."""
    ran: list[None] = []
    house.door.call_at(trio.current_time() + 1, lambda: ran.remove(None))
    house.door.call_at(trio.current_time() + 1, lambda: ran.append(None))
    await house.settled()
    mock_clock.jump(1)
    await house.settled()
    assert len(ran) == 1
    assert "a timer failed, which is a defect: ValueError" in caplog.text


@pytest.mark.trio
async def test_waits_cost_nothing_while_nothing_happens(house: Open, mock_clock: MockClock) -> None:
    """With hundreds of waits and idle connections, and time going by, the loop stands still until something
    is due."""
    waiting = [await house.caller() for _ in range(200)]
    idle = [await house.caller() for _ in range(50)]
    for number, caller in enumerate(waiting):
        await caller.say(f"wait {number} 3000")
    for caller in idle:
        await caller.ask("echo")
    await house.settled()
    mock_clock.jump(limits.FIRST_REQUEST_SECONDS_MAX + 1)  # what was armed for the first request is due once
    await house.settled()
    turns = house.door.turns
    for _ in range(100):
        mock_clock.jump(10)
        await trio.testing.wait_all_tasks_blocked()
    assert house.door.turns == turns
    mock_clock.jump(2_000)
    assert sorted([await caller.line() for caller in waiting]) == sorted(
        f"late {number}" for number in range(200)
    )


@pytest.mark.trio
async def test_many_short_waits_leave_nothing_behind(house: Open) -> None:
    """Timers of waits that ended early do not pile up."""
    caller = await house.caller()
    for number in range(1_000):
        await caller.say(f"wait {number} 30", "echo")
        assert await caller.lines(2) == [f"early {number}", ""]
    assert house.door.timer_entries < 200
