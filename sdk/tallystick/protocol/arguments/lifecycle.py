"""Arguments that change a project or a space itself: its name, its state, how narrow its policy is."""

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import DisplayName, Identifier

from ._base import Args


class ProjectUpdateMetadataArgs(Args, frozen=True, kw_only=True):
    """The project's new name."""

    name: DisplayName


class SpaceUpdateMetadataArgs(Args, frozen=True, kw_only=True):
    """Which space, and its new title and purpose where they are named."""

    space_id: Identifier
    title: DisplayName | UnsetType = UNSET
    purpose_contribution_ref: Identifier | UnsetType = UNSET


class SpaceFreezeArgs(Args, frozen=True, kw_only=True):
    """Which space."""

    space_id: Identifier


class SpaceReopenArgs(Args, frozen=True, kw_only=True):
    """Which space."""

    space_id: Identifier


class SpaceArchiveArgs(Args, frozen=True, kw_only=True):
    """Which space."""

    space_id: Identifier


class SpaceRestrictArgs(Args, frozen=True, kw_only=True):
    """Which space."""

    space_id: Identifier


class SpacePolicyNarrowArgs(Args, frozen=True, kw_only=True):
    """Which space, and its narrower policy and default classification where they are named."""

    space_id: Identifier
    policy_set_ref: Identifier | UnsetType = UNSET
    default_classification_ref: Identifier | UnsetType = UNSET
