"""Leases that run out, on a clock that the tests own: who may go on, who takes over, and who is told no."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from typing import Final

import pytest
from effects import REFUSED
from harness.control import CONTROL_VARIABLE, Control
from harness.dumps import Dump, counted, differences, dump_live, effects
from harness.home import Home
from harness.wire import Reply, Request, Wire, ask, request
from journey import ask_why, record_of, reviewer
from reviewer import TERM_SECONDS
from world import (
    CLIENT,
    WORKER,
    Prepared,
    World,
    append,
    attempt_of,
    complete,
    fail,
)

from tallystick.paths import Paths


@pytest.fixture
def clock(home: Home) -> Control:
    """A clock for the daemon of ``home``; it stands still until it is moved."""
    control = Control(os.path.join(home.root, "control"))
    control.begin_clock()
    return control


@pytest.fixture
def paths(home: Home, clock: Control) -> Iterator[Paths]:
    """Of a daemon that runs on that clock."""
    with home.start(launcher={CONTROL_VARIABLE: clock.path}) as daemon:
        yield daemon.paths


# --- the table ----------------------------------------------------------------------------------------------
TABLE: Final = """
what the old worker sends   | live | lapsed | taken | finished | canceled | completed | failed
append                      | ok   | ok     | stale | stale    | stale    | stale     | stale
its first append again      | same | same   | stale | stale    | stale    | stale     | stale
relate                      | ok   | ok     | stale | stale    | stale    | stale     | stale
assemble                    | ok   | ok     | stale | stale    | stale    | stale     | stale
renew                       | ok   | ok     | stale | stale    | stale    | stale     | stale
progress                    | ok   | ok     | stale | stale    | stale    | stale     | stale
complete                    | ok   | ok     | stale | stale    | stale    | stale     | stale
fail                        | ok   | ok     | stale | stale    | stale    | stale     | stale
what ended it again         | -    | -      | -     | -        | -        | same      | same
its claim again             | same | same   | stale | stale    | stale    | stale     | stale
claim under a new key       | stale| next   | stale | stale    | stale    | stale     | next
"""
"""Down: what the worker that claimed first sends. Across: what happened to its invocation before.

========= =================================================
live      nothing
lapsed    its lease has run out, and nobody claimed
taken     its lease has run out, and another worker claimed
finished  the other worker has completed
canceled  a person has canceled
completed it has completed
failed    it has failed, and may be tried again
========= =================================================

``ok`` done; ``same`` the bytes of the first time; ``stale`` refused as stale-lease; ``next`` a new attempt
with the next fence.
"""


def parse(table: str) -> dict[str, dict[str, str]]:
    """Outcomes by column and row."""
    head, *rows = ([cell.strip() for cell in line.split("|")] for line in table.strip().splitlines())
    return {column: {row[0]: row[index] for row in rows} for index, column in enumerate(head) if index}


class Old:
    """A worker that has claimed an invocation and appended once, and what it can send."""

    def __init__(self, world: World, paths: Paths, name: str) -> None:
        self._world = world
        self._paths = paths
        self._name = name
        self._first: dict[str, tuple[Request, Reply]] = {}
        asked = world.invoke(f"{name}-i", world.space, world.assembly)
        self.invocation = ask(paths, asked).result["invocation_id"]
        claimed = self._once("its claim again", world.claim(f"{name}-c", self.invocation, TERM_SECONDS))
        self.attempt = attempt_of(claimed.result)
        self._once("its first append again", self._bound(world.append(f"{name}-a", "First.")))

    def _once(self, row: str, sent: Request) -> Reply:
        reply = ask(self._paths, sent)
        assert reply.ok, reply.value
        self._first[row] = (sent, reply)
        return reply

    def _bound(self, asked: Request) -> Request:
        return self._world.as_worker(asked, self.attempt)

    def ends(self, sent: Request) -> None:
        """It ends its attempt by itself."""
        self._once("what ended it again", sent)

    def send(self, row: str) -> str:
        """Sends what the row says; the outcome in the table's words."""
        if row in self._first:
            sent, first = self._first[row]
            reply = ask(self._paths, sent)
            return "same" if reply.raw == first.raw else self._outcome(reply)
        return self._outcome(ask(self._paths, self._new(row)))

    def _new(self, row: str) -> Request:
        world, name = self._world, self._name
        made: dict[str, Callable[[], Request]] = {
            "append": lambda: self._bound(world.append(f"{name}-a2", "Second.")),
            "relate": lambda: self._bound(world.relate(f"{name}-r")),
            "assemble": lambda: self._bound(world.assemble(f"{name}-s")),
            "renew": lambda: request(WORKER, "tallystick_invocation_renew", self.attempt.args),
            "progress": lambda: request(WORKER, "tallystick_invocation_progress", self.attempt.args),
            "complete": lambda: complete(f"{name}-d", self.attempt),
            "fail": lambda: fail(f"{name}-f", self.attempt, retryable=True),
            "claim under a new key": lambda: world.claim(f"{name}-c2", self.invocation, TERM_SECONDS),
        }
        return made[row]()

    def _outcome(self, reply: Reply) -> str:
        if not reply.ok:
            return "stale" if reply.kind == "stale-lease" else str(reply.kind)
        fence = reply.result.get("fence_epoch")
        return "next" if fence == self.attempt.fence_epoch + 1 else "ok"


READS: Final = ("renew", "progress")
"""Rows that leave no trace, refused or not."""


def bring_about(moment: str, world: World, paths: Paths, old: Old) -> None:
    """What happened to the invocation, as the table's columns say."""
    key = f"{old.invocation}-{moment}"
    if moment in ("taken", "finished"):
        other = attempt_of(ask(paths, world.claim(f"{key}-claim", old.invocation, TERM_SECONDS)).result)
        assert other.fence_epoch == old.attempt.fence_epoch + 1
        if moment == "finished":
            assert ask(paths, complete(f"{key}-done", other)).ok
    elif moment == "canceled":
        args = {"invocation_id": old.invocation}
        assert ask(paths, request(CLIENT, "invocation_cancel", args, project=world.project, key=key)).ok
    elif moment == "completed":
        old.ends(complete(f"{key}-done", old.attempt))
    elif moment == "failed":
        old.ends(fail(f"{key}-failed", old.attempt, retryable=True))


@pytest.mark.parametrize("moment", parse(TABLE))
def test_the_old_worker(prepared: Prepared, home: Home, clock: Control, moment: str) -> None:
    """Each command and replay of the worker that claimed first is answered as the table says, and what is
    refused leaves one row at most."""
    world, expected = prepared.world, parse(TABLE)[moment]
    rows = [row for row, outcome in expected.items() if outcome != "-"]
    with home.copy_of(prepared.home).start(launcher={CONTROL_VARIABLE: clock.path}) as daemon:
        workers = {row: Old(world, daemon.paths, f"old-{n}") for n, row in enumerate(rows)}
        if moment in ("lapsed", "taken", "finished"):
            clock.advance(TERM_SECONDS + 1)
        for old in workers.values():
            bring_about(moment, world, daemon.paths, old)
        found = {}
        for row in rows:
            before = dump_live(daemon.paths)
            found[row] = workers[row].send(row)
            assert_trace(row, found[row], before, dump_live(daemon.paths))
    assert found == {row: expected[row] for row in rows}


def assert_trace(row: str, outcome: str, before: Dump, after: Dump) -> None:
    """What is answered as the first time leaves nothing; what is refused leaves the row that says so."""
    changes = [change for change in differences(before, after) if change.table != "outbox"]
    if outcome == "same" or row in READS:
        assert changes == []
    elif outcome == "stale":
        assert effects(changes) == counted(REFUSED)


def test_a_lapsed_lease_is_renewed_by_its_worker(prepared: Prepared, home: Home, clock: Control) -> None:
    """A worker whose lease ran out and that is back first keeps its invocation: the clock fences nobody."""
    world = prepared.world
    with home.copy_of(prepared.home).start(launcher={CONTROL_VARIABLE: clock.path}) as daemon:
        old = Old(world, daemon.paths, "slow")
        clock.advance(TERM_SECONDS + 1)
        assert old.send("append") == "ok"
        assert old.send("claim under a new key") == "stale"
        clock.advance(TERM_SECONDS + 1)
        assert old.send("claim under a new key") == "next"


def test_a_start_gives_each_lease_its_full_term(prepared: Prepared, home: Home, clock: Control) -> None:
    """Nobody could renew while the daemon was down: what had nearly run out has its whole term after it."""
    world = prepared.world
    launcher = {CONTROL_VARIABLE: clock.path}
    with home.copy_of(prepared.home).start(launcher=launcher) as daemon:
        old = Old(world, daemon.paths, "waiting")
        clock.advance(TERM_SECONDS - 1)
    clock.advance(3600)
    with home.start(launcher=launcher):
        clock.advance(TERM_SECONDS - 1)
        assert old.send("claim under a new key") == "stale"
        clock.advance(2)
        assert old.send("claim under a new key") == "next"


# --- processes ----------------------------------------------------------------------------------------------
@pytest.mark.crash
def test_a_second_worker_goes_on(paths: Paths, clock: Control) -> None:
    """A worker is killed after its synthesis; when its lease has run out a second one, with other words,
    takes the invocation over, finds the synthesis done, and ends it: the record has each thing once."""
    asked = ask_why(paths)
    with reviewer(paths, asked.invocation, "The first words.", "--die") as first:
        assert first.ends() == -signal.SIGKILL
    clock.advance(TERM_SECONDS + 1)
    with reviewer(paths, asked.invocation, "Quite other words.") as second:
        assert second.ends() == 0
        assert second.tries("contribution_append") == 0
    record = record_of(paths, asked.project)
    [synthesis] = record.contributions["synthesis"]
    [relation] = record.relations
    [succeeded] = record.succeeded
    assert synthesis["body_parts"][0]["text"].startswith("The first words.")
    assert relation["from_ref"]["object_ref"] == synthesis["contribution_id"]
    assert succeeded["invocation_id"] == asked.invocation
    assert succeeded["result_ref"] == synthesis["contribution_id"]


@pytest.mark.crash
def test_a_person_speaks_in_between(paths: Paths) -> None:
    """What a person appends between an assistant's claim and its synthesis moves the head; the assistant
    lands behind it, with its first try."""
    asked = ask_why(paths)
    with reviewer(paths, asked.invocation, "Still the same.", "--pause") as assistant:
        while assistant.said() != "claimed":
            pass
        with Wire(paths) as person:
            said = [
                person.ask(append(asked.project, asked.space, f"p-{n}", f"Wait, {n}.")).result
                for n in range(3)
            ]
        assistant.go_on()
        assert assistant.ends() == 0
        assert assistant.tries("contribution_append") == 1
    [synthesis] = record_of(paths, asked.project).contributions["synthesis"]
    assert synthesis["space_sequence"] == said[-1]["space_sequence"] + 1
