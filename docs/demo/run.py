"""``make demo``: a failing test suite, a question, an assistant, and the daemon killed in between.

Everything is real: pytest runs on a project with a mistake in it, tallyd on a store of its own, the assistant
as a process of its own. The daemon is armed to die of SIGABRT right after the assistant's synthesis is
durable and before its reply leaves, and is then started again. Then the record is read from outside, printed,
and checked.

What it promises: exit 0 only where every check holds. It touches nothing outside of a fresh temporary
directory, and leaves neither that nor a process behind. It needs no network and no model.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

# The clone, so that docs.demo is found where this file is the program.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import apsw
from docs.demo import checks, report
from docs.demo.checks import Life, Observation
from docs.demo.stage import DemoFailed, Process, Stage

from tallystick import TallyError, Try, ask
from tallystick.paths import PathError
from tallystick.protocol.families.contributions import Relation
from tallystick.protocol.families.events import Event
from tallystick.protocol.families.invocations import Invocation
from tallystick.protocol.families.projects import Project, Space
from tallystick.protocol.shapes import convert

HERE: Final = Path(__file__).resolve().parent
PROJECT: Final = HERE / "project"
ASSISTANT: Final = HERE / "assistant.py"
QUESTION: Final = "Why does the test suite fail?"
ABORT: Final = "after_commit:contribution_append@worker"
"""Where the daemon dies: a worker's append is durable, and its reply has not left."""
PYTEST: Final = ("-q", "--color=no", "-p", "no:cacheprovider")
TESTS_FAILED: Final = "exit 1"
"""What pytest ends with when it ran, and tests failed."""

Say = Callable[[str], None]


class Asked(NamedTuple):
    """What was asked, and where."""

    project: Project
    space: Space
    invocation: Invocation


class Played(NamedTuple):
    """What happened on the stage, for ``observe`` to look at."""

    stage: Stage
    asked: Asked
    daemons: tuple[Process, ...]
    pids: tuple[int, ...]
    assistant: Process
    events_on_disk: frozenset[str] | None


class Narrator:
    """Prints a numbered line for each thing that has happened."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._number = 0

    def tell(self, what: str, detail: str) -> None:
        """One line."""
        self._number += 1
        self._say(f"  {self._number}  {what:<30} {detail}")


# --- the play ---------------------------------------------------------------------------------------------
def play(
    stage: Stage, say: Say, *, project: Path = PROJECT, assistant: Path = ASSISTANT, abort: str | None = ABORT
) -> Played:
    """The whole journey on the stage. ``abort``: where the first daemon dies; None for not at all.

    Raises ``DemoFailed`` where it cannot go on, and ``TallyError`` where the daemon refuses something.
    """
    told = Narrator(say)
    first = stage.start_daemon(abort)
    pids = [stage.client.status().pid]
    told.tell("tallyd was started", f"pid {pids[0]}, with an empty store in a fresh temporary directory")

    asked = ask_about(stage, run_tests(stage, project, told), told)

    answering = start_assistant(stage, assistant, asked.invocation)
    told.tell("an assistant was started", f"pid {answering.pid}: no model, no files, only its claim")
    daemons, on_disk = [first], None
    if stage.first_to_end(first, answering) is first:
        told.tell("tallyd died", f"pid {pids[0]}, of {first.ended_by()}, before it had replied")
        on_disk = events_on_disk(stage)
        daemons.append(stage.start_daemon())
        pids.append(stage.client.status().pid)
        told.tell("tallyd was started again", f"pid {pids[1]}, on the same store")
    ended = answering.wait()
    told.tell("the assistant ended", f"pid {answering.pid}, {ended}")
    return Played(stage, asked, tuple(daemons), tuple(pids), answering, on_disk)


def run_tests(stage: Stage, project: Path, told: Narrator) -> str:
    """What pytest prints for a copy of the project, which is then removed.

    Raises ``DemoFailed`` where no test fails.
    """
    copy = stage.root / "project"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns("__pycache__"))
    argv = [sys.executable, "-m", "pytest", *PYTEST]
    # Without plugins its output is the same wherever it runs.
    env = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    suite = stage.start("pytest", argv, cwd=copy, env=env)
    ended = suite.wait()
    output = suite.output.read_text(encoding="utf-8")
    if ended != TESTS_FAILED:
        raise DemoFailed(
            f"the tests of {project} were to fail, and pytest ended with {ended}. The demo asks why a test"
            f" suite fails: let one of its tests fail.{suite.last_words()}\n{output}"
        )
    shutil.rmtree(copy)
    told.tell("a test suite was run", f"pytest: {output.splitlines()[-1]}")
    return output


def ask_about(stage: Stage, output: str, told: Narrator) -> Asked:
    """Put pytest's output into a new space as evidence, and ask an assistant what it says."""
    client = stage.client
    project = client.project_create("bill").value
    space = client.space_create(project, "the test suite fails").value
    evidence = client.append(space, "evidence", output).value
    told.tell("its output was kept", f"as evidence, in the space {space.title!r}")
    asked = ask(client, project, space, QUESTION, [evidence])
    told.tell("a question was asked", f"{QUESTION}")
    return Asked(project, space, asked.invocation)


def start_assistant(stage: Stage, program: Path, invocation: Invocation) -> Process:
    """Start the assistant, from a copy: nothing that it is given leads to the clone or to the project."""
    copy = shutil.copy(program, stage.root / "assistant.py")
    runtime = stage.client.paths.runtime_dir
    argv = [sys.executable, "-I", str(copy), "--runtime-dir", runtime, invocation.invocation_id]
    return stage.start("assistant", argv, cwd=stage.directory("empty"))


def events_on_disk(stage: Stage) -> frozenset[str]:
    """The events that stand in the store of a daemon that has died, read from a copy of its files."""
    copy = stage.directory("dead")
    for file in stage.data.glob("tally.db*"):
        shutil.copy(file, copy)
    database = apsw.Connection(str(copy / "tally.db"))
    rows = database.execute("SELECT lower(hex(event_id)) FROM log WHERE event_id IS NOT NULL").fetchall()
    database.close()
    return frozenset(str(row[0]) for row in rows)


# --- looking at it ----------------------------------------------------------------------------------------
def observe(played: Played) -> Observation:
    """What can be seen from outside now."""
    client, project = played.stage.client, played.asked.project
    events = tuple(client.events(project))
    assemblies = [_member(each, "assembly_id") for each in events if each.type == checks.ASSEMBLED]
    return Observation(
        daemons=tuple(
            Life(pid, each.ended_by()) for pid, each in zip(played.pids, played.daemons, strict=True)
        ),
        assistant=Life(played.assistant.pid, played.assistant.ended_by()),
        sent=_sendings(played.assistant),
        events_on_disk=played.events_on_disk,
        contributions=tuple(client.contributions(played.asked.space)),
        relations=tuple(convert(each.payload, Relation) for each in events if each.type == checks.RELATED),
        assemblies=tuple(client.context_assembly_show(project, each) for each in assemblies),
        invocations=tuple(client.invocations(project)),
        events=events,
        diagnosis=client.diagnose(),
    )


def _sendings(assistant: Process) -> tuple[Try, ...]:
    """What the SDK told the assistant's observer; each line is one sending."""
    return tuple(Try(**json.loads(line)) for line in assistant.output.read_text().splitlines())


def _member(event: Event, name: str) -> str:
    return str(event.payload[name]) if isinstance(event.payload, dict) else ""


def conclude(played: Played, say: Say) -> bool:
    """Print the record and the verdict of each check; whether all of them hold."""
    seen = observe(played)
    given = checks.judge(seen)
    say("\nThe record, as tallyd tells it now:\n")
    for line in report.record(seen):
        say(line)
    pids = " and ".join(f"{each.pid} ({each.ended_by or 'running'})" for each in seen.daemons)
    say(f"\nDaemons: {pids}. The synthesis's key was sent {seen.sendings()} times by the SDK. Checks:\n")
    for line in report.verdicts(given):
        say(line)
    if not checks.all_hold(given) and played.assistant.ended_by() != "exit 0":
        say(f"\nThe assistant failed.{played.assistant.last_words()}")
    return checks.all_hold(given)


# --- the program ------------------------------------------------------------------------------------------
def main(argv: Sequence[str] | None = None) -> int:
    """What ``python docs/demo/run.py`` does with these arguments; returns the exit code."""
    parser = argparse.ArgumentParser(description="An assistant's loop survives the death of the daemon.")
    parser.add_argument("--keep", action="store_true", help="leave the temporary directory, and say where")
    keep = parser.parse_args(argv).keep
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # ✓ and ✗ also where the locale has none
    started = monotonic()
    _say("Tallystick's demo. The test suite, the daemon, the assistant and the death are real.\n")
    try:
        with Stage(keep=keep) as stage:
            if keep:
                _say(f"Kept: {stage.root}\n")
            holds = conclude(play(stage, _say), _say)
    except (DemoFailed, TallyError, PathError, OSError) as error:
        print(f"\n✗ The demo could not go on: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    seconds = f"{monotonic() - started:.1f} s"
    if not holds:
        _say(f"\nWhat is marked ✗ does not hold. It took {seconds}.")
        return 1
    _say(f"\nAll of it holds. It took {seconds}. What you just saw: docs/demo/README.md")
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that the stage is cleared
    sys.exit(main())
