"""Ids on the wire and their 128 bits.

An id is ``<prefix>-<32 lowercase hex digits>`` (KCP 1.9). The digits are those of a UUIDv7 (RFC 9562, section
5.7), so that rows made one after the other are side by side in an index. Attempts, credentials and the
installation have random ids instead, which nobody can guess and which do not say when they were made.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_ID: Final = re.compile(r"([a-z]+)-([0-9a-f]{32})\Z")

REALM_ID: Final = "realm-personal"
OWNER: Final = "prin-owner"
REALM_EVENTS: Final = "events:realm"
"""The source that cursors name for events that stand in no project (KCP section 6)."""
SYSTEM: Final = "tallyd"
"""The actor of system commands."""


def text(prefix: str, digits: bytes) -> str:
    """``proj`` and 16 bytes → ``proj-0190…``."""
    return f"{prefix}-{digits.hex()}"


def digits(prefix: str, identifier: str) -> bytes | None:
    """The 16 bytes of an id of that prefix. None for anything else: an id that we cannot have made is of
    nothing.
    """
    match = _ID.match(identifier)
    if match is None or match[1] != prefix:
        return None
    return bytes.fromhex(match[2])


class Uuid7:
    """Makes the 128 bits of ids, each greater than the one before within this process.

    ``wall_ms`` and ``random`` come from the transaction's context. Where the clock stands still or steps
    back, the 12 bits below the time count on (RFC 9562, section 6.2, method 1), and carry into the time when
    they are used up.
    """

    def __init__(self, wall_ms: Callable[[], int], random: Callable[[int], bytes]) -> None:
        self._wall_ms = wall_ms
        self._random = random
        self._last = 0  # time in ms × 4096 + counter

    def __call__(self) -> bytes:
        now = self._wall_ms() << 12
        self._last = now if now > self._last else self._last + 1
        tail = int.from_bytes(self._random(8), "big") & 0x3FFF_FFFF_FFFF_FFFF
        time_ms, counter = self._last >> 12, self._last & 0xFFF
        value = (time_ms << 80) | (0x7 << 76) | (counter << 64) | (0b10 << 62) | tail
        return value.to_bytes(16, "big")
