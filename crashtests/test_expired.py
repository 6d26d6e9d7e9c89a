"""A command whose reply was lost, asked about after more than a week, on a clock that the tests own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from effects import REFUSED
from harness.control import CONTROL_VARIABLE, Control
from harness.dumps import counted, differences, dump_copy, dump_live, effects
from harness.home import Home
from harness.wire import Request, ask, request
from world import CLIENT

from tallystick import Client, IdempotencyResultExpired
from tallystick.protocol import limits

EXPIRED: Final = "idempotency-result-expired"
TALLY: Final = str(Path(sys.executable).parent / "tally")


@pytest.fixture
def clock(home: Home) -> Control:
    """A clock for the daemon of ``home``; it stands still until it is moved."""
    control = Control(os.path.join(home.root, "control"))
    control.begin_clock()
    return control


def project(key: str) -> Request:
    """Makes a project, under a key of the same name."""
    return request(CLIENT, "project_create", {"name": key}, key=key)


def a_week_and_more(clock: Control) -> None:
    """The clock moves past the time that results are kept."""
    clock.advance(limits.IDEMPOTENCY_SECONDS_MIN + 1)


def assert_refused_alone(home: Home, sent: Request) -> None:
    """The running daemon answers that the result has expired, and that leaves its own row alone."""
    before = dump_live(home.paths)
    assert ask(home.paths, sent).kind == EXPIRED
    changes = [change for change in differences(before, dump_live(home.paths)) if change.table != "outbox"]
    assert effects(changes) == counted(REFUSED)


@pytest.mark.crash
def test_a_reply_that_a_crash_took_is_not_given_a_week_later(home: Home, clock: Control) -> None:
    """A command that was durable when the daemon died is known after a week, and is not executed again; what
    did not get that far runs when it is sent again, however late.
    """
    on_clock = {CONTROL_VARIABLE: clock.path}
    durable, lost = project("durable"), project("lost")
    for sent, phase in ((durable, "after_commit"), (lost, "before_commit")):
        daemon = home.start(launcher=on_clock, abort=f"{phase}:project_create")
        assert ask(home.paths, sent).raw == b""
        assert daemon.wait() < 0
    a_week_and_more(clock)
    with home.start(launcher=on_clock):
        assert_refused_alone(home, durable)
        assert ask(home.paths, lost).ok
        assert_refused_alone(home, durable)
    keys = [row["idempotency_key"] for row in dump_copy(home.paths)["log"].values()]
    assert (keys.count("durable"), keys.count("lost")) == (1, 1)


def test_a_result_is_there_for_a_week_of_restarts(home: Home, clock: Control) -> None:
    """The same bytes come from each daemon until the week is over, though each was killed."""
    on_clock = {CONTROL_VARIABLE: clock.path}
    sent = project("kept")
    first = b""
    for day in range(8):
        daemon = home.start(launcher=on_clock)
        reply = ask(home.paths, sent)
        assert day == 0 or reply.raw == first
        first = reply.raw
        daemon.kill()
        clock.advance(86_400)
    with home.start(launcher=on_clock):
        assert_refused_alone(home, sent)


@pytest.fixture
def keys_at_home(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK keeps its keys in ``home``."""
    monkeypatch.setenv("TALLY_STATE_DIR", home.paths.state_dir)


@pytest.mark.usefixtures("keys_at_home")
def test_the_sdk_says_that_it_was_applied(home: Home, clock: Control) -> None:
    """Its error is a class of its own whose outcome is ``applied``: nothing is pending, and nothing is sent
    again.
    """
    with home.start(launcher={CONTROL_VARIABLE: clock.path}), Client(home.paths.runtime_dir) as client:
        once = client.project_create("once", key="mine")
        a_week_and_more(clock)
        with pytest.raises(IdempotencyResultExpired) as caught:
            client.project_create("once", key="mine")
        assert caught.value.outcome == "applied"
        assert caught.value.key == "mine"
        assert client.pending() == []
        names = [project.name for project in client.project_list(limit=100).items]
        assert (names.count("once"), once.value.name) == (1, "once")


@pytest.mark.usefixtures("keys_at_home")
def test_init_finds_its_project_again(home: Home, clock: Control) -> None:
    """``tally init`` a week later gives the project that it made, and says so where that has another name."""
    env = {
        "PATH": os.defpath,
        "HOME": home.root,
        "TALLY_DATA_DIR": home.paths.data_dir,
        "TALLY_RUNTIME_DIR": home.paths.runtime_dir,
        "TALLY_STATE_DIR": home.paths.state_dir,
    }

    def tally(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([TALLY, *arguments], env=env, capture_output=True, text=True, check=False)

    with home.start(launcher={CONTROL_VARIABLE: clock.path}), Client(home.paths.runtime_dir) as client:
        first = json.loads(tally("init", "--json").stdout)
        a_week_and_more(clock)
        again = json.loads(tally("init", "--json").stdout)
        assert again["project_id"] == first["project_id"]
        client.project_update_metadata(first["project_id"], "mine", expected_revision=1)
        renamed = tally("init", "--json")
        assert renamed.returncode == 1
        error = json.loads(renamed.stderr)["error"]
        assert "tally project list" in error["message"]
