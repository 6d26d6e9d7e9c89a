"""Aliases: the names by which a project calls the deployments of assistants. Naming is for the owner
(``Forbidden`` to others).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from tallystick.calls.descriptors import items, read, write
from tallystick.calls.values import AnyProject, ReadOptions, WriteOptions, page_arguments, project_id
from tallystick.core import Read, Write
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol.families.aliases import AssistantAlias, AssistantAliasPage


def assistant_alias_bind(
    project: AnyProject,
    display_alias: str,
    assistant_deployment_id: str,
    deployment_revision: int,
    **options: Unpack[WriteOptions],
) -> Write[AssistantAlias]:
    """Give a deployment, at one revision, a name in a project. Two names that differ in case or white space
    alone are the same name.
    """
    arguments = {
        "display_alias": display_alias,
        "assistant_deployment_id": assistant_deployment_id,
        "deployment_revision": deployment_revision,
    }
    return Write(
        "assistant_alias_bind", arguments, "aliases.AssistantAlias", project_id=project_id(project), **options
    )


def assistant_alias_show(
    project: AnyProject, alias_binding_id: str, **options: Unpack[ReadOptions]
) -> Read[AssistantAlias]:
    """An alias, and what it stands for now."""
    arguments = {"alias_binding_id": alias_binding_id}
    return Read(
        "assistant_alias_show", arguments, "aliases.AssistantAlias", project_id=project_id(project), **options
    )


def assistant_alias_list(
    project: AnyProject,
    *,
    assistant_deployment_id: str | None = None,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[AssistantAliasPage]:
    """A page of a project's aliases, all or those of one deployment, in order of creation."""
    arguments = {
        "assistant_deployment_id": assistant_deployment_id,
        **page_arguments(limit, after, snapshot),
    }
    return Read(
        "assistant_alias_list",
        arguments,
        "aliases.AssistantAliasPage",
        project_id=project_id(project),
        **options,
    )


def assistant_alias_update(
    project: AnyProject,
    alias_binding_id: str,
    assistant_deployment_id: str,
    deployment_revision: int,
    **options: Unpack[WriteOptions],
) -> Write[AssistantAlias]:
    """Let an alias stand for another deployment, or for another revision of the same. ``expected_revision``
    is the alias's.
    """
    arguments = {
        "alias_binding_id": alias_binding_id,
        "assistant_deployment_id": assistant_deployment_id,
        "deployment_revision": deployment_revision,
    }
    return Write(
        "assistant_alias_update",
        arguments,
        "aliases.AssistantAlias",
        project_id=project_id(project),
        **options,
    )


def assistant_alias_revoke(
    project: AnyProject, alias_binding_id: str, **options: Unpack[WriteOptions]
) -> Write[AssistantAlias]:
    """Take an alias away. ``expected_revision`` is the alias's."""
    arguments = {"alias_binding_id": alias_binding_id}
    return Write(
        "assistant_alias_revoke",
        arguments,
        "aliases.AssistantAlias",
        project_id=project_id(project),
        **options,
    )


# --- methods ----------------------------------------------------------------------------------------------
class AliasesMethods:
    """The methods of the clients."""

    assistant_alias_bind = write(assistant_alias_bind)
    assistant_alias_show = read(assistant_alias_show)
    assistant_alias_list = read(assistant_alias_list)
    assistant_aliases = items(assistant_alias_list)
    assistant_alias_update = write(assistant_alias_update)
    assistant_alias_revoke = write(assistant_alias_revoke)
