"""How an erasure is tried: behind the command the daemon cleans its files, by itself, and writes that down. A
process that died in between has left that to the next one.
"""

from __future__ import annotations

from typing import Final

from cells import (
    OUTBOX,
    Cell,
    Promise,
    Run,
    armed,
    broken,
    crash,
    judge_crash,
    judge_dense,
    judge_events,
    judge_replay,
)
from effects import insert
from harness.dumps import Dump, counted, differences, dump_copy, dump_live, effects, without
from harness.home import Daemon
from harness.wire import Reply, Request, ask, request
from world import CLIENT

ERASED_BEHIND: Final = (insert("log"), insert("ids"))
"""What the daemon writes by itself behind an erasure, when its files are clean: one row."""
LOOK_MS: Final = 50
LOOKS_MAX: Final = 400


def run_erasure(run: Run, cell: Cell, phase: str) -> None:
    """All of a cell: what is there behind the commit, and what the daemon comes to by itself. Raises
    Broken."""
    sent = cell.make(run.world)
    crash(run, armed(cell.place, phase), sent)
    left = dump_copy(run.home.paths)
    judge_crash(run.before, left, phase, cell.rows)
    if phase == "after_commit":
        judge_events(run.before, left, cell)
    first = _judge_retries(run, sent, cell, phase)
    judge_replay(run, sent, first, cell)


def _judge_retries(run: Run, sent: Request, cell: Cell, phase: str) -> Reply:
    """The next process ends what was begun without being asked; the command has its effect once."""
    with run.start() as daemon:
        if phase == "after_commit":
            await_erased(daemon, run.world.project)
            _judge_settled(run.before, dump_live(daemon.paths), cell)
        first = ask(daemon.paths, sent)
        await_erased(daemon, run.world.project)
        second = ask(daemon.paths, sent)
    if not first.ok:
        broken(Promise.ONE_EFFECT, first.value)
    if first.raw != second.raw:
        broken(Promise.SAME_BYTES, (first.raw, second.raw))
    _judge_settled(run.before, dump_copy(run.home.paths), cell)
    return first


def await_erased(daemon: Daemon, project: str) -> None:
    """Returns when nothing is being erased any more; the daemon's own timer paces the looks."""
    spaces = ask(daemon.paths, request(CLIENT, "space_list", {"limit": 1}, project=project)).result
    args = {"source": project, "after_cursor": spaces["boundary_event_cursor"], "timeout_ms": LOOK_MS}
    for _ in range(LOOKS_MAX):
        if all(row["state"] == "erased" for row in dump_live(daemon.paths)["erasures"].values()):
            return
        assert ask(daemon.paths, request(CLIENT, "events_wait", args, project=project)).ok
    broken(Promise.ERASED, "it is still being erased")


def _judge_settled(before: Dump, after: Dump, cell: Cell) -> None:
    """The command and what the daemon did behind it, each once. Artifacts are touched by both."""
    ignored = (OUTBOX, "artifacts")
    both = tuple(effect for effect in (*cell.rows, *ERASED_BEHIND) if effect.table not in ignored)
    found = effects(differences(without(before, *ignored), without(after, *ignored)))
    if found != counted(both):
        broken(Promise.ONE_EFFECT, (counted(both) - found, found - counted(both)))
    states = {row["state"] for row in after["erasures"].values()}
    artifacts = {row["state"] for row in after["artifacts"].values()}
    if states != {"erased"} or "erasing" in artifacts:
        broken(Promise.ERASED, (states, artifacts))
    judge_dense(after)
