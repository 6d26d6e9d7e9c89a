"""What it costs that a thousand clients wait, each for a project of its own in which nothing happens.

Twenty appends a second go to another project, first without waiters and then with a thousand; the difference
of the daemon's CPU is what the waiting costs. No waiter may hear anything before its time is up; then one
append goes to the project of one of them, and that one alone is answered. At last a request is sent behind a
wait, on its connection: the wait gives way.
"""

from __future__ import annotations

import contextlib
import resource
import select
import time
from typing import Final

from benchmarks.bars import Bars
from benchmarks.daemons import Daemon
from benchmarks.wire import Append, Space, Wire, keys, request
from tallystick.protocol.limits import WAIT_MS_MAX

WAITERS: Final = 1_000
APPENDS_PER_SECOND: Final = 20
CPU_MAX: Final = 0.02
"""Of a core, for the waiting."""
BEHIND_A_WAIT_MS_MAX: Final = 100
_DESCRIPTORS: Final = WAITERS + 200
_HEARD_SECONDS: Final = 2.0
"""How long to listen whether an append wakes others than it should."""


class Waiter:
    """A connection that waits for what happens in a project of its own."""

    def __init__(self, path: str, space: Space) -> None:
        self.space = space
        self.wire = Wire(path)
        page = self.wire.ask(request("events_read", {"source": space.project_id, "limit": 512}))
        self.wait = request(
            "events_wait",
            {
                "source": space.project_id,
                "after_cursor": page["result"]["next_cursor"],
                "timeout_ms": WAIT_MS_MAX,
            },
        )

    def begin(self) -> None:
        """Sends the wait."""
        self.wire.socket.sendall(self.wait)


def bench(bars: Bars, seconds: float, place: str | None) -> None:
    """Prints the CPU and what was heard, with their bars."""
    _allow_descriptors()
    print(f"\n{WAITERS} waiters beside {APPENDS_PER_SECOND} appends a second elsewhere, {seconds:g} s")
    with Daemon(place=place) as daemon, Wire(daemon.socket) as wire, contextlib.ExitStack() as stack:
        other = wire.new_space(wire.new_project("elsewhere"), "elsewhere")
        spaces = [wire.new_space(wire.new_project(f"p{n}"), "waited for") for n in range(WAITERS)]
        _append_for(wire, other, 1.0, [])
        without = _cpu_of(daemon, wire, other, seconds, [])
        waiters = [Waiter(daemon.socket, space) for space in spaces]
        for waiter in waiters:
            stack.enter_context(waiter.wire)
            waiter.begin()
        _append_for(wire, other, 1.0, [])
        heard: list[int] = []
        waiting = _cpu_of(daemon, wire, other, seconds, waiters, heard)
        bars.hold(
            waiting - without < CPU_MAX,
            f"{100 * (waiting - without):.2f} % of a core for the waiting, under {100 * CPU_MAX:g} % "
            f"(without it {100 * without:.2f} %, with it {100 * waiting:.2f} %)",
        )
        bars.hold(not heard, f"{len(heard)} waiters heard something before their time")
        _wake_one(bars, wire, waiters)
        _give_way(bars, waiters[0])


def _cpu_of(
    daemon: Daemon,
    wire: Wire,
    space: Space,
    seconds: float,
    waiters: list[Waiter],
    heard: list[int] | None = None,
) -> float:
    """The share of a core that the daemon uses meanwhile."""
    before, began = daemon.cpu_seconds(), time.perf_counter()
    found = _append_for(wire, space, seconds, waiters)
    if heard is not None:
        heard += found
    return (daemon.cpu_seconds() - before) / (time.perf_counter() - began)


def _append_for(wire: Wire, space: Space, seconds: float, waiters: list[Waiter]) -> list[int]:
    """Appends at their rate; returns which waiters' sockets had something to read meanwhile."""
    append, key = Append(space, 400), keys()
    poll = select.poll()
    for waiter in waiters:
        poll.register(waiter.wire.socket, select.POLLIN)
    heard: set[int] = set()
    began = time.perf_counter()
    for number in range(int(seconds * APPENDS_PER_SECOND)):
        wire.ask(append.line(next(key)))
        due = began + (number + 1) / APPENDS_PER_SECOND
        while (left := due - time.perf_counter()) > 0:
            ready = poll.poll(max(1, int(1000 * left)))
            for descriptor, _ in ready:
                heard.add(descriptor)
                poll.unregister(descriptor)
    return sorted(heard)


def _wake_one(bars: Bars, wire: Wire, waiters: list[Waiter]) -> None:
    """An append to one waiter's project: it is answered, and nobody else."""
    woken = waiters[len(waiters) // 2]
    poll = select.poll()
    for waiter in waiters:
        poll.register(waiter.wire.socket, select.POLLIN)
    wire.ask(Append(woken.space, 400).line(next(keys())))
    answered: set[int] = set()
    until = time.perf_counter() + _HEARD_SECONDS
    while (left := until - time.perf_counter()) > 0:
        for descriptor, _ in poll.poll(1000 * left):
            answered.add(descriptor)
            poll.unregister(descriptor)
    events = woken.wire.reply()["result"]["events"]
    alone = answered == {woken.wire.socket.fileno()} and len(events) == 1
    bars.hold(alone, f"an append to one waiter's project answered {len(answered)}, with {len(events)} event")


def _give_way(bars: Bars, waiter: Waiter) -> None:
    """A request behind a wait of thirty seconds."""
    show = request("space_show", {"space_id": waiter.space.space_id}, project_id=waiter.space.project_id)
    began = time.perf_counter()
    waiter.wire.socket.sendall(show)
    waited, shown = waiter.wire.reply(), waiter.wire.reply()
    took_ms = 1000 * (time.perf_counter() - began)
    right = waited["result"]["events"] == [] and shown["result"]["space_id"] == waiter.space.space_id
    bars.hold(
        right and took_ms < BEHIND_A_WAIT_MS_MAX,
        f"a wait and the space_show behind it were answered within {took_ms:.1f} ms, "
        f"under {BEHIND_A_WAIT_MS_MAX}",
    )


def _allow_descriptors() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < _DESCRIPTORS:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(_DESCRIPTORS, hard), hard))
