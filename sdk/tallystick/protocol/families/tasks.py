"""Tasks: what is to be done, what it needs first, and who holds it under a lease."""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from tallystick.protocol import limits
from tallystick.protocol.arguments import Args, Content, DualArgs, PageArgs
from tallystick.protocol.operation import (
    CONTENT_ROWS,
    FENCED,
    GUARDED_READS,
    GUARDED_WRITES,
    LISTS,
    STEP_ROW,
    TALLYSTICK_COORDINATION,
    Emission,
    Kind,
    Mode,
    RowEffect,
    Socket,
)
from tallystick.protocol.problems import Kind as ProblemKind
from tallystick.protocol.records import Page, Ranges, Record
from tallystick.protocol.shapes import (
    DisplayName,
    Identifier,
    IdentifierOrNone,
    Identifiers,
    Label,
    LeaseTermSeconds,
    LongText,
    PlacePath,
    PositiveInt,
    Repository,
    SafeInt,
    ShortText,
    StatusToken,
    Timestamp,
    WaitMs,
    refuse_repeats,
)

State = Literal["ready", "blocked", "claimed", "done", "failed", "canceled"]
Disposed = Literal["withdrawn", "superseded", "redacted"]
Priority = Annotated[int, Meta(ge=0, le=limits.TASK_PRIORITY_LAST)]
AttemptsMax = Annotated[int, Meta(ge=1, le=limits.TASK_ATTEMPTS_MAX)]
Needs = Annotated[tuple[Identifier, ...], Meta(max_length=limits.TASKS_NEEDED_MAX)]
Labels = Annotated[tuple[Label, ...], Meta(max_length=limits.TASK_LABELS_MAX)]
Paths = Annotated[tuple[PlacePath, ...], Meta(min_length=1, max_length=limits.PLACE_PATH_ITEMS_MAX)]
ReadyLimit = Annotated[int, Meta(ge=1, le=limits.TASKS_READY_MAX)]


# --- records ------------------------------------------------------------------------------------------------
class Blocker(Record, frozen=True, kw_only=True):
    """What a task waits for, and the state in which that is."""

    ref: Identifier
    state: StatusToken


class Claim(Record, frozen=True, kw_only=True):
    """Who holds a task. `remaining_seconds` is there while the lease lives; `silent_since`, the time at which
    the holder was last heard of, after it ran out.
    """

    claim_ref: Identifier
    actor: Identifier
    label: Label | UnsetType = UNSET
    fence: PositiveInt
    since: Timestamp
    remaining_seconds: SafeInt | UnsetType = UNSET
    silent_since: Timestamp | UnsetType = UNSET


class Task(Record, frozen=True, kw_only=True):
    """A task as it is now.

    `title` and `brief`, which may be empty, are content: erased, they read ``[erased]``, and `erased` is
    true. `needs`, `blocked_by` and `unlocks` (the tasks that need it, 256 at most) name what the reader sees;
    `hidden` counts what blocks it and is not seen. `notes` are its newest notes' contributions, oldest first,
    and `notes_more` counts older ones. `disposed` says what became of the contribution that says it.
    """

    task_id: Identifier
    contribution_ref: Identifier
    project_id: Identifier
    space_id: Identifier
    state: State
    revision: SafeInt
    title: str
    brief: str
    priority: Priority
    needs: tuple[Identifier, ...]
    labels: Labels
    assignee: Identifier | UnsetType = UNSET
    repository: Repository | UnsetType = UNSET
    paths: Paths | UnsetType = UNSET
    reserve: bool
    attempts_max: AttemptsMax
    failed_attempts: SafeInt
    lapses: SafeInt
    classification_ref: Identifier
    by: Identifier
    at: Timestamp
    erased: bool
    disposed: tuple[Disposed, ...] | UnsetType = UNSET
    blocked_by: tuple[Blocker, ...]
    hidden: SafeInt
    unlocks: tuple[Identifier, ...]
    claim: Claim | UnsetType = UNSET
    receipt_ref: Identifier | UnsetType = UNSET
    notes: tuple[Identifier, ...]
    notes_more: SafeInt


class Note(Record, frozen=True, kw_only=True):
    """A note of a task; without its text where many would not fit one reply."""

    contribution_ref: Identifier
    by: Identifier
    at: Timestamp
    text: str | UnsetType = UNSET


class TakenOver(Record, frozen=True, kw_only=True):
    """From whom a task was taken over, whose lease had run out, and the newest notes, oldest first."""

    actor: Identifier
    label: Label | UnsetType = UNSET
    since: Timestamp
    silent_since: Timestamp
    notes: Annotated[tuple[Note, ...], Meta(max_length=limits.TASK_NOTES_SHOWN_MAX)]


class TaskClaim(Record, frozen=True, kw_only=True):
    """The result of `tallystick_task_claim` and `tallystick_task_next`; after a wait in vain all is null.

    `claim_id` is a secret: whoever shows it speaks for the claim. `passed_over` counts the tasks that came
    first and whose paths somebody else has reserved.
    """

    task: Task | None
    claim_id: Identifier | None
    fence: PositiveInt | None
    term_seconds: SafeInt | None
    reservation_id: Identifier | None
    taken_over: TakenOver | None
    passed_over: SafeInt | None

    def __repr__(self) -> str:
        """Without the claim's id, which is a secret, and without content."""
        named = None if self.task is None else self.task.task_id
        return f"TaskClaim({named} fence={self.fence})"


class TaskTerm(Record, frozen=True, kw_only=True):
    """The result of `tallystick_task_renew`: the lease's term and what is left of it, in seconds."""

    term_seconds: SafeInt
    remaining_seconds: SafeInt


class TaskDone(Record, frozen=True, kw_only=True):
    """The result of `tallystick_task_done`: the task, and what it made ready, as far as its actor sees it."""

    task: Task
    unlocked: Annotated[tuple[Identifier, ...], Meta(max_length=limits.TASKS_UNLOCKED_SHOWN_MAX)]
    unlocked_count: SafeInt


class TaskPage(Page, frozen=True, kw_only=True):
    """The result of `tallystick_task_list`; `withheld` goes by the project's sequence."""

    items: Annotated[tuple[Task, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]
    withheld: Ranges


class TasksReady(Record, frozen=True, kw_only=True):
    """The result of `tallystick_task_ready`: what the actor could claim now, first what `next` would take."""

    items: Annotated[tuple[Task, ...], Meta(max_length=limits.TASKS_READY_MAX)]
    passed_over: SafeInt


# --- arguments ----------------------------------------------------------------------------------------------
class TallystickTaskCreateArgs(DualArgs, frozen=True, kw_only=True):
    """What is to be done, what is needed first, who may take it, and where it is done."""

    space_id: Identifier
    title: Content[DisplayName]
    brief: Content[LongText] | UnsetType = UNSET
    priority: Priority | UnsetType = UNSET
    needs: Needs | UnsetType = UNSET
    labels: Labels | UnsetType = UNSET
    assignee: Identifier | UnsetType = UNSET
    repository: Repository | UnsetType = UNSET
    paths: Paths | UnsetType = UNSET
    reserve: bool | UnsetType = UNSET
    attempts_max: AttemptsMax | UnsetType = UNSET
    source_refs: Identifiers | UnsetType = UNSET
    artifact_refs: Identifiers | UnsetType = UNSET
    classification_ref: Identifier | UnsetType = UNSET

    def __post_init__(self) -> None:
        for member in ("needs", "labels", "paths", "source_refs", "artifact_refs"):
            items = getattr(self, member)
            if items is not UNSET:
                refuse_repeats(member, items)


class TallystickTaskUpdateArgs(Args, frozen=True, kw_only=True):
    """Of which task what becomes different; an `assignee` of "" is nobody."""

    task_id: Identifier
    priority: Priority | UnsetType = UNSET
    assignee: IdentifierOrNone | UnsetType = UNSET
    labels: Labels | UnsetType = UNSET
    add_needs: Needs | UnsetType = UNSET
    drop_needs: Needs | UnsetType = UNSET

    def __post_init__(self) -> None:
        for member in ("labels", "add_needs", "drop_needs"):
            items = getattr(self, member)
            if items is not UNSET:
                refuse_repeats(member, items)


class _ReasonArgs(Args, frozen=True, kw_only=True):
    task_id: Identifier
    reason_class: StatusToken


class TallystickTaskCancelArgs(_ReasonArgs, frozen=True, kw_only=True):
    """Which task is not to be done, and the class of the reason."""


class TallystickTaskReopenArgs(_ReasonArgs, frozen=True, kw_only=True):
    """Which failed or canceled task is to be done after all, and the class of the reason."""


class TallystickTaskFreeArgs(_ReasonArgs, frozen=True, kw_only=True):
    """Which task its holder loses at once, and the class of the reason."""


class TallystickTaskClaimArgs(Args, frozen=True, kw_only=True):
    """Which task to take, how long a silent holder keeps it, and what the holder's session calls itself."""

    task_id: Identifier
    term_seconds: LeaseTermSeconds | UnsetType = UNSET
    label: Label | UnsetType = UNSET


class TallystickTaskNextArgs(Args, frozen=True, kw_only=True):
    """Of which space to take a task (of all of the project without one), and how long to wait for one."""

    space_id: Identifier | UnsetType = UNSET
    wait_ms: WaitMs
    term_seconds: LeaseTermSeconds | UnsetType = UNSET
    label: Label | UnsetType = UNSET


class HolderArgs(Args, frozen=True, kw_only=True):
    """What every command of a holder names: the task, and the claim by its secret id."""

    task_id: Identifier
    claim_id: Identifier


class TallystickTaskRenewArgs(HolderArgs, frozen=True, kw_only=True):
    """Whose lease to renew."""


class TallystickTaskDoneArgs(HolderArgs, frozen=True, kw_only=True):
    """What was done, in words, and what shows it."""

    receipt: Content[LongText]
    source_refs: Identifiers | UnsetType = UNSET
    artifact_refs: Identifiers | UnsetType = UNSET


class TallystickTaskFailArgs(HolderArgs, frozen=True, kw_only=True):
    """Why it failed, in words, and whether another attempt may help."""

    text: Content[LongText]
    retryable: bool
    source_refs: Identifiers | UnsetType = UNSET
    artifact_refs: Identifiers | UnsetType = UNSET


class TallystickTaskReleaseArgs(HolderArgs, frozen=True, kw_only=True):
    """Which task is given back, and what the next holder should know."""

    note: Content[ShortText] | UnsetType = UNSET
    source_refs: Identifiers | UnsetType = UNSET
    artifact_refs: Identifiers | UnsetType = UNSET


class TallystickTaskNoteArgs(Args, frozen=True, kw_only=True):
    """What is to be known about a task."""

    task_id: Identifier
    text: Content[LongText]
    source_refs: Identifiers | UnsetType = UNSET
    artifact_refs: Identifiers | UnsetType = UNSET


class TallystickTaskShowArgs(Args, frozen=True, kw_only=True):
    """Which task."""

    task_id: Identifier


class TallystickTaskListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of a project's tasks: of a space, in a state, for an assignee, held by an actor, labelled."""

    space_id: Identifier | UnsetType = UNSET
    state: State | UnsetType = UNSET
    assignee: Identifier | UnsetType = UNSET
    actor: Identifier | UnsetType = UNSET
    label: Label | UnsetType = UNSET


class TallystickTaskReadyArgs(Args, frozen=True, kw_only=True):
    """Of which space (of all of the project without one), and how many at most."""

    space_id: Identifier | UnsetType = UNSET
    limit: ReadyLimit


# --- operations ---------------------------------------------------------------------------------------------
APPENDED: Final = "dev.kovee.space.contribution-appended.v1"
CREATED: Final = "dev.tallystick.task.created.v1"
UPDATED: Final = "dev.tallystick.task.updated.v1"
CANCELED: Final = "dev.tallystick.task.canceled.v1"
REOPENED: Final = "dev.tallystick.task.reopened.v1"
FREED: Final = "dev.tallystick.task.freed.v1"
CLAIMED: Final = "dev.tallystick.task.claimed.v1"
DONE: Final = "dev.tallystick.task.done.v1"
FAILED: Final = "dev.tallystick.task.failed.v1"
RELEASED: Final = "dev.tallystick.task.released.v1"
NOTED: Final = "dev.tallystick.task.noted.v1"


def _rows(events: int | None = 1) -> tuple[RowEffect, ...]:
    """Of every command, with so many events, each with an id; None where it depends."""
    return (
        RowEffect("log", "insert", events),
        RowEffect("idempotency", "insert"),
        RowEffect("outbox", "insert", events),
        RowEffect("ids", "insert", events),
    )


_SAID: Final = (
    *CONTENT_ROWS,
    RowEffect("contributions", "insert"),
    RowEffect("artifact_references", "insert", None),
    RowEffect("spaces", "update", 1, ("revision", "next_space_sequence", "branch_sequence", "branch_head")),
)
_NOTED: Final = (*_SAID, RowEffect("task_notes", "insert"))
_MOVED: Final = ("state", "revision")
_LEFT: Final = (*_MOVED, "claim")
_CLAIM_ENDED: Final = RowEffect("task_claims", "update", 1, ("state", "ending"))
_CLAIM_MAY_END: Final = RowEffect("task_claims", "update", None, ("state", "ending"))
_HOLDER: Final = (*GUARDED_WRITES, ProblemKind.STALE_LEASE)

TALLYSTICK_TASK_CREATE: Final = TALLYSTICK_COORDINATION.write(
    "tallystick_task_create",
    TallystickTaskCreateArgs,
    Task,
    "Say what is to be done, and what it needs first.",
    mode=Mode.WRITE_SPACE,
    problems=(*GUARDED_WRITES, ProblemKind.FORBIDDEN_SURFACE),
    events=(APPENDED, CREATED),
    emission=Emission.SOME,
    all_rows=(*_rows(2), *_SAID, RowEffect("tasks", "insert"), RowEffect("task_needs", "insert", None)),
)
TALLYSTICK_TASK_UPDATE: Final = TALLYSTICK_COORDINATION.write(
    "tallystick_task_update",
    TallystickTaskUpdateArgs,
    Task,
    "Change a task's priority, assignee, labels or needs.",
    mode=Mode.WRITE_SPACE,
    problems=(*GUARDED_WRITES, ProblemKind.CYCLE),
    event=UPDATED,
    rows=(
        RowEffect("tasks", "update", 1, (*_MOVED, "priority", "assignee", "labels", "unmet")),
        RowEffect("task_needs", "insert", None),
        RowEffect("task_needs", "delete", None),
    ),
)
TALLYSTICK_TASK_CANCEL: Final = TALLYSTICK_COORDINATION.write(
    "tallystick_task_cancel",
    TallystickTaskCancelArgs,
    Task,
    "Say that a task is not to be done; whoever holds it loses it.",
    mode=Mode.WRITE_SPACE,
    event=CANCELED,
    rows=(RowEffect("tasks", "update", 1, _LEFT), _CLAIM_MAY_END),
)
TALLYSTICK_TASK_REOPEN: Final = TALLYSTICK_COORDINATION.write(
    "tallystick_task_reopen",
    TallystickTaskReopenArgs,
    Task,
    "Put a failed or canceled task back, with all its attempts.",
    mode=Mode.WRITE_SPACE,
    event=REOPENED,
    rows=(RowEffect("tasks", "update", 1, (*_MOVED, "failed_attempts")),),
)
TALLYSTICK_TASK_FREE: Final = TALLYSTICK_COORDINATION.write(
    "tallystick_task_free",
    TallystickTaskFreeArgs,
    Task,
    "Take a task from its holder at once.",
    mode=Mode.STEWARD,
    event=FREED,
    rows=(RowEffect("tasks", "update", 1, _LEFT), _CLAIM_ENDED),
)
TALLYSTICK_TASK_CLAIM: Final = TALLYSTICK_COORDINATION.write(
    "tallystick_task_claim",
    TallystickTaskClaimArgs,
    TaskClaim,
    "Take a task: a claim with a fence and a lease; one whose holder fell silent is taken over.",
    mode=Mode.WRITE_SPACE,
    problems=_HOLDER,
    event=CLAIMED,
    rows=(
        RowEffect("tasks", "update", 1, (*_LEFT, "lapses")),
        RowEffect("task_claims", "insert"),
        _CLAIM_MAY_END,
    ),
)
TALLYSTICK_TASK_NEXT: Final = TALLYSTICK_COORDINATION.write(
    "tallystick_task_next",
    TallystickTaskNextArgs,
    TaskClaim,
    "Take the first task that can be taken, or wait for one.",
    mode=Mode.WRITE_SPACE,
    waits=True,
    problems=_HOLDER,
    event=CLAIMED,
    all_rows=TALLYSTICK_TASK_CLAIM.rows,
)
TALLYSTICK_TASK_RENEW: Final = TALLYSTICK_COORDINATION.read(
    "tallystick_task_renew",
    TallystickTaskRenewArgs,
    TaskTerm,
    "Keep a claim's lease for another term.",
    kind=Kind.FENCED_READ,
    mode=Mode.HOLDER,
    problems=(*GUARDED_READS, ProblemKind.STALE_LEASE),
)
TALLYSTICK_TASK_DONE: Final = TALLYSTICK_COORDINATION.write(
    "tallystick_task_done",
    TallystickTaskDoneArgs,
    TaskDone,
    "End a claimed task as done, with a receipt; tasks that needed it become ready.",
    mode=Mode.HOLDER,
    problems=_HOLDER,
    events=(APPENDED, DONE),
    emission=Emission.SOME,
    all_rows=(
        *_rows(2),
        *_NOTED,
        RowEffect("tasks", "update", None, (*_LEFT, "receipt", "unmet")),  # and of those that need it
        _CLAIM_ENDED,
    ),
)
TALLYSTICK_TASK_FAIL: Final = TALLYSTICK_COORDINATION.write(
    "tallystick_task_fail",
    TallystickTaskFailArgs,
    Task,
    "End an attempt at a claimed task as failed: ready again while attempts remain.",
    mode=Mode.HOLDER,
    problems=_HOLDER,
    events=(APPENDED, FAILED),
    emission=Emission.SOME,
    all_rows=(
        *_rows(2),
        *_NOTED,
        RowEffect("tasks", "update", 1, (*_LEFT, "failed_attempts")),
        _CLAIM_ENDED,
    ),
)
TALLYSTICK_TASK_RELEASE: Final = TALLYSTICK_COORDINATION.write(
    "tallystick_task_release",
    TallystickTaskReleaseArgs,
    Task,
    "Give a claimed task back; it counts no attempt.",
    mode=Mode.HOLDER,
    problems=_HOLDER,
    events=(APPENDED, RELEASED),
    emission=Emission.SOME,
    all_rows=(
        *_rows(None),
        *(replace(each, count=None) for each in _NOTED),
        RowEffect("tasks", "update", 1, _LEFT),
        _CLAIM_ENDED,
    ),
)
TALLYSTICK_TASK_NOTE: Final = TALLYSTICK_COORDINATION.write(
    "tallystick_task_note",
    TallystickTaskNoteArgs,
    Task,
    "Say what is to be known about a task.",
    mode=Mode.WRITE_SPACE,
    events=(APPENDED, NOTED),
    emission=Emission.SOME,
    all_rows=(*_rows(2), *_NOTED),
)
TALLYSTICK_TASK_SHOW: Final = TALLYSTICK_COORDINATION.read(
    "tallystick_task_show",
    TallystickTaskShowArgs,
    Task,
    "One task, who holds it, and what it waits for.",
    mode=Mode.READ_SPACE,
    problems=GUARDED_READS,
)
TALLYSTICK_TASK_LIST: Final = TALLYSTICK_COORDINATION.read(
    "tallystick_task_list",
    TallystickTaskListArgs,
    TaskPage,
    "A project's tasks, in the order in which they were created.",
    mode=Mode.READ_PROJECT,
    problems=LISTS,
)
TALLYSTICK_TASK_READY: Final = TALLYSTICK_COORDINATION.read(
    "tallystick_task_ready",
    TallystickTaskReadyArgs,
    TasksReady,
    "The tasks that the actor could claim now, in the order in which `next` takes them.",
    mode=Mode.READ_PROJECT,
)
TALLYSTICK_TASK_CREATE_BY_WORKER: Final = replace(
    TALLYSTICK_TASK_CREATE,
    surface="worker",
    socket=Socket.WORKER,
    mode=Mode.WORKER_FENCED,
    problems=(*TALLYSTICK_TASK_CREATE.problems, *FENCED),
    rows=(*TALLYSTICK_TASK_CREATE.rows, STEP_ROW),
    summary="Say what is to be done, as the attempt that speaks.",
)

OPERATIONS: Final = (
    TALLYSTICK_TASK_CREATE,
    TALLYSTICK_TASK_UPDATE,
    TALLYSTICK_TASK_CANCEL,
    TALLYSTICK_TASK_REOPEN,
    TALLYSTICK_TASK_FREE,
    TALLYSTICK_TASK_CLAIM,
    TALLYSTICK_TASK_NEXT,
    TALLYSTICK_TASK_RENEW,
    TALLYSTICK_TASK_DONE,
    TALLYSTICK_TASK_FAIL,
    TALLYSTICK_TASK_RELEASE,
    TALLYSTICK_TASK_NOTE,
    TALLYSTICK_TASK_SHOW,
    TALLYSTICK_TASK_LIST,
    TALLYSTICK_TASK_READY,
    TALLYSTICK_TASK_CREATE_BY_WORKER,
)
