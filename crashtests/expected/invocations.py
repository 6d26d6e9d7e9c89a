"""What is expected of invocations, as those who ask for them see them."""

from __future__ import annotations

from typing import Final

from cells import KEY, Cell, Refusal
from effects import ATTEMPT_ENDED, Place, command, content, insert, update
from entries import BOUND, CONTRIBUTORS, DIGEST, MEMBERS, NOBODY, Entry, Example, JsonObject, Page, listed
from harness.wire import Request, request
from world import CLIENT, WORKER, World, invocation_args

_CANCEL: Final = Example(
    {"invocation_id": "inv-1", "cancellation_scope": "invocation", "reason": "no longer needed"},
    optional="cancellation_scope reason",
    texts="reason",
    empty="reason",
)


ENTRIES: Final = (
    Entry(
        CLIENT,
        "invocation_create",
        "write invoke R R -",
        callers="ok invalid",
        agents=CONTRIBUTORS,
        events="dev.kovee.invocation.created.v1",
        right=lambda s: invocation_args(s.things.space),
        examples=(
            Example(
                {
                    "assistant_deployment_id": "dep-local-dev",
                    "assistant_deployment_revision": 1,
                    "space_id": "space-1",
                    "branch_id": "branch-1",
                    "context_assembly_ref": "casm-1",
                    "context_assembly_digest": DIGEST,
                    "budget_reservation_set_ref": "budget-1",
                    "disclosure_rules_digest": DIGEST,
                    "priority": 2,
                    "not_before": "2030-01-01T00:00:00Z",
                    "max_attempts": 3,
                    "deadline": "2031-06-30T23:59:60+01:00",
                },
                optional=(
                    "space_id branch_id context_assembly_ref context_assembly_digest "
                    "budget_reservation_set_ref disclosure_rules_digest priority not_before max_attempts"
                ),
            ),
        ),
    ),
    Entry(
        CLIENT,
        "invocation_show",
        "read read_project R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: {"invocation_id": s.things.invocation["invocation_id"]},
        examples=(Example({"invocation_id": "inv-1"}),),
    ),
    Entry(
        CLIENT,
        "invocation_list",
        "read read_project R R -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda _: {"limit": 9},
        examples=(
            listed(
                {"assistant_deployment_id": "dep-local-dev", "space_id": "space-1", "state": "queued"},
                optional="assistant_deployment_id space_id state",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "invocation_cancel",
        "write invoke R R reason",
        callers="ok surface",
        agents=CONTRIBUTORS,
        events="dev.kovee.invocation.canceled.v1",
        right=lambda s: {"invocation_id": s.invocation(s.things.space)["invocation_id"]},
        examples=(_CANCEL,),
    ),
    Entry(
        WORKER,
        "invocation_cancel",
        "write worker_fenced R R reason",
        callers="nothing stale nothing surface",
        agents=NOBODY,
        events="dev.kovee.invocation.canceled.v1",
        binding=BOUND,
        right=lambda s: {"invocation_id": s.things.invocation["invocation_id"]},
        examples=(_CANCEL,),
    ),
)


def _cancel(world: World, name: str, **args: object) -> Request:
    said = {"invocation_id": world.invocations[name], **args}
    return request(CLIENT, "invocation_cancel", said, project=world.project, key=KEY)


def _other_reason(_: World) -> JsonObject:
    return {"reason": "another"}


_CANCELED: Final = (*command(), update("invocations", "state", "revision", "terminal_ms"))

CELLS: Final = (
    Cell(
        Place("invocation_create", CLIENT),
        "",
        lambda w: w.invoke(KEY, w.space, w.assembly),
        lambda _: {"priority": 7},
        (*command(), insert("invocations")),
    ),
    Cell(
        Place("invocation_cancel", CLIENT),
        "queued",
        lambda w: _cancel(w, "cancel queued"),
        _other_reason,
        _CANCELED,
    ),
    Cell(
        Place("invocation_cancel", CLIENT),
        "running, with a reason",
        lambda w: _cancel(w, "cancel running", reason="No longer needed."),
        _other_reason,
        (*_CANCELED, *content(), ATTEMPT_ENDED),
    ),
)


def _childless_cancel(world: World) -> Request:
    asked = _cancel(world, "cancel queued")
    return world.as_worker(asked, world.attempts["cancel refused"])


REFUSALS: Final = (
    Refusal(Place("invocation_cancel", WORKER), "no children", _childless_cancel, "not-found"),
)
"""A worker's cancel is refused in every case there is: an attempt has no children yet."""

PAGE: Final = Page(ENTRIES, CELLS, REFUSALS)
