"""Orders of policies and of classifications, as the owner declares them in ``tallyd.toml``.

Of two declared names one is above or below the other. A name that was not declared cannot be compared with
any other. ``class-sensitive`` is above all other classifications, declared or not; a read of something
sensitive leaves an access record before it is served.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

SENSITIVE: Final = "class-sensitive"


class Order(msgspec.Struct, frozen=True):
    """Names from the lowest, or widest, to the highest, or narrowest."""

    names: tuple[str, ...] = ()

    def compare(self, left: str, right: str) -> int | None:
        """Negative, zero or positive as ``left`` is below, the same as, or above ``right``; None:
        incomparable.
        """
        if left == right:
            return 0
        if left not in self.names or right not in self.names:
            return None
        return self.names.index(left) - self.names.index(right)


class Orders(msgspec.Struct, frozen=True):
    """What the owner declared; by default nothing."""

    policies: Order = Order()
    classifications: Order = Order()

    def compare_classifications(self, left: str, right: str) -> int | None:
        """As ``classifications.compare``, with ``class-sensitive`` above all others."""
        if left != right and SENSITIVE in (left, right):
            return 1 if left == SENSITIVE else -1
        return self.classifications.compare(left, right)

    def reaches(self, ceiling: str | None, classification: str) -> bool:
        """Whether something of a classification may be read under a ceiling. No ceiling reaches everything.

        Incomparable names are readable by whoever may read the space: they are listed by ``diagnose``.
        """
        if ceiling is None:
            return True
        compared = self.compare_classifications(classification, ceiling)
        return compared is None or compared <= 0

    def undeclared(self, classifications: Sequence[str]) -> list[str]:
        """Classifications in use that no order knows."""
        return sorted(
            {name for name in classifications if name not in (*self.classifications.names, SENSITIVE)}
        )
