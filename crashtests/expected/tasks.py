"""What is expected of tasks: created, changed, claimed, held and ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import held_tasks
from cells import KEY, Cell
from effects import STEP, Place, Rows, command, content, delete, insert, update
from entries import CONTRIBUTORS, MEMBERS, NOBODY, STEWARDS, Entry, Example, JsonObject, Page, listed
from harness.wire import Request, request
from world import CLIENT, WORKER, World

from tallystick.protocol.operation import Emission, Socket

if TYPE_CHECKING:
    from scene import Scene

APPENDED: Final = "dev.kovee.space.contribution-appended.v1"
CLAIMED: Final = "dev.tallystick.task.claimed.v1"
_REFS: Final[JsonObject] = {"source_refs": ["contrib-1"], "artifact_refs": ["art-1"]}
_HELD: Final[JsonObject] = {"task_id": "task-1", "claim_id": "claim-1"}


def _task(scene: Scene) -> JsonObject:
    """Names a task that was made for the request."""
    made = scene.done("tallystick_task_create", {**scene.here, "title": "tighten the tap"})
    return {"task_id": made["task_id"]}


def _held(scene: Scene) -> JsonObject:
    """Shows the owner's claim of one."""
    task = _task(scene)
    return {**task, "claim_id": scene.done("tallystick_task_claim", task)["claim_id"]}


def _claimed(scene: Scene) -> JsonObject:
    shown = _held(scene)
    return {"task_id": shown["task_id"]}


def _canceled(scene: Scene) -> JsonObject:
    task = {**_task(scene), "reason_class": "not_wanted"}
    scene.done("tallystick_task_cancel", task)
    return task


_CREATED: Final = (
    Example(
        {
            "space_id": "space-1",
            "title": "Round line items before adding them",
            "brief": "Half to even.",
            "priority": 1,
            "needs": ["task-1"],
            "labels": ["money"],
            "assignee": "prin-owner",
            "repository": "example.com/shop",
            "paths": ["services/ledger"],
            "reserve": True,
            "attempts_max": 3,
            **_REFS,
            "classification_ref": "class-default",
        },
        optional="brief priority needs labels assignee repository paths reserve attempts_max source_refs "
        "artifact_refs classification_ref",
        texts="title brief repository labels[0] paths[0]",
        sets="needs labels paths source_refs artifact_refs",
    ),
)

ENTRIES: Final = (
    Entry(
        CLIENT,
        "tallystick_task_create",
        "write write_space R R title,brief",
        callers="ok surface",
        agents=CONTRIBUTORS,
        events=f"{APPENDED} dev.tallystick.task.created.v1",
        emission=Emission.SOME,
        right=lambda s: {**s.here, "title": "tighten the tap"},
        examples=_CREATED,
    ),
    Entry(
        CLIENT,
        "tallystick_task_update",
        "write write_space R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.tallystick.task.updated.v1",
        right=lambda s: {**_task(s), "priority": 0},
        examples=(
            Example(
                {
                    "task_id": "task-1",
                    "priority": 0,
                    "assignee": "prin-owner",
                    "labels": ["money"],
                    "add_needs": ["task-2"],
                    "drop_needs": ["task-3"],
                },
                optional="priority assignee labels add_needs drop_needs",
                texts="labels[0]",
                empty="assignee",
                sets="labels add_needs drop_needs",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "tallystick_task_cancel",
        "write write_space R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.tallystick.task.canceled.v1",
        right=lambda s: {**_task(s), "reason_class": "not_wanted"},
        examples=(Example({"task_id": "task-1", "reason_class": "not_wanted"}),),
    ),
    Entry(
        CLIENT,
        "tallystick_task_reopen",
        "write write_space R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.tallystick.task.reopened.v1",
        right=_canceled,
        examples=(Example({"task_id": "task-1", "reason_class": "wanted"}),),
    ),
    Entry(
        CLIENT,
        "tallystick_task_free",
        "write steward R R -",
        callers="ok invalid",
        agents=STEWARDS,
        events="dev.tallystick.task.freed.v1",
        right=lambda s: {**_claimed(s), "reason_class": "silent"},
        examples=(Example({"task_id": "task-1", "reason_class": "silent"}),),
    ),
    Entry(
        CLIENT,
        "tallystick_task_claim",
        "write write_space R R -",
        callers="ok invalid",
        agents=CONTRIBUTORS,
        events=CLAIMED,
        right=_task,
        examples=(
            Example(
                {"task_id": "task-1", "term_seconds": 60, "label": "ci-4"},
                optional="term_seconds label",
                texts="label",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "tallystick_task_next",
        "write write_space R R -",
        callers="ok invalid",
        agents=CONTRIBUTORS,
        events=CLAIMED,
        right=lambda s: {**s.here, "wait_ms": 0},
        examples=(
            Example(
                {"space_id": "space-1", "wait_ms": 30000, "term_seconds": 60, "label": "ci-4"},
                optional="space_id term_seconds label",
                texts="label",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "tallystick_task_renew",
        "fenced_read holder R R -",
        callers="ok invalid",
        agents=NOBODY,
        right=_held,
        examples=(Example(_HELD),),
    ),
    Entry(
        CLIENT,
        "tallystick_task_done",
        "write holder R R receipt",
        callers="ok invalid",
        agents=NOBODY,
        events=f"{APPENDED} dev.tallystick.task.done.v1",
        emission=Emission.SOME,
        right=lambda s: {**_held(s), "receipt": "It is tight."},
        examples=(
            Example(
                {**_HELD, "receipt": "It is tight.", **_REFS},
                optional="source_refs artifact_refs",
                texts="receipt",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "tallystick_task_fail",
        "write holder R R text",
        callers="ok invalid",
        agents=NOBODY,
        events=f"{APPENDED} dev.tallystick.task.failed.v1",
        emission=Emission.SOME,
        right=lambda s: {**_held(s), "text": "No spanner.", "retryable": True},
        examples=(
            Example(
                {**_HELD, "text": "No spanner.", "retryable": True, **_REFS},
                optional="source_refs artifact_refs",
                texts="text",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "tallystick_task_release",
        "write holder R R note",
        callers="ok invalid",
        agents=NOBODY,
        events=f"{APPENDED} dev.tallystick.task.released.v1",
        emission=Emission.SOME,
        right=lambda s: {**_held(s), "note": "Half done."},
        examples=(
            Example(
                {**_HELD, "note": "Half done.", **_REFS},
                optional="note source_refs artifact_refs",
                texts="note",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "tallystick_task_note",
        "write write_space R R text",
        callers="ok invalid",
        agents=CONTRIBUTORS,
        events=f"{APPENDED} dev.tallystick.task.noted.v1",
        emission=Emission.SOME,
        right=lambda s: {**_task(s), "text": "The washer is worn."},
        examples=(
            Example(
                {"task_id": "task-1", "text": "The washer is worn.", **_REFS},
                optional="source_refs artifact_refs",
                texts="text",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "tallystick_task_show",
        "read read_space R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=_task,
        examples=(Example({"task_id": "task-1"}),),
    ),
    Entry(
        CLIENT,
        "tallystick_task_list",
        "read read_project R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: s.page,
        examples=(
            listed(
                {
                    "space_id": "space-1",
                    "state": "ready",
                    "assignee": "prin-owner",
                    "actor": "prin-owner",
                    "label": "money",
                },
                optional="space_id state assignee actor label",
            )._replace(texts="after snapshot label"),
        ),
    ),
    Entry(
        CLIENT,
        "tallystick_task_ready",
        "read read_project R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: s.page,
        examples=(Example({"space_id": "space-1", "limit": 20}, optional="space_id"),),
    ),
    Entry(
        WORKER,
        "tallystick_task_create",
        "write worker_fenced R R title,brief",
        callers="ok stale nothing surface",
        agents=NOBODY,
        events=f"{APPENDED} dev.tallystick.task.created.v1",
        emission=Emission.SOME,
        binding=("attempt_id", "fence_epoch"),
        right=lambda s: {**s.here, "title": "tighten the tap"},
        examples=_CREATED,
    ),
)


# --- crash cells --------------------------------------------------------------------------------------------
_TWO: Final = (insert("log", 2), insert("idempotency"), insert("ids", 2), insert("outbox", 2))
"""A command of two events: its contribution's and its own."""
_SAID: Final = (
    *_TWO,
    *content(),
    insert("contributions"),
    update("spaces", "revision", "next_space_sequence", "branch_sequence", "branch_head"),
)
_NOTED: Final = (*_SAID, insert("task_notes"))
_CLAIM_ENDED: Final = update("task_claims", "state", "ending")


_TO_READY: Final = update("tasks", "state", "claim", "revision")
_CLAIMED_ROWS: Final = (*command(), insert("task_claims"), _TO_READY)
_TAKEN_OVER: Final = (
    *command(),
    insert("task_claims"),
    _CLAIM_ENDED,
    update("tasks", "lapses", "claim", "revision"),
)


def _cell(
    verb: str,
    situation: str,
    args: JsonObject,
    rows: Rows,
    *,
    other: JsonObject | None = None,
    lapses: bool = False,
    events: tuple[str, ...] = (),
    file: bool = False,
) -> Cell:
    """Of the task, and of the owner's claim of it, that stand in the world for it (``held_tasks``); with a
    ``file`` what is said refers to one.
    """

    def make(world: World) -> Request:
        name = f"{verb} {situation}".rstrip()
        shown = held_tasks.shown(world.others, name, holder=verb in held_tasks.HOLDERS)
        carried = {"artifact_refs": [world.others["carried's artifact"]]} if file else {}
        sent = {**shown, **args, **carried}
        return request(CLIENT, f"tallystick_task_{verb}", sent, project=world.project, key=KEY)

    place = Place(f"tallystick_task_{verb}", CLIENT)
    return Cell(
        place, situation, make, lambda _: other or {"reason_class": "other"}, rows, lapses, events=events
    )


def _create(world: World, **more: object) -> Request:
    args = {"space_id": world.space.space_id, "title": "tighten the tap", **more}
    return request(CLIENT, "tallystick_task_create", args, project=world.project, key=KEY)


def _create_cell(
    situation: str, make: Callable[[World], Request], rows: Rows, socket: Socket = CLIENT
) -> Cell:
    return Cell(Place("tallystick_task_create", socket), situation, make, lambda _: {"title": "other"}, rows)


def _next_cell(situation: str, rows: Rows, *, lapses: bool = False) -> Cell:
    def make(world: World) -> Request:
        args = {"space_id": world.others[f"space of task next {situation}"], "wait_ms": 0}
        return request(CLIENT, "tallystick_task_next", args, project=world.project, key=KEY)

    place = Place("tallystick_task_next", CLIENT)
    return Cell(place, situation, make, lambda _: {"label": "other"}, rows, lapses)


def _update_cell(situation: str, member: str, rows: Rows) -> Cell:
    def make(world: World) -> Request:
        args = {
            "task_id": world.others[f"task update {situation}"],
            member: [world.others["task needed"]],
        }
        return request(CLIENT, "tallystick_task_update", args, project=world.project, key=KEY)

    return Cell(Place("tallystick_task_update", CLIENT), situation, make, lambda _: {"priority": 1}, rows)


_FAILED: Final = (
    *_NOTED,
    update("tasks", "state", "claim", "failed_attempts", "revision"),
    _CLAIM_ENDED,
)
_TEXT: Final[JsonObject] = {"text": "No spanner.", "retryable": True}
_WHY: Final[JsonObject] = {"reason_class": "silent"}

CELLS: Final = (
    _create_cell("", _create, (*_SAID, insert("tasks"))),
    _create_cell(
        "with a need and a file",
        lambda w: _create(w, needs=[w.others["task needed"]], artifact_refs=[w.others["carried's artifact"]]),
        (*_SAID, insert("tasks"), insert("task_needs"), insert("artifact_references")),
    ),
    _create_cell(
        "", lambda w: w.as_worker(_create(w), w.attempts["append"]), (*_SAID, insert("tasks"), STEP), WORKER
    ),
    _create_cell(
        "with a need and a file",
        lambda w: w.as_worker(
            _create(w, needs=[w.others["task needed"]], artifact_refs=[w.others["carried's artifact"]]),
            w.attempts["append"],
        ),
        (*_SAID, insert("tasks"), insert("task_needs"), insert("artifact_references"), STEP),
        WORKER,
    ),
    _cell(
        "update",
        "labels",
        {"priority": 0, "assignee": "prin-owner", "labels": ["taps"]},
        (*command(), update("tasks", "priority", "assignee", "labels", "revision")),
        other={"priority": 1},
    ),
    _update_cell(
        "a need more",
        "add_needs",
        (*command(), update("tasks", "state", "unmet", "revision"), insert("task_needs")),
    ),
    _update_cell(
        "a need less",
        "drop_needs",
        (*command(), update("tasks", "state", "unmet", "revision"), delete("task_needs")),
    ),
    _cell("cancel", "ready", _WHY, (*command(), update("tasks", "state", "revision"))),
    _cell("cancel", "held", _WHY, (*command(), _TO_READY, _CLAIM_ENDED)),
    _cell("reopen", "failed", _WHY, (*command(), update("tasks", "state", "failed_attempts", "revision"))),
    _cell("free", "", _WHY, (*command(), _TO_READY, _CLAIM_ENDED)),
    _cell("claim", "ready", {}, _CLAIMED_ROWS, other={"label": "other"}),
    _cell("claim", "lapsed lease", {}, _TAKEN_OVER, other={"label": "other"}, lapses=True),
    _next_cell("ready", _CLAIMED_ROWS),
    _next_cell("lapsed lease", _TAKEN_OVER, lapses=True),
    _cell(
        "done",
        "",
        {"receipt": "It is tight."},
        (*_NOTED, update("tasks", "state", "claim", "receipt", "revision"), _CLAIM_ENDED),
        other={"receipt": "other"},
    ),
    _cell(
        "done",
        "what another needs",
        {"receipt": "It is tight."},
        (
            *_NOTED,
            update("tasks", "state", "claim", "receipt", "revision"),
            update("tasks", "state", "unmet", "revision"),
            _CLAIM_ENDED,
            insert("artifact_references"),
        ),
        other={"receipt": "other"},
        file=True,
    ),
    _cell(
        "fail",
        "",
        _TEXT,
        _FAILED,
        other={"text": "other"},
    ),
    _cell(
        "fail",
        "with a file",
        _TEXT,
        (*_FAILED, insert("artifact_references")),
        other={"text": "other"},
        file=True,
    ),
    _cell(
        "release",
        "with a note",
        {"note": "Half done."},
        (*_NOTED, _TO_READY, _CLAIM_ENDED, insert("artifact_references")),
        other={"note": "other"},
        file=True,
    ),
    _cell(
        "release",
        "",
        {},
        (*command(), _TO_READY, _CLAIM_ENDED),
        other={"note": "other"},
        events=("dev.tallystick.task.released.v1",),
    ),
    _cell("note", "", {"text": "The washer is worn."}, _NOTED, other={"text": "other"}),
    _cell(
        "note",
        "with a file",
        {"text": "The washer is worn."},
        (*_NOTED, insert("artifact_references")),
        other={"text": "other"},
        file=True,
    ),
)

PAGE: Final = Page(ENTRIES, CELLS)
