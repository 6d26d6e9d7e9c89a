"""Records of spaces."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.shapes import (
    DisplayName,
    Identifier,
    SafeInt,
    SpaceStatus,
    SpaceVisibility,
    Timestamp,
)

from ._base import Page, Record


class Space(Record, frozen=True, kw_only=True):
    """A space: one conversation with one main branch."""

    space_id: Identifier
    realm_id: Identifier
    project_id: Identifier
    revision: SafeInt
    title: DisplayName
    purpose_contribution_ref: Identifier | UnsetType = UNSET
    visibility: SpaceVisibility
    status: SpaceStatus
    main_branch_id: Identifier
    next_space_sequence: SafeInt
    default_classification_ref: Identifier
    policy_set_ref: Identifier
    created_by: Identifier
    created_at: Timestamp


class SpacePage(Page, frozen=True, kw_only=True):
    """The result of `space_list`."""

    items: Annotated[tuple[Space, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]
