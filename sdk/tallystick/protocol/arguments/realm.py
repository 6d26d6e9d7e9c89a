"""Arguments of the realm and its projects."""

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import DisplayName, Identifier

from ._base import Args, NoArgs, PageArgs


class RealmShowArgs(NoArgs, frozen=True, kw_only=True):
    """None: the envelope names the realm."""


class ProjectCreateArgs(Args, frozen=True, kw_only=True):
    """A new project's name, and what its spaces are classified and governed by unless they say otherwise."""

    name: DisplayName
    default_classification_ref: Identifier | UnsetType = UNSET
    policy_set_ref: Identifier | UnsetType = UNSET


class ProjectShowArgs(NoArgs, frozen=True, kw_only=True):
    """None: the envelope names the project."""


class ProjectListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of the realm's projects."""
