"""Waits: woken by their own source alone, by what is durable, cut to what is allowed, in nobody's way."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator

import pytest
import trio
from harness.control import CONTROL_VARIABLE, SYNC_PIPE_VARIABLE, Control
from harness.wire import Wire, request
from trio.testing import MockClock
from world import CLIENT, World, make_space

from tallystick.protocol import limits

from .living import line_from, living, said
from .process import Place, Tallyd, running_on
from .waiting import head, until_asleep, waits


@pytest.fixture(scope="module")
def daemon(world: World) -> Iterator[Tallyd]:
    """A daemon for this module."""
    with running_on(world.home) as running:
        yield running


def test_a_wait_is_woken_by_its_own_source_alone(daemon: Tallyd, world: World) -> None:
    """Of two waits on two projects an append answers the one on its own; the other has not a byte."""
    with Wire(daemon.paths) as writer, Wire(daemon.paths) as here, Wire(daemon.paths) as there:
        other = writer.ask(request(CLIENT, "project_create", {"name": "cellar"}, key="cellar")).result
        here.send(waits(world.project, head(writer, world.project)))
        there.send(waits(other["project_id"], head(writer, other["project_id"])))
        until_asleep(writer, 2)
        appended = writer.ask(world.append("w-1", "It drips.")).result
        [event] = here.receive("events_wait").result["events"]
        assert event["payload"]["contribution_id"] == appended["contribution_id"]
        assert select.select([there], [], [], 0)[0] == []
        there.send(world.show_space())  # gives way, with nothing
        assert there.receive("events_wait").result["events"] == []


def test_a_filtered_wait_sleeps_through_what_it_skips(daemon: Tallyd, world: World) -> None:
    """What its filter leaves out does not answer it; what it lets through does, with a cursor behind both."""
    with Wire(daemon.paths) as writer, Wire(daemon.paths) as waiter:
        prefixes = ["dev.kovee.space.created"]
        waiter.send(waits(world.project, head(writer, world.project), type_prefixes=prefixes))
        until_asleep(writer, 1)
        assert writer.ask(world.append("f-1", "It drips.")).ok
        assert select.select([waiter], [], [], 0)[0] == []
        make_space(writer, world.project, "sink")
        [event] = waiter.receive("events_wait").result["events"]
        assert event["type"] == "dev.kovee.space.created.v1"


def test_case_040_nobody_hears_of_what_is_not_on_the_disk(world: World, home: Place) -> None:
    """While a commit is being flushed its writer has no byte, a reader does not see it, and a waiter sleeps;
    when it is on the disk all three hear of it.
    """
    home.copy_of(world.home)
    control = Control(os.path.join(home.root, "control"))
    control.begin_clock()
    heard, tells = os.pipe()
    env = {CONTROL_VARIABLE: control.path, SYNC_PIPE_VARIABLE: str(tells)}
    with Tallyd(home, env=env, launched=True, pass_fds=(tells,)) as running, Wire(running.paths) as writer:
        os.close(tells)
        with Wire(running.paths) as reader, Wire(running.paths) as waiter:
            revision = reader.ask(world.show_space()).result["revision"]
            waiter.send(waits(world.project, head(reader, world.project)))
            until_asleep(reader, 1)
            while select.select([heard], [], [], 0)[0]:
                os.read(heard, 4096)  # what the start has synced
            control.put("sync_ms", 3_000)
            writer.send(world.append("n-1", "It drips."))
            assert os.read(heard, 1) == b"s"
            assert reader.ask(world.show_space()).result["revision"] == revision
            assert select.select([writer, waiter], [], [], 0)[0] == []
            control.put("sync_ms", 0)
            assert writer.receive("contribution_append").ok
            assert len(waiter.receive("events_wait").result["events"]) == 1
            assert reader.ask(world.show_space()).result["revision"] == revision + 1
    os.close(heard)


@pytest.mark.trio
async def test_a_wait_is_cut_to_thirty_seconds(home: Place, mock_clock: MockClock) -> None:
    """However long it is asked to sleep, it ends after 30 s, and not before, with what there is: nothing."""
    async with living(home) as daemon:
        stream = await trio.open_unix_socket(home.paths.client_socket)
        made = await said(stream, request(CLIENT, "project_create", {"name": "x"}, key="p").line)
        project = made["result"]["project_id"]
        asked = waits(project, made["event_cursor"], timeout_ms=86_400_000)
        await stream.send_all(asked.line)
        while daemon.waiters < 1:
            await trio.lowlevel.checkpoint()
        mock_clock.jump(limits.WAIT_MS_MAX / 1000 - 0.5)
        answered = trio.Event()

        async def listen() -> None:
            assert b'"events":[]' in await line_from(stream)
            answered.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(listen)
            await trio.testing.wait_all_tasks_blocked()
            assert not answered.is_set()
            assert daemon.waiters == 1
            mock_clock.jump(1)
        assert daemon.waiters == 0


@pytest.mark.trio
async def test_a_wait_holds_no_transaction(home: Place) -> None:
    """While waits sleep no read transaction is open: the write-ahead log can be reset to nothing."""
    async with living(home) as daemon:
        stream = await trio.open_unix_socket(home.paths.client_socket)
        made = await said(stream, request(CLIENT, "project_create", {"name": "x"}, key="p").line)
        await stream.send_all(waits(made["result"]["project_id"], made["event_cursor"]).line)
        with trio.fail_after(30):
            while daemon.waiters < 1 or not daemon._driver.idle:
                await trio.lowlevel.checkpoint()
        with daemon._driver.checkpoint_lock:
            assert daemon._store.truncate(daemon._store.writer)
        assert daemon.waiters == 1
