"""Arguments of spaces."""

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import DisplayName, Identifier, SpaceVisibility

from ._base import Args, PageArgs


class SpaceCreateArgs(Args, frozen=True, kw_only=True):
    """A new space; its main branch and its built-in lenses come with it."""

    title: DisplayName
    visibility: SpaceVisibility
    purpose_contribution_ref: Identifier | UnsetType = UNSET
    default_classification_ref: Identifier | UnsetType = UNSET
    policy_set_ref: Identifier | UnsetType = UNSET


class SpaceShowArgs(Args, frozen=True, kw_only=True):
    """Which space."""

    space_id: Identifier


class SpaceListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of the project's spaces."""
