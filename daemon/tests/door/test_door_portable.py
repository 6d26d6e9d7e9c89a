"""The door over the standard library's selector, as on systems without epoll."""

from __future__ import annotations

import pytest
from door.desk import Open, Opener

from tallyd.door.poller import READ, WRITE, SelectorPoller
from tallystick.protocol import limits


@pytest.fixture
def portable(open_door: Opener) -> Open:
    """A door that does not use epoll's own events."""
    return open_door(poller=SelectorPoller())


@pytest.mark.trio
async def test_requests_and_half_close(portable: Open) -> None:
    """Requests are answered in order, and a half-closed client gets its reply and then the end."""
    caller = await portable.caller()
    await caller.say("echo a", "write b", "read c")
    caller.half_close()
    await portable.desk.heard("cut b")
    portable.desk.commit()
    await portable.desk.heard("start read c")
    turns = portable.door.turns
    await portable.settled()
    assert portable.door.turns <= turns + 2
    portable.desk.answer("c")
    assert await caller.lines(3) == ["a", "wrote b", "answer c"]
    assert await caller.ended()


@pytest.mark.trio
async def test_a_dead_client_is_noticed(portable: Open) -> None:
    """A client that is gone is told from one that only stopped sending, and its wait is let go of."""
    caller = await portable.caller()
    await caller.say("wait a 30")
    await portable.desk.heard("start wait a")
    caller.close()
    await portable.desk.heard("abandon a")


@pytest.mark.trio
async def test_a_half_closed_client_that_dies_later(portable: Open) -> None:
    """What cannot be seen here is learnt at the reply: the connection ends, and nothing else."""
    caller, other = await portable.caller(), await portable.caller()
    await caller.say("wait a 30")
    caller.half_close()
    await portable.desk.heard("start wait a")
    await portable.settled()
    caller.close()
    await portable.settled()
    portable.desk.answer("a")
    await portable.settled()
    assert portable.door.connections == 1
    assert await other.ask("echo b") == "b"


@pytest.mark.trio
async def test_a_reply_that_does_not_fit_the_socket(portable: Open) -> None:
    """What the socket does not take is sent when the client reads."""
    caller = await portable.caller()
    await caller.say(*[f"size {limits.REPLY_BYTES_MAX}"] * 10, "echo end")
    assert [len(line) for line in await caller.lines(10)] == [limits.REPLY_BYTES_MAX] * 10
    assert await caller.line() == "end"


def test_interests_come_and_go() -> None:
    """A descriptor may be watched for nothing, and again for something, and removed in either state."""
    import socket

    poller = SelectorPoller()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.send(b"x")
        poller.add(ours.fileno(), 0)
        assert poller.ready() == []
        poller.change(ours.fileno(), READ)
        assert poller.ready() == [(ours.fileno(), READ)]
        poller.change(ours.fileno(), READ | WRITE)
        assert poller.ready() == [(ours.fileno(), READ | WRITE)]
        poller.change(ours.fileno(), 0)
        poller.remove(ours.fileno())
        assert poller.ready() == []
    poller.close()
