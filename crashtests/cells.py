"""The cells of the crash matrix: what is sent in each, and what is judged.

A cell takes a copy of the prepared store, starts the real daemon armed for one phase of one operation, sends
the command, and watches the process die; then it looks at every table, starts the daemon again, and sends
the same command until all that was promised has been seen. What does not hold is a ``Broken`` with the
promise's name, so that a mutant of the product can be held to failing for its own reason.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final, NamedTuple, NoReturn

from effects import REFUSED, Place, Rows
from harness.control import CONTROL_VARIABLE, Control
from harness.dumps import (
    Dump,
    counted,
    differences,
    dump_copy,
    dump_live,
    effects,
    new_entries,
    sequence_faults,
    without,
)
from harness.home import Daemon, Home
from harness.wire import Reply, Request, Wire, ask, request
from world import CLIENT, TERM_SECONDS, Prepared, World

from tallystick.paths import Paths
from tallystick.protocol.operation import Socket
from tallystick.protocol.registry import BY_SOCKET

PHASES: Final = ("before_commit", "after_commit")
BETWEEN: Final = ("after_seal_txn", "after_seal")
"""Phases between the two transactions of a command that has two."""
OUTBOX: Final = "outbox"
"""Its rows may be tidied away by any later batch, and are left out where one may have run."""


class Promise(StrEnum):
    """What a cell judges, in the words in which it is broken."""

    DIES = "the process ends by SIGABRT"
    SILENT = "not one byte of a reply leaves"
    NOTHING_BEFORE = "before the commit nothing is there"
    EXACT_ROWS = "after the commit exactly the declared rows are there"
    RESTART_CHANGES_NOTHING = "the next start changes nothing"
    ONE_EFFECT = "however often it is sent, it has one effect"
    SAME_BYTES = "each later reply is the first, byte for byte"
    REPLAY_WRITES_NOTHING = "a replay writes nothing"
    DENSE = "positions and sequences have no gap"
    OTHER_INTENT_REFUSED = "another intent under the same key is refused, and leaves one row"
    REFUSED_LEAVES_ONE_ROW = "a refused command leaves its one row, and the process lives"
    ERASED = "what is erased is gone from every file, and said to be"
    WHOLE = "the store's own diagnosis finds nothing"


class Broken(AssertionError):
    """A promise that did not hold."""

    def __init__(self, promise: Promise, detail: object) -> None:
        super().__init__(f"{promise}: {detail}")
        self.promise = promise


def broken(promise: Promise, detail: object) -> NoReturn:
    raise Broken(promise, detail)


class Cell(NamedTuple):
    """One operation in one situation, and the rows that it touches there. ``other`` are arguments that make
    another intent of the command.
    """

    place: Place
    situation: str
    make: Callable[[World], Request]
    other: Callable[[World], dict[str, Any]]
    rows: Rows
    lapses: bool = False
    """The leases have to run out before it is sent."""
    phases: tuple[str, ...] = PHASES
    begun: Rows = ()
    """What is there at every phase before the last: the first transaction of a command that has two."""
    events: tuple[str, ...] = ()
    """Which of the registry's it tells by, where that is not each of them."""
    run: Callable[[Run, Cell, str], None] | None = None
    """How it is tried, where the daemon goes on by itself behind the command."""

    def __str__(self) -> str:
        return f"{self.place}" + (f" ({self.situation})" if self.situation else "")


class Refusal(NamedTuple):
    """A command that is refused, with which kind of problem, and what it leaves: its row, as a rule."""

    place: Place
    situation: str
    make: Callable[[World], Request]
    kind: str
    leaves: Rows = REFUSED

    def __str__(self) -> str:
        return f"{self.place} (refused: {self.situation})"


def armed(place: Place, phase: str) -> str:
    """What the hook's variable says for that operation."""
    return f"{phase}:{place.operation}@{'worker' if place.socket is Socket.WORKER else 'client'}"


KEY: Final = "cell-1"
"""Of the one command that a cell is about."""
NOWHERE: Final = "0" * 32
"""The digits of ids that nothing has."""


def client_cell(
    operation: str,
    rows: Rows,
    args: dict[str, Any],
    other: dict[str, Any],
    *,
    situation: str = "",
    at: str | None = None,
    names: tuple[str, str] | None = None,
) -> Cell:
    """A cell of a client's operation, on the project that the world knows as ``at`` (none: on no project).
    ``names`` is a member of its arguments, and what the world knows its value as.
    """

    def make(world: World) -> Request:
        named = {} if names is None else {names[0]: world.others[names[1]]}
        project = None if at is None else world.others[at]
        return request(CLIENT, operation, {**args, **named}, project=project, key=KEY)

    return Cell(Place(operation, CLIENT), situation, make, lambda _: other, rows)


# --- one cell, from its beginning to its end ----------------------------------------------------------------
class Run(NamedTuple):
    """A copy of the world in a home, and how daemons are started on it: which product, which clock."""

    prepared: Prepared
    home: Home
    product: str | None = None
    control: Control | None = None

    @property
    def world(self) -> World:
        return self.prepared.world

    @property
    def before(self) -> Dump:
        """The store as the cell found it."""
        return self.prepared.dump

    def start(self, *, abort: str | None = None, hold: int | None = None) -> Daemon:
        launcher = None if self.control is None else {CONTROL_VARIABLE: self.control.path}
        daemon = self.home.start(abort=abort, hold=hold, product=self.product, launcher=launcher)
        if self.control is not None:
            self.control.advance(TERM_SECONDS + 1)  # a start gives each lease its full term anew
        return daemon


def begin(prepared: Prepared, home: Home, cell: Cell, product: str | None = None) -> Run:
    """Copies the world into the home, with a clock of ours where leases have to run out."""
    home.copy_of(prepared.home)
    control = None
    if cell.lapses:
        control = Control(os.path.join(home.root, "control"))
        control.begin_clock()
    return Run(prepared, home, product, control)


def run_cell(run: Run, cell: Cell, phase: str) -> None:
    """All of a cell. Raises Broken."""
    (cell.run or _run_cell)(run, cell, phase)


def _run_cell(run: Run, cell: Cell, phase: str) -> None:
    sent = cell.make(run.world)
    crash(run, armed(cell.place, phase), sent)
    left = dump_copy(run.home.paths)
    judge_crash(run.before, left, phase, cell.rows, cell.begun)
    if phase == "after_commit":
        judge_events(run.before, left, cell)
    first = judge_retries(run, sent, left, phase, cell.rows)
    judge_replay(run, sent, first, cell)


def crash(run: Run, abort: str, *sent: Request) -> None:
    """Starts the daemon armed, sends each command on a connection of its own, and sees the process die
    unanswered."""
    daemon = run.start(abort=abort, hold=len(sent) if len(sent) > 1 else None)
    wires = [Wire(daemon.paths, one.socket) for one in sent]
    for wire, one in zip(wires, sent, strict=True):
        wire.send(one)
    for wire in wires:
        with wire:
            said = wire.read_line()
        if said:
            broken(Promise.SILENT, said)
    code = daemon.wait()
    if code != -signal.SIGABRT:
        broken(Promise.DIES, f"it ended with {code}: {daemon.log()}")


def judge_crash(before: Dump, left: Dump, phase: str, declared: Rows, begun: Rows = ()) -> None:
    """What the dead process left on the disk."""
    changes = differences(before, left)
    if phase != "after_commit":
        if effects(changes) != counted(begun):
            broken(Promise.NOTHING_BEFORE, changes)
    elif effects(changes) != counted(declared):
        broken(Promise.EXACT_ROWS, _compared(counted(declared), effects(changes)))
    judge_dense(left)


def judge_events(before: Dump, left: Dump, cell: Cell) -> None:
    """The types of the events that are new, in their order: those that the registry names. A command that
    changes nothing tells nobody."""
    types = tuple(row["type"] for row in new_entries(before, left) if row["type"] is not None)
    told = sum(effect.number for effect in cell.rows if effect.table == OUTBOX)
    named = cell.events or BY_SOCKET[cell.place.socket, cell.place.operation].events
    expected = named if told else ()
    if types != expected:
        broken(Promise.EXACT_ROWS, f"events {types} instead of {expected}")


def judge_dense(dump: Dump) -> None:
    """The log's positions, and each stream's and project's sequences."""
    faults = sequence_faults(dump)
    if faults:
        broken(Promise.DENSE, faults)


def judge_retries(run: Run, sent: Request, left: Dump, phase: str, declared: Rows) -> Reply:
    """The daemon is started again, and the client sends the same twice. Returns the first reply."""
    daemon = run.start()
    with daemon:
        if differences(left, dump_live(daemon.paths)):
            broken(Promise.RESTART_CHANGES_NOTHING, differences(left, dump_live(daemon.paths)))
        first, second = ask(daemon.paths, sent), ask(daemon.paths, sent)
    if not first.ok:
        broken(Promise.ONE_EFFECT, first.value)
    if first.raw != second.raw:
        broken(Promise.SAME_BYTES, (first.raw, second.raw))
    judge_effect(run.before, dump_copy(run.home.paths), declared)
    if phase == "after_commit" and (changes := differences(without(left, OUTBOX), dump_copy(run.home.paths))):
        broken(Promise.ONE_EFFECT, changes)
    return first


def judge_effect(before: Dump, after: Dump, declared: Rows, times: int = 1) -> None:
    """In all, the command had its effect so many times; the outbox has been emptied by the stop."""
    expected = counted(tuple(effect for effect in declared if effect.table != OUTBOX) * times)
    found = effects(differences(before, after))
    if found != expected:
        broken(Promise.ONE_EFFECT, _compared(expected, found))
    judge_dense(after)


def judge_replay(run: Run, sent: Request, first: Reply, cell: Cell) -> None:
    """In a third process the same is sent once more: nothing at all is written. Then another intent."""
    stopped = dump_copy(run.home.paths)
    daemon = run.start()
    with daemon:
        size = wal_bytes(daemon.paths)
        third = ask(daemon.paths, sent)
        if third.raw != first.raw:
            broken(Promise.SAME_BYTES, (first.raw, third.raw))
        if wal_bytes(daemon.paths) != size:
            broken(Promise.REPLAY_WRITES_NOTHING, f"the log grew from {size} to {wal_bytes(daemon.paths)}")
        if changes := differences(stopped, dump_live(daemon.paths)):
            broken(Promise.REPLAY_WRITES_NOTHING, changes)
        judge_other_intent(daemon.paths, stopped, other_intent(run.world, sent, cell))
        judge_diagnosis(daemon.paths)


def other_intent(world: World, sent: Request, cell: Cell) -> Request:
    """The cell's command under the same key, meaning something else."""
    changed = sent.changed(**cell.other(world))
    if changed.body != sent.body:
        return changed
    return Request(sent.socket, {**sent.body, "ext": {"dev.tallystick.lease": {"term_seconds": 77}}})


def judge_other_intent(paths: Paths, before: Dump, other: Request) -> None:
    """A key is spent on one intent."""
    reply = ask(paths, other)
    if reply.kind != "idempotency-mismatch":
        broken(Promise.OTHER_INTENT_REFUSED, reply.value)
    changes = differences(before, dump_live(paths))
    if effects(changes) != counted(REFUSED):
        broken(Promise.OTHER_INTENT_REFUSED, changes)


def judge_diagnosis(paths: Paths) -> None:
    """What the store says of itself. A container's own layer is where a test may well run."""
    said = ask(paths, request(CLIENT, "diagnose", {})).result
    bad = [c for c in said["checks"] if c["status"] != "pass" and c["check"] != "container_layer"]
    if bad:
        broken(Promise.WHOLE, bad)


def run_refused(run: Run, refusal: Refusal, phase: str) -> None:
    """A command that is refused. One that changes nothing stops no daemon that is armed for it."""
    sent = refusal.make(run.world)
    if refusal.leaves == REFUSED:
        with run.start(abort=armed(refusal.place, phase)) as daemon:
            judge_refusal(daemon.paths, sent, refusal.kind, run.before)
        return
    crash(run, armed(refusal.place, phase), sent)
    left = dump_copy(run.home.paths)
    judge_crash(run.before, left, phase, refusal.leaves)
    with run.start() as daemon:
        if phase == "before_commit":
            if ask(daemon.paths, sent).kind != refusal.kind:
                broken(Promise.ONE_EFFECT, "it was not refused again")
            left = dump_live(daemon.paths)
            judge_crash(run.before, left, "after_commit", refusal.leaves)
        judge_refusal(daemon.paths, sent, refusal.kind, left)


def judge_refusal(paths: Paths, sent: Request, kind: str, before: Dump) -> None:
    """The command is refused, and one row says that it came."""
    reply = ask(paths, sent)
    if reply.kind != kind:
        broken(Promise.REFUSED_LEAVES_ONE_ROW, reply.value)
    after = dump_live(paths)
    changes = differences(before, after)
    if effects(changes) != counted(REFUSED):
        broken(Promise.REFUSED_LEAVES_ONE_ROW, changes)
    if [row["outcome"] for row in new_entries(before, after)] != [kind]:
        broken(Promise.REFUSED_LEAVES_ONE_ROW, changes)
    judge_dense(after)
    judge_diagnosis(paths)


def wal_bytes(paths: Paths) -> int:
    """Size of the write-ahead log."""
    return os.stat(paths.database + "-wal").st_size


def _compared(expected: Any, found: Any) -> str:
    return (
        f"expected and not found: {dict(expected - found)}; found and not expected: {dict(found - expected)}"
    )
