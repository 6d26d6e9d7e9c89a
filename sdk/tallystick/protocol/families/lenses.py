"""Lenses: what a space shows, to whom and in which order. What a query and a sort say is ``lens_grammar``."""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.arguments import Args, Content, PageArgs
from tallystick.protocol.families.contributions import Contribution, Relation
from tallystick.protocol.operation import GUARDED_LISTS, LISTS, SHARED_SPACE, Mode, RowEffect
from tallystick.protocol.records import Page, Record
from tallystick.protocol.shapes import (
    ContributionKind,
    Identifier,
    JsonObject,
    LensKind,
    SafeInt,
    StatusToken,
    Timestamp,
)


# --- records ------------------------------------------------------------------------------------------------
class Lens(Record, frozen=True, kw_only=True):
    """A way to look at a space: what is selected, in which order, and how it is to be shown."""

    lens_id: Identifier
    space_id: Identifier
    owner_ref: Identifier | UnsetType = UNSET
    revision: SafeInt
    kind: LensKind
    query_ast: JsonObject
    sort_spec: JsonObject
    presentation_options: JsonObject
    visibility: StatusToken
    status: StatusToken
    created_at: Timestamp


class LensPage(Page, frozen=True, kw_only=True):
    """The result of `lens_list`; a revoked lens is not listed."""

    items: Annotated[tuple[Lens, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


class LensContribution(Record, frozen=True, kw_only=True):
    """An item of `lens_read` through a lens of any kind but the workbench: a contribution at its place."""

    item_kind: Literal["contribution"]
    branch_sequence: SafeInt
    contribution: Contribution


class LensCard(Record, frozen=True, kw_only=True):
    """An item of `lens_read` through a workbench: a contribution, and what leaves it and what reaches it."""

    item_kind: Literal["card"]
    card_kind: ContributionKind
    branch_sequence: SafeInt
    contribution: Contribution
    relations_out: tuple[Relation, ...]
    relations_in: tuple[Relation, ...]


class LensView(Page, frozen=True, kw_only=True):
    """The result of `lens_read`. KCP leaves the items open; each is a `LensContribution` or a `LensCard`."""

    items: Annotated[tuple[JsonObject, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


# --- arguments ----------------------------------------------------------------------------------------------
class LensCreateArgs(Args, frozen=True, kw_only=True):
    """What the lens selects from which space, in which order, how it is shown and to whom."""

    space_id: Identifier
    kind: LensKind
    query_ast: Content[JsonObject]
    sort_spec: Content[JsonObject]
    presentation_options: Content[JsonObject]
    visibility: StatusToken


class LensShowArgs(Args, frozen=True, kw_only=True):
    """Which lens."""

    lens_id: Identifier


class LensListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of a space's lenses."""

    space_id: Identifier


class LensUpdateArgs(Args, frozen=True, kw_only=True):
    """Which lens, and what of it is new."""

    lens_id: Identifier
    query_ast: Content[JsonObject] | UnsetType = UNSET
    sort_spec: Content[JsonObject] | UnsetType = UNSET
    presentation_options: Content[JsonObject] | UnsetType = UNSET
    visibility: StatusToken | UnsetType = UNSET


class LensRevokeArgs(Args, frozen=True, kw_only=True):
    """Which lens."""

    lens_id: Identifier


class LensReadArgs(PageArgs, frozen=True, kw_only=True):
    """A page of what a lens shows."""

    lens_id: Identifier


# --- operations ---------------------------------------------------------------------------------------------
LENS_CREATE: Final = SHARED_SPACE.write(
    "lens_create",
    LensCreateArgs,
    Lens,
    "Make a lens.",
    mode=Mode.WRITE_SPACE,
    event="dev.kovee.space.lens-created.v1",
    rows=(
        RowEffect("bodies", "insert", 3),
        RowEffect("object_keys", "insert", 3),
        RowEffect("lenses", "insert"),
    ),
)
LENS_SHOW: Final = SHARED_SPACE.read(
    "lens_show",
    LensShowArgs,
    Lens,
    "One lens.",
    mode=Mode.READ_SPACE,
)
LENS_LIST: Final = SHARED_SPACE.read(
    "lens_list",
    LensListArgs,
    LensPage,
    "A space's lenses, a page at a time, in order of creation.",
    mode=Mode.READ_SPACE,
    problems=LISTS,
)
LENS_UPDATE: Final = SHARED_SPACE.write(
    "lens_update",
    LensUpdateArgs,
    Lens,
    "Change what a lens selects, or how it shows that.",
    mode=Mode.WRITE_SPACE,
    event="dev.kovee.space.lens-updated.v1",
    rows=(
        RowEffect("bodies", "insert", None),  # of what is new
        RowEffect("object_keys", "insert", None),
        RowEffect("lenses", "insert", None),  # with a built-in lens's first change
        RowEffect("lenses", "update", None, ("revision", "query", "sort", "presentation", "visibility")),
    ),
)
LENS_REVOKE: Final = SHARED_SPACE.write(
    "lens_revoke",
    LensRevokeArgs,
    Lens,
    "Take a lens away.",
    mode=Mode.WRITE_SPACE,
    event="dev.kovee.space.lens-revoked.v1",
    rows=(
        RowEffect("lenses", "insert", None),
        RowEffect("lenses", "update", None, ("revision", "status")),
    ),
)
LENS_READ: Final = SHARED_SPACE.read(
    "lens_read",
    LensReadArgs,
    LensView,
    "What a lens shows, a page at a time.",
    mode=Mode.READ_SPACE,
    problems=GUARDED_LISTS,
)

OPERATIONS: Final = (
    LENS_CREATE,
    LENS_SHOW,
    LENS_LIST,
    LENS_UPDATE,
    LENS_REVOKE,
    LENS_READ,
)
