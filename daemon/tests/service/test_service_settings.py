"""Settings, arguments, places and clocks of every kind: the daemon works, or says in one sentence why not."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from harness.control import CONTROL_VARIABLE, Control
from harness.wire import Wire, request
from world import CLIENT

from tallyd.store.refusals import ExitCode
from tallystick.protocol import limits

from .process import Place, Tallyd, command_of, run_to_its_end

_FAR_MS: Final = 10**15
"""In the year 33658."""


def _writes(content: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(content)

    return write


UNUSABLE: Final[dict[str, tuple[Callable[[Path], None], str]]] = {
    "Latin-1": (_writes('# für uns\nowner = "peer-uid"\n'.encode("latin-1")), "is not UTF-8"),
    "UTF-16": (_writes('owner = "peer-uid"\n'.encode("utf-16")), "is not UTF-8"),
    "NUL bytes": (_writes(b"\0" * 100), "cannot be used"),
    "deep lists": (_writes(b"a = " + b"[" * 20_000 + b"]" * 20_000), "nested too deeply"),
    "deep tables": (_writes(b"a" + b".a" * 20_000 + b" = 1"), "cannot be used"),
    "an endless number": (_writes(b"a = " + b"9" * 10_000), "cannot be used"),
    "no such date": (_writes(b"a = 2023-02-31"), "cannot be used"),
    "too long": (_writes(b"#" * (limits.SETTINGS_BYTES_MAX + 1)), "longer than 65536 bytes"),
    "a FIFO": (os.mkfifo, "no regular file"),
    "a directory": (os.mkdir, "Is a directory"),
    "a link to nothing but zeros": (lambda path: path.symlink_to("/dev/zero"), "no regular file"),
}


def _settings_of(home: Place) -> Path:
    os.mkdir(home.paths.data_dir, 0o700)
    return Path(home.paths.data_dir, "tallyd.toml")


@pytest.mark.parametrize("case", UNUSABLE)
def test_settings_that_cannot_be_read(case: str, home: Place) -> None:
    """It ends with the code for its configuration, and one sentence says which file and what is amiss."""
    make, why = UNUSABLE[case]
    path = _settings_of(home)
    make(path)
    ended = run_to_its_end(home)
    assert ended.code == ExitCode.BAD_CONFIGURATION, ended.said
    (sentence,) = ended.said.splitlines()
    assert sentence.startswith(f"tallyd: {path} cannot be used: ")
    assert why in sentence


def test_settings_that_begin_with_a_byte_order_mark(home: Place) -> None:
    """It is no part of the text: they are read."""
    _settings_of(home).write_bytes(b'\xef\xbb\xbfowner = "peer-uid"\n')
    with Tallyd(home), Wire(home.paths) as wire:
        assert wire.ask(request(CLIENT, "protocol_info", {})).ok


ARGUMENTS: Final = {
    "an unknown argument": ["--nonsense"],
    "a format of nobody's": ["--log-format", "xml"],
    "a descriptor that is a word": ["--ready-fd", "soon"],
    "a descriptor that is not open": ["--ready-fd", "993"],
    "a descriptor beyond all": ["--ready-fd", "9" * 30],
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments_that_cannot_be_used(case: str, home: Place) -> None:
    """They have the code of the table for them, and one sentence; nothing is made."""
    ended = run_to_its_end(home, *ARGUMENTS[case])
    assert ended.code == ExitCode.BAD_CONFIGURATION, ended.said
    (sentence,) = ended.said.splitlines()
    assert sentence.startswith("tallyd: ")
    assert ARGUMENTS[case][-1] in sentence
    assert os.listdir(home.root) == []


@pytest.mark.parametrize("which", ["data_dir", "runtime_dir"])
def test_a_path_that_is_not_utf8(which: str, home: Place) -> None:
    """A directory named in Latin-1 is refused as what cannot be used, and its name is shown."""
    strange = os.fsdecode(os.fsencode(home.root) + b"/f\xfcr-uns")
    ended = run_to_its_end(home, command=command_of(home.paths._replace(**{which: strange})))
    assert ended.code == ExitCode.BAD_CONFIGURATION, ended.said
    (sentence,) = ended.said.splitlines()
    assert rf"{home.root}/f\xfcr-uns is not UTF-8" in sentence
    assert os.listdir(home.root) == []


# --- clocks -------------------------------------------------------------------------------------------------
def _clock_of(home: Place) -> tuple[Control, dict[str, str]]:
    control = Control(os.path.join(home.root, "control"))
    control.begin_clock()
    return control, {CONTROL_VARIABLE: control.path}


@pytest.mark.parametrize("wall_ms", [_FAR_MS, 253_402_300_799_000, -1])
def test_a_clock_that_no_timestamp_can_hold(wall_ms: int, home: Place) -> None:
    """The start is refused with a code of its own, and works as soon as the clock is right."""
    control, env = _clock_of(home)
    right = control.get("wall_ms")
    control.put("wall_ms", wall_ms)
    ended = run_to_its_end(home, env=env, command=command_of(home.paths, launched=True))
    assert ended.code == ExitCode.CLOCK_OUT_OF_RANGE, ended.said
    (sentence,) = ended.said.splitlines()
    assert "the machine's clock says" in sentence
    control.put("wall_ms", right)
    with Tallyd(home, env=env, launched=True):
        pass


def test_a_clock_that_goes_there_while_it_runs(home: Place) -> None:
    """What is written meanwhile has the last time that could be used, and the log says so once."""
    control, env = _clock_of(home)
    right = control.get("wall_ms")
    with Tallyd(home, env=env, launched=True) as daemon, Wire(home.paths) as wire:
        before = wire.ask(request(CLIENT, "project_create", {"name": "one"}, key="c-1")).result
        control.put("wall_ms", _FAR_MS)
        made = wire.ask(request(CLIENT, "project_create", {"name": "two"}, key="c-2")).result
        assert made["created_at"] == before["created_at"]
        assert wire.ask(request(CLIENT, "diagnose", {})).result["status"] == "pass"
        assert daemon.heard("clock cannot be used").count("clock cannot be used") == 1
        control.put("wall_ms", right + 60_000)
        later = wire.ask(request(CLIENT, "project_create", {"name": "three"}, key="c-3")).result
        assert later["created_at"] > made["created_at"]
