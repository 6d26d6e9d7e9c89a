"""What a page withholds from its reader: how many things, in which range of sequences, and why.

Between two items that are shown there is at most one range for each reason. It has the first and the last
sequence of what is withheld there, and the number of things. So a page says that something is withheld, but
not when it was written, by whom, or what it is, and it never gets much longer by that. Each withheld thing is
counted on exactly one page: the one that goes on past it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tallystick.protocol import limits

ABOVE_CEILING: Final = "above_ceiling"
"""It is classified above what the reader may read in its space."""
NOT_VISIBLE: Final = "not_visible"
"""It stands in a space that the reader does not see, or is hidden from the reader by its family's rule."""

RANGES_MAX: Final = 2 * (limits.PAGE_ITEMS_MAX + 1)
"""Ranges of one page, at most: before each item and after the last, one for each reason."""
RANGE_BYTES_MAX: Final = 128
RANGE_NODES: Final = 5


class Range(msgspec.Struct):
    """A range of sequences in which ``count`` things are withheld for one reason."""

    from_sequence: int
    to_sequence: int
    count: int
    reason: str


class Withheld:
    """Counts what is withheld while a page is made."""

    def __init__(self) -> None:
        self.ranges: list[Range] = []
        """Ranges that belong to the page: those closed by ``close_range``."""
        self._open: dict[str, Range] = {}

    def add(self, sequence: int, reason: str) -> None:
        """The next thing in order is withheld: the open range of that reason grows."""
        found = self._open.get(reason)
        if found is None:
            self._open[reason] = Range(sequence, sequence, 1, reason)
        else:
            found.to_sequence = sequence
            found.count += 1

    def close_range(self) -> None:
        """Closes the open ranges: an item after them was taken onto the page, or the page goes on past them.
        """
        self.ranges += self._open.values()
        self._open = {}
