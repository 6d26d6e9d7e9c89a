"""A daemon's process with an environment that the test chooses, and what it may be asked from outside."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from harness.home import DEATH_SECONDS_MAX, LAUNCHER, Daemon, Home

from tallystick.paths import Paths

NewHome = Callable[[], Home]


class Tallyd(Daemon):
    """``Home.start`` with more of an environment; ended with its home."""

    def __init__(
        self,
        home: Home,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        launcher: Mapping[str, str] | None = None,
    ) -> None:
        self._more = dict(env or {})
        super().__init__(home, None, None, None, launcher, arguments)
        home.started.append(self)

    def _spawn(self, command: list[str], environment: dict[str, str]) -> bool:
        return super()._spawn(command, environment | self._more)


class Ended(NamedTuple):
    """How a daemon ended that was not to start."""

    code: int
    said: str


def environment_of(home: Home, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """A small environment that leads to no store but the home's."""
    return {
        "PATH": os.defpath,
        "HOME": home.root,
        "LANG": "C.UTF-8",
        "TALLY_STATE_DIR": home.paths.state_dir,
        **(env or {}),
    }


def command_of(paths: Paths, *arguments: str, launched: bool = False) -> list[str]:
    """The command line of a daemon on these places, by the launcher with the test's clock and disk or not."""
    program = [str(LAUNCHER)] if launched else ["-m", "tallyd"]
    places = ["--data-dir", paths.data_dir, "--runtime-dir", paths.runtime_dir]
    return [sys.executable, *program, *places, *arguments]


def run_to_its_end(
    home: Home, *arguments: str, env: Mapping[str, str] | None = None, command: list[str] | None = None
) -> Ended:
    """Runs a daemon that must end by itself."""
    done = subprocess.run(
        command or command_of(home.paths, *arguments),
        env=environment_of(home, env),
        cwd=home.root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=DEATH_SECONDS_MAX,
        check=False,
    )
    assert done.stdout == b"", "stdout is nobody's"
    return Ended(done.returncode, done.stderr.decode())


LOCK_FILES = frozenset({"lock"})
"""A daemon that takes a lock writes into its file who holds it: nothing of the store."""


def tree(directory: str) -> dict[str, tuple[int, str]]:
    """Mode and digest of each file below a directory, without the lock files' notes and SQLite's memory."""
    found: dict[str, tuple[int, str]] = {}
    for path in sorted(Path(directory).rglob("*")):
        name = path.relative_to(directory).as_posix()
        if path.name in LOCK_FILES or name.endswith("-shm") or path.is_socket():
            continue
        content = b"" if path.is_dir() or path.is_symlink() else path.read_bytes()
        found[name] = path.lstat().st_mode, hashlib.sha256(content).hexdigest()
    return found
