"""Every operation, called by everybody who can reach a socket, is admitted or refused as its entry says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest
from entries import ADMITTED, CALLERS
from expected import ENTRIES, entry_of
from harness.dumps import differences, dump_live
from harness.wire import Request, ask
from scene import Scene
from world import AT_HEAD, Attempt

from tallystick.protocol.registry import BY_SOCKET

from .process import Tallyd, homes

UNKNOWN: Final = "unknown-op"
NOT_ADMITTED: Final = {"invalid", "forbidden", "forbidden-surface", UNKNOWN, "unsupported-version"}
OPERATIONS: Final = sorted({name for _, name in ENTRIES})
LAST: Final = "tallystick_shutdown"
"""It ends the daemon."""


def line_of(operation: str) -> dict[str, str | None]:
    """By caller, what becomes of the call. A socket without an entry of the operation does not know it."""
    line: dict[str, str | None] = {}
    for socket, callers in CALLERS.items():
        entry = ENTRIES.get((socket, operation))
        line |= dict.fromkeys(callers, UNKNOWN) if entry is None else entry.of_callers()
    return line


def spoken(scene: Scene, operation: str, caller: str) -> Request:
    """What is sent for one cell. An attempt that the caller has is named, also where none belongs."""
    socket = next(socket for socket, callers in CALLERS.items() if caller in callers)
    entry = ENTRIES.get((socket, operation)) or entry_of(operation)
    attempt = attempt_in(scene, caller)
    right = scene.right(entry, attempt)
    args = {name: value for name, value in right.body["args"].items() if name not in Attempt._fields[1:]}
    named = {} if attempt is None else attempt.binding
    return Request(socket, {**right.body, "args": {**args, **named}})


def attempt_in(scene: Scene, caller: str) -> Attempt | None:
    """The attempt that a caller names, if any: one that is current is used up by what is done with it."""
    if caller == "stale":
        return scene.stale
    if caller == "guessed":
        return scene.attempt._replace(attempt_id="att-" + "5" * 32)
    return scene.new_attempt() if caller in ("current", "+attempt") else None


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    """A daemon and what is there for the whole table, but for what ends it."""
    with homes() as new_home, Tallyd(new_home()) as running:
        yield Scene(running.paths)


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name != LAST])
def test_who_may_call(operation: str, scene: Scene) -> None:
    """Each cell of its line is as written; whoever is refused changes nothing, and leaves one row at most."""
    line = line_of(operation)
    paths = scene.owner.paths
    refused = [caller for caller, kind in line.items() if kind not in (None, ADMITTED)]
    asked = {caller: spoken(scene, operation, caller) for caller in line}
    before = scene.settled()
    replies = {caller: ask(paths, asked[caller]) for caller in refused}
    after = dump_live(paths)
    changes = [change for change in differences(before, after) if change.table != "outbox"]
    replies |= {caller: ask(paths, asked[caller]) for caller in line if caller not in refused}

    answers = {c: ADMITTED if line[c] == ADMITTED else reply.kind for c, reply in replies.items()}
    assert answers == line
    assert not [c for c, reply in replies.items() if line[c] == ADMITTED and reply.kind in NOT_ADMITTED]
    assert {(change.table, change.action) for change in changes} <= {("log", "insert")}
    assert len(changes) <= len(refused)
    assert all(change.row["stream"] is None for change in changes), "a refused command told an event"


def test_who_may_end_the_daemon() -> None:
    """The owner alone ends it; everybody else is refused, and it goes on."""
    line = line_of(LAST)
    with homes() as new_home, Tallyd(new_home()) as running:
        scene = Scene(running.paths)
        asked = {caller: spoken(scene, LAST, caller) for caller in line}
        refused = {caller: kind for caller, kind in line.items() if kind is not None}
        assert line.keys() - refused.keys() == {"owner"}
        assert {caller: ask(running.paths, asked[caller]).kind for caller in refused} == refused
        assert ask(running.paths, asked["owner"]).result == {"stopping": True}
        assert running.wait() == 0


def test_the_table_has_every_operation() -> None:
    """What is served has its entry on each of its sockets, with a word for each caller there."""
    assert ENTRIES.keys() == BY_SOCKET.keys()
    words = {str(entry): len(entry.callers.split()) for entry in ENTRIES.values()}
    assert words == {str(entry): len(CALLERS[entry.socket]) for entry in ENTRIES.values()}


def test_at_head_is_not_authority(scene: Scene) -> None:
    """The extension that takes any head opens no project that is not there."""
    asked = scene.right(entry_of("contribution_append"))
    moved = Request(asked.socket, {**asked.body, "project_id": "proj-" + "0" * 32})
    assert moved.body["ext"] == AT_HEAD
    assert ask(scene.owner.paths, moved).kind == "not-found"
