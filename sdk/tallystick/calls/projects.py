"""The realm, its projects, and prepared changes of a project's access policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from tallystick.calls.values import AnyProject, ReadOptions, WriteOptions, page_arguments, project_id
from tallystick.core import Read, Write
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol.families.access_changes import (
        ProjectAccessPolicyChange,
        ProjectAccessPolicyChangePage,
    )
    from tallystick.protocol.families.projects import Project, ProjectPage, Realm


def realm_show(**options: Unpack[ReadOptions]) -> Read[Realm]:
    """The one realm of an installation."""
    return Read("realm_show", {}, "projects.Realm", **options)


def project_create(
    name: str,
    *,
    default_classification_ref: str | None = None,
    policy_set_ref: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[Project]:
    """A new project; its name has 1 to 256 characters."""
    arguments = {
        "name": name,
        "default_classification_ref": default_classification_ref,
        "policy_set_ref": policy_set_ref,
    }
    return Write("project_create", arguments, "projects.Project", **options)


def project_show(project: AnyProject, **options: Unpack[ReadOptions]) -> Read[Project]:
    """A project as it stands now."""
    return Read("project_show", {}, "projects.Project", project_id=project_id(project), **options)


def project_list(
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[ProjectPage]:
    """A page of projects; a following page takes the page's ``next`` as ``after``, and its ``snapshot``."""
    return Read("project_list", page_arguments(limit, after, snapshot), "projects.ProjectPage", **options)


def project_update_metadata(
    project: AnyProject, name: str, **options: Unpack[WriteOptions]
) -> Write[Project]:
    """Another name for a project, of 1 to 256 characters."""
    return Write(
        "project_update_metadata",
        {"name": name},
        "projects.Project",
        project_id=project_id(project),
        **options,
    )


# --- prepared changes -------------------------------------------------------------------------------------
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
