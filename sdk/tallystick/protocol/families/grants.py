"""Grants: what somebody may do in a space without taking part in it."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.arguments import Args, PageArgs
from tallystick.protocol.operation import LISTS, SHARED_SPACE, Mode, RowEffect
from tallystick.protocol.records import Page, Record
from tallystick.protocol.shapes import GrantStatus, Identifier, SafeInt, StatusToken, Timestamp


# --- records ------------------------------------------------------------------------------------------------
class SpaceAccessGrant(Record, frozen=True, kw_only=True):
    """What a subject may do in a space without taking part in it, up to which classification, until when."""

    space_access_id: Identifier
    space_id: Identifier
    subject_ref: Identifier
    revision: SafeInt
    source_membership_or_policy_ref: Identifier
    allowed_actions: tuple[StatusToken, ...]
    classification_ceiling_ref: Identifier | UnsetType = UNSET
    authorization_epoch: SafeInt
    expires_at: Timestamp | UnsetType = UNSET
    status: GrantStatus
    granted_by_or_policy_use_ref: Identifier
    created_at: Timestamp


class SpaceAccessGrantPage(Page, frozen=True, kw_only=True):
    """The result of `space_access_grant_list`; revoked grants stay listed."""

    items: Annotated[tuple[SpaceAccessGrant, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


# --- arguments ----------------------------------------------------------------------------------------------
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


# --- operations ---------------------------------------------------------------------------------------------
SPACE_ACCESS_GRANT_CREATE: Final = SHARED_SPACE.write(
    "space_access_grant_create",
    SpaceAccessGrantCreateArgs,
    SpaceAccessGrant,
    "Grant a subject actions in a space.",
    mode=Mode.OPERATOR,
    surface="operator",
    event="dev.kovee.space.access-grant-created.v1",
    rows=(RowEffect("grants", "insert"),),
)
SPACE_ACCESS_GRANT_REVOKE: Final = SHARED_SPACE.write(
    "space_access_grant_revoke",
    SpaceAccessGrantRevokeArgs,
    SpaceAccessGrant,
    "Revoke a grant.",
    mode=Mode.OPERATOR,
    surface="operator",
    event="dev.kovee.space.access-grant-revoked.v1",
    rows=(RowEffect("grants", "update", columns=("revision", "status")),),
)
SPACE_ACCESS_GRANT_LIST: Final = SHARED_SPACE.read(
    "space_access_grant_list",
    SpaceAccessGrantListArgs,
    SpaceAccessGrantPage,
    "A space's grants, a page at a time, in order of creation.",
    mode=Mode.READ_SPACE,
    problems=LISTS,
)

OPERATIONS: Final = (
    SPACE_ACCESS_GRANT_CREATE,
    SPACE_ACCESS_GRANT_REVOKE,
    SPACE_ACCESS_GRANT_LIST,
)
