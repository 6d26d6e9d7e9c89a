"""Spaces, what becomes of them, and prepared widenings of who may see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

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
    from tallystick.protocol.families.access_changes import SpaceAccessWidening, SpaceAccessWideningPage
    from tallystick.protocol.families.projects import Space, SpacePage


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


# --- what becomes of a space ------------------------------------------------------------------------------
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


# --- prepared widenings -----------------------------------------------------------------------------------
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
