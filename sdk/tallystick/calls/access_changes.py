"""Prepared changes of who may see something: of a project's access policy, and the widening of a space.

Nothing changes until a change is confirmed, by a decision that a receipt names.
"""

from __future__ import annotations

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
    from tallystick.protocol.families.access_changes import (
        ProjectAccessPolicyChange,
        ProjectAccessPolicyChangePage,
        SpaceAccessWidening,
        SpaceAccessWideningPage,
    )


# --- of a project's access policy -----------------------------------------------------------------------
def project_access_policy_change_prepare(
    project: AnyProject,
    *,
    proposed_policy_set_ref: str | None = None,
    proposed_default_classification_ref: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[ProjectAccessPolicyChange]:
    """Prepare another access policy for a project; what is left out stays. Nothing changes until it is
    confirmed.
    """
    arguments = {
        "proposed_policy_set_ref": proposed_policy_set_ref,
        "proposed_default_classification_ref": proposed_default_classification_ref,
    }
    return Write(
        "project_access_policy_change_prepare",
        arguments,
        "access_changes.ProjectAccessPolicyChange",
        project_id=project_id(project),
        **options,
    )


def project_access_policy_change_show(
    project: AnyProject, change_id: str, **options: Unpack[ReadOptions]
) -> Read[ProjectAccessPolicyChange]:
    """A prepared change as it stands now."""
    return Read(
        "project_access_policy_change_show",
        {"change_id": change_id},
        "access_changes.ProjectAccessPolicyChange",
        project_id=project_id(project),
        **options,
    )


def project_access_policy_change_list(
    project: AnyProject,
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[ProjectAccessPolicyChangePage]:
    """A page of a project's prepared changes, in whatever state."""
    return Read(
        "project_access_policy_change_list",
        page_arguments(limit, after, snapshot),
        "access_changes.ProjectAccessPolicyChangePage",
        project_id=project_id(project),
        **options,
    )


def project_access_policy_change_confirm(
    project: AnyProject, change_id: str, decision_receipt_ref: str, **options: Unpack[WriteOptions]
) -> Write[ProjectAccessPolicyChange]:
    """Put a prepared change into force, by the decision that the receipt names.

    ``StaleRevision`` where it has ended, and where the project or a contribution in it has moved since: it
    is ``stale`` then, and has to be prepared anew. ``expected_revision`` is the change's.
    """
    return Write(
        "project_access_policy_change_confirm",
        {"change_id": change_id, "decision_receipt_ref": decision_receipt_ref},
        "access_changes.ProjectAccessPolicyChange",
        project_id=project_id(project),
        **options,
    )


def project_access_policy_change_cancel(
    project: AnyProject, change_id: str, **options: Unpack[WriteOptions]
) -> Write[ProjectAccessPolicyChange]:
    """Drop a prepared change. ``expected_revision`` is the change's."""
    return Write(
        "project_access_policy_change_cancel",
        {"change_id": change_id},
        "access_changes.ProjectAccessPolicyChange",
        project_id=project_id(project),
        **options,
    )


# --- of who may see a space -----------------------------------------------------------------------------
def space_access_widen_prepare(
    space: AnySpace,
    *,
    proposed_visibility: str | None = None,
    proposed_policy_set_ref: str | None = None,
    proposed_default_classification_ref: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[SpaceAccessWidening]:
    """Prepare the widening of a space; what is left out stays. Nothing changes until it is confirmed."""
    arguments = {
        "space_id": space.space_id,
        "proposed_visibility": proposed_visibility,
        "proposed_policy_set_ref": proposed_policy_set_ref,
        "proposed_default_classification_ref": proposed_default_classification_ref,
    }
    return Write(
        "space_access_widen_prepare",
        arguments,
        "access_changes.SpaceAccessWidening",
        project_id=space.project_id,
        **options,
    )


def space_access_widen_show(
    project: AnyProject, widening_id: str, **options: Unpack[ReadOptions]
) -> Read[SpaceAccessWidening]:
    """A prepared widening as it stands now."""
    return Read(
        "space_access_widen_show",
        {"widening_id": widening_id},
        "access_changes.SpaceAccessWidening",
        project_id=project_id(project),
        **options,
    )


def space_access_widen_list(
    project: AnyProject,
    *,
    space_id: str | None = None,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[SpaceAccessWideningPage]:
    """A page of a project's prepared widenings, in whatever state; of one space where it is named."""
    arguments = {"space_id": space_id, **page_arguments(limit, after, snapshot)}
    return Read(
        "space_access_widen_list",
        arguments,
        "access_changes.SpaceAccessWideningPage",
        project_id=project_id(project),
        **options,
    )


def space_access_widen_confirm(
    project: AnyProject, widening_id: str, decision_receipt_ref: str, **options: Unpack[WriteOptions]
) -> Write[SpaceAccessWidening]:
    """Put a prepared widening into force, by the decision that the receipt names.

    ``StaleRevision`` where it has ended, and where the space has moved since: it is ``stale`` then, and has
    to be prepared anew. ``expected_revision`` is the widening's.
    """
    return Write(
        "space_access_widen_confirm",
        {"widening_id": widening_id, "decision_receipt_ref": decision_receipt_ref},
        "access_changes.SpaceAccessWidening",
        project_id=project_id(project),
        **options,
    )


def space_access_widen_cancel(
    project: AnyProject, widening_id: str, **options: Unpack[WriteOptions]
) -> Write[SpaceAccessWidening]:
    """Drop a prepared widening. ``expected_revision`` is the widening's."""
    return Write(
        "space_access_widen_cancel",
        {"widening_id": widening_id},
        "access_changes.SpaceAccessWidening",
        project_id=project_id(project),
        **options,
    )


# --- methods ----------------------------------------------------------------------------------------------
class AccessChangesMethods:
    """The methods of the clients."""

    project_access_policy_change_prepare = write(project_access_policy_change_prepare)
    project_access_policy_change_show = read(project_access_policy_change_show)
    project_access_policy_change_list = read(project_access_policy_change_list)
    project_access_policy_changes = items(project_access_policy_change_list)
    project_access_policy_change_confirm = write(project_access_policy_change_confirm)
    project_access_policy_change_cancel = write(project_access_policy_change_cancel)
    space_access_widen_prepare = write(space_access_widen_prepare)
    space_access_widen_show = read(space_access_widen_show)
    space_access_widen_list = read(space_access_widen_list)
    space_access_widenings = items(space_access_widen_list)
    space_access_widen_confirm = write(space_access_widen_confirm)
    space_access_widen_cancel = write(space_access_widen_cancel)
