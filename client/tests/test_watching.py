"""Looking at the file in which a daemon says how far its start is."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tally_cli import watching
from tally_cli.watching import SILENCE_SECONDS_MAX, Watch
from tallyd.service.ready import EXTEND_SECONDS


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the daemon writes; nothing is there yet."""
    return tmp_path / "starting.json"


def say(path: Path, step: str, percent: str = "null", seconds: float = 0.0) -> None:
    """What a daemon writes."""
    path.write_text(f'{{"pid":7,"step":"{step}","percent":{percent},"seconds":{seconds}}}\n')


def test_a_start_of_more_than_a_second_is_told_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the daemon has said nothing, it is said that it is starting, after a second and once."""
    now = [100.0]
    monkeypatch.setattr(watching, "time", SimpleNamespace(monotonic=lambda: now[0]))
    told: list[str] = []
    watch = Watch(str(path), told.append)
    for passed in (0.0, 0.9, 0.2, 1.0):
        now[0] += passed
        watch.look()
    assert told == ["The daemon is starting."]


def test_what_is_new_is_told_once(path: Path) -> None:
    """Each step with its per cent, where it is known; what was said already is not said again."""
    told: list[str] = []
    watch = Watch(str(path), told.append)
    watch.look()
    say(path, "copying the database", "42")
    watch.look()
    watch.look()
    say(path, "verifying the copy", seconds=1.0)
    watch.look()
    say(path, "verifying the copy", seconds=2.0)
    watch.look()
    path.unlink()
    watch.look()
    assert told == [
        "The daemon is starting: copying the database, 42 %.",
        "The daemon is starting: verifying the copy.",
    ]


def test_a_start_that_goes_on_has_longer(path: Path) -> None:
    """The usual seconds, until something is said; from then on each sign of life counts, and the silence
    after it.
    """
    watch = Watch(str(path))
    assert watch.ends(100.0, 30) == 130.0
    for seconds in (1.0, 2.0):
        say(path, "verifying the copy", seconds=seconds)
        before = time.monotonic()
        watch.look()
        heard = watch.ends(0.0, 30) - SILENCE_SECONDS_MAX
        assert before <= heard <= time.monotonic()
        watch.look()
        assert watch.ends(0.0, 30) - SILENCE_SECONDS_MAX == heard


def test_whoever_starts_it_is_as_patient_as_a_supervisor() -> None:
    """A daemon may be silent for as long as it asks its service manager to wait."""
    assert SILENCE_SECONDS_MAX >= EXTEND_SECONDS


def test_what_was_there_before_means_nothing(path: Path) -> None:
    """The file of a start that was killed is neither told nor waited for."""
    say(path, "copying the database", "42")
    told: list[str] = []
    watch = Watch(str(path), told.append)
    watch.look()
    assert told == []
    assert watch.ends(100.0, 30) == 130.0


def test_what_cannot_be_read_is_no_trouble(path: Path) -> None:
    """Words that are no JSON say that there is life; a FIFO, a directory or a link under the name says
    nothing and holds nobody up.
    """
    told: list[str] = []
    watch = Watch(str(path), told.append)
    path.write_text("half a li")
    watch.look()
    assert told == ["The daemon is starting."]
    path.unlink()
    os.mkfifo(path)
    watch.look()
    path.unlink()
    path.mkdir()
    watch.look()
    path.rmdir()
    path.symlink_to("/etc/passwd")
    watch.look()
    assert told == ["The daemon is starting."]
