"""Leases: how long a worker that says nothing is believed to be alive.

The database holds a lease's term and fence, never its deadline. Deadlines live here, on the monotonic clock:
a worker's clock does not matter, nor a step of ours. At start each running attempt gets its full term anew,
since nobody could have renewed while the daemon was down. A run-out lease ends nothing by itself: it makes
the invocation claimable, and the next claim or cancel fences the old worker.
"""

from __future__ import annotations

from collections.abc import Callable


class Leases:
    """Deadlines of the running attempts, by the invocation's position. Used by the clerk alone."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._running: dict[int, tuple[int, float]] = {}

    def renew(self, invocation: int, term_seconds: int) -> None:
        """Gives the invocation's attempt its full term from now."""
        self._running[invocation] = (term_seconds, self._monotonic() + term_seconds)

    def end(self, invocation: int) -> None:
        self._running.pop(invocation, None)

    def remaining_seconds(self, invocation: int) -> float:
        """Seconds left; 0 where the lease ran out or there is none."""
        running = self._running.get(invocation)
        return 0.0 if running is None else max(0.0, running[1] - self._monotonic())

    def known(self, invocation: int) -> bool:
        return invocation in self._running

    def live(self, invocation: int) -> bool:
        return self.remaining_seconds(invocation) > 0.0

    def __len__(self) -> int:
        return len(self._running)
