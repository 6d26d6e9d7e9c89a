"""Leases: for how long a worker that is not heard of is taken to be alive.

The database holds a lease's term and fence, never its deadline. Deadlines are kept here, in memory and on the
monotonic clock, so neither a worker's clock nor a step of ours matters. At start each running attempt gets
its full term anew, because nobody could renew a lease while the daemon was down. A lease that has run out
ends nothing by itself: the invocation can be claimed, and the next claim or cancel fences the old worker.
"""

from __future__ import annotations

from collections.abc import Callable


class Leases:
    """Deadlines of the running attempts, by the invocation's position; and, in another one, of the running
    claims, by the task's. Changed by the clerk alone; a reader may ask about one position.
    """

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

    def heard_seconds_ago(self, invocation: int) -> float | None:
        """Seconds since its worker was last heard of; None where there is no lease."""
        running = self._running.get(invocation)
        return None if running is None else max(0.0, self._monotonic() - (running[1] - running[0]))

    def lapsed(self) -> list[int]:
        """Those whose lease ran out, and which nobody ended."""
        now = self._monotonic()
        return [position for position, (_, ends) in list(self._running.items()) if ends <= now]

    def next_lapse_seconds(self) -> float | None:
        """Seconds until the next of the leases that live runs out; None where none lives."""
        now = self._monotonic()
        return min((ends - now for _, ends in self._running.values() if ends > now), default=None)

    def __len__(self) -> int:
        return len(self._running)
