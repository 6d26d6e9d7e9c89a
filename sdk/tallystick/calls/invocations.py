"""Invocations of assistants, as whoever asks for one sees them; ``workers`` has what runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from tallystick.calls.attempts import as_worker
from tallystick.calls.descriptors import items, read, write
from tallystick.calls.values import (
    DEPLOYMENT,
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
    from tallystick.protocol.families.context import Assembly
    from tallystick.protocol.families.invocations import Invocation, InvocationPage


def invocation_create(
    project: AnyProject,
    *,
    deadline: str,
    deployment_id: str = DEPLOYMENT,
    deployment_revision: int = 1,
    space: AnySpace | None = None,
    branch_id: str | None = None,
    assembly: Assembly | None = None,
    priority: int | None = None,
    not_before: str | None = None,
    max_attempts: int | None = None,
    budget_reservation_set_ref: str | None = None,
    disclosure_rules_digest: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[Invocation]:
    """Ask a deployment of an assistant to run. ``deadline`` and ``not_before`` are RFC 3339 timestamps."""
    if branch_id is None and space is not None:
        branch_id = space.main_branch_id
    arguments = {
        "assistant_deployment_id": deployment_id,
        "assistant_deployment_revision": deployment_revision,
        "space_id": None if space is None else space.space_id,
        "branch_id": branch_id,
        "context_assembly_ref": None if assembly is None else assembly.assembly_id,
        "context_assembly_digest": None if assembly is None else assembly.digest,
        "budget_reservation_set_ref": budget_reservation_set_ref,
        "disclosure_rules_digest": disclosure_rules_digest,
        "priority": priority,
        "not_before": not_before,
        "max_attempts": max_attempts,
        "deadline": deadline,
    }
    return Write(
        "invocation_create", arguments, "invocations.Invocation", project_id=project_id(project), **options
    )


def invocation_show(
    project: AnyProject, invocation_id: str, **options: Unpack[ReadOptions]
) -> Read[Invocation]:
    """An invocation as it stands now."""
    arguments = {"invocation_id": invocation_id}
    return Read(
        "invocation_show", arguments, "invocations.Invocation", project_id=project_id(project), **options
    )


def invocation_list(
    project: AnyProject,
    *,
    deployment_id: str | None = None,
    space_id: str | None = None,
    state: str | None = None,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[InvocationPage]:
    """A page of a project's invocations."""
    arguments = {
        "assistant_deployment_id": deployment_id,
        "space_id": space_id,
        "state": state,
        **page_arguments(limit, after, snapshot),
    }
    return Read(
        "invocation_list", arguments, "invocations.InvocationPage", project_id=project_id(project), **options
    )


def invocation_cancel(
    project: AnyProject,
    invocation_id: str,
    *,
    cancellation_scope: str | None = None,
    reason: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[Invocation]:
    """End an invocation that has not ended; its worker's next command finds its lease stale."""
    arguments = {
        "invocation_id": invocation_id,
        "cancellation_scope": cancellation_scope,
        "reason": reason,
    }
    return Write(
        "invocation_cancel", arguments, "invocations.Invocation", project_id=project_id(project), **options
    )


# --- methods ----------------------------------------------------------------------------------------------
class InvocationsMethods:
    """The methods of the clients."""

    invocation_create = write(invocation_create)
    invocation_show = read(invocation_show)
    invocation_list = read(invocation_list)
    invocations = items(invocation_list)
    invocation_cancel = write(invocation_cancel)


class InvocationsWorkerMethods:
    """The methods of the workers' clients."""

    invocation_cancel = write(as_worker(invocation_cancel))
