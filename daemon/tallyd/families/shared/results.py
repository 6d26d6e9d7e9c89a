"""What a read gives, and the few checks that many operations share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from tallyd.admission import Admission
from tallyd.ledger import ids
from tallyd.ledger.view import SpaceRow, View
from tallystick.protocol.envelope import AnyRequest
from tallystick.protocol.problems import invalid, not_found, stale_revision

T = TypeVar("T")


class Served(msgspec.Struct, frozen=True):
    """A read's result in canonical JSON, and the revision of what it shows."""

    result: bytes
    revision: int | None = None


FileIO = Callable[[], Served]
"""The file I/O of a read, run on a thread after its transaction. Raises Refusal."""


class Further(msgspec.Struct, frozen=True, eq=False):
    """What a read gives that is not at its end: it goes on in another read transaction, admitted anew, when
    others were served.
    """

    go_on: Callable[[View, Admission], Served | Further]
    """Raises Refusal."""


def given(value: T | UnsetType, otherwise: T) -> T:
    """An optional argument, or its default."""
    return otherwise if value is UNSET else value


def optional(value: T | UnsetType) -> T | None:
    """An optional argument, or None."""
    return None if value is UNSET else value


def check_revision(request: AnyRequest, current: int, what: str) -> None:
    """The compare-and-set of ``meta.expected_revision``. Raises Refusal ``stale-revision``."""
    expected = request.meta.expected_revision if request.meta is not None else UNSET
    if isinstance(expected, int) and expected != current:
        raise stale_revision(
            current, f"{what} is at revision {current}, not {expected}; read it again and decide anew"
        )


def refuse_revision(request: AnyRequest, what: str) -> None:
    """Of a command that makes something: there is no revision yet to compare. Raises Refusal ``invalid``."""
    if request.meta is not None and request.meta.expected_revision is not UNSET:
        raise invalid(f"$.meta.expected_revision: {what} has no revision yet; leave it out")


def space_in(view: View, admission: Admission, space_id: str) -> SpaceRow:
    """The space, where it is in the command's project and seen by the actor. Raises Refusal ``not-found``."""
    space = view.space(space_id)
    project = admission.project
    if space is None or project is None or space.project != project.position:
        raise not_found("space", space_id)
    if not admission.sees(view, space):
        raise not_found("space", space_id)
    return space


def branch_of(space: SpaceRow, branch_id: str) -> None:
    """Raises Refusal ``not-found`` where the branch is not the space's."""
    if ids.digits("branch", branch_id) != space.main_branch:
        raise not_found("branch", branch_id)


def check_open(space: SpaceRow) -> None:
    """Raises Refusal ``stale-revision`` where the space takes nothing new."""
    if space.status != "open":
        raise stale_revision(
            space.revision,
            f"space {space.space_id} is {space.status}, and takes nothing new until it is open",
        )
