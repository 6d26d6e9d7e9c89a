"""Arguments of the prepared widenings of who may see a space."""

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import Identifier, SpaceVisibility

from ._base import Args, PageArgs


class SpaceAccessWidenPrepareArgs(Args, frozen=True, kw_only=True):
    """Which space, and what it is to be; what is left out stays."""

    space_id: Identifier
    proposed_visibility: SpaceVisibility | UnsetType = UNSET
    proposed_policy_set_ref: Identifier | UnsetType = UNSET
    proposed_default_classification_ref: Identifier | UnsetType = UNSET


class SpaceAccessWidenShowArgs(Args, frozen=True, kw_only=True):
    """Which widening."""

    widening_id: Identifier


class SpaceAccessWidenListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of the project's widenings, of one space where it is named."""

    space_id: Identifier | UnsetType = UNSET


class SpaceAccessWidenConfirmArgs(Args, frozen=True, kw_only=True):
    """Which widening, and by which decision."""

    widening_id: Identifier
    decision_receipt_ref: Identifier


class SpaceAccessWidenCancelArgs(Args, frozen=True, kw_only=True):
    """Which widening."""

    widening_id: Identifier
