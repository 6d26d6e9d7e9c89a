"""The realm, its projects, and the spaces in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from tallystick.calls.descriptors import Conversation, conversation, items, read, write
from tallystick.calls.values import (
    AnyProject,
    AnySpace,
    Named,
    ReadOptions,
    WriteOptions,
    identifier,
    page_arguments,
    project_id,
)
from tallystick.core import Read, Write
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol.families.projects import Project, ProjectPage, Realm, Space, SpacePage


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


# --- spaces ---------------------------------------------------------------------------------------------
def space_create(
    project: AnyProject,
    title: str,
    *,
    visibility: str = "project",
    purpose_contribution_ref: str | None = None,
    default_classification_ref: str | None = None,
    policy_set_ref: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[Space]:
    """A new space with its main branch; visibility is ``project`` or ``restricted``."""
    arguments = {
        "title": title,
        "visibility": visibility,
        "purpose_contribution_ref": purpose_contribution_ref,
        "default_classification_ref": default_classification_ref,
        "policy_set_ref": policy_set_ref,
    }
    return Write("space_create", arguments, "projects.Space", project_id=project_id(project), **options)


def space_show(project: AnyProject, space_id: str, **options: Unpack[ReadOptions]) -> Read[Space]:
    """A space as it stands now."""
    return Read(
        "space_show", {"space_id": space_id}, "projects.Space", project_id=project_id(project), **options
    )


def space_list(
    project: AnyProject,
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[SpacePage]:
    """A page of a project's spaces; ``boundary_event_cursor`` is the project's head as it was then."""
    arguments = page_arguments(limit, after, snapshot)
    return Read("space_list", arguments, "projects.SpacePage", project_id=project_id(project), **options)


def space_update_metadata(
    space: AnySpace,
    *,
    title: str | None = None,
    purpose: Named | None = None,
    **options: Unpack[WriteOptions],
) -> Write[Space]:
    """Another title or purpose for a space; what is left out stays. A purpose is a contribution of the
    space.
    """
    arguments = {
        "space_id": space.space_id,
        "title": title,
        "purpose_contribution_ref": None if purpose is None else identifier(purpose),
    }
    return Write("space_update_metadata", arguments, "projects.Space", project_id=space.project_id, **options)


def space_freeze(space: AnySpace, **options: Unpack[WriteOptions]) -> Write[Space]:
    """Nothing further is written in an open space until it is reopened."""
    return _space_write("space_freeze", space, **options)


def space_reopen(space: AnySpace, **options: Unpack[WriteOptions]) -> Write[Space]:
    """A frozen space is written in again."""
    return _space_write("space_reopen", space, **options)


def space_archive(space: AnySpace, **options: Unpack[WriteOptions]) -> Write[Space]:
    """A space is closed for good; it stays readable."""
    return _space_write("space_archive", space, **options)


def space_restrict(space: AnySpace, **options: Unpack[WriteOptions]) -> Write[Space]:
    """A space is there for its participants alone, in whatever status; the way back is a widening."""
    return _space_write("space_restrict", space, **options)


def _space_write(operation: str, space: AnySpace, **options: Unpack[WriteOptions]) -> Write[Space]:
    arguments = {"space_id": space.space_id}
    return Write(operation, arguments, "projects.Space", project_id=space.project_id, **options)


def space_policy_narrow(
    space: AnySpace,
    *,
    policy_set_ref: str | None = None,
    default_classification_ref: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[Space]:
    """A narrower policy or default classification; what is left out stays.

    ``Forbidden`` where the owner's declared order says that it would be wider.
    """
    arguments = {
        "space_id": space.space_id,
        "policy_set_ref": policy_set_ref,
        "default_classification_ref": default_classification_ref,
    }
    return Write("space_policy_narrow", arguments, "projects.Space", project_id=space.project_id, **options)


def head_cursor(project: AnyProject) -> Conversation[str]:
    """The position after the last event that a project has now: where to follow what is to come."""
    page: SpacePage = yield space_list(project, limit=1)
    return page.boundary_event_cursor


# --- methods ----------------------------------------------------------------------------------------------
class ProjectsMethods:
    """The methods of the clients."""

    realm_show = read(realm_show)
    project_create = write(project_create)
    project_show = read(project_show)
    project_list = read(project_list)
    projects = items(project_list)
    project_update_metadata = write(project_update_metadata)
    space_create = write(space_create)
    space_show = read(space_show)
    space_list = read(space_list)
    spaces = items(space_list)
    space_update_metadata = write(space_update_metadata)
    space_freeze = write(space_freeze)
    space_reopen = write(space_reopen)
    space_archive = write(space_archive)
    space_restrict = write(space_restrict)
    space_policy_narrow = write(space_policy_narrow)
    head_cursor = conversation(head_cursor)
