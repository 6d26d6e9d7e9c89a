"""Assistants that are registered, and their revisions.

They stand in the realm; ``project`` names the project in whose name they are asked for, where it is not the
realm's. Defining and registering are for the owner (``Forbidden`` to others).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

from tallystick.calls.descriptors import items, read, write
from tallystick.calls.values import (
    AnyProject,
    ReadOptions,
    WriteOptions,
    optional_project,
    page_arguments,
)
from tallystick.core import Read, Write
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol.families.assistants import (
        AssistantDefinition,
        AssistantDefinitionPage,
        AssistantRevision,
        AssistantRevisionPage,
        Manifest,
    )
    from tallystick.protocol.ijson import JsonValue


def assistant_create(
    name: str, description: str = "", *, project: AnyProject | None = None, **options: Unpack[WriteOptions]
) -> Write[AssistantDefinition]:
    """Define an assistant; its name has 1 to 256 characters, its description at most 4,096."""
    return Write(
        "assistant_create",
        {"name": name, "description": description},
        "assistants.AssistantDefinition",
        project_id=optional_project(project),
        **options,
    )


def assistant_show(
    definition_id: str, *, project: AnyProject | None = None, **options: Unpack[ReadOptions]
) -> Read[AssistantDefinition]:
    """An assistant, whatever its revision."""
    arguments = {"definition_id": definition_id}
    place = optional_project(project)
    return Read("assistant_show", arguments, "assistants.AssistantDefinition", project_id=place, **options)


def assistant_list(
    *,
    project: AnyProject | None = None,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[AssistantDefinitionPage]:
    """A page of the realm's assistants, in order of creation."""
    arguments = page_arguments(limit, after, snapshot)
    place = optional_project(project)
    return Read(
        "assistant_list", arguments, "assistants.AssistantDefinitionPage", project_id=place, **options
    )


def assistant_revision_register(
    definition_id: str,
    version: str,
    manifest: Manifest | Mapping[str, JsonValue],
    *,
    package_artifact_ref: str,
    package_digest: str,
    config_schema_digest: str,
    sdk_protocol_range: str,
    signature_refs: Sequence[str] | None = None,
    project: AnyProject | None = None,
    **options: Unpack[WriteOptions],
) -> Write[AssistantRevision]:
    """Register a revision of an assistant, which never changes afterwards.

    The manifest says the same assistant, version and package digest as the arguments do (``Invalid``
    otherwise, and where the version is registered already). Digests are SHA-256 in 64 hex digits.
    """
    arguments = {
        "definition_id": definition_id,
        "version": version,
        "manifest": manifest,
        "package_artifact_ref": package_artifact_ref,
        "package_digest": package_digest,
        "config_schema_digest": config_schema_digest,
        "sdk_protocol_range": sdk_protocol_range,
        "signature_refs": None if signature_refs is None else list(signature_refs),
    }
    place = optional_project(project)
    return Write(
        "assistant_revision_register", arguments, "assistants.AssistantRevision", project_id=place, **options
    )


def assistant_revision_show(
    assistant_revision_id: str, *, project: AnyProject | None = None, **options: Unpack[ReadOptions]
) -> Read[AssistantRevision]:
    """One revision of an assistant, with its manifest."""
    arguments = {"assistant_revision_id": assistant_revision_id}
    place = optional_project(project)
    return Read(
        "assistant_revision_show", arguments, "assistants.AssistantRevision", project_id=place, **options
    )


def assistant_revision_list(
    *,
    definition_id: str | None = None,
    project: AnyProject | None = None,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[AssistantRevisionPage]:
    """A page of revisions, all or those of one assistant, in order of creation."""
    arguments = {"definition_id": definition_id, **page_arguments(limit, after, snapshot)}
    place = optional_project(project)
    return Read(
        "assistant_revision_list", arguments, "assistants.AssistantRevisionPage", project_id=place, **options
    )


# --- methods ----------------------------------------------------------------------------------------------
class AssistantsMethods:
    """The methods of the clients."""

    assistant_create = write(assistant_create)
    assistant_show = read(assistant_show)
    assistant_list = read(assistant_list)
    assistants = items(assistant_list)
    assistant_revision_register = write(assistant_revision_register)
    assistant_revision_show = read(assistant_revision_show)
    assistant_revision_list = read(assistant_revision_list)
    assistant_revisions = items(assistant_revision_list)
