"""Calls between families: what one does in the rows of another, by functions that the other declares.

No family of coordination imports another. Where something happens to an object that others stand on, its
family calls all functions that were declared for that (``Family``), in the same transaction. Each looks
whether the object is one of its own, and does nothing where it is not. A refusal that one of them raises
refuses the whole command.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from tallyd.ledger.claims import TaskRow
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


class Claiming(msgspec.Struct, frozen=True):
    """A claim that this command makes or ends: on the task at a position, of that ordinal."""

    space: SpaceRow
    task: TaskRow
    ordinal: int


class Hold(msgspec.Struct, frozen=True):
    """What keeps a task from being ready beside the tasks that it needs: an opening, say. ``space`` is the
    position of the one that it stands in.
    """

    space: int
    ref: str
    state: str


Disposed: TypeAlias = Callable[[T, Disposal], None]
Gated: TypeAlias = Callable[[View, SpaceRow, str], bool]
"""Whether a space has an active gate of that name."""

Claimed: TypeAlias = Callable[[T, Claiming], str]
"""Takes the paths of a task that reserves for its claim, and gives the reservation's id. Raises Refusal
``stale-lease`` where somebody else has one of them."""
ClaimEnded: TypeAlias = Callable[[T, Claiming], None]
"""Ends what a claim had taken."""
InTheWay: TypeAlias = Callable[[View, TaskRow], bool]
"""Whether somebody else has a path that a claim of the task would take."""
Holds: TypeAlias = Callable[[View, int], list[Hold]]
"""What holds the task at a position and is not lifted."""


class Calls(msgspec.Struct, Generic[T], frozen=True):
    """What all families declare."""

    disposed: tuple[Disposed[T], ...] = ()
    gated: tuple[Gated, ...] = ()
    claimed: tuple[Claimed[T], ...] = ()
    claim_ended: tuple[ClaimEnded[T], ...] = ()
    in_the_way: tuple[InTheWay, ...] = ()
    holds: tuple[Holds, ...] = ()

    def is_gated(self, view: View, space: SpaceRow, name: str) -> bool:
        """Whether a space has an active gate of that name."""
        return any(asked(view, space, name) for asked in self.gated)


def of(view: View) -> Calls[Any]:
    """The calls that a view or transaction was given."""
    assert isinstance(view.calls, Calls), "whoever made this view did not set its calls"
    return view.calls
