"""Calls between families: what one does in the rows of another, by functions that the other declares.

No family of coordination imports another. Where something happens to an object that others stand on, its
family calls all functions that were declared for that (``Family``), in the same transaction. Each looks
whether the object is one of its own, and does nothing where it is not. A refusal that one of them raises
refuses the whole command.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

import msgspec

from tallyd.ledger.view import SpaceRow, View

T = TypeVar("T")
"""The transaction, which has its families' calls and so is not named here."""


class Disposal(msgspec.Struct, frozen=True):
    """What became of a contribution in this command: ``kind`` is ``withdrawn``, ``superseded`` or
    ``redacted``, ``target`` the contribution's position, ``position`` that of the event that tells it.
    """

    space: SpaceRow
    target: int
    kind: str
    position: int


Disposed: TypeAlias = Callable[[T, Disposal], None]
Gated: TypeAlias = Callable[[View, SpaceRow, str], bool]
"""Whether a space has an active gate of that name."""


class Calls(msgspec.Struct, Generic[T], frozen=True):
    """What all families declare."""

    disposed: tuple[Disposed[T], ...] = ()
    gated: tuple[Gated, ...] = ()

    def is_gated(self, view: View, space: SpaceRow, name: str) -> bool:
        """Whether a space has an active gate of that name."""
        return any(asked(view, space, name) for asked in self.gated)
