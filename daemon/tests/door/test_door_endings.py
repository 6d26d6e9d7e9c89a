"""How connections end: half-closed, gone, broken; and that each ends alone."""

from __future__ import annotations

import socket
import struct

import pytest
from door.desk import Open, Opener

from tallyd.door import DoorLimits


@pytest.mark.trio
async def test_a_half_closed_client_gets_its_reply_and_then_the_end(house: Open) -> None:
    """A client that stops sending after its request, as KCP clients do, reads its reply and then the end."""
    caller = await house.caller()
    await caller.say("read a")
    caller.half_close()
    await house.desk.heard("start read a")
    await house.settled()
    house.desk.answer("a")
    assert await caller.line() == "answer a"
    assert await caller.ended()


@pytest.mark.trio
async def test_a_request_that_the_end_ends(house: Open) -> None:
    """The end of the stream instead of a newline ends a request; all requests before it are answered
    first."""
    caller = await house.caller()
    await caller.send(b"write a\nread b")
    caller.half_close()
    await house.desk.heard("cut a")
    house.desk.commit()
    await house.desk.heard("start read b")
    house.desk.answer("b")
    assert await caller.lines(2) == ["wrote a", "answer b"]
    assert await caller.ended()


@pytest.mark.trio
async def test_a_client_that_says_nothing_and_half_closes(house: Open) -> None:
    """A stream without a request ends with no reply."""
    caller = await house.caller()
    caller.half_close()
    assert await caller.ended()
    assert house.desk.log == []


@pytest.mark.trio
async def test_a_half_closed_wait_does_not_finish_early(house: Open) -> None:
    """The end of the stream behind a wait is no request: the wait goes on."""
    caller = await house.caller()
    await caller.say("wait a 30")
    caller.half_close()
    await house.desk.heard("start wait a")
    await house.settled()
    assert house.desk.log == ["start wait a"]
    house.desk.answer("a")
    assert await caller.line() == "answer a"


@pytest.mark.trio
async def test_a_half_closed_connection_does_not_keep_the_loop_busy(house: Open) -> None:
    """The end of the stream, which stays readable for ever, is looked at once."""
    caller = await house.caller()
    await caller.say("read a")
    caller.half_close()
    await house.desk.heard("start read a")
    await house.settled()
    turns = house.door.turns
    other = await house.caller()
    assert await other.ask("echo b") == "b"
    await house.settled()
    assert house.door.turns <= turns + 3
    house.desk.answer("a")
    assert await caller.line() == "answer a"


@pytest.mark.trio
@pytest.mark.parametrize("half_closed_before", [False, True])
async def test_a_dead_client_is_noticed_while_it_waits(house: Open, half_closed_before: bool) -> None:
    """A client that is gone, half-closed before or not, has its wait let go of and its descriptor closed."""
    caller, other = await house.caller(), await house.caller()
    await caller.say("wait a 30")
    if half_closed_before:
        caller.half_close()
    await house.desk.heard("start wait a")
    await house.settled()
    caller.close()
    await house.desk.heard("abandon a")
    await house.settled()
    assert (house.door.connections, house.door.waits) == (1, 0)
    assert await other.ask("echo alive") == "alive"


@pytest.mark.trio
async def test_a_client_that_reads_no_more_is_dead(house: Open) -> None:
    """A client that has shut down both ways is as good as gone."""
    caller = await house.caller()
    await caller.say("wait a 30")
    await house.desk.heard("start wait a")
    caller.socket.shutdown(socket.SHUT_RDWR)
    await house.desk.heard("abandon a")


@pytest.mark.trio
async def test_a_dead_client_is_noticed_while_it_is_not_read(house: Open) -> None:
    """A client that is gone while the kernel holds more of its requests is noticed all the same."""
    caller = await house.caller()
    await caller.say(*(f"write {number}" for number in range(64)), "write unread")
    await house.desk.heard("start write 63")
    await house.settled()
    caller.close()
    await house.desk.heard("abandon 0", "abandon 63")
    assert "start write unread" not in house.desk.log
    assert house.door.connections == 0


@pytest.mark.trio
async def test_what_a_client_sent_before_it_died_is_taken(house: Open) -> None:
    """A command that was sent whole is started, though its client did not stay for the answer."""
    caller = await house.caller()
    await caller.say("write a")
    caller.close()
    await house.desk.heard("start write a", "abandon a")


@pytest.mark.trio
async def test_the_command_of_a_dead_client_goes_on(house: Open) -> None:
    """A client that dies ends its own connection and nothing else: its command and others' commands are
    committed (case 26)."""
    dying, other = await house.caller(), await house.caller()
    await dying.say("write a")
    await house.desk.heard("cut a")
    await other.say("write b")
    await house.desk.heard("start write b")
    dying.close()
    await house.desk.heard("abandon a")
    house.desk.commit()
    await house.desk.heard("cut b")
    house.desk.commit()
    assert await other.line() == "wrote b"
    assert house.door.in_flight == 0


@pytest.mark.trio
async def test_the_commands_of_dead_clients_stay_in_flight(open_door: Opener) -> None:
    """A command counts until the clerk is through with it, so that clients who give up early cannot pile up
    work; it does not matter whether the clerk answers it or only forgets it."""
    house = open_door(DoorLimits(requests_in_flight_max=2))
    for key in ("a", "b"):
        caller = await house.caller()
        await caller.say(f"write {key}")
        await house.desk.heard(f"start write {key}")
        caller.close()
        await house.desk.heard(f"abandon {key}")
    assert house.door.in_flight == 2
    other = await house.caller()
    assert await other.ask("write c") == "come again in 1"
    house.desk.commit()
    await house.desk.heard("cut b")
    assert house.door.in_flight == 1
    house.desk.batch.clear()
    assert house.door.in_flight == 0


@pytest.mark.trio
async def test_a_reset_connection_ends_alone(house: Open) -> None:
    """A client that goes without reading its reply makes its own connection fail, and no other."""
    rude, other = await house.caller(), await house.caller()
    await rude.say("echo unread")
    await house.desk.heard("start echo")
    await house.settled()
    await rude.say("read a")
    rude.close()
    await house.desk.heard("abandon a")
    assert await other.ask("echo fine") == "fine"


@pytest.mark.trio
async def test_replies_to_clients_that_are_gone(house: Open) -> None:
    """A batch whose every second client died is answered to the others, and the loop goes on."""
    callers = [await house.caller() for _ in range(20)]
    for number, caller in enumerate(callers):
        await caller.say(f"write {number}")
        await house.desk.heard(f"start write {number}")
    house.desk.commit()
    await house.desk.heard("cut " + " ".join(str(number) for number in range(1, 20)))
    for caller in callers[::2]:
        caller.close()
    house.desk.commit()
    for number, caller in list(enumerate(callers))[1::2]:
        assert await caller.line() == f"wrote {number}"
    await house.settled()
    assert house.door.connections == 10


@pytest.mark.trio
async def test_descriptors_that_a_client_sends_are_not_kept(house: Open) -> None:
    """A descriptor sent along with a request is closed by the kernel, and the request is answered."""
    caller = await house.caller()
    reading, writing = socket.socketpair()
    with reading, writing:
        sent = struct.pack("i", writing.fileno())
        await caller.socket.sendmsg([b"echo a\n"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, sent)])
        assert await caller.line() == "a"
        writing.close()
        reading.setblocking(False)
        assert reading.recv(1) == b"", "somebody holds the other end"


@pytest.mark.trio
async def test_a_client_that_connects_and_goes(house: Open) -> None:
    """Connections without a word cost nothing once they are gone."""
    for _ in range(300):
        caller = await house.caller()
        caller.close()
    other = await house.caller()
    assert await other.ask("echo a") == "a"
    await house.settled()
    assert house.door.connections == 1
    assert house.door.timer_entries < 200
