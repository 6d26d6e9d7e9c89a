"""Arguments of frontiers and context assemblies."""

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import FreeText, Identifier, Identifiers, SafeInt

from ._base import Args, DualArgs


class FrontierPinArgs(Args, frozen=True, kw_only=True):
    """Which branch to pin as it stands."""

    space_id: Identifier
    branch_id: Identifier


class FrontierShowArgs(Args, frozen=True, kw_only=True):
    """Which frontier."""

    frontier_id: Identifier


class ContextAssemblyCreateArgs(DualArgs, frozen=True, kw_only=True):
    """What an audience is to read, named one by one; `purpose` is a label and is not erasable."""

    space_id: Identifier
    branch_id: Identifier
    audience_ref: Identifier
    purpose: FreeText
    selection_policy_ref: Identifier
    required_refs: Identifiers | UnsetType = UNSET
    trigger_refs: Identifiers | UnsetType = UNSET
    recipe_ref: Identifier | UnsetType = UNSET
    recipe_revision: SafeInt | UnsetType = UNSET


class ContextAssemblyShowArgs(Args, frozen=True, kw_only=True):
    """Which assembly."""

    assembly_id: Identifier
