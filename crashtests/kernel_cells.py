"""The cells of the kernel: what people and assistants do in a space, and with an invocation."""

from __future__ import annotations

from typing import Any, Final

from cells import KEY, Cell, Refusal
from effects import CLIENT, WORKER, Place
from harness.wire import Request, request
from world import TERM_SECONDS, World, complete, fail


def _named(operation: str, args: dict[str, Any], member: str, revision: int | None = None) -> Cell:
    """A cell of an operation whose request needs nothing of the world but the project."""

    def make(world: World) -> Request:
        project = None if operation == "project_create" else world.project
        return request(CLIENT, operation, args, project=project, key=KEY, revision=revision)

    return Cell(Place(operation, CLIENT), "", make, lambda _: {member: "another"})


def _cancel(world: World, name: str, **args: object) -> Request:
    said = {"invocation_id": world.invocations[name], **args}
    return request(CLIENT, "invocation_cancel", said, project=world.project, key=KEY)


def _pin(world: World) -> Request:
    return request(CLIENT, "frontier_pin", world.space.args, project=world.project, key=KEY)


def _other_branch(world: World) -> dict[str, Any]:
    return world.untouched.args


def _other_parts(_: World) -> dict[str, Any]:
    return {"body_parts": [{"media_type": "text/plain", "text": "Something else."}]}


def _other_kind(_: World) -> dict[str, Any]:
    return {"kind": "supports"}


def _other_purpose(_: World) -> dict[str, Any]:
    return {"purpose": "something else"}


def _other_reason(_: World) -> dict[str, Any]:
    return {"reason": "another"}


def _other_class(_: World) -> dict[str, Any]:
    return {"reason_class": "another"}


def _claim_cell(situation: str, name: str, *, lapses: bool = False) -> Cell:
    # A claim's arguments name nothing but the invocation, which is also its key's scope: what makes another
    # intent of it is its extension, and ``other_intent`` changes that.
    return Cell(
        Place("invocation_claim", WORKER),
        situation,
        lambda w: w.claim(KEY, w.invocations[name]),
        lambda _: {},
        lapses,
    )


def _next_cell(situation: str, name: str, *, lapses: bool = False) -> Cell:
    def make(world: World) -> Request:
        args = {"deployments": [world.others[name]], "wait_ms": 0, "term_seconds": TERM_SECONDS}
        return request(WORKER, "tallystick_invocation_next", args, key=KEY)

    other = {"term_seconds": TERM_SECONDS + 1}
    return Cell(Place("tallystick_invocation_next", WORKER), situation, make, lambda _: other, lapses)


KERNEL_CELLS: Final = (
    _named("project_create", {"name": "a name"}, "name"),
    _named("space_create", {"title": "a title", "visibility": "project"}, "title"),
    Cell(
        Place("contribution_append", CLIENT),
        "",
        lambda w: w.append(KEY, "It drips by day too."),
        _other_parts,
    ),
    Cell(Place("relation_assert", CLIENT), "", lambda w: w.relate(KEY), _other_kind),
    Cell(Place("frontier_pin", CLIENT), "", _pin, _other_branch),
    Cell(Place("context_assembly_create", CLIENT), "", lambda w: w.assemble(KEY), _other_purpose),
    Cell(
        Place("invocation_create", CLIENT),
        "",
        lambda w: w.invoke(KEY, w.space, w.assembly),
        lambda _: {"priority": 7},
    ),
    Cell(Place("invocation_cancel", CLIENT), "queued", lambda w: _cancel(w, "cancel queued"), _other_reason),
    Cell(
        Place("invocation_cancel", CLIENT),
        "running, with a reason",
        lambda w: _cancel(w, "cancel running", reason="No longer needed."),
        _other_reason,
    ),
    _claim_cell("first in its space", "claim first"),
    _claim_cell("lapsed lease", "claim lapsed", lapses=True),
    _claim_cell("after a failure", "claim failed"),
    _next_cell("queued, first in its space", "next queued"),
    _next_cell("lapsed lease", "next lapsed", lapses=True),
    Cell(
        Place("invocation_complete", WORKER),
        "",
        lambda w: complete(KEY, w.attempts["complete"]),
        lambda w: {"result_ref": w.question["contribution_id"]},
    ),
    Cell(
        Place("contribution_append", WORKER),
        "",
        lambda w: w.as_worker(w.append(KEY, "The washer is worn.", kind="synthesis"), w.attempts["append"]),
        _other_parts,
    ),
    Cell(
        Place("relation_assert", WORKER),
        "",
        lambda w: w.as_worker(w.relate(KEY), w.attempts["relate"]),
        _other_kind,
    ),
    Cell(
        Place("context_assembly_create", WORKER),
        "",
        lambda w: w.as_worker(w.assemble(KEY), w.attempts["assemble"]),
        _other_purpose,
    ),
    Cell(
        Place("tallystick_invocation_fail", WORKER),
        "to be tried again",
        lambda w: fail(KEY, w.attempts["fail retryable"], retryable=True),
        _other_class,
    ),
    Cell(
        Place("tallystick_invocation_fail", WORKER),
        "for good",
        lambda w: fail(KEY, w.attempts["fail for good"], retryable=False),
        _other_class,
    ),
)


def _childless_cancel(world: World) -> Request:
    asked = _cancel(world, "cancel queued")
    return world.as_worker(asked, world.attempts["cancel refused"])


def _moved_head(world: World) -> Request:
    asked = world.append(KEY, "Too late.").changed(expected_head_digest="0" * 64)
    return Request(asked.socket, {name: value for name, value in asked.body.items() if name != "ext"})


def _other_fence(world: World) -> Request:
    attempt = world.attempts["append"]
    return world.as_worker(world.append(KEY, "Not mine."), attempt._replace(fence_epoch=7))


KERNEL_REFUSALS: Final = (
    Refusal(Place("invocation_cancel", WORKER), "no children", _childless_cancel, "not-found"),
    Refusal(Place("contribution_append", CLIENT), "the head has moved", _moved_head, "stale-revision"),
    Refusal(Place("contribution_append", WORKER), "another fence", _other_fence, "stale-lease"),
)
"""A worker's cancel is refused in every case there is: an attempt has no children yet. The others are refused
behind their savepoint."""
