"""The demo passes, depends on its evidence, and fails by name when one thing about it is wrong.

The damages are real: done through the daemon's door, to its process, its files or its assistant, between the
steps of the journey or after them. The demo itself has no word of them.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import apsw
import pytest
from docs.demo import checks, run
from docs.demo.checks import CHECKS
from docs.demo.stage import Process, Stage

from tallystick.protocol.families.invocations import Invocation

DEMO: Final = run.HERE
SYNTHESIS, RELATION, _, _, DIED, WENT_ON, DURABLE, SENT, _, _, DIAGNOSIS = CHECKS


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory for a demo's temporary one, with a name short enough for a socket in it."""
    path = Path(tempfile.mkdtemp(prefix="tdemo", dir="/tmp"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def sandbox(tmp_path: Path) -> Path:
    """A copy of the demo that may be changed."""
    copy = tmp_path / "docs" / "demo"
    shutil.copytree(DEMO, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def change(path: Path, old: str, new: str) -> None:
    """Replace a text that must be there, once."""
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def start(demo: Path, place: Path) -> subprocess.Popen[str]:
    """Start a demo as ``make demo`` does."""
    return subprocess.Popen(
        [sys.executable, str(demo / "run.py")],
        env={**os.environ, "TMPDIR": str(place), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
    )  # fmt: skip


def result(demo: Path, place: Path) -> tuple[int | None, str, str]:
    """Exit code, output and errors of a demo."""
    with start(demo, place) as running:
        output, errors = running.communicate(timeout=120)
        return running.returncode, output, errors


def marks(output: str) -> dict[str, bool]:
    """What the demo's output says of each check."""
    found = re.findall(r"^  ([✓✗]) (.+?)  ", output, re.MULTILINE)
    return {check: mark == "✓" for mark, check in found}


# --- the demo ---------------------------------------------------------------------------------------------
def test_the_demo_passes(place: Path) -> None:
    """As shipped it ends with 0, tells each check as held, and fits into sixty lines."""
    code, output, errors = result(DEMO, place)
    assert (code, errors) == (0, ""), output
    assert marks(output) == dict.fromkeys(CHECKS, True)
    assert "Expected 1000, got 999" in output
    assert re.search(r"It took \d+\.\d s\.", output)
    assert len(output.splitlines()) <= 60


def test_nothing_is_left(place: Path) -> None:
    """When it is stopped in the middle, neither a process nor a file of it remains."""
    with start(DEMO, place) as running:
        assert running.stdout is not None
        line = next(line for line in running.stdout if "tallyd was started" in line)
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=60)
    daemon = re.search(r"pid (\d+)", line)
    assert daemon is not None
    assert running.returncode == 128 + signal.SIGTERM
    assert list(place.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int(daemon[1]), 0)


def test_another_failure_gives_another_synthesis(sandbox: Path, place: Path) -> None:
    """The answer comes from the test that fails, and not from the demo."""
    test = sandbox / "project" / "bill" / "test_split.py"
    change(test, "sum(split(1000, 3)) == 1000", "split(1000, 3) == [334, 333, 333]")
    code, output, errors = result(sandbox, place)
    assert (code, errors) == (0, ""), output
    assert "Expected [334, 333, 333], got [333, 333, 333]" in output
    assert "999 == 1000" not in output
    assert "got 999" not in output


def test_a_suite_that_passes_is_no_demo(sandbox: Path, place: Path) -> None:
    """Where no test fails there is nothing to ask, and the demo says so instead of passing."""
    split = sandbox / "project" / "bill" / "split.py"
    change(
        split,
        "[total_cents // people] * people",
        "[(total_cents + person) // people for person in range(people)]",
    )
    code, output, errors = result(sandbox, place)
    assert code == 1, output
    assert "let one of its tests fail" in errors
    assert list(place.iterdir()) == []


def test_the_assistant_has_its_evidence_from_its_claim(
    sandbox: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says the same where the project exists nowhere any more when it is started."""

    def start_assistant(stage: Stage, program: Path, invocation: Invocation) -> Process:
        shutil.rmtree(sandbox / "project")
        return original(stage, program, invocation)

    original = run.start_assistant
    monkeypatch.setattr(run, "play", partial(run.play, project=sandbox / "project"))
    monkeypatch.setattr(run, "start_assistant", start_assistant)
    code, output = run.main([]), capsys.readouterr().out
    assert code == 0, output
    assert not (sandbox / "project").exists()
    assert "Expected 1000, got 999" in output


# --- the record is damaged, one thing at a time -----------------------------------------------------------
Play = Callable[[Stage, run.Say], run.Played]


def second_synthesis(stage: Stage, say: run.Say) -> run.Played:
    """Somebody appends another synthesis."""
    played = run.play(stage, say)
    stage.client.append(played.asked.space, "synthesis", "I too have an opinion.")
    return played


def no_relation(stage: Stage, say: run.Say) -> run.Played:
    """The assistant forgets to relate its answer."""
    program = stage.root / "forgetful.py"
    shutil.copy(run.ASSISTANT, program)
    change(program, ", addresses=ctx.question", "")
    return run.play(stage, say, assistant=program)


def same_pid(stage: Stage, say: run.Say) -> run.Played:
    """Nothing kills the daemon."""
    return run.play(stage, say, abort=None)


def sent_once(stage: Stage, say: run.Say) -> run.Played:
    """The daemon dies when the assistant has had its reply and is done."""
    played = run.play(stage, say, abort=None)
    daemon = played.daemons[0]
    daemon.send(signal.SIGABRT)
    daemon.wait()
    on_disk = run.events_on_disk(stage)
    return restarted(played)._replace(events_on_disk=on_disk)


def not_durable(stage: Stage, say: run.Say) -> run.Played:
    """The daemon dies before the synthesis is durable: all else looks the same."""
    return run.play(stage, say, abort="before_commit:contribution_append@worker")


def rewritten(stage: Stage, say: run.Say) -> run.Played:
    """Somebody changes who is written down as the author of the synthesis, while no daemon runs."""
    played = run.play(stage, say)
    played.daemons[1].end()
    database = apsw.Connection(str(stage.data / "tally.db"))
    sql = "UPDATE log SET author = actor WHERE type = ? AND author != actor"
    database.execute(sql, [checks.APPENDED])
    assert database.changes() == 1
    database.close()
    again = restarted(played)
    return again._replace(daemons=again.daemons[::2], pids=again.pids[::2])


def restarted(played: run.Played) -> run.Played:
    """With one daemon more."""
    daemon = played.stage.start_daemon()
    pids = (*played.pids, played.stage.client.status().pid)
    return played._replace(daemons=(*played.daemons, daemon), pids=pids)


@pytest.mark.parametrize(
    ("damage", "fails"),
    [
        (second_synthesis, {SYNTHESIS}),
        (no_relation, {RELATION}),
        (same_pid, {DIED, WENT_ON, DURABLE, SENT}),
        (sent_once, {SENT}),
        (not_durable, {DURABLE}),
        (rewritten, {DIAGNOSIS}),
    ],
)
def test_the_demo_fails_by_name(
    damage: Play, fails: set[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With one thing wrong it ends with 1, and marks that check and no other."""
    genuine = run.play
    played: list[run.Played] = []

    def damaged(stage: Stage, say: run.Say) -> run.Played:
        with monkeypatch.context() as for_now:
            for_now.setattr(run, "play", genuine)
            played.append(damage(stage, say))
        return played[0]

    monkeypatch.setattr(run, "play", damaged)
    assert run.main([]) == 1
    told = marks(capsys.readouterr().out)
    assert told == {check: check not in fails for check in CHECKS}
    assert all(each.ended_by() for each in (*played[0].daemons, played[0].assistant))
