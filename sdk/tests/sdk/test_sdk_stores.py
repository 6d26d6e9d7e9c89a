"""A key and a cursor belong to one store: a client that meets another says so, and sends it nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from line_server import LineServer, drop, echo
from tallyd_process import Tallyd

from tallystick import Client, OtherStore, OutcomeUnknown
from tallystick.trio_client import TrioClient


@pytest.fixture
def other(tallyd: Tallyd, tmp_path: Path) -> Iterator[Tallyd]:
    """Another store, to be served from the same runtime directory once the first daemon is gone."""
    daemon = Tallyd(str(tmp_path / "other"), tallyd.runtime_dir)
    yield daemon
    daemon.kill()


def test_a_pending_request_is_not_sent_to_another_store(
    tallyd: Tallyd, other: Tallyd, runtime_dir: str
) -> None:
    """resume leaves it pending, says why, and sends it when its own store is back."""
    tallyd.kill()
    tallyd.start(abort="before_commit:project_create")
    with Client(runtime_dir, deadline_seconds=1) as client, pytest.raises(OutcomeUnknown):
        client.project_create("kitchen", key="k-1")
    tallyd.wait_for_death()
    other.start()
    with Client(runtime_dir) as client:
        (resumed,) = client.resume()
        assert isinstance(resumed.error, OtherStore)
        assert "It was not sent there" in str(resumed.error)
        assert list(client.projects()) == []
        assert [pending.key for pending in client.pending()] == ["k-1"]
        client.project_create("another", key="k-1")
    other.kill()
    tallyd.start()
    with Client(runtime_dir) as client:
        (resumed,) = client.resume()
        assert resumed.error is None
        assert [project.name for project in client.projects()] == ["kitchen"]
        assert client.pending() == []


@pytest.mark.trio
async def test_an_open_client_says_that_the_store_was_replaced(
    tallyd: Tallyd, other: Tallyd, runtime_dir: str
) -> None:
    """Blocking and on trio: the next call is not sent to a store that the client has not met before."""
    with Client(runtime_dir) as client:
        async with TrioClient(runtime_dir) as on_trio:
            client.project_create("kitchen")
            await on_trio.project_create("cellar")
            assert client.store == on_trio.store == client.hello().installation_id
            tallyd.kill()
            other.start()
            with pytest.raises(OtherStore):
                await trio.to_thread.run_sync(lambda: client.project_create("attic"))
            with pytest.raises(OtherStore):
                await on_trio.project_create("attic")
    with Client(runtime_dir) as client:
        assert list(client.projects()) == []


def test_a_cursor_file_is_of_one_store(tallyd: Tallyd, other: Tallyd, tmp_path: Path) -> None:
    """Another store is named, and not taken for one in which nothing has happened."""
    cursor = tmp_path / "cursor"
    with Client(tallyd.runtime_dir) as client:
        project = client.project_create("kitchen").value
        following = client.follow(project, cursor_store=cursor)
        next(following)
        following.close()
    with Client(tallyd.runtime_dir) as client:
        client.project_update_metadata(project, "cellar")
        following = client.follow(project, cursor_store=cursor)
        next(following), next(following)
        following.close()
    tallyd.kill()
    other.start()
    with Client(tallyd.runtime_dir) as client, pytest.raises(OtherStore):
        next(client.follow(project, cursor_store=cursor))


def test_a_retry_does_not_go_to_another_store(runtime_dir: str, socket_path: str) -> None:
    """The store is replaced between two tries of one write: its fate in the first one is not known."""
    with LineServer(socket_path, [echo, drop]) as server, Client(runtime_dir) as client:
        client.call("realm_show", {})
        server.then(drop)
        server.store = "inst-2"
        with pytest.raises(OtherStore) as caught:
            client.project_create("kitchen")
        assert caught.value.outcome == "unknown"
        assert len(client.pending()) == 1


@pytest.mark.trio
async def test_every_item_lets_others_run(tallyd: Tallyd) -> None:
    """A page of many events or items is no stretch in which nothing else happens, and can be cancelled."""
    async with TrioClient(tallyd.runtime_dir) as client:
        project = (await client.project_create("kitchen")).value
        for number in range(40):
            await client.space_create(project, str(number))
        for items in (client.follow(project), client.spaces(project), client.events(project)):
            turns = 0

            async def others() -> None:
                nonlocal turns
                while True:
                    await trio.lowlevel.checkpoint()
                    turns += 1

            async with trio.open_nursery() as nursery:
                await anext(items)
                nursery.start_soon(others)
                before = turns
                for _ in range(39):
                    await anext(items)
                assert turns - before >= 30
                nursery.cancel_scope.cancel()
