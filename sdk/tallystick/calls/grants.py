"""Grants: what somebody may do in a space without taking part in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from tallystick.calls.descriptors import items, read, write
from tallystick.calls.values import (
    AnyProject,
    AnySpace,
    ReadOptions,
    WriteOptions,
    page_arguments,
    project_id,
)
from tallystick.core import Read, Write
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol.families.grants import SpaceAccessGrant, SpaceAccessGrantPage


def space_access_grant_create(
    space: AnySpace,
    subject_ref: str,
    allowed_actions: Sequence[str],
    *,
    classification_ceiling_ref: str | None = None,
    expires_at: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[SpaceAccessGrant]:
    """Let somebody do things in a space without taking part in it; for the owner.

    ``allowed_actions`` are ``read``, ``contribute``, ``steward``, or names of operations, each of which
    implies reading. ``expires_at`` is an RFC 3339 timestamp. ``expected_revision`` is the space's.
    """
    arguments = {
        "space_id": space.space_id,
        "subject_ref": subject_ref,
        "allowed_actions": list(allowed_actions),
        "classification_ceiling_ref": classification_ceiling_ref,
        "expires_at": expires_at,
    }
    return Write(
        "space_access_grant_create",
        arguments,
        "grants.SpaceAccessGrant",
        project_id=space.project_id,
        **options,
    )


def space_access_grant_revoke(
    project: AnyProject, space_access_id: str, **options: Unpack[WriteOptions]
) -> Write[SpaceAccessGrant]:
    """Take a grant back; for the owner. It works in an archived space as well."""
    return Write(
        "space_access_grant_revoke",
        {"space_access_id": space_access_id},
        "grants.SpaceAccessGrant",
        project_id=project_id(project),
        **options,
    )


def space_access_grant_list(
    space: AnySpace,
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[SpaceAccessGrantPage]:
    """A page of a space's grants, those that were taken back or expired among them."""
    arguments = {"space_id": space.space_id, **page_arguments(limit, after, snapshot)}
    return Read(
        "space_access_grant_list",
        arguments,
        "grants.SpaceAccessGrantPage",
        project_id=space.project_id,
        **options,
    )


# --- methods ----------------------------------------------------------------------------------------------
class GrantsMethods:
    """The methods of the clients."""

    space_access_grant_create = write(space_access_grant_create)
    space_access_grant_revoke = write(space_access_grant_revoke)
    space_access_grant_list = read(space_access_grant_list)
    space_access_grants = items(space_access_grant_list)
