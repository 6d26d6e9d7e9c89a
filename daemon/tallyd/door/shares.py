"""How connections and requests in flight are shared out, so that nobody takes the places of others.

Of a whole, 64 and a sixteenth are the owner's sockets' alone. Of the rest one guest has at most an eighth,
and all guests together have at most three quarters. A *guest* is whoever a channel names as one: an agent, on
all of its sockets together.

Promises: with all guests at their bounds the owner has its own share and a quarter of the rest. Does not:
know what is counted.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from tallystick.protocol import limits


class Bounds(NamedTuple):
    """What guests may have of a whole."""

    guest: int
    guests: int

    @classmethod
    def of(cls, whole: int) -> Bounds:
        """The bounds for a whole of that size."""
        own = limits.SHARE_OWNER_CONNECTIONS_MIN + whole // limits.SHARE_OWNER_CONNECTIONS_PARTS
        rest = max(0, whole - own)
        return cls(rest // limits.SHARE_AGENT_CONNECTIONS_PARTS, rest * 3 // 4)


class Shared:
    """How many of a thing there are, and how many of them are each guest's. None stands for the owner."""

    __slots__ = ("_guests", "_of", "_what", "total")

    def __init__(self, what: str) -> None:
        """``what`` they are and how they are, as in "connections are open"."""
        self._what = what
        self.total = 0
        self._guests = 0
        self._of: Counter[str] = Counter()

    def enter(self, guest: str | None) -> None:
        """One more."""
        self.total += 1
        if guest is not None:
            self._guests += 1
            self._of[guest] += 1

    def leave(self, guest: str | None) -> None:
        """One less."""
        self.total -= 1
        if guest is not None:
            self._guests -= 1
            self._of[guest] -= 1
            if not self._of[guest]:
                del self._of[guest]

    def full(self, guest: str | None, whole: int) -> str | None:
        """The bound that lets no further one of this guest in, in words; None where there is room."""
        if self.total >= whole:
            return f"{whole} {self._what}"
        if guest is None:
            return None
        bounds = Bounds.of(whole)
        if self._of[guest] >= bounds.guest:
            return f"{bounds.guest} {self._what} for {guest}, which is its share"
        if self._guests >= bounds.guests:
            return f"{bounds.guests} {self._what} for all agents together, which is their share"
        return None
