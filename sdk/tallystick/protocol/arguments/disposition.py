"""Arguments of what is said of contributions and relations afterwards."""

from tallystick.protocol.shapes import Identifier, StatusToken

from ._base import Args


class ContributionWithdrawArgs(Args, frozen=True, kw_only=True):
    """Which contribution nobody stands by any longer, and the class of the reason."""

    contribution_ref: Identifier
    reason_class: StatusToken


class ContributionSupersedeArgs(Args, frozen=True, kw_only=True):
    """Which contribution, which other stands in its place, and the class of the reason."""

    contribution_ref: Identifier
    replacement_ref: Identifier
    reason_class: StatusToken


class ContributionRedactArgs(Args, frozen=True, kw_only=True):
    """Whose body to erase, and the class of the reason."""

    contribution_ref: Identifier
    reason_class: StatusToken


class RelationRetractArgs(Args, frozen=True, kw_only=True):
    """Which relation is no longer asserted, and the class of the reason."""

    relation_ref: Identifier
    reason_class: StatusToken
