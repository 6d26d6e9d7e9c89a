"""What is expected of workers: how they take an invocation, go on with it, and end it."""

from __future__ import annotations

from typing import Final

from cells import KEY, Cell
from effects import ATTEMPT_ENDED, Place, Rows, command, insert, update
from entries import BOUND_AND_NAMED, CLAIMERS, EVERYBODY, NOBODY, Entry, Example, Page
from harness.wire import Request, request
from world import DEPLOYMENT, TERM_SECONDS, WORKER, World, complete, fail

ENTRIES: Final = (
    Entry(
        WORKER,
        "invocation_claim",
        "write worker_claim R O -",
        callers="invalid invalid invalid ok",
        agents=CLAIMERS,
        events="dev.kovee.invocation.claimed.v1",
        right=lambda s: {"invocation_id": s.invocation(s.things.space)["invocation_id"]},
        examples=(Example({"invocation_id": "inv-1"}, ext={"dev.tallystick.lease": {"term_seconds": 60}}),),
    ),
    Entry(
        WORKER,
        "invocation_complete",
        "write worker_fenced R O -",
        callers="ok stale nothing invalid",
        agents=NOBODY,
        events="dev.kovee.invocation.succeeded.v1",
        binding=BOUND_AND_NAMED,
        right=lambda _: {},
        examples=(Example({"result_ref": "contrib-4"}, optional="result_ref"),),
    ),
    Entry(
        WORKER,
        "tallystick_invocation_progress",
        "fenced_read worker_fenced R F -",
        callers="ok stale nothing invalid",
        agents=NOBODY,
        binding=BOUND_AND_NAMED,
        right=lambda _: {},
        examples=(Example({}),),
    ),
    Entry(
        WORKER,
        "tallystick_invocation_item",
        "read worker_fenced R F -",
        callers="ok stale nothing invalid",
        agents=NOBODY,
        binding=BOUND_AND_NAMED,
        right=lambda s: {"object_ref": s.things.question["contribution_id"]},
        examples=(Example({"object_ref": "contrib-1"}),),
    ),
    Entry(
        WORKER,
        "tallystick_invocation_artifact",
        "read worker_fenced R F -",
        callers="ok stale nothing invalid",
        agents=NOBODY,
        binding=BOUND_AND_NAMED,
        right=lambda s: {"artifact_id": s.things.artifact_id, "offset": 0},
        examples=(Example({"artifact_id": "art-1", "offset": 524288, "length": 524288}, optional="length"),),
    ),
    Entry(
        WORKER,
        "tallystick_invocation_renew",
        "fenced_read worker_fenced R F -",
        callers="ok stale nothing invalid",
        agents=NOBODY,
        binding=BOUND_AND_NAMED,
        right=lambda _: {},
        examples=(Example({}),),
    ),
    Entry(
        WORKER,
        "tallystick_invocation_fail",
        "write worker_fenced R F reason",
        callers="ok stale nothing invalid",
        agents=NOBODY,
        events="dev.tallystick.invocation.failed.v1",
        binding=BOUND_AND_NAMED,
        right=lambda _: {"reason_class": "tests_fail", "retryable": True},
        examples=(Example({"reason_class": "tool_failed", "retryable": True}),),
    ),
    Entry(
        WORKER,
        "tallystick_invocation_next",
        "write worker_next R F -",
        callers="invalid invalid invalid ok",
        agents=EVERYBODY,
        events="dev.kovee.invocation.claimed.v1",
        right=lambda _: {"deployments": [DEPLOYMENT], "wait_ms": 0, "term_seconds": 60},
        examples=(
            Example(
                {"deployments": ["dep-local-dev", "dep-1"], "wait_ms": 30000, "term_seconds": 60},
                sets="deployments",
            ),
        ),
    ),
)


_CLAIMED_FIRST: Final = (
    *command(1),
    insert("attempts"),
    insert("participants"),
    update("invocations", "state", "revision"),
)
_CLAIMED_LAPSED: Final = (
    *command(),
    insert("attempts"),
    ATTEMPT_ENDED,
    update("invocations", "lapsed_attempts", "revision"),
)
_CLAIMED_AGAIN: Final = (*command(), insert("attempts"), update("invocations", "state", "revision"))


def _claim_cell(situation: str, name: str, rows: Rows, *, lapses: bool = False) -> Cell:
    # A claim's arguments name nothing but the invocation, which is also its key's scope: what makes another
    # intent of it is its extension, and ``other_intent`` changes that.
    def make(world: World) -> Request:
        return world.claim(KEY, world.invocations[name])

    return Cell(Place("invocation_claim", WORKER), situation, make, lambda _: {}, rows, lapses)


def _next_cell(situation: str, name: str, rows: Rows, *, lapses: bool = False) -> Cell:
    def make(world: World) -> Request:
        args = {"deployments": [world.others[name]], "wait_ms": 0, "term_seconds": TERM_SECONDS}
        return request(WORKER, "tallystick_invocation_next", args, key=KEY)

    other = {"term_seconds": TERM_SECONDS + 1}
    return Cell(Place("tallystick_invocation_next", WORKER), situation, make, lambda _: other, rows, lapses)


def _fail_cell(situation: str, name: str, *columns: str, retryable: bool) -> Cell:
    rows = (
        *command(),
        ATTEMPT_ENDED,
        update("invocations", "state", "revision", "failed_attempts", *columns),
    )
    other = {"reason_class": "another"}

    def make(world: World) -> Request:
        return fail(KEY, world.attempts[name], retryable=retryable)

    return Cell(Place("tallystick_invocation_fail", WORKER), situation, make, lambda _: other, rows)


CELLS: Final = (
    _claim_cell("first in its space", "claim first", _CLAIMED_FIRST),
    _claim_cell("lapsed lease", "claim lapsed", _CLAIMED_LAPSED, lapses=True),
    _claim_cell("after a failure", "claim failed", _CLAIMED_AGAIN),
    _next_cell("queued, first in its space", "next queued", _CLAIMED_FIRST),
    _next_cell("lapsed lease", "next lapsed", _CLAIMED_LAPSED, lapses=True),
    Cell(
        Place("invocation_complete", WORKER),
        "",
        lambda w: complete(KEY, w.attempts["complete"]),
        lambda w: {"result_ref": w.question["contribution_id"]},
        (*command(), ATTEMPT_ENDED, update("invocations", "state", "revision", "terminal_ms")),
    ),
    _fail_cell("to be tried again", "fail retryable", retryable=True),
    _fail_cell("for good", "fail for good", "terminal_ms", retryable=False),
)

PAGE: Final = Page(ENTRIES, CELLS)
