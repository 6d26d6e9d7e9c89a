"""A store's directories, and the daemon that runs on them.

A home has a short path of its own in /tmp, because a socket's address holds 103 bytes. A prepared home is
copied by ``copy_of``: a store is made once, and each test has its own.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self

from tallystick.paths import Paths, resolve

LAUNCHER: Final = Path(__file__).parents[1] / "launcher.py"
"""Runs the daemon with a clock and a disk that the test owns."""
DEATH_SECONDS_MAX: Final = 60
"""Longest wait for a process that is about to end: past it the test has failed."""
_OURS: Final = ("TALLY", "XDG_", "KOVEE", "CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET", "PYTHONPATH")
"""What of the environment could lead a daemon to another store, or to other code."""


class Home:
    """Data, runtime and state directory of one store, below one short directory, or where they are said to
    be."""

    def __init__(self, data_dir: str | None = None, runtime_dir: str | None = None) -> None:
        self.root = tempfile.mkdtemp(prefix="ty", dir="/tmp")
        self.paths: Paths = resolve(
            data_dir or os.path.join(self.root, "d"),
            runtime_dir or os.path.join(self.root, "r"),
            {"HOME": self.root, "TALLY_STATE_DIR": os.path.join(self.root, "s")},
        )
        self.started: list[Daemon] = []

    def copy_of(self, prepared: Home) -> Home:
        """Takes the store of another home, whose daemon is not running."""
        for source, target in (
            (prepared.paths.data_dir, self.paths.data_dir),
            (prepared.paths.state_dir, self.paths.state_dir),
        ):
            shutil.copytree(source, target, symlinks=True)
        return self

    def close(self) -> None:
        """Ends what still runs here, and removes the directories."""
        for daemon in self.started:
            daemon.end()
        shutil.rmtree(self.root, ignore_errors=True)

    def start(
        self,
        *,
        abort: str | None = None,
        hold: int | None = None,
        product: str | None = None,
        launcher: Mapping[str, str] | None = None,
        arguments: tuple[str, ...] = (),
        descriptors: tuple[int, ...] = (),
        may_end: bool = False,
    ) -> Daemon:
        """A daemon on this home, ready; with ``may_end`` also one that refused or died before that.

        ``abort`` and ``hold`` arm the crash hooks. ``product`` is a directory with another copy of the
        packages. ``launcher`` is the environment of ``launcher.py``, which then starts it. ``descriptors``
        are passed on.
        """
        daemon = Daemon(self, abort, hold, product, launcher, arguments, descriptors)
        self.started.append(daemon)
        assert daemon.ready or may_end, f"the daemon did not start: {daemon.log()}"
        return daemon


class NewHome(Protocol):
    """Makes a home that is cleaned up."""

    def __call__(self, data_dir: str | None = None, runtime_dir: str | None = None) -> Home: ...


class Daemon:
    """One process. ``ready`` says whether it got as far as taking clients."""

    def __init__(
        self,
        home: Home,
        abort: str | None,
        hold: int | None,
        product: str | None,
        launcher: Mapping[str, str] | None,
        arguments: tuple[str, ...],
        descriptors: tuple[int, ...],
    ) -> None:
        self.home = home
        self.paths = home.paths
        self._log = tempfile.TemporaryFile(prefix="log", dir=home.root)  # noqa: SIM115 (closed by end)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(_OURS)}
        environment |= {"TALLY_STATE_DIR": self.paths.state_dir, "HOME": home.root, **(launcher or {})}
        program = ["-m", "tallyd"] if launcher is None else [str(LAUNCHER)]
        command = [sys.executable, *program, "--data-dir", self.paths.data_dir]
        command += ["--runtime-dir", self.paths.runtime_dir, *arguments]
        if product is not None:
            environment["PYTHONPATH"] = product
        if abort is not None or hold is not None:
            command.append("--test-hooks")
        if abort is not None:
            environment["TALLYD_ABORT"] = abort
        if hold is not None:
            environment["TALLYD_BATCH_HOLD"] = str(hold)
        self.ready = self._spawn(command, environment, descriptors)

    def _spawn(self, command: list[str], environment: dict[str, str], descriptors: tuple[int, ...]) -> bool:
        """Starts the process and reads its word: a line, or the end of the pipe where it ended without."""
        said, say = os.pipe()
        try:
            self.process = subprocess.Popen(
                [*command, "--ready-fd", str(say)],
                env=environment,
                pass_fds=(say, *descriptors),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
            )
        finally:
            os.close(say)
        with open(said, "rb") as word:
            return word.readline().startswith(b"ready ")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        self.process.send_signal(signal.SIGTERM)
        code = self.wait()
        assert code == 0, f"the daemon ended with {code} instead of 0: {self.log()}"

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

    def log(self) -> str:
        """What it has written so far. The file's position is the process's too, so it is not moved."""
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), size, 0).decode(errors="replace")
