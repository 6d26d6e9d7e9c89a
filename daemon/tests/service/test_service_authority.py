"""Every operation, called by everybody who can reach a socket, is admitted or refused as the table says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import pytest
from conformance.mutations import specimens
from harness.dumps import differences, dump_live
from harness.wire import Reply, Request, ask, request
from world import AT_HEAD, CLIENT, WORKER, Attempt, World, complete, fail

from tallystick.paths import Paths
from tallystick.protocol.operation import Socket
from tallystick.protocol.registry import BY_SOCKET

from .authority import ADMITTED, OWNER, WORKERS, table
from .process import Place, Tallyd, running_on

TABLE: Final = table()
GUESSED: Final = "att-" + "5" * 32

Make = Callable[[World, str], Request]


def _read(operation: str, args: Callable[[World], dict[str, object]], *, project: bool = True) -> Make:
    def make(world: World, _key: str) -> Request:
        return request(CLIENT, operation, args(world), project=world.project if project else None)

    return make


def _event(world: World) -> dict[str, object]:
    """The event of the question: it shares its digits with what it made."""
    digits = str(world.question["contribution_id"]).partition("-")[2]
    return {"event_id": f"evt-{digits}"}


def _pin(world: World, key: str) -> Request:
    return request(CLIENT, "frontier_pin", world.space.args, project=world.project, key=key)


def _cancel(world: World, key: str) -> Request:
    args = {"invocation_id": world.invocations["cancel queued"]}
    return request(CLIENT, "invocation_cancel", args, project=world.project, key=key)


def _frontier(world: World) -> dict[str, object]:
    return {"frontier_id": world.assembly["frontier_ref"]}


RIGHT: Final[dict[str, Make]] = {
    "hello": lambda _w, _k: request(
        CLIENT,
        "hello",
        {
            "supported_versions": ["0.1"],
            "implementation": "table",
            "implementation_version": "1",
            "requested_features": [],
        },
    ),
    "protocol_info": _read("protocol_info", lambda _: {}, project=False),
    "diagnose": _read("diagnose", lambda _: {}, project=False),
    "realm_show": _read("realm_show", lambda _: {}, project=False),
    "project_create": lambda _w, k: request(CLIENT, "project_create", {"name": "cellar"}, key=k),
    "project_show": _read("project_show", lambda _: {}),
    "project_list": _read("project_list", lambda _: {"limit": 9}, project=False),
    "space_create": lambda w, k: request(
        CLIENT, "space_create", {"title": "damp", "visibility": "project"}, project=w.project, key=k
    ),
    "space_show": lambda w, _k: w.show_space(),
    "space_list": _read("space_list", lambda _: {"limit": 9}),
    "contribution_append": lambda w, k: w.append(k, "It drips."),
    "contribution_show": _read(
        "contribution_show", lambda w: {"contribution_id": w.question["contribution_id"]}
    ),
    "contribution_list": _read("contribution_list", lambda w: {"space_id": w.space.space_id, "limit": 9}),
    "relation_assert": lambda w, k: w.relate(k),
    "frontier_pin": _pin,
    "frontier_show": _read("frontier_show", _frontier),
    "context_assembly_create": lambda w, k: w.assemble(k),
    "context_assembly_show": _read(
        "context_assembly_show", lambda w: {"assembly_id": w.assembly["assembly_id"]}
    ),
    "invocation_create": lambda w, k: w.invoke(k, w.space, w.assembly),
    "invocation_show": _read("invocation_show", lambda w: {"invocation_id": w.invocations["append"]}),
    "invocation_list": _read("invocation_list", lambda _: {"limit": 9}),
    "invocation_cancel": _cancel,
    "invocation_claim": lambda w, k: w.claim(k, w.invocations["claim first"]),
    "invocation_complete": lambda w, k: complete(k, w.attempts["complete"]),
    "events_read": _read("events_read", lambda w: {"source": w.project, "limit": 9}),
    "events_wait": _read(
        "events_wait", lambda w: {"source": w.project, "after_cursor": "set by spoken", "timeout_ms": 30_000}
    ),
    "event_payload": _read("event_payload", _event),
    "tallystick_limits": _read("tallystick_limits", lambda _: {}, project=False),
    "tallystick_status": _read("tallystick_status", lambda _: {}, project=False),
    "tallystick_agent_list": _read("tallystick_agent_list", lambda _: {"limit": 9}, project=False),
    "tallystick_shutdown": _read("tallystick_shutdown", lambda _: {}, project=False),
    "tallystick_invocation_progress": lambda w, _k: request(
        WORKER, "tallystick_invocation_progress", w.attempts["cancel refused"].args
    ),
    "tallystick_invocation_item": lambda w, _k: request(
        WORKER,
        "tallystick_invocation_item",
        {**w.attempts["cancel refused"].args, "object_ref": w.question["contribution_id"]},
    ),
    "tallystick_invocation_renew": lambda w, _k: request(
        WORKER, "tallystick_invocation_renew", w.attempts["cancel refused"].args
    ),
    "tallystick_invocation_fail": lambda w, k: fail(k, w.attempts["fail retryable"], retryable=True),
}
"""Right requests, by the one who may make them; of other operations the repository's own request is taken."""

SERVED: Final = {operation for _, operation in BY_SOCKET}
SPECIMENS: Final = {specimen.request["op"]: specimen for specimen in specimens()}
SENDABLE: Final = RIGHT.keys() | SPECIMENS.keys()
MADE_UP: Final = ("$.args.after", "$.args.snapshot")
NOT_ADMITTED: Final = {"invalid", "forbidden", "forbidden-surface", "unknown-op", "unsupported-version"}

HOLDERS: Final = {
    "contribution_append": "append",
    "relation_assert": "relate",
    "context_assembly_create": "assemble",
    "invocation_complete": "complete",
    "tallystick_invocation_fail": "fail retryable",
}
"""The invocation that a worker's command is tried on; each may be used up. Others take the last."""


def right(world: World, operation: str, key: str) -> Request:
    """A right request of an operation."""
    if operation in RIGHT:
        return RIGHT[operation](world, key)
    specimen = SPECIMENS[operation]
    there = {"project_id": world.project} if "project_id" in specimen.request else {}
    return Request(specimen.socket, {**specimen.request, **there})


def let_in(reply: Reply) -> bool:
    """Whether a reply comes from behind all that judges who calls; a token that no daemon made does not."""
    return reply.kind not in NOT_ADMITTED or reply.problem["detail"].startswith(MADE_UP)


def spoken(paths: Paths, world: World, operation: str, column: str) -> Request:
    """What is sent for one cell."""
    made = right(world, operation, f"{operation}-{column.strip('+')}")
    socket = CLIENT if column in OWNER else WORKER
    binding = attempt_in(world, operation, column)
    if operation == "events_wait":
        read = ask(paths, RIGHT["events_read"](world, ""))
        made = made.changed(after_cursor=read.result["next_cursor"])
    args = {name: value for name, value in made.body["args"].items() if name not in Attempt._fields[1:]}
    if binding is not None:
        args |= binding.binding
        if "invocation_id" in args and operation not in ("invocation_show", "invocation_cancel"):
            args["invocation_id"] = binding.invocation_id
    return Request(socket, {**made.body, "args": args})


def attempt_in(world: World, operation: str, column: str) -> Attempt | None:
    """The attempt that is named in a cell, if one is."""
    held = world.attempts[HOLDERS.get(operation, "cancel refused")]
    return {
        "owner": None,
        "+attempt": held,
        "current": held,
        "stale": world.attempts["claim failed"],
        "guessed": held._replace(attempt_id=GUESSED),
        "none": None,
    }[column]


@pytest.fixture(scope="module")
def daemon(world: World) -> Iterator[Tallyd]:
    """A daemon on a copy of the world for the whole table, but for what ends it."""
    with running_on(world.home) as running:
        yield running


@pytest.mark.parametrize("operation", sorted(SENDABLE & SERVED - {"tallystick_shutdown"}))
def test_who_may_call(operation: str, world: World, daemon: Tallyd) -> None:
    """Each cell of its line is as written; whoever is refused changes nothing, and leaves one row at most."""
    line = TABLE[operation]
    refused = [column for column, kind in line.items() if kind not in (None, ADMITTED)]
    before = dump_live(daemon.paths)
    replies = {c: ask(daemon.paths, spoken(daemon.paths, world, operation, c)) for c in refused}
    after = dump_live(daemon.paths)
    changes = [change for change in differences(before, after) if change.table != "outbox"]
    others = [column for column in line if column not in refused]
    replies |= {c: ask(daemon.paths, spoken(daemon.paths, world, operation, c)) for c in others}

    answers = {c: ADMITTED if line[c] == ADMITTED else reply.kind for c, reply in replies.items()}
    assert answers == line
    assert not [c for c, reply in replies.items() if line[c] == ADMITTED and not let_in(reply)]
    assert {(change.table, change.action) for change in changes} <= {("log", "insert")}
    assert len(changes) <= len(refused)
    assert all(change.row["stream"] is None for change in changes), "a refused command told an event"


def test_who_may_end_the_daemon(world: World, world_home: Place) -> None:
    """The owner alone ends it; everybody else is refused, and it goes on."""
    line = TABLE["tallystick_shutdown"]
    with Tallyd(world_home) as running:
        others = {
            column: ask(running.paths, spoken(running.paths, world, "tallystick_shutdown", column)).kind
            for column in line
            if column != "owner"
        }
        assert others == {column: line[column] for column in others}
        assert ask(running.paths, spoken(running.paths, world, "tallystick_shutdown", "owner")).result == {
            "stopping": True
        }
        assert running.wait() == 0


def test_the_table_has_every_operation() -> None:
    """Each entry of the registry has its line, and a socket that does not know an operation says so there."""
    assert TABLE.keys() >= SERVED
    for operation in SERVED:
        line = TABLE[operation]
        for socket, columns in ((Socket.CLIENT, OWNER), (Socket.WORKER, WORKERS)):
            unknown = {line[column] == "unknown-op" for column in columns}
            assert unknown == {(socket, operation) not in BY_SOCKET}, (operation, socket)


def test_at_head_is_not_authority(world: World, daemon: Tallyd) -> None:
    """The extension that takes any head opens no project that is not there."""
    asked = world.append("elsewhere", "Hello?")
    moved = Request(asked.socket, {**asked.body, "project_id": "proj-" + "0" * 32})
    assert moved.body["ext"] == AT_HEAD
    assert ask(daemon.paths, moved).kind == "not-found"
