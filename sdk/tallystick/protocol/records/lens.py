"""Records of lenses, and what reading through one shows."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.shapes import (
    ContributionKind,
    Identifier,
    JsonObject,
    LensKind,
    SafeInt,
    StatusToken,
    Timestamp,
)

from ._base import Page, Record
from .contribution import Contribution, Relation


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
