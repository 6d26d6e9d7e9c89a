"""Signals that do not ask the daemon to end leave it as it is, and are said in its log."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import Final

import pytest
from harness.control import CONTROL_VARIABLE, SYNC_PIPE_VARIABLE, Control
from harness.home import DEATH_SECONDS_MAX
from harness.wire import ask, request
from world import CLIENT

from .process import Place, Tallyd, command_of, environment_of

INFO: Final = request(CLIENT, "protocol_info", {})


@pytest.mark.parametrize("name", ["SIGHUP", "SIGUSR1", "SIGUSR2"])
def test_a_signal_that_means_nothing_ends_nothing(name: str, home: Place) -> None:
    """It goes on answering, and says what to do to have its settings read again."""
    with Tallyd(home) as daemon:
        os.kill(daemon.pid, getattr(signal, name))
        daemon.heard(f"{name} is ignored: settings are read at the start")
        assert ask(home.paths, INFO).ok


def test_a_closing_terminal_does_not_end_a_start(home: Place) -> None:
    """A start that takes long goes on when the terminal that it was begun at is closed."""
    control = Control(os.path.join(home.root, "control"))
    control.begin_clock()
    control.put("sync_ms", 600_000)
    heard, tells = os.pipe()
    env = {CONTROL_VARIABLE: control.path, SYNC_PIPE_VARIABLE: str(tells)}
    process = subprocess.Popen(
        command_of(home.paths, launched=True),
        env=environment_of(home, env),
        pass_fds=(tells,),
        stderr=subprocess.DEVNULL,
    )
    os.close(tells)
    try:
        assert os.read(heard, 1) == b"s"
        process.send_signal(signal.SIGHUP)
        process.terminate()  # of two signals that wait the one with the lower number comes first
        assert process.wait(DEATH_SECONDS_MAX) == -signal.SIGTERM
    finally:
        process.kill()
        process.wait()
        os.close(heard)
