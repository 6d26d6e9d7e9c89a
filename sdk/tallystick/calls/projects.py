"""The realm, its projects, and prepared changes of a project's access policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from tallystick.calls.values import Project, ReadOptions, WriteOptions, page_arguments, project_id
from tallystick.core import Read, Write
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol import records


def realm_show(**options: Unpack[ReadOptions]) -> Read[records.Realm]:
    """The one realm of an installation."""
    return Read("realm_show", {}, "Realm", **options)


def project_create(
    name: str,
    *,
    default_classification_ref: str | None = None,
    policy_set_ref: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[records.Project]:
    """A new project; its name has 1 to 256 characters."""
    arguments = {
        "name": name,
        "default_classification_ref": default_classification_ref,
        "policy_set_ref": policy_set_ref,
    }
    return Write("project_create", arguments, "Project", **options)


def project_show(project: Project, **options: Unpack[ReadOptions]) -> Read[records.Project]:
    """A project as it stands now."""
    return Read("project_show", {}, "Project", project_id=project_id(project), **options)


def project_list(
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[records.ProjectPage]:
    """A page of projects; a following page takes the page's ``next`` as ``after``, and its ``snapshot``."""
    return Read("project_list", page_arguments(limit, after, snapshot), "ProjectPage", **options)


def project_update_metadata(
    project: Project, name: str, **options: Unpack[WriteOptions]
) -> Write[records.Project]:
    """Another name for a project, of 1 to 256 characters."""
    return Write(
        "project_update_metadata", {"name": name}, "Project", project_id=project_id(project), **options
    )


# --- prepared changes -------------------------------------------------------------------------------------
def project_access_policy_change_prepare(
    project: Project,
    *,
    proposed_policy_set_ref: str | None = None,
    proposed_default_classification_ref: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[records.ProjectAccessPolicyChange]:
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
        "ProjectAccessPolicyChange",
        project_id=project_id(project),
        **options,
    )


def project_access_policy_change_show(
    project: Project, change_id: str, **options: Unpack[ReadOptions]
) -> Read[records.ProjectAccessPolicyChange]:
    """A prepared change as it stands now."""
    return Read(
        "project_access_policy_change_show",
        {"change_id": change_id},
        "ProjectAccessPolicyChange",
        project_id=project_id(project),
        **options,
    )


def project_access_policy_change_list(
    project: Project,
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[records.ProjectAccessPolicyChangePage]:
    """A page of a project's prepared changes, in whatever state."""
    return Read(
        "project_access_policy_change_list",
        page_arguments(limit, after, snapshot),
        "ProjectAccessPolicyChangePage",
        project_id=project_id(project),
        **options,
    )


def project_access_policy_change_confirm(
    project: Project, change_id: str, decision_receipt_ref: str, **options: Unpack[WriteOptions]
) -> Write[records.ProjectAccessPolicyChange]:
    """Put a prepared change into force, by the decision that the receipt names.

    ``StaleRevision`` where it has ended, and where the project or a contribution in it has moved since: it
    is ``stale`` then, and has to be prepared anew. ``expected_revision`` is the change's.
    """
    return Write(
        "project_access_policy_change_confirm",
        {"change_id": change_id, "decision_receipt_ref": decision_receipt_ref},
        "ProjectAccessPolicyChange",
        project_id=project_id(project),
        **options,
    )


def project_access_policy_change_cancel(
    project: Project, change_id: str, **options: Unpack[WriteOptions]
) -> Write[records.ProjectAccessPolicyChange]:
    """Drop a prepared change. ``expected_revision`` is the change's."""
    return Write(
        "project_access_policy_change_cancel",
        {"change_id": change_id},
        "ProjectAccessPolicyChange",
        project_id=project_id(project),
        **options,
    )
