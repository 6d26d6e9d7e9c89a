"""Time and randomness, in one place, so that tests can replace them.

Code that runs inside a command never asks the operating system for the time or for random bytes. It is handed
an ``Ambient``; a test hands it one that it controls, and the same code then gives the same result each time.
Of the code that commands run, this module alone asks the operating system.
"""

from __future__ import annotations

import os
import time
from typing import Protocol


class Ambient(Protocol):
    """What a transaction's context takes time and randomness from."""

    def wall_ms(self) -> int:
        """Unix time in milliseconds; it may jump, in both directions."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; it never goes back."""

    def random(self, count: int, /) -> bytes:
        """``count`` bytes that nobody can guess."""


class SystemAmbient:
    """The machine's own clocks and random numbers."""

    __slots__ = ()

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    def random(self, count: int, /) -> bytes:
        return os.urandom(count)
