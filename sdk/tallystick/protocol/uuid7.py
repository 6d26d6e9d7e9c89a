"""UUIDs of version 7 (RFC 9562, section 5.7): 128 bits that sort by the time at which they were made.

The daemon's ids and the client's idempotency keys are made here, so that rows made one after the other lie
side by side in an index::

    48 bits   Unix time in milliseconds
     4 bits   the version, 7
    12 bits   4096ths of a millisecond, or a counter (see ``Uuid7``)
     2 bits   the variant, 0b10
    62 bits   random

Promises: what one maker makes is strictly rising, whatever its clock does and however many threads ask it;
importing this module loads nothing but the standard library's threads. Does not: read a clock or draw random
bytes; whoever makes a maker gives it both.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

RANDOM_BYTES: Final = 8
"""Drawn for each UUID; the two highest bits give way to the variant."""
NS_A_MS: Final = 1_000_000
_RANDOM_MASK: Final = (1 << 62) - 1


class Uuid7:
    """Makes UUIDs, each greater than the one before.

    ``clock_ns`` returns the Unix time in nanoseconds, and ``random`` as many random bytes as it is asked for.
    The 12 bits below the millisecond are its fraction (RFC 9562, section 6.2, method 3); for a clock of whole
    milliseconds they start at 0. Where the clock stands still or steps back, the 60 bits of time and fraction
    are those of the UUID before, plus one.
    """

    def __init__(self, clock_ns: Callable[[], int], random: Callable[[int], bytes]) -> None:
        self._clock_ns = clock_ns
        self._random = random
        self._lock = threading.Lock()
        """Guards ``_last``, between reading it and setting it."""
        self._last = 0

    def __call__(self) -> bytes:
        """The 16 bytes of a new UUID, the most significant first."""
        moment = self._next_moment()
        tail = int.from_bytes(self._random(RANDOM_BYTES), "big") & _RANDOM_MASK
        value = (moment >> 12) << 80 | 0x7 << 76 | (moment & 0xFFF) << 64 | 0b10 << 62 | tail
        return value.to_bytes(16, "big")

    def _next_moment(self) -> int:
        """Milliseconds with 12 bits below them, after every moment that was given before."""
        now = (self._clock_ns() << 12) // NS_A_MS
        with self._lock:
            self._last = max(self._last + 1, now)
            return self._last
