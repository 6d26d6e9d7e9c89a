"""The units of the page for operators: a service manager can read them, and they say what the daemon is."""

from __future__ import annotations

import configparser
import os
import plistlib
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tallyd.store.refusals import MEANINGS
from tallystick.protocol import limits

PAGE: Final = Path(__file__).resolve().parents[3] / "docs" / "operations.md"


def block(language: str) -> str:
    """The page's one block in that language."""
    text = PAGE.read_text(encoding="utf-8")
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return str(found)


@pytest.fixture(scope="module")
def unit() -> configparser.ConfigParser:
    """The unit for systemd."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(block("ini"))
    return parser


def test_what_a_person_has_to_look_at_is_not_started_again(unit: configparser.ConfigParser) -> None:
    """The codes that the unit holds back are those of the table of exit codes, and no other."""
    held_back = {int(code) for code in unit["Service"]["RestartPreventExitStatus"].split()}
    assert held_back == {int(code) for code, meaning in MEANINGS.items() if not meaning.restart}
    assert unit["Service"]["Restart"] == "on-failure"


def test_readiness_and_the_drain_are_waited_for(unit: configparser.ConfigParser) -> None:
    """It notifies, and has the time to answer what it took."""
    assert unit["Service"]["Type"] == "notify"
    assert int(unit["Service"]["TimeoutStopSec"]) > limits.DRAIN_SECONDS_MAX


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here to judge")
def test_systemd_takes_the_unit(unit: configparser.ConfigParser, tmp_path: Path) -> None:
    """Its own checker finds nothing, and would find a word that it does not know."""
    assert unit.sections() == ["Unit", "Service", "Install"]
    path = tmp_path / "tallyd.service"
    text = block("ini").replace("%h/.local/bin/tallyd", "/bin/true")

    def verdict(said: str) -> str:
        path.write_text(said, encoding="utf-8")
        command = ["systemd-analyze", "--user", "--man=no", "verify", str(path)]
        env = {"PATH": os.defpath, "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
        return subprocess.run(command, capture_output=True, text=True, env=env, check=False).stderr

    if path.name not in verdict(text.replace("Type=notify", "Type=nothing")):
        pytest.skip("systemd's checker does not run here")
    assert path.name not in verdict(text)


def test_launchd_reads_the_list() -> None:
    """It is a property list, of the label that ``tally`` asks for, that ends when it is asked to."""
    found = plistlib.loads(block("xml").encode())
    assert found["Label"] == "dev.tallystick.tallyd"
    assert found["KeepAlive"] == {"SuccessfulExit": False}
    assert found["Umask"] == 0o077
    assert found["ExitTimeOut"] > limits.DRAIN_SECONDS_MAX
