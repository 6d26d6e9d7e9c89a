"""Deployments: an assistant's revision with its configuration, which can be asked.

They stand in the realm; ``project`` names the project in whose name they are asked for, where it is not the
realm's. Deploying is for the owner (``Forbidden`` to others).
"""

from __future__ import annotations

from collections.abc import Mapping
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
    from tallystick.protocol.families.deployments import AssistantDeployment, AssistantDeploymentPage
    from tallystick.protocol.ijson import JsonValue


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


# --- methods ----------------------------------------------------------------------------------------------
class DeploymentsMethods:
    """The methods of the clients."""

    deployment_create = write(deployment_create)
    deployment_show = read(deployment_show)
    deployment_list = read(deployment_list)
    deployments = items(deployment_list)
    deployment_activate = write(deployment_activate)
    deployment_drain = write(deployment_drain)
