"""Several commands in one transaction, as runs that are judged like the cells of the matrix."""

from __future__ import annotations

from typing import Final

from cells import (
    Promise,
    Run,
    broken,
    crash,
    judge_crash,
    judge_diagnosis,
    judge_effect,
)
from expected import find_cell
from harness.dumps import differences, dump_copy, dump_live, new_entries
from harness.wire import Request, Wire, ask
from world import Space, World

_APPEND: Final = find_cell("contribution_append").rows
PAIR: Final = (
    *(effect for effect in _APPEND if effect.action == "insert"),
    *_APPEND,
)
"""Of two appends to one space: each its own rows, and the space's one row changed."""
TEN: Final = 10
FIFTH: Final = 4
"""The index of the one of ten that is refused."""


def run_pair(run: Run, phase: str) -> None:
    """Two clients in one batch: both die with it, unanswered; both send again, and each is done once."""
    sent = [run.world.append(f"pair-{n}", f"Client {n}.") for n in range(2)]
    crash(run, f"{phase}:contribution_append@client#2", *sent)
    judge_crash(run.before, dump_copy(run.home.paths), phase, PAIR)
    with run.start() as daemon:
        first = [ask(daemon.paths, one) for one in sent]
        again = [ask(daemon.paths, one) for one in sent]
        if [reply.raw for reply in first] != [reply.raw for reply in again]:
            broken(Promise.SAME_BYTES, (first, again))
        judge_diagnosis(daemon.paths)
    judge_effect(run.before, dump_copy(run.home.paths), PAIR)


def ten_appends(world: World) -> list[Request]:
    """Ten appends, the fifth of them to a space that is not there."""
    nowhere = Space("space-" + "0" * 32, world.space.branch_id)
    return [
        world.append(f"ten-{n}", f"Number {n}.", nowhere if n == FIFTH else world.space) for n in range(TEN)
    ]


def run_ten(run: Run) -> None:
    """One of ten members is refused: the other nine are in, and each of the ten has its one entry."""
    sent = ten_appends(run.world)
    with run.start(hold=TEN) as daemon, Wire(daemon.paths) as wire:
        wire.send(*sent)
        kinds = [wire.receive(one.operation).kind for one in sent]
        after = dump_live(daemon.paths)
        judge_diagnosis(daemon.paths)
    expected = [None if n != FIFTH else "not-found" for n in range(TEN)]
    if kinds != expected:
        broken(Promise.REFUSED_LEAVES_ONE_ROW, f"replies {kinds} instead of {expected}")
    entries = [row["outcome"] for row in new_entries(run.before, after)]
    if entries != [kind or "applied" for kind in expected]:
        broken(Promise.REFUSED_LEAVES_ONE_ROW, f"entries {entries}")
    appended = [change for change in differences(run.before, after) if change.table == "contributions"]
    if len(appended) != TEN - 1:
        broken(Promise.ONE_EFFECT, f"{len(appended)} contributions instead of {TEN - 1}")


def run_ten_killed(run: Run) -> None:
    """What waited together is one transaction: the death of the first takes the tenth with it."""
    daemon = run.start(abort="before_commit:contribution_append#1", hold=TEN)
    with Wire(daemon.paths) as wire:
        wire.send(*ten_appends(run.world))
        said = wire.read_line()
    if said:
        broken(Promise.SILENT, said)
    daemon.wait()
    judge_crash(run.before, dump_copy(run.home.paths), "before_commit", ())
