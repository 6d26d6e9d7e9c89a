"""Tasks of the world, each for the cell that it is named by, and the owner's claims of some."""

from __future__ import annotations

from typing import Any, Final

from harness.wire import Wire, request

from tallystick.protocol.operation import Socket

JsonObject = dict[str, Any]

HOLDERS: Final = frozenset({"done", "fail", "release"})
"""Verbs of a holder, who shows its claim."""
_READY: Final = (
    "needed",
    "update labels",
    "update a need more",
    "cancel ready",
    "claim ready",
    "note",
    "note with a file",
)
_HELD: Final = (
    "cancel held",
    "free",
    "claim lapsed lease",
    "done",
    "done what another needs",
    "fail",
    "fail with a file",
    "release",
    "release with a note",
    "reopen failed",
)
_TERM_SECONDS: Final = 600
"""Of every claim: a cell in which leases lapse lets more time pass."""


def shown(others: dict[str, str], name: str, *, holder: bool) -> JsonObject:
    """What a command about the task of that name shows."""
    task = {"task_id": others[f"task {name}"]}
    return {**task, "claim_id": others[f"claim of task {name}"]} if holder else task


def made(client: Wire, project: str, space_id: str, next_spaces: dict[str, str]) -> dict[str, str]:
    """Ids of tasks, claims and spaces. ``next_spaces`` are empty ones, by the situation of ``next``."""
    found: dict[str, str] = {}

    def done(verb: str, args: JsonObject, key: str) -> JsonObject:
        asked = request(
            Socket.CLIENT, f"tallystick_task_{verb}", args, project=project, key=f"w-task-{verb}-{key}"
        )
        return client.ask(asked).result

    def create(name: str, space: str = space_id, **more: object) -> None:
        args = {"space_id": space, "title": name, **more}
        found[f"task {name}"] = done("create", args, name.replace(" ", "-"))["task_id"]

    def hold(name: str) -> None:
        args = {"task_id": found[f"task {name}"], "term_seconds": _TERM_SECONDS}
        found[f"claim of task {name}"] = done("claim", args, name.replace(" ", "-"))["claim_id"]

    for name in (*_READY, *_HELD):
        create(name)
    for name in _HELD:
        hold(name)
    create("update a need less", needs=[found["task needed"]])
    create("waits", needs=[found["task done what another needs"]])
    failure = {**shown(found, "reopen failed", holder=True), "text": "No spanner.", "retryable": False}
    done("fail", failure, "reopen")
    for situation, space in next_spaces.items():
        name = f"next {situation}"
        found[f"space of task {name}"] = space
        create(name, space)
        if situation == "lapsed lease":
            hold(name)
    return found
