"""What an assistant is given to read: branches, frontiers pinned on them, and context assemblies.

The lists and ``branch_show`` are ours; the lists say how many things are withheld (``Withheld``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Unpack

from tallystick.calls.attempts import as_worker
from tallystick.calls.descriptors import items, read, write
from tallystick.calls.values import (
    DEPLOYMENT,
    AnyProject,
    AnySpace,
    Named,
    ReadOptions,
    WriteOptions,
    identifiers,
    page_arguments,
    project_id,
)
from tallystick.core import Read, Write
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol.families.context import (
        Assembly,
        AssemblySummaryPage,
        Branch,
        Frontier,
        FrontierPage,
    )

EXPLICIT_REFS: Final = "explicit_refs_v1"
"""The one selection policy: an assembly holds what it was told to hold."""


def branch_show(project: AnyProject, branch_id: str, **options: Unpack[ReadOptions]) -> Read[Branch]:
    """A branch's head and last sequence: what ``expected_head_digest`` is compared with."""
    arguments = {"branch_id": branch_id}
    return Read(
        "tallystick_branch_show", arguments, "context.Branch", project_id=project_id(project), **options
    )


def frontier_pin(
    space: AnySpace, *, branch_id: str | None = None, **options: Unpack[WriteOptions]
) -> Write[Frontier]:
    """The branch as it stands now, kept under a name."""
    arguments = {"space_id": space.space_id, "branch_id": branch_id or space.main_branch_id}
    return Write("frontier_pin", arguments, "context.Frontier", project_id=space.project_id, **options)


def frontier_show(project: AnyProject, frontier_id: str, **options: Unpack[ReadOptions]) -> Read[Frontier]:
    """A frontier as it was pinned."""
    arguments = {"frontier_id": frontier_id}
    return Read("frontier_show", arguments, "context.Frontier", project_id=project_id(project), **options)


def frontier_list(
    space: AnySpace,
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[FrontierPage]:
    """A page of a space's frontiers, those that assemblies pinned among them."""
    arguments = {"space_id": space.space_id, **page_arguments(limit, after, snapshot)}
    return Read(
        "tallystick_frontier_list", arguments, "context.FrontierPage", project_id=space.project_id, **options
    )


def context_assembly_create(
    space: AnySpace,
    purpose: str,
    *,
    required_refs: Sequence[Named] = (),
    trigger_refs: Sequence[Named] = (),
    audience_ref: str = DEPLOYMENT,
    branch_id: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[Assembly]:
    """Exactly what an invocation will be given to read: the required objects, none more and none less.

    ``purpose`` is a label of at most 4,096 characters, and is never erased.
    """
    arguments = {
        "space_id": space.space_id,
        "branch_id": branch_id or space.main_branch_id,
        "audience_ref": audience_ref,
        "purpose": purpose,
        "selection_policy_ref": EXPLICIT_REFS,
        "required_refs": identifiers(required_refs),
        "trigger_refs": identifiers(trigger_refs),
    }
    return Write(
        "context_assembly_create", arguments, "context.Assembly", project_id=space.project_id, **options
    )


def context_assembly_show(
    project: AnyProject, assembly_id: str, **options: Unpack[ReadOptions]
) -> Read[Assembly]:
    """An assembly as it was made; ``Unavailable`` where one of its items is no longer what it was."""
    arguments = {"assembly_id": assembly_id}
    return Read(
        "context_assembly_show", arguments, "context.Assembly", project_id=project_id(project), **options
    )


def assembly_list(
    space: AnySpace,
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[AssemblySummaryPage]:
    """A page of a space's context assemblies without their items, which ``context_assembly_show`` gives."""
    arguments = {"space_id": space.space_id, **page_arguments(limit, after, snapshot)}
    return Read(
        "tallystick_assembly_list",
        arguments,
        "context.AssemblySummaryPage",
        project_id=space.project_id,
        **options,
    )


# --- methods ----------------------------------------------------------------------------------------------
class ContextMethods:
    """The methods of the clients."""

    branch_show = read(branch_show)
    frontier_pin = write(frontier_pin)
    frontier_show = read(frontier_show)
    frontier_list = read(frontier_list)
    frontiers = items(frontier_list)
    context_assembly_create = write(context_assembly_create)
    context_assembly_show = read(context_assembly_show)
    assembly_list = read(assembly_list)
    assemblies = items(assembly_list)


class ContextWorkerMethods:
    """The methods of the workers' clients."""

    context_assembly_create = write(as_worker(context_assembly_create))
