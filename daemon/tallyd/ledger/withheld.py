"""What a reader may not see, counted by sequence range and reason, and told no further.

Between two items that are shown stands at most one range for each reason: from the first to the last sequence
of what is withheld there, and how many that are. So a page tells of what is withheld without saying when it
was written, by whom, or what it is, and is never much longer for it. Each thing is counted on one page: on
that which goes on past it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tallystick.protocol import limits

ABOVE_CEILING: Final = "above_ceiling"
"""It is classified above what the reader may read in its space."""
NOT_VISIBLE: Final = "not_visible"
"""It stands where the reader sees nothing."""

RANGES_MAX: Final = 2 * (limits.PAGE_ITEMS_MAX + 1)
"""Before each item of a page and after the last, one for each reason."""
RANGE_BYTES_MAX: Final = 128
RANGE_NODES: Final = 5


class Range(msgspec.Struct):
    """Sequences of which some are withheld for one reason."""

    from_sequence: int
    to_sequence: int
    count: int
    reason: str


class Withheld:
    """Counts while a page is made."""

    def __init__(self) -> None:
        self.ranges: list[Range] = []
        """What is counted, for good: up to the last ``close_range``."""
        self._open: dict[str, Range] = {}

    def add(self, sequence: int, reason: str) -> None:
        """The next in order is withheld."""
        found = self._open.get(reason)
        if found is None:
            self._open[reason] = Range(sequence, sequence, 1, reason)
        else:
            found.to_sequence = sequence
            found.count += 1

    def close_range(self) -> None:
        """What was added belongs to the page: an item after it was taken, or the page goes on past it."""
        self.ranges += self._open.values()
        self._open = {}
