"""Time and randomness, as the outside world gives them.

Code that runs inside a command has no clock and no randomness of its own: it is handed an ``Ambient``, so
that a simulation can run the same code from a seed. This is the only module of the daemon's domain that
asks the operating system for either.
"""

from __future__ import annotations

import os
import time
from typing import Final, Protocol

_MONOTONIC: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Linux's monotonic clock stands still while the machine sleeps; macOS' does not."""


class Ambient(Protocol):
    """What a transaction's context takes time and randomness from."""

    def wall_ms(self) -> int:
        """Unix time in milliseconds; it may jump, in both directions."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; it never goes back, and counts the time that the machine sleeps,
        where the system can tell.
        """

    def random(self, count: int, /) -> bytes:
        """``count`` bytes that nobody can guess."""


class SystemAmbient:
    """The machine's own clocks and random numbers."""

    __slots__ = ()

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.clock_gettime(_MONOTONIC)

    def random(self, count: int, /) -> bytes:
        return os.urandom(count)
