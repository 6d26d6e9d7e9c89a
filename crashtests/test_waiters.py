"""Waiting costs nothing: a thousand idle followers, an append that concerns one, a wait that gives way."""

from __future__ import annotations

import resource
import select
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

import pytest
from harness.home import Daemon, Home
from harness.wire import Request, Wire, request
from world import AT_HEAD, CLIENT, Space

WAITERS = 1_000
WAIT_MS = 30_000
APPENDS_PER_SECOND = 20
SECONDS = 3.0
CPU_OF_WAITING_MAX = 0.02
"""Of a core."""
TICK_SECONDS = 0.01
"""What /proc counts CPU in; a difference of two readings can be off by one or two."""
BEHIND_A_WAIT_SECONDS_MAX = 0.1
PIPELINED = 50


class Followed:
    """A project with one space, and the cursor after all that happened in it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.project = ""
        self.space = Space("", "")
        self.cursor = ""

    def wait(self) -> Request:
        """For whatever happens next."""
        args = {"source": self.project, "after_cursor": self.cursor, "timeout_ms": WAIT_MS}
        return request(CLIENT, "events_wait", args)

    def append(self, key: str) -> Request:
        """Something happens."""
        args = {
            "space_id": self.space.space_id,
            "branch_id": self.space.branch_id,
            "kind": "observation",
            "body_parts": [{"media_type": "text/plain", "text": "It drips at night."}],
        }
        return request(CLIENT, "contribution_append", args, project=self.project, key=key, ext=AT_HEAD)


def followed(wire: Wire, count: int) -> list[Followed]:
    """So many projects, made with many requests in flight."""
    made = [Followed(number) for number in range(count)]
    for start in range(0, count, PIPELINED):
        some = made[start : start + PIPELINED]
        wire.send(*(request(CLIENT, "project_create", {"name": "p"}, key=f"p{one.number}") for one in some))
        for one in some:
            one.project = wire.receive("project_create").result["project_id"]
        title = {"title": "s", "visibility": "project"}
        wire.send(
            *(request(CLIENT, "space_create", title, project=o.project, key=f"s{o.number}") for o in some)
        )
        for one in some:
            reply = wire.receive("space_create")
            one.space = Space(reply.result["space_id"], reply.result["main_branch_id"])
            one.cursor = reply.value["event_cursor"]
    return made


@pytest.fixture
def descriptors() -> Iterator[None]:
    """As many descriptors as the waiters' connections need, in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = WAITERS + 200
    if hard != resource.RLIM_INFINITY and hard < needed:
        pytest.skip(f"this process may open {hard} files, and the test needs {needed}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def daemon(home: Home) -> Iterator[Daemon]:
    """A daemon on an empty store."""
    with home.start() as started:
        yield started


def heard_while_appending(wire: Wire, where: Followed, waiters: list[Wire], name: str) -> set[int]:
    """Appends at a steady rate, and listens in between: the descriptors of waiters that heard something."""
    poll = select.poll()
    for waiter in waiters:
        poll.register(waiter, select.POLLIN)
    heard: set[int] = set()
    began = perf_counter()
    for number in range(int(SECONDS * APPENDS_PER_SECOND)):
        assert wire.ask(where.append(f"{name}-{number}")).ok
        due = began + (number + 1) / APPENDS_PER_SECOND
        while (left := due - perf_counter()) > 0:
            for descriptor, _ in poll.poll(max(1, int(1000 * left))):
                heard.add(descriptor)
                poll.unregister(descriptor)
    return heard


def cpu_seconds(pid: int) -> float:
    """User and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_SECONDS


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="CPU is read from /proc")
@pytest.mark.usefixtures("descriptors")
def test_a_thousand_waiters_cost_nothing_until_one_is_concerned(
    daemon: Daemon, record_property: Callable[[str, object], None]
) -> None:
    """They take no CPU beside appends to another project, hear nothing, and one append wakes one of them."""
    with Wire(daemon.paths) as wire:
        elsewhere, *theirs = followed(wire, WAITERS + 1)
        heard_while_appending(wire, elsewhere, [], "warm")
        before = cpu_seconds(daemon.pid)
        heard_while_appending(wire, elsewhere, [], "without")
        without = cpu_seconds(daemon.pid) - before
        waiters = [Wire(daemon.paths) for _ in theirs]
        try:
            for waiter, one in zip(waiters, theirs, strict=True):
                waiter.send(one.wait())
            heard_while_appending(wire, elsewhere, [], "settle")
            before = cpu_seconds(daemon.pid)
            heard = heard_while_appending(wire, elsewhere, waiters, "with")
            cost = cpu_seconds(daemon.pid) - before - without
            record_property("figure", f"{WAITERS} idle waiters: {100 * cost / SECONDS:.1f} % of a core")
            assert not heard
            assert cost < CPU_OF_WAITING_MAX * SECONDS + 2 * TICK_SECONDS
            woken = WAITERS // 2
            assert wire.ask(theirs[woken].append("wakes")).ok
            assert len(waiters[woken].receive("events_wait").result["events"]) == 1
            assert wire.ask(elsewhere.append("after")).ok  # whoever was woken with it has been told by now
            poll = select.poll()
            for waiter in waiters:
                poll.register(waiter, select.POLLIN)
            assert poll.poll(0) == []
        finally:
            for waiter in waiters:
                waiter.__exit__(None, None, None)


def test_a_wait_gives_way_to_what_stands_behind_it(daemon: Daemon) -> None:
    """A wait of thirty seconds and a read pipelined behind it are both answered at once, in their order."""
    took = []
    with Wire(daemon.paths) as wire:
        (one,) = followed(wire, 1)
        show = request(CLIENT, "space_show", {"space_id": one.space.space_id}, project=one.project)
        for _ in range(5):
            began = perf_counter()
            wire.send(one.wait(), show)
            assert wire.receive("events_wait").result["events"] == []
            assert wire.receive("space_show").result["space_id"] == one.space.space_id
            took.append(perf_counter() - began)
    assert min(took) < BEHIND_A_WAIT_SECONDS_MAX


def test_a_wait_gives_way_to_what_comes_later(daemon: Daemon) -> None:
    """Also one that has begun to wait already."""
    with Wire(daemon.paths) as wire, Wire(daemon.paths) as other:
        (one,) = followed(wire, 1)
        wire.send(one.wait())
        status = request(CLIENT, "tallystick_status", {})
        while other.ask(status).result["waiters"] == 0:
            continue
        began = perf_counter()
        wire.send(request(CLIENT, "space_show", {"space_id": one.space.space_id}, project=one.project))
        assert wire.receive("events_wait").result["events"] == []
        assert wire.receive("space_show").ok
        assert perf_counter() - began < WAIT_MS / 1000 / 2
        assert other.ask(status).result["waiters"] == 0
