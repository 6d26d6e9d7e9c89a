"""What a lens may say in `query_ast` and `sort_spec`, to be evaluated; docs/lenses.md says it for people.

KCP leaves both open: any object is stored, and means to other programs what they mean by it. An object speaks
this grammar where it has the member that the protocol's own built-in lenses have: `select` in a query,
`order_by` in a sort. Then it is closed: a member that is not listed here is a mistake and not a remark. One
without it is somebody else's, and asks for nothing here: all is shown, in the default order.
"""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.shapes import (
    ContributionKind,
    EpistemicPosture,
    Identifier,
    JsonObject,
    RelationKind,
    SafeInt,
    convert,
)

SELECT: Final = "select"
ORDER_BY: Final = "order_by"

_Items = Meta(min_length=1, max_length=limits.LIST_ITEMS_MAX)

Disposed = Literal["withdrawn", "superseded", "redacted", "retracted"]


class LensQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which contributions are shown: those that meet every member that is there.

    A query narrows what its lens's kind shows, and never widens it.
    """

    select: Literal["contributions", "typed_cards"]
    """All contributions, or all but utterances."""
    kinds: Annotated[tuple[ContributionKind, ...], _Items] | UnsetType = UNSET
    """Of one of these kinds."""
    authors: Annotated[tuple[Identifier, ...], _Items] | UnsetType = UNSET
    """By one of these actors (`author_actor_ref`)."""
    postures: Annotated[tuple[EpistemicPosture, ...], _Items] | UnsetType = UNSET
    """Said in one of these postures; one without a posture meets none."""
    classifications: Annotated[tuple[Identifier, ...], _Items] | UnsetType = UNSET
    """Classified as one of these."""
    since_sequence: SafeInt | UnsetType = UNSET
    """Of this `branch_sequence`, or a later one."""
    until_sequence: SafeInt | UnsetType = UNSET
    """Of this `branch_sequence`, or an earlier one."""
    related_to: Identifier | UnsetType = UNSET
    """With a relation, from it or to it, to this object of the space."""
    relation_kinds: Annotated[tuple[RelationKind, ...], _Items] | UnsetType = UNSET
    """With a relation of one of these kinds: to `related_to`, or, without it, to anything."""
    without: Annotated[tuple[Disposed, ...], _Items] | UnsetType = UNSET
    """Leaving out what became one of these; `retracted` leaves out relations, on cards and where they are
    looked for."""


class LensSort(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """In which order. The two words mean one order as long as a space has one branch."""

    order_by: Literal["branch_sequence", "space_sequence"]
    descending: bool = False
    """The newest first."""


def read_query(query: JsonObject, at: str = "$.query_ast") -> LensQuery:
    """What a query asks for; `at` is where it stands. Raises `shapes.Misshapen`."""
    return convert(query, LensQuery, at) if SELECT in query else LensQuery(select="contributions")


def read_sort(sort: JsonObject, at: str = "$.sort_spec") -> LensSort:
    """What a sort asks for; `at` is where it stands. Raises `shapes.Misshapen`."""
    return convert(sort, LensSort, at) if ORDER_BY in sort else LensSort(order_by="branch_sequence")
