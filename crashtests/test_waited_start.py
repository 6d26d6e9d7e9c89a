"""Whoever starts a daemon that has a store to bring up to date waits for it, and is told how far it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
from harness.control import CONTROL_VARIABLE, Control
from harness.home import LAUNCHER, Home
from harness.wire import Wire, request
from released_stores import FIRST, unpack
from world import CLIENT

START_SECONDS_MAX: Final = 60
USUAL_SECONDS: Final = 5
"""What is given here to a start that does not say that it goes on."""
SYNC_MS: Final = 2_500
"""The commit syncs once, and the checkpoint behind it twice: longer than the usual seconds. A look is taken
each second, so the commit is seen for certain."""
NOT_READY: Final = 254

STARTER: Final = """
import json, os, sys
from tally_cli import starting
from tally_cli.output import complain
from tally_cli.watching import Watch
seconds, progress, log, env, *command = sys.argv[1:]
starting.READY_SECONDS_MAX = float(seconds)
log = os.open(log, os.O_RDWR | os.O_CREAT)
sys.exit(starting._bear(command, json.loads(env), log, Watch(progress, complain)))
"""
"""What ``tally up`` does, but that the program to be started is the test's."""


def start(
    home: Home, command: list[str], env: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """Starts a daemon that is given so many seconds while it says nothing."""
    given = [str(seconds), home.paths.starting, os.path.join(home.root, "log"), json.dumps(dict(env))]
    return subprocess.run(
        [sys.executable, "-c", STARTER, *given, *command],
        capture_output=True,
        text=True,
        timeout=START_SECONDS_MAX,
        check=False,
    )


@pytest.mark.slow
def test_a_start_that_goes_on_is_waited_for(home: Home) -> None:
    """An upgrade over a slow disk takes longer than a start usually may: it is waited for all the same, and
    each step that lasts is told on stderr, once.
    """
    unpack(FIRST, home)
    control = Control(os.path.join(home.root, "control"))
    control.begin_clock()
    control.put("sync_ms", SYNC_MS)
    env = {CONTROL_VARIABLE: control.path, "HOME": home.root, "TALLY_STATE_DIR": home.paths.state_dir}
    places = ["--data-dir", home.paths.data_dir, "--runtime-dir", home.paths.runtime_dir]
    done = start(home, [sys.executable, str(LAUNCHER), *places, "--ready-fd", "3"], env, USUAL_SECONDS)
    assert done.returncode == 0, Path(home.root, "log").read_text()
    control.mend()
    lines = done.stderr.splitlines()
    assert lines.count("The daemon is starting: committing the migrations.") == 1
    assert len(lines) == len(set(lines))
    with Wire(home.paths) as wire:
        assert wire.ask(request(CLIENT, "tallystick_shutdown", {})).ok
        assert wire.read_line() == b""  # it has ended


def test_a_start_that_says_nothing_is_given_up(home: Home) -> None:
    """What a start that was killed has left to be read is not taken for this one's: whoever is silent gets
    the usual time.
    """
    os.makedirs(home.paths.runtime_dir)
    Path(home.paths.starting).write_text('{"pid": 1, "step": "copying", "percent": 3, "seconds": 1.0}')
    gate = os.path.join(home.root, "gate")
    os.mkfifo(gate)
    held = os.open(gate, os.O_RDWR)
    try:
        done = start(home, [sys.executable, "-c", "import sys; open(sys.argv[1]).read()", gate], {}, 0.1)
    finally:
        os.close(held)
    assert done.returncode == NOT_READY
    assert done.stderr in ("", "The daemon is starting.\n"), "nothing of the start that was killed"
