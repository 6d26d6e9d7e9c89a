"""Many requests on one connection: they are started and answered in their order."""

from __future__ import annotations

import pytest
import trio
from door.desk import Open, Opener

from tallyd.door import DoorLimits
from tallystick.protocol import limits


@pytest.mark.trio
async def test_many_requests_in_one_segment(house: Open) -> None:
    """Requests sent together are answered one by one, in their order."""
    caller = await house.caller()
    await caller.say(*(f"echo {number}" for number in range(500)))
    assert await caller.lines(500) == [str(number) for number in range(500)]


@pytest.mark.trio
async def test_one_request_in_many_segments(house: Open) -> None:
    """A request whose bytes come one at a time is answered when it is whole."""
    caller = await house.caller()
    for byte in b"echo slowly":
        await caller.send(bytes([byte]))
        await house.settled()
    assert house.desk.log == []
    assert await caller.ask("") == "slowly"


@pytest.mark.trio
async def test_the_largest_request_in_one_byte_pieces(house: Open) -> None:
    """A request of the largest size arrives whole when each byte of it is sent by itself."""
    caller = await house.caller()
    text = "x" * (limits.REQUEST_BYTES_MAX - len("echo "))
    for byte in f"echo {text}\n".encode():
        while caller.sent_at_once(bytes([byte])) == 0:
            await trio.lowlevel.wait_writable(caller.socket)
    assert await caller.line() == text


@pytest.mark.trio
async def test_an_empty_line_is_a_request(house: Open) -> None:
    """A newline alone is answered like any request that says nothing."""
    caller = await house.caller()
    assert await caller.ask("") == "invalid empty"
    assert await caller.ask("echo on") == "on"


@pytest.mark.trio
async def test_an_oversize_line_is_answered_in_order(house: Open) -> None:
    """An oversize line gets its answer in its place, the rest of it is dropped, and the connection lives."""
    caller = await house.caller()
    await caller.say("read a", "x" * 3 * limits.REQUEST_BYTES_MAX, "echo after")
    await house.desk.heard("start read a")
    house.desk.answer("a")
    assert await caller.lines(3) == ["answer a", "oversize for prin-owner", "after"]


@pytest.mark.trio
async def test_a_line_too_long_to_be_dropped_ends_the_connection(open_door: Opener) -> None:
    """Past what is dropped the connection closes, after the answer to the line and to all before it."""
    house = open_door(DoorLimits(request_bytes_max=100, oversize_line_discard_bytes_max=10_000))
    caller = await house.caller()
    await caller.say("read a", "x" * 10_001)
    await house.desk.heard("start read a")
    house.desk.answer("a")
    assert await caller.lines(2) == ["answer a", "oversize for prin-owner"]
    assert await caller.ended()
    other = await house.caller()
    assert await other.ask("echo here") == "here"


@pytest.mark.trio
async def test_concurrent_requests_are_in_flight_together(house: Open) -> None:
    """Commands sent together are in one batch, and answered in their order."""
    caller = await house.caller()
    await caller.say("write a", "write b", "write c")
    await house.desk.heard("cut a b c")
    house.desk.commit()
    assert await caller.lines(3) == ["wrote a", "wrote b", "wrote c"]


@pytest.mark.trio
async def test_answers_out_of_order_leave_in_order(house: Open) -> None:
    """A reply given early waits for the replies of the requests before it."""
    caller = await house.caller()
    await caller.say("write a", "write b")
    await house.desk.heard("cut a b")
    house.desk.batch.reverse()
    house.desk.commit()
    assert await caller.lines(2) == ["wrote a", "wrote b"]


@pytest.mark.trio
async def test_a_read_sees_the_writes_before_it(house: Open) -> None:
    """What is not concurrent starts only when all before it are answered, and nothing behind it starts
    earlier."""
    caller = await house.caller()
    await caller.say("write a", "read b", "write c", "echo d")
    await house.desk.heard("cut a")
    await house.settled()
    assert house.desk.log == ["start write a", "cut a"]
    house.desk.commit()
    await house.desk.heard("start read b")
    await house.settled()
    assert house.desk.log[-1] == "start read b"
    house.desk.answer("b")
    await house.desk.heard("cut c")
    house.desk.commit()
    assert await caller.lines(4) == ["wrote a", "answer b", "wrote c", "d"]


@pytest.mark.trio
async def test_a_wait_finishes_early_for_the_request_behind_it(house: Open) -> None:
    """A wait ends as soon as another complete request stands behind it, and not before."""
    caller = await house.caller()
    await caller.say("wait a 30")
    await caller.send(b"echo n")
    await house.desk.heard("start wait a")
    await house.settled()
    assert "finish early a" not in house.desk.log
    await caller.send(b"ext\n")
    assert await caller.lines(2) == ["early a", "next"]


@pytest.mark.trio
async def test_a_wait_with_a_request_behind_it_from_the_start(house: Open) -> None:
    """A wait whose follower came in the same segment is started, told to finish early, and answered."""
    caller = await house.caller()
    await caller.say("wait a 30", "wait b 30", "echo c")
    assert await caller.lines(3) == ["early a", "early b", "c"]


@pytest.mark.trio
async def test_an_oversize_line_behind_a_wait_has_it_finish_early(house: Open) -> None:
    """An oversize line behind a wait is a request that must be answered, too."""
    caller = await house.caller()
    await caller.say("wait a 30", "x" * (limits.REQUEST_BYTES_MAX + 1))
    assert await caller.lines(2) == ["early a", "oversize for prin-owner"]


@pytest.mark.trio
async def test_a_connection_has_so_many_requests_in_flight(house: Open) -> None:
    """Of a flood of commands only so many are taken; the rest stay in the kernel until there is room."""
    caller = await house.caller()
    caller.socket.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_SNDBUF, 4_096)
    flood = b"".join(b"write %d %s\n" % (number, b"x" * 2_000) for number in range(1_000))
    sent = 0

    async def push() -> None:
        nonlocal sent
        while sent < len(flood):
            sent += await caller.socket.send(flood[sent:])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(push)
        await house.desk.until(lambda: len(house.desk.started("write")) == limits.PIPELINED_REQUESTS_MAX)
        await house.settled()
        assert len(house.desk.started("write")) == limits.PIPELINED_REQUESTS_MAX
        assert sent < len(flood) / 4
        house.desk.clerk_is_inline = True
        house.desk.commit()
        assert await caller.lines(1_000) == [f"wrote {number}" for number in range(1_000)]


@pytest.mark.trio
async def test_a_connection_holds_so_many_bytes_of_requests(house: Open) -> None:
    """Large requests behind one that is slow stay in the kernel, but for a bounded number of bytes."""
    caller = await house.caller()
    await caller.say("read a")
    await house.desk.heard("start read a")
    line = b"echo " + b"x" * 200_000 + b"\n"
    taken = 0
    while (count := caller.sent_at_once(line[taken % len(line) :])) > 0:
        taken += count
        await house.settled()
    assert taken > limits.PIPELINED_BYTES_MAX
    assert taken < limits.PIPELINED_BYTES_MAX + 4 * len(line)
    house.desk.answer("a")
    assert await caller.line() == "answer a"
    assert await caller.line() == "x" * 200_000


@pytest.mark.trio
async def test_one_connection_does_not_keep_others_waiting(house: Open) -> None:
    """A connection with thousands of requests at hand is not served to its end before another is served at
    all."""
    greedy, modest = await house.caller(), await house.caller()
    await greedy.say(*["echo"] * 8_000)
    await modest.say("who")
    await modest.line()
    assert house.desk.log.index("start who") < 4_000
    assert await greedy.lines(8_000) == [""] * 8_000


@pytest.mark.trio
async def test_requests_go_on_when_their_replies_are_sent(open_door: Opener) -> None:
    """Requests that waited for room among the replies are started as soon as those are sent."""
    house = open_door(DoorLimits(reply_backlog_bytes_max=10))
    caller = await house.caller()
    await caller.say(*(f"echo {number}" for number in range(60)))
    assert await caller.lines(60) == [str(number) for number in range(60)]


@pytest.mark.trio
async def test_requests_in_flight_are_capped_over_all_connections(open_door: Opener) -> None:
    """Over the cap a request is answered with when to come again, in its place; waits are not counted."""
    house = open_door(DoorLimits(requests_in_flight_max=3))
    waiting, first, second = [await house.caller() for _ in range(3)]
    await waiting.say("wait w 30")
    await first.say("write a", "write b", "write c")
    await house.desk.heard("start wait w", "start write c")
    assert (house.door.in_flight, house.door.waits) == (3, 1)
    assert await second.ask("write d") == "come again in 1"
    await house.desk.heard("cut a b c")
    house.desk.commit()
    assert await first.lines(3) == ["wrote a", "wrote b", "wrote c"]
    await second.say("write e")
    await house.desk.heard("cut e")
    house.desk.commit()
    assert await second.line() == "wrote e"
    assert house.door.in_flight == 0


@pytest.mark.trio
async def test_who_speaks_is_settled_before_the_next_line(house: Open) -> None:
    """A request that changes the actor governs every line behind it, even those that came with it."""
    caller, other = await house.caller(), await house.caller()
    await caller.say("who", "adopt agent-7", "who")
    assert await caller.lines(3) == ["prin-owner", "adopted", "agent-7"]
    assert await other.ask("who") == "prin-owner"


@pytest.mark.trio
async def test_a_last_reply_ends_the_connection(house: Open) -> None:
    """After a reply that is the last, nothing behind it is started, and the client sees the end."""
    caller = await house.caller()
    await caller.say("echo a", "last b", "echo c")
    assert await caller.lines(2) == ["a", "b"]
    assert await caller.ended()
    assert house.desk.log.count("start echo") == 1


@pytest.mark.trio
async def test_a_request_that_fails_is_answered(house: Open, caplog: pytest.LogCaptureFixture) -> None:
    """What the dispatcher raises for a request is logged without its words, answers that request, and ends
    nothing."""
    caller = await house.caller()
    await caller.say("echo a", "raise", "break", "echo b")
    assert await caller.lines(4) == ["a", "failed for prin-owner", "failed for prin-owner", "b"]
    assert "LookupError at desk.py" in caplog.text
    assert "ValueError at desk.py" in caplog.text
    assert "secret" not in caplog.text
    assert house.door.in_flight == 0


@pytest.mark.trio
async def test_a_request_that_fails_half_way(house: Open) -> None:
    """Where start raised the door answers, and what the dispatcher still replies is dropped."""
    caller = await house.caller()
    assert await caller.ask("stumble a") == "failed for prin-owner"
    house.desk.answer("a")
    assert await caller.ask("echo b") == "b"


@pytest.mark.trio
async def test_an_exchange_is_answered_once(house: Open) -> None:
    """A second reply to the same request is a defect of the dispatcher, which is told so."""
    caller = await house.caller()
    await caller.say("read a")
    await house.desk.heard("start read a")
    exchange = house.desk.open["a"]
    house.desk.answer("a")
    with pytest.raises(RuntimeError, match="answered twice"):
        exchange.reply(b"again")
    assert await caller.line() == "answer a"
