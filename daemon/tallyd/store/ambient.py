"""Time and randomness, in one place, so that tests can replace them.

Code that runs inside a command never asks the operating system for the time or for random bytes. It is handed
an ``Ambient``; a test hands it one that it controls, and the same code then gives the same result each time.
Of the code that commands run, this module alone asks the operating system.
"""

from __future__ import annotations

import logging
import os
import time
from typing import Final, Protocol

from tallyd.store.refusals import ExitCode, StartRefused

logger = logging.getLogger("tallyd.clock")

WALL_MS_MAX: Final = 253_339_228_800_000
"""The year 9998 begins. A timestamp has four digits for the year, and what is counted from now (a term, an
upload's end) has to have them too.
"""

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


class CheckedAmbient:
    """Another ambient, whose clock may say anything: a time that no timestamp can hold is never passed on.

    Raises StartRefused where the clock says such a time at the start. Where it does so later, the last time
    that can be used stands still until the clock is right again, and that is logged.
    """

    __slots__ = ("_ambient", "_last", "monotonic", "random")

    def __init__(self, ambient: Ambient) -> None:
        self._ambient = ambient
        self.monotonic = ambient.monotonic
        self.random = ambient.random
        self._last = ambient.wall_ms()
        if not 0 <= self._last < WALL_MS_MAX:
            raise StartRefused(
                ExitCode.CLOCK_OUT_OF_RANGE,
                f"the machine's clock says {self._last // 1000} seconds after 1970 began, which is outside "
                f"the years 1970 to 9997 that the record can hold. Set it right, then start tallyd again",
            )

    def wall_ms(self) -> int:
        """See Ambient. Any thread."""
        now = self._ambient.wall_ms()
        if 0 <= now < WALL_MS_MAX:
            self._last = now
        else:
            logger.error("the machine's clock cannot be used; time stands still until it is set right")
        return self._last
