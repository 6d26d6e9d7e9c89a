"""The order in which a request is judged and done, and what no request can ask for, on the real daemon."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import apsw
import msgspec
import pytest
from harness.dumps import differences, dump_live
from harness.wire import Request, Wire, ask, request
from msgspec import structs
from socket_conformance.talk import Talk
from world import CLIENT, WORKER, World

from tallyd.families import all_families
from tallyd.families.shared.family import WriteHandler
from tallyd.ledger.transaction import Applied
from tallyd.service.wiring import WIRING
from tallystick.protocol.operation import AnyOperation
from tallystick.protocol.registry import BY_SOCKET, OPERATIONS

from .process import Tallyd, running_on


@pytest.fixture(scope="module")
def daemon(world: World) -> Iterator[Tallyd]:
    """A daemon for this module."""
    with running_on(world.home) as running:
        yield running


def test_a_read_sees_the_writes_before_it(daemon: Tallyd, world: World) -> None:
    """Sixty appends, each with a read behind it, sent in one piece: each read shows the append before it."""
    shows = world.show_space()
    with Wire(daemon.paths) as wire:
        before = wire.ask(shows).result["revision"]
        sent = [asked for n in range(60) for asked in (world.append(f"r-{n}", f"Number {n}."), shows)]
        wire.send(*sent)
        revisions = []
        for asked in sent:
            reply = wire.receive(asked.operation)
            if asked is shows:
                revisions.append(reply.result["revision"])
    assert revisions == list(range(before + 1, before + 61))


def test_reads_take_turns_with_commands(daemon: Tallyd, world: World) -> None:
    """A command behind forty long reads is not held up by them: most are read after it is durable, and show
    its event.
    """
    with ExitStack() as stack:
        writer = stack.enter_context(Wire(daemon.paths))
        here = writer.ask(world.append("here", "From here on.")).value["event_cursor"]
        read = {"source": world.project, "after_cursor": here, "limit": 512}
        reads = request(CLIENT, "events_read", read, project=world.project)
        fill = [world.append(f"fill-{n}", "It drips. " * 400) for n in range(150)]
        writer.send(*fill)
        assert all(writer.receive(asked.operation).ok for asked in fill)
        readers = [stack.enter_context(Wire(daemon.paths)) for _ in range(40)]
        for reader in readers:
            reader._socket.sendall(reads.line.rstrip(b"\n"))
        for reader in readers:
            reader._socket.sendall(b"\n")
        said = writer.ask(world.append("turn", "Now.")).result["contribution_id"]
        pages = [reader.receive(reads.operation).result["events"] for reader in readers]
    late = [any(event["resource_ref"] == said for event in page) for page in pages]
    assert sum(late) > len(readers) / 2


def test_case_022_many_writers_never_meet_a_busy_database(daemon: Tallyd, world: World) -> None:
    """Sixteen clients that write at once all get what they asked for, and each command is done once."""
    shows = world.show_space()
    before = ask(daemon.paths, shows).result["revision"]

    def write(number: int) -> list[str | None]:
        with Wire(daemon.paths) as wire:
            return [wire.ask(world.append(f"m-{number}-{n}", "It drips.")).kind for n in range(10)]

    with ThreadPoolExecutor(16) as clients:
        assert list(clients.map(write, range(16))) == [[None] * 10] * 16
    assert ask(daemon.paths, shows).result["revision"] == before + 160


def test_case_023_a_locked_database_is_said_and_not_lived_with(daemon: Tallyd, world: World) -> None:
    """While another program holds the database's lock a command is refused as not applied, a read is served;
    and when it lets go, the same command is done.
    """
    asked = world.append("l-1", "It drips.")
    stranger = apsw.Connection(daemon.paths.database)
    try:
        stranger.execute("BEGIN IMMEDIATE").fetchall()
        with Wire(daemon.paths) as writer, Wire(daemon.paths) as reader:
            writer.send(asked)
            assert reader.ask(world.show_space()).ok
            refused = writer.receive(asked.operation)
            assert refused.kind == "unavailable"
            assert refused.problem["ext"]["dev.tallystick.outcome"] == {"state": "not_applied"}
            stranger.execute("ROLLBACK").fetchall()
            assert writer.ask(asked).ok
    finally:
        stranger.close()


def test_authority_is_judged_before_the_key(daemon: Tallyd, world: World) -> None:
    """In a project that is not there a used key says nothing of its first use; with an attempt that is not
    known, neither does an operation key.
    """
    asked = world.append("k-1", "First.")
    assert ask(daemon.paths, asked).ok
    elsewhere = asked.changed(body_parts=[{"media_type": "text/plain", "text": "Other."}])
    hidden = Request(CLIENT, {**elsewhere.body, "project_id": "proj-" + "0" * 32})
    assert ask(daemon.paths, elsewhere).kind == "idempotency-mismatch"
    assert ask(daemon.paths, hidden).kind == "not-found"

    attempt = world.attempts["append"]
    step = world.as_worker(world.append("k-2", "A step.", kind="synthesis"), attempt)
    assert ask(daemon.paths, step).ok
    guessed = Request(WORKER, {**step.body, "args": {**step.body["args"], "attempt_id": "att-" + "1" * 32}})
    assert ask(daemon.paths, guessed).kind == "not-found"


def test_what_is_malformed_leaves_no_row(daemon: Tallyd) -> None:
    """Only well-formed commands are put on record: of others not a row of any table is left."""
    with Talk(daemon.paths) as talk:
        before = dump_live(daemon.paths)
        for line in (b"", b"{", b'{"version":"0.1","op":"project_create","args":{}}', b"\0" * 9):
            assert talk.ask("hello", line).kind == "invalid"
        after = dump_live(daemon.paths)
    assert [change for change in differences(before, after) if change.table != "outbox"] == []


def test_an_operation_without_a_handler_stops_the_start() -> None:
    """An operation cannot be advertised without a handler or with two, a handler not be reachable without an
    entry, and none be bound as what the operation is not.
    """
    family = all_families()["projects"]
    first, *others = family.handlers
    name = first.operation.name
    for handlers in (others, [first, first, *others]):
        with pytest.raises(TypeError, match=f"{name} .* needs exactly one handler"):
            structs.replace(family, handlers=tuple(handlers))
    strange = structs.replace(first, operation=structs.replace(first.operation, name="elsewhere"))
    with pytest.raises(TypeError, match="elsewhere is no operation of this family"):
        structs.replace(family, handlers=(*family.handlers, strange))
    bound_wrongly = WriteHandler(operation=first.operation, run=lambda *_: Applied())
    with pytest.raises(TypeError, match=f"{name} is a read"):
        structs.replace(family, handlers=(bound_wrongly, *others))
    assert WIRING.handlers.keys() == BY_SOCKET.keys()


LABELS = {"tallystick_decision_current": {"path"}}
"""A path in a repository that the daemon never sees: it is compared as a text, with those of decisions."""
OPENED_OR_RUN = ("path", "file", "dir", "command", "argv", "exec", "shell", "program", "script", "url", "uri")


@pytest.mark.parametrize("operation", OPERATIONS, ids=[f"{o.name}@{o.socket}" for o in OPERATIONS])
def test_case_090_no_operation_takes_a_path_or_a_command(operation: AnyOperation) -> None:
    """Nothing that a client sends is opened, run or fetched: no argument is named as if it were."""
    schema = json.dumps(msgspec.json.schema(operation.arguments))
    names = {
        name
        for found in msgspec.json.decode(schema).get("$defs", {}).values()
        for name in found.get("properties", {})
    }
    assert names or operation.arguments.__struct_fields__ == ()
    words = {part for name in names for part in name.split("_")}
    assert words & set(OPENED_OR_RUN) == LABELS.get(operation.name, set())
