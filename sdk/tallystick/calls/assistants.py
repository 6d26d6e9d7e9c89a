"""Assistants that are registered: what they are, how they are deployed, what projects call them.

An assistant, its revisions and its deployments stand in the realm; ``project`` names the project in whose
name they are asked for, where it is not the realm's. Defining, registering, deploying and naming are for the
owner (``Forbidden`` to others).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

from tallystick.calls.values import (
    AnyProject,
    ReadOptions,
    WriteOptions,
    optional_project,
    page_arguments,
    project_id,
)
from tallystick.core import Read, Write
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol.families.aliases import AssistantAlias, AssistantAliasPage
    from tallystick.protocol.families.assistants import (
        AssistantDefinition,
        AssistantDefinitionPage,
        AssistantRevision,
        AssistantRevisionPage,
        Manifest,
    )
    from tallystick.protocol.families.deployments import AssistantDeployment, AssistantDeploymentPage
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


# --- deployments ------------------------------------------------------------------------------------------
def deployment_create(
    assistant_revision_id: str,
    *,
    config_ref: str,
    config_digest: str,
    secret_binding_set_ref: str,
    secret_binding_set_digest: str,
    policy_ref: str,
    pool_ref: str,
    security_profile: str,
    concurrency_policy: str,
    rollout_policy: Mapping[str, JsonValue],
    project: AnyProject | None = None,
    **options: Unpack[WriteOptions],
) -> Write[AssistantDeployment]:
    """Configure a revision to be asked; ``deployment_activate`` lets it be.

    ``security_profile`` is ``developer``, ``confined`` or ``secure``; ``concurrency_policy`` is
    ``serial-branch``, ``parallel-independent`` or ``causal-keyed``; ``rollout_policy`` is free in form.
    Secrets are named by reference and digest, never given.
    """
    arguments = {
        "assistant_revision_id": assistant_revision_id,
        "config_ref": config_ref,
        "config_digest": config_digest,
        "secret_binding_set_ref": secret_binding_set_ref,
        "secret_binding_set_digest": secret_binding_set_digest,
        "policy_ref": policy_ref,
        "pool_ref": pool_ref,
        "security_profile": security_profile,
        "concurrency_policy": concurrency_policy,
        "rollout_policy": rollout_policy,
    }
    place = optional_project(project)
    return Write(
        "deployment_create", arguments, "deployments.AssistantDeployment", project_id=place, **options
    )


def deployment_show(
    assistant_deployment_id: str, *, project: AnyProject | None = None, **options: Unpack[ReadOptions]
) -> Read[AssistantDeployment]:
    """A deployment as it stands now."""
    arguments = {"assistant_deployment_id": assistant_deployment_id}
    place = optional_project(project)
    return Read("deployment_show", arguments, "deployments.AssistantDeployment", project_id=place, **options)


def deployment_list(
    *,
    assistant_revision_id: str | None = None,
    project: AnyProject | None = None,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[AssistantDeploymentPage]:
    """A page of the realm's deployments, all or those of one revision, in order of creation."""
    arguments = {
        "assistant_revision_id": assistant_revision_id,
        **page_arguments(limit, after, snapshot),
    }
    place = optional_project(project)
    return Read(
        "deployment_list", arguments, "deployments.AssistantDeploymentPage", project_id=place, **options
    )


def deployment_activate(
    assistant_deployment_id: str, *, project: AnyProject | None = None, **options: Unpack[WriteOptions]
) -> Write[AssistantDeployment]:
    """Let a deployment be asked. ``expected_revision`` is the deployment's."""
    arguments = {"assistant_deployment_id": assistant_deployment_id}
    place = optional_project(project)
    return Write(
        "deployment_activate", arguments, "deployments.AssistantDeployment", project_id=place, **options
    )


def deployment_drain(
    assistant_deployment_id: str, *, project: AnyProject | None = None, **options: Unpack[WriteOptions]
) -> Write[AssistantDeployment]:
    """Let a deployment finish what it was asked, and be asked no more. ``expected_revision`` is its own."""
    arguments = {"assistant_deployment_id": assistant_deployment_id}
    place = optional_project(project)
    return Write(
        "deployment_drain", arguments, "deployments.AssistantDeployment", project_id=place, **options
    )


# --- aliases ----------------------------------------------------------------------------------------------
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
