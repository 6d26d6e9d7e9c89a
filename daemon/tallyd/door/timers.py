"""Deadlines of the loop: a heap whose cancelled entries are thrown away when they come up.

For: waits of the dispatcher and deadlines of connections. Promises: setting and cancelling cost O(log n)
and O(1); the heap is never more than twice what is alive; nothing is due, nothing wakes. Does not: read a
clock; times are in seconds of whatever clock the caller uses.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

COMPACT_CANCELLED_MIN = 64
"""Below so many cancelled entries the heap is left alone: rebuilding it would cost more than it saves."""


class Timer:
    """One callback at one time; made by ``Timers.call_at``."""

    __slots__ = ("_timers", "callback")

    def __init__(self, timers: Timers, callback: Callable[[], None]) -> None:
        self._timers = timers
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """The callback will not run; harmless after it ran, and when called twice."""
        if self.callback is not None:
            self.callback = None
            self._timers.cancelled_one()


class Timers:
    """All timers of one loop."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._made = 0
        self._cancelled = 0

    def __len__(self) -> int:
        """Timers that will still run."""
        return len(self._heap) - self._cancelled

    @property
    def entries(self) -> int:
        """Entries held, cancelled ones included: what the heap costs in memory."""
        return len(self._heap)

    def call_at(self, deadline: float, callback: Callable[[], None]) -> Timer:
        """Run ``callback`` once when ``deadline`` has come; of one deadline, first set is first run."""
        timer = Timer(self, callback)
        self._made += 1
        heapq.heappush(self._heap, (deadline, self._made, timer))
        return timer

    def next_deadline(self) -> float:
        """When something is due next; infinity when nothing is."""
        heap = self._heap
        while heap and heap[0][2].callback is None:
            heapq.heappop(heap)
            self._cancelled -= 1
        return heap[0][0] if heap else math.inf

    def pop_due(self, now: float) -> Callable[[], None] | None:
        """The next callback that is due, which is then no longer held; None when none is."""
        if self.next_deadline() > now:
            return None
        timer = heapq.heappop(self._heap)[2]
        callback, timer.callback = timer.callback, None
        return callback

    def cancelled_one(self) -> None:
        """Count a cancelled entry (Timer.cancel calls this); rebuild the heap when most of it is
        cancelled."""
        self._cancelled += 1
        if self._cancelled > COMPACT_CANCELLED_MIN and self._cancelled * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].callback is not None]
            heapq.heapify(self._heap)
            self._cancelled = 0
