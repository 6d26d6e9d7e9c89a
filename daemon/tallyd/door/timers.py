"""The timers of the loop: a heap in which a cancelled timer stays until its time comes or the heap is
rebuilt.

For: the waits of the dispatcher and the deadlines of connections. Promises: to set a timer costs O(log n),
to cancel one O(1) on average; where more than ``COMPACT_CANCELLED_MIN`` entries are cancelled, they are at
most half of the heap. Does not: read a clock. Times are in seconds of whichever clock the caller uses.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

COMPACT_CANCELLED_MIN = 64
"""Up to so many cancelled entries the heap is left alone: to rebuild it would cost more than it saves."""


class Timer:
    """One callback that runs at one time. ``Timers.call_at`` makes it."""

    __slots__ = ("_timers", "callback")

    def __init__(self, timers: Timers, callback: Callable[[], None]) -> None:
        self._timers = timers
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """Have the callback not run. Does nothing after it has run, or when called again."""
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
        """How many timers will still run."""
        return len(self._heap) - self._cancelled

    @property
    def entries(self) -> int:
        """How many entries the heap holds, cancelled ones included."""
        return len(self._heap)

    def call_at(self, deadline: float, callback: Callable[[], None]) -> Timer:
        """Run ``callback`` once, when ``deadline`` has come. Of several with one deadline, the one that was
        set first runs first."""
        timer = Timer(self, callback)
        self._made += 1
        heapq.heappush(self._heap, (deadline, self._made, timer))
        return timer

    def next_deadline(self) -> float:
        """When the next timer is due; infinity where there is none."""
        heap = self._heap
        while heap and heap[0][2].callback is None:
            heapq.heappop(heap)
            self._cancelled -= 1
        return heap[0][0] if heap else math.inf

    def pop_due(self, now: float) -> Callable[[], None] | None:
        """Take out the next callback that is due at ``now`` and return it; None where none is due."""
        if self.next_deadline() > now:
            return None
        timer = heapq.heappop(self._heap)[2]
        callback, timer.callback = timer.callback, None
        return callback

    def cancelled_one(self) -> None:
        """Count one cancelled entry, and rebuild the heap when most of it is cancelled. For
        ``Timer.cancel``."""
        self._cancelled += 1
        if self._cancelled > COMPACT_CANCELLED_MIN and self._cancelled * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].callback is not None]
            heapq.heapify(self._heap)
            self._cancelled = 0
