"""Appends a second, and how long one takes, at 1, 8 and 64 clients, on the machine's disk and a slower one.

A client is a connection with a space of its own and one request in flight: 400 bytes of text at the head.
Each figure is the median of some rounds, and in a round each configuration has its turn: on a machine whose
speed swings within minutes, configurations measured one after the other would not be comparable.
"""

from __future__ import annotations

import statistics
from typing import Final

from benchmarks.bars import Bars
from benchmarks.daemons import ROOT, Daemon
from benchmarks.load import Measured, Plan, Writer, run
from benchmarks.wire import Wire

CLIENTS: Final = (1, 8, 64)
SLOW_FLUSH_MS: Final = 2.0
FLUSHES: Final = {0.0: "the machine's flush", SLOW_FLUSH_MS: f"a flush {SLOW_FLUSH_MS:g} ms longer"}

PER_SECOND_MIN: Final = 1_500
"""At 64 clients: less is a mistake to be found with a profiler."""
GROUPING_MIN: Final = 6.0
"""With the slow flush, 64 clients against one: a flush must serve many."""
P99_OF_ONE_MAX: Final = 12.0
"""With the slow flush, the p99 of 64 clients against the median of one."""
P99_OF_MEDIAN_MAX: Final = 2.5
"""With the machine's flush, the p99 of 64 clients against their own median."""


def measure(
    clients: int, *, flush_ms: float = 0.0, seconds: float = 6.0, tree: str = ROOT, place: str | None = None
) -> Measured:
    """A fresh daemon under so many clients, each with its space. Raises RuntimeError for a problem."""
    with Daemon(flush_ms=flush_ms, tree=tree, place=place) as daemon:
        found = run(
            Plan(
                socket=daemon.socket,
                log_file=daemon.log_file,
                daemon_pid=daemon.pid,
                writers=writers(daemon.socket, clients),
                seconds=seconds,
            )
        )
    found.check()
    return found


def writers(path: str, count: int) -> list[Writer]:
    """So many spaces, in one project."""
    with Wire(path) as wire:
        project = wire.new_project("bench")
        spaces = [wire.new_space(project, f"space {number}") for number in range(count)]
    return [Writer(space.project_id, space.space_id, space.branch_id) for space in spaces]


def bench(bars: Bars, rounds: int, seconds: float, place: str | None) -> None:
    """Prints the table and its bars."""
    found: dict[tuple[float, int], list[Measured]] = {}
    for _ in range(rounds):
        for flush_ms in FLUSHES:
            for clients in CLIENTS:
                once = measure(clients, flush_ms=flush_ms, seconds=seconds, place=place)
                found.setdefault((flush_ms, clients), []).append(once)
    print(f"\nappends of 400 bytes, {seconds:g} s each, medians of {rounds} rounds")
    for flush_ms, words in FLUSHES.items():
        print(f"  {words}\n     clients   a second   p50 ms   p99 ms   longest ms   daemon's CPU")
        for clients in CLIENTS:
            at = found[flush_ms, clients]
            print(
                f"     {clients:7}   {_median(at, 'per_second'):8.0f}   {_median(at, 'p50_ms'):6.2f}   "
                f"{_median(at, 'p99_ms'):6.1f}   {_median(at, 'max_ms'):10.1f}   "
                f"{_median(at, 'daemon_cpu_us'):6.0f} µs an append"
            )
    _judge(bars, found)


def _judge(bars: Bars, found: dict[tuple[float, int], list[Measured]]) -> None:
    fast, slow, one = found[0.0, 64], found[SLOW_FLUSH_MS, 64], found[SLOW_FLUSH_MS, 1]
    rate = _median(fast, "per_second")
    bars.hold(rate >= PER_SECOND_MIN, f"64 clients: {rate:.0f} a second, at least {PER_SECOND_MIN}")
    ratio = _median(fast, "p99_ms") / _median(fast, "p50_ms")
    bars.hold(
        ratio < P99_OF_MEDIAN_MAX,
        f"64 clients, {FLUSHES[0.0]}: p99 is {ratio:.2f} times their median, under {P99_OF_MEDIAN_MAX}",
    )
    ratio = _median(slow, "per_second") / _median(one, "per_second")
    bars.hold(
        ratio >= GROUPING_MIN,
        f"64 clients, {FLUSHES[SLOW_FLUSH_MS]}: {ratio:.1f} times what one does, at least {GROUPING_MIN:g}",
    )
    ratio = _median(slow, "p99_ms") / _median(one, "p50_ms")
    bars.hold(
        ratio < P99_OF_ONE_MAX,
        f"64 clients, {FLUSHES[SLOW_FLUSH_MS]}: p99 is {ratio:.1f} times the median of one, "
        f"under {P99_OF_ONE_MAX:g}",
    )


def _median(found: list[Measured], name: str) -> float:
    return float(statistics.median(getattr(once, name) for once in found))
