"""Arguments of the prepared changes of a project's access policy."""

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import Identifier

from ._base import Args, PageArgs


class ProjectAccessPolicyChangePrepareArgs(Args, frozen=True, kw_only=True):
    """What the project is to be governed and classified by; what is left out stays."""

    proposed_policy_set_ref: Identifier | UnsetType = UNSET
    proposed_default_classification_ref: Identifier | UnsetType = UNSET


class ProjectAccessPolicyChangeShowArgs(Args, frozen=True, kw_only=True):
    """Which change."""

    change_id: Identifier


class ProjectAccessPolicyChangeListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of the project's changes."""


class ProjectAccessPolicyChangeConfirmArgs(Args, frozen=True, kw_only=True):
    """Which change, and by which decision."""

    change_id: Identifier
    decision_receipt_ref: Identifier


class ProjectAccessPolicyChangeCancelArgs(Args, frozen=True, kw_only=True):
    """Which change."""

    change_id: Identifier
