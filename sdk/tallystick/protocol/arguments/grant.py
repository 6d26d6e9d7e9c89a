"""Arguments of the grants of access to spaces."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.shapes import Identifier, StatusToken, Timestamp

from ._base import Args, PageArgs


class SpaceAccessGrantCreateArgs(Args, frozen=True, kw_only=True):
    """Who may do what in which space, up to which classification and until when."""

    space_id: Identifier
    subject_ref: Identifier
    allowed_actions: Annotated[tuple[StatusToken, ...], Meta(min_length=1, max_length=limits.LIST_ITEMS_MAX)]
    classification_ceiling_ref: Identifier | UnsetType = UNSET
    expires_at: Timestamp | UnsetType = UNSET


class SpaceAccessGrantRevokeArgs(Args, frozen=True, kw_only=True):
    """Which grant."""

    space_access_id: Identifier


class SpaceAccessGrantListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of a space's grants."""

    space_id: Identifier
