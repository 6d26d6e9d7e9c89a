"""A daemon's process with an environment that the test chooses, and what it may be asked from outside."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self

import pytest
from harness.home import DEATH_SECONDS_MAX, LAUNCHER, Home

from tallystick.paths import Paths

NewHome = Callable[[], "Place"]


class Place(Home):
    """A home whose daemons have an environment that the test chooses."""

    def __init__(self) -> None:
        super().__init__()
        self.running: list[Tallyd] = []

    def close(self) -> None:
        for daemon in self.running:
            daemon.end()
        super().close()


class Tallyd:
    """One process on a place. ``ready`` says whether it got as far as taking clients."""

    def __init__(
        self,
        home: Place,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        launched: bool = False,
        pass_fds: tuple[int, ...] = (),
        command: list[str] | None = None,
    ) -> None:
        self.home = home
        self.paths = home.paths
        home.running.append(self)
        self._log = tempfile.TemporaryFile(prefix="log", dir=home.root)  # noqa: SIM115 (closed by end)
        said, say = os.pipe()
        try:
            self.process = subprocess.Popen(
                [*(command or command_of(home.paths, launched=launched)), "--ready-fd", str(say), *arguments],
                env=environment_of(home, env),
                cwd=home.root,
                pass_fds=(say, *pass_fds),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
            )
        finally:
            os.close(say)
        with open(said, "rb") as word:
            self.ready = word.readline().startswith(b"ready ")

    def __enter__(self) -> Self:
        assert self.ready, f"the daemon did not start: {self.log()}"
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            self.stop()
        else:
            self.end()

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait(self) -> int:
        """Its exit code when it has ended by itself; negative for a signal."""
        return self.process.wait(DEATH_SECONDS_MAX)

    def stop(self) -> None:
        """The clean end: SIGTERM, a drain, exit code 0."""
        if self.process.poll() is None:
            self.process.terminate()
        assert self.wait() == 0, f"the daemon ended badly: {self.log()}"

    def kill(self) -> None:
        """SIGKILL, and its end."""
        self.process.kill()
        self.wait()

    def end(self) -> None:
        """Whatever state it is in: it runs no more."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._log.close()

    def heard(self, words: str) -> str:
        """Its log, as soon as these words stand in it: a thread of its own writes it, a little later."""
        last = time.monotonic() + DEATH_SECONDS_MAX
        while words not in (log := self.log()):
            assert time.monotonic() < last, log
        return log

    def log(self) -> str:
        """What it has written so far. The file's position is the process's too, so it is not moved."""
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), size, 0).decode(errors="replace")


class Ended(NamedTuple):
    """How a daemon ended that was not to start."""

    code: int
    said: str


def environment_of(home: Place, env: Mapping[str, str] | None = None) -> dict[str, str]:
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
    home: Place, *arguments: str, env: Mapping[str, str] | None = None, command: list[str] | None = None
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


def give_to_a_user(home: Place) -> tuple[int, list[str]]:
    """Makes a home's directories for a user who owns nothing else: their uid, and what a command of theirs
    begins with. They may read what root may, as the interpreter may lie there, and nothing else. Skips the
    test where such a user cannot run it; root alone may call this.
    """
    uid = 61_000 + os.getpid() % 4_000
    os.chmod(home.root, 0o755)
    for made in (home.paths.data_dir, home.paths.runtime_dir, home.paths.state_dir):
        os.makedirs(made, 0o700)
        os.chown(made, uid, uid)
    prefix = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    prefix += ["--inh-caps=-all,+dac_read_search", "--ambient-caps=+dac_read_search"]
    again = "import subprocess, sys, tallyd; subprocess.run([sys.executable, '-c', ''], check=True)"
    if (
        shutil.which("setpriv") is None
        or subprocess.run([*prefix, sys.executable, "-c", again], capture_output=True, check=False).returncode
    ):
        pytest.skip("another user cannot run this interpreter")
    return uid, prefix


@contextmanager
def homes() -> Iterator[NewHome]:
    """Makes homes; their daemons are ended and their directories removed afterwards."""
    made: list[Place] = []

    def make() -> Place:
        made.append(Place())
        return made[-1]

    try:
        yield make
    finally:
        for home in made:
            home.close()


@contextmanager
def running_on(prepared: Home) -> Iterator[Tallyd]:
    """A daemon on a copy of a prepared home; it must end well."""
    with homes() as new_home:
        home = new_home()
        home.copy_of(prepared)
        with Tallyd(home) as running:
            yield running


LOCK_FILES = frozenset({"lock"})
"""A daemon that takes a lock writes into its file who holds it: nothing of the store."""


def tree(directory: str) -> dict[str, tuple[int, str]]:
    """Mode and digest of each file below a directory, without the notes in lock files, SQLite's memory, and a
    write-ahead log that holds nothing.
    """
    found: dict[str, tuple[int, str]] = {}
    for path in sorted(Path(directory).rglob("*")):
        name = path.relative_to(directory).as_posix()
        if path.name in LOCK_FILES or name.endswith("-shm") or path.is_socket():
            continue
        if name.endswith("-wal") and not path.stat().st_size:
            continue
        if name.endswith("-wal") and not path.stat().st_size:
            continue
        content = b"" if path.is_dir() or path.is_symlink() else path.read_bytes()
        found[name] = path.lstat().st_mode, hashlib.sha256(content).hexdigest()
    return found
