"""The trio client: the blocking client's promises, and what cancellation and a mock clock mean."""

import json
import threading

import pytest
import trio
from line_server import LineServer, after, drop, echo, limited, say, silence
from trio.testing import MockClock

from tallystick import errors
from tallystick.core import Call, Read, Reply, Write
from tallystick.protocol.ijson import JsonValue
from tallystick.trio_client import TrioClient

pytestmark = pytest.mark.trio


async def ask(client: TrioClient, number: int, **options: object) -> Reply[JsonValue]:
    """A read that the server echoes."""
    call: Call[JsonValue] = Read("realm_show", {"number": number}, "", **options)  # type: ignore[arg-type]
    return await client.reply(call)


async def do(client: TrioClient, number: int, **options: object) -> Reply[JsonValue]:
    """A write that the server echoes."""
    call: Call[JsonValue] = Write("project_create", {"number": number}, "", **options)  # type: ignore[arg-type]
    return await client.reply(call)


def number(reply: Reply[JsonValue]) -> object:
    """Which request the echo in a reply is of."""
    assert isinstance(reply.value, dict)
    return json.loads(json.dumps(reply.value))["args"]["number"]


async def heard(server: LineServer, count: int) -> None:
    """Returns when the server has heard so many lines."""
    await trio.to_thread.run_sync(server.wait_for, lambda s: len(s.heard) >= count)


@pytest.fixture
def client(runtime_dir: str) -> TrioClient:
    return TrioClient(runtime_dir, deadline_seconds=10)


async def test_tasks_share_one_connection(client: TrioClient, socket_path: str) -> None:
    """Each of many tasks gets the replies to its own requests, over one connection."""
    right: list[bool] = []

    async def work(base: int) -> None:
        for n in range(base, base + 10):
            right.append(number(await do(client, n)) == n)

    with LineServer(socket_path) as server:
        async with client, trio.open_nursery() as nursery:
            for base in range(0, 800, 100):
                nursery.start_soon(work, base)
        assert right == [True] * 80
        assert server.connections == 1


async def test_case_098_lost_replies_are_sent_again(client: TrioClient, socket_path: str) -> None:
    """The same key and bytes until there is a reply."""
    with LineServer(socket_path, [drop, say(limited(0)), drop]) as server:
        async with client:
            assert (await do(client, 1)).tries == 4
        assert len(set(server.lines)) == 1
    assert client.pending() == []


async def test_a_cancelled_calls_reply_answers_no_other(client: TrioClient, socket_path: str) -> None:
    """A reply in flight when its call was cancelled is never taken for the next call's; the write stays
    pending."""
    late = threading.Event()
    with LineServer(socket_path, [after(late, echo)]) as server:
        async with client:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(do, client, 1)
                await heard(server, 1)
                nursery.cancel_scope.cancel()
            late.set()
            assert number(await ask(client, 2)) == 2
            assert {each.connection for each in server.heard} == {0, 1}
            (pending,) = client.pending()
            (resumed,) = await client.resume()
            assert resumed.pending == pending
            assert server.lines[2] == server.lines[0]


async def test_cancelled_before_its_turn_it_was_never_sent(client: TrioClient, socket_path: str) -> None:
    """A write that was cancelled while it waited for its turn is not pending."""
    with LineServer(socket_path, [silence]) as server:
        async with client, trio.open_nursery() as nursery:
            nursery.start_soon(ask, client, 1)
            await heard(server, 1)
            with trio.move_on_after(0.01):
                await do(client, 2)
            nursery.cancel_scope.cancel()
        assert len(server.heard) == 1
        assert client.pending() == []


async def test_the_deadline_is_trios_time(runtime_dir: str, mock_clock: MockClock) -> None:
    """Waiting for an absent daemon takes thirty seconds of the test's clock and none of ours."""
    mock_clock.autojump_threshold = 0
    async with TrioClient(runtime_dir) as client:
        started = trio.current_time()
        with pytest.raises(errors.Unreachable):
            await ask(client, 1)
        assert trio.current_time() - started == pytest.approx(30.0)


async def test_an_unknown_outcome_holds_its_key(client: TrioClient, socket_path: str) -> None:
    """A write without a reply ends as unknown, and goes on under its key."""
    with LineServer(socket_path, [silence]) as server:
        async with client:
            with pytest.raises(errors.OutcomeUnknown) as caught:
                await do(client, 1, deadline_seconds=0.05)
            await do(client, 1, key=caught.value.key)
        assert len(set(server.lines)) == 1
    assert client.pending() == []


async def test_close_ends_what_others_wait_for(client: TrioClient, socket_path: str) -> None:
    """Closing the client ends a wait in another task, and it cannot be used again."""
    raised: list[errors.TallyError] = []

    async def wait() -> None:
        try:
            await ask(client, 1, wait_seconds=30.0)
        except errors.TallyError as error:
            raised.append(error)

    with LineServer(socket_path, [silence]) as server:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await heard(server, 1)
            client.close()
        assert type(raised[0]) is errors.TimedOut
        with pytest.raises(errors.ClientClosed):
            await ask(client, 2)


async def test_waits_have_a_connection_of_their_own(client: TrioClient, socket_path: str) -> None:
    """A wait that lasts does not hold up what else the client asks."""
    answered = threading.Event()
    with LineServer(socket_path, [after(answered, echo)]) as server:
        async with client, trio.open_nursery() as nursery:
            nursery.start_soon(lambda: ask(client, 1, wait_seconds=30.0))
            await heard(server, 1)
            assert number(await ask(client, 2)) == 2
            answered.set()
        assert {each.connection for each in server.heard} == {0, 1}
