"""Tasks: saying what is to be done, taking it, and ending it with a receipt.

What a holder does takes its claim first. ``HeldTask`` (``tallystick.holding``) is a claim that renews itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, Unpack

from tallystick.calls.attempts import as_worker
from tallystick.calls.descriptors import items, read, write
from tallystick.calls.values import (
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
    from tallystick.protocol.families.tasks import (
        Task,
        TaskClaim,
        TaskDone,
        TaskPage,
        TasksReady,
        TaskTerm,
    )

# In quotes, since the records are not imported before they are needed.
AnyTask: TypeAlias = "Task | str"
AnyClaim: TypeAlias = "TaskClaim | ClaimRef"


class ClaimRef(NamedTuple):
    """A claim by what a holder shows: for whoever kept that, and not the claim's record."""

    project_id: str
    task_id: str
    claim_id: str

    def __repr__(self) -> str:
        """Without the claim's id, which is a secret."""
        return f"ClaimRef({self.task_id})"


def claim_ref(claim: AnyClaim) -> ClaimRef:
    """What a holder shows. Raises ValueError for a claim of nothing, which is what a wait in vain gives."""
    if isinstance(claim, ClaimRef):
        return claim
    if claim.task is None or claim.claim_id is None:
        raise ValueError("there was no task to be claimed; look at `claim.task` first")
    return ClaimRef(claim.task.project_id, claim.task.task_id, claim.claim_id)


def _id(task: AnyTask) -> str:
    return task if isinstance(task, str) else task.task_id


def _ids(tasks: Sequence[AnyTask] | None) -> list[str] | None:
    return None if tasks is None else [_id(each) for each in tasks]


def _list(items: Sequence[str] | None) -> list[str] | None:
    return None if items is None else list(items)


def _refs(source_refs: Sequence[Named] | None, artifact_refs: Sequence[str] | None) -> dict[str, object]:
    """What something that is said rests on."""
    return {
        "source_refs": None if source_refs is None else identifiers(source_refs),
        "artifact_refs": _list(artifact_refs),
    }


# --- what is to be done -------------------------------------------------------------------------------------
def task_create(
    space: AnySpace,
    title: str,
    *,
    brief: str | None = None,
    priority: int | None = None,
    needs: Sequence[AnyTask] | None = None,
    labels: Sequence[str] | None = None,
    assignee: str | None = None,
    repository: str | None = None,
    paths: Sequence[str] | None = None,
    reserve: bool | None = None,
    attempts_max: int | None = None,
    source_refs: Sequence[Named] | None = None,
    artifact_refs: Sequence[str] | None = None,
    classification_ref: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[Task]:
    """Say what is to be done. It is blocked while a task that it ``needs`` is not done.

    ``priority`` goes from 0, which is first, to 4 (2). With an ``assignee`` only that actor may claim it;
    with ``reserve`` a claim takes its ``paths``. After ``attempts_max`` failures (3) it is failed.
    """
    arguments = {
        "space_id": space.space_id,
        "title": title,
        "brief": brief,
        "priority": priority,
        "needs": _ids(needs),
        "labels": _list(labels),
        "assignee": assignee,
        "repository": repository,
        "paths": _list(paths),
        "reserve": reserve,
        "attempts_max": attempts_max,
        **_refs(source_refs, artifact_refs),
        "classification_ref": classification_ref,
    }
    return Write("tallystick_task_create", arguments, "tasks.Task", project_id=space.project_id, **options)


def task_update(
    project: AnyProject,
    task: AnyTask,
    *,
    priority: int | None = None,
    assignee: str | None = None,
    labels: Sequence[str] | None = None,
    add_needs: Sequence[AnyTask] | None = None,
    drop_needs: Sequence[AnyTask] | None = None,
    **options: Unpack[WriteOptions],
) -> Write[Task]:
    """Change a task, for its creator and for stewards; an ``assignee`` of "" is nobody."""
    arguments = {
        "task_id": _id(task),
        "priority": priority,
        "assignee": assignee,
        "labels": _list(labels),
        "add_needs": _ids(add_needs),
        "drop_needs": _ids(drop_needs),
    }
    return _of_task("update", project, arguments, options)


def task_cancel(
    project: AnyProject, task: AnyTask, reason_class: str, **options: Unpack[WriteOptions]
) -> Write[Task]:
    """Say that a task is not to be done; whoever holds it loses it, and what needs it stays blocked."""
    return _of_task("cancel", project, {"task_id": _id(task), "reason_class": reason_class}, options)


def task_reopen(
    project: AnyProject, task: AnyTask, reason_class: str, **options: Unpack[WriteOptions]
) -> Write[Task]:
    """Put a failed or canceled task back, with all its attempts before it."""
    return _of_task("reopen", project, {"task_id": _id(task), "reason_class": reason_class}, options)


def task_free(
    project: AnyProject, task: AnyTask, reason_class: str, **options: Unpack[WriteOptions]
) -> Write[Task]:
    """Take a task from its holder at once; for stewards."""
    return _of_task("free", project, {"task_id": _id(task), "reason_class": reason_class}, options)


def task_note(
    project: AnyProject,
    task: AnyTask,
    text: str,
    *,
    source_refs: Sequence[Named] | None = None,
    artifact_refs: Sequence[str] | None = None,
    **options: Unpack[WriteOptions],
) -> Write[Task]:
    """Say what is to be known about a task: whoever takes it over reads it."""
    arguments = {"task_id": _id(task), "text": text, **_refs(source_refs, artifact_refs)}
    return _of_task("note", project, arguments, options)


def _of_task(
    verb: str, project: AnyProject, arguments: Mapping[str, object], options: WriteOptions
) -> Write[Task]:
    return Write(
        f"tallystick_task_{verb}", arguments, "tasks.Task", project_id=project_id(project), **options
    )


# --- taking it ----------------------------------------------------------------------------------------------
def task_claim(
    project: AnyProject,
    task: AnyTask,
    *,
    term_seconds: int | None = None,
    label: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[TaskClaim]:
    """Take a task, under a lease of ``term_seconds`` (10 to 86,400; 900).

    ``StaleLease``, with the holder in its ``ext``, while anybody's lease lives. One whose lease ran out is
    taken over: ``taken_over`` says from whom, and what was noted.
    """
    arguments = {"task_id": _id(task), "term_seconds": term_seconds, "label": label}
    return Write(
        "tallystick_task_claim", arguments, "tasks.TaskClaim", project_id=project_id(project), **options
    )


def task_next(
    project: AnyProject,
    *,
    space_id: str | None = None,
    wait_ms: int = 0,
    term_seconds: int | None = None,
    label: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[TaskClaim]:
    """Take the first task that can be taken; waits for one up to ``wait_ms``.

    Where none came, the value's ``task`` is None: then nothing was written, and the same key asks anew.
    """
    arguments = {"space_id": space_id, "wait_ms": wait_ms, "term_seconds": term_seconds, "label": label}
    return Write(
        "tallystick_task_next",
        arguments,
        "tasks.TaskClaim",
        project_id=project_id(project),
        wait_seconds=wait_ms / 1000,
        **options,
    )


# --- holding it ---------------------------------------------------------------------------------------------
def task_renew(claim: AnyClaim, **options: Unpack[ReadOptions]) -> Read[TaskTerm]:
    """The lease begins its term anew, as it does with each command of the holder."""
    ref = claim_ref(claim)
    return Read("tallystick_task_renew", _shown(ref), "tasks.TaskTerm", project_id=ref.project_id, **options)


def task_done(
    claim: AnyClaim,
    receipt: str,
    *,
    source_refs: Sequence[Named] | None = None,
    artifact_refs: Sequence[str] | None = None,
    **options: Unpack[WriteOptions],
) -> Write[TaskDone]:
    """The task is done; ``receipt`` says what was done, the references show it."""
    ref = claim_ref(claim)
    arguments = {**_shown(ref), "receipt": receipt, **_refs(source_refs, artifact_refs)}
    return Write("tallystick_task_done", arguments, "tasks.TaskDone", project_id=ref.project_id, **options)


def task_fail(
    claim: AnyClaim,
    text: str,
    *,
    retryable: bool,
    source_refs: Sequence[Named] | None = None,
    artifact_refs: Sequence[str] | None = None,
    **options: Unpack[WriteOptions],
) -> Write[Task]:
    """This attempt failed; a retryable failure makes the task ready again while attempts remain."""
    ref = claim_ref(claim)
    arguments = {
        **_shown(ref), "text": text, "retryable": retryable, **_refs(source_refs, artifact_refs)
    }  # fmt: skip
    return Write("tallystick_task_fail", arguments, "tasks.Task", project_id=ref.project_id, **options)


def task_release(
    claim: AnyClaim,
    note: str | None = None,
    *,
    source_refs: Sequence[Named] | None = None,
    artifact_refs: Sequence[str] | None = None,
    **options: Unpack[WriteOptions],
) -> Write[Task]:
    """Give the task back; it counts no attempt. ``note`` is for whoever takes it next."""
    ref = claim_ref(claim)
    arguments = {**_shown(ref), "note": note, **_refs(source_refs, artifact_refs)}
    return Write("tallystick_task_release", arguments, "tasks.Task", project_id=ref.project_id, **options)


def _shown(ref: ClaimRef) -> dict[str, object]:
    return {"task_id": ref.task_id, "claim_id": ref.claim_id}


# --- reading ------------------------------------------------------------------------------------------------
def task_show(project: AnyProject, task: AnyTask, **options: Unpack[ReadOptions]) -> Read[Task]:
    """One task, who holds it, and what it waits for."""
    return Read(
        "tallystick_task_show",
        {"task_id": _id(task)},
        "tasks.Task",
        project_id=project_id(project),
        **options,
    )


def task_list(
    project: AnyProject,
    *,
    space_id: str | None = None,
    state: str | None = None,
    assignee: str | None = None,
    actor: str | None = None,
    label: str | None = None,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[TaskPage]:
    """A page of a project's tasks; ``actor`` is who holds them."""
    arguments = {
        "space_id": space_id,
        "state": state,
        "assignee": assignee,
        "actor": actor,
        "label": label,
        **page_arguments(limit, after, snapshot),
    }
    return Read(
        "tallystick_task_list", arguments, "tasks.TaskPage", project_id=project_id(project), **options
    )


def task_ready(
    project: AnyProject,
    *,
    space_id: str | None = None,
    limit: int = limits.TASKS_READY_MAX,
    **options: Unpack[ReadOptions],
) -> Read[TasksReady]:
    """What could be claimed now, first what ``task_next`` would take."""
    arguments = {"space_id": space_id, "limit": limit}
    return Read(
        "tallystick_task_ready", arguments, "tasks.TasksReady", project_id=project_id(project), **options
    )


# --- methods ----------------------------------------------------------------------------------------------
class TasksMethods:
    """The methods of the clients."""

    task_create = write(task_create)
    task_update = write(task_update)
    task_cancel = write(task_cancel)
    task_reopen = write(task_reopen)
    task_free = write(task_free)
    task_note = write(task_note)
    task_claim = write(task_claim)
    task_next = write(task_next)
    task_renew = read(task_renew)
    task_done = write(task_done)
    task_fail = write(task_fail)
    task_release = write(task_release)
    task_show = read(task_show)
    task_list = read(task_list)
    task_ready = read(task_ready)
    tasks = items(task_list)


class TasksWorkerMethods:
    """The methods of the workers' clients."""

    task_create = write(as_worker(task_create))
