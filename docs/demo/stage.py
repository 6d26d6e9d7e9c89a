"""Where the demo takes place: a fresh temporary directory, and the processes in it. Nothing is left over.

Each process has a session of its own, an environment with nothing inherited, and a working directory of its
own. A stage that ends, however it ends, first ends its processes with all that they have started, and then
removes the directory, unless it is to be kept.

Whether a process is ready, or has died, is told by the kernel, through a pipe that this process alone holds
open; nothing is polled.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Final, Self

from tallystick import Client
from tallystick.core import OWNER
from tallystick.keystore import KeyStore
from tallystick.paths import resolve

STEP_SECONDS_MAX: Final = 25.0
"""For anything that is waited for: many times what it takes, and four of them fit into two minutes."""
STOP_SECONDS_MAX: Final = 5.0
"""How long a process that was asked to stop may take before it is killed."""
LOG_LINES_SHOWN: Final = 8


class DemoFailed(Exception):
    """The demo cannot go on; the text says where, why, and what to look at."""


class Process:
    """A child process, and the leader of its own session and process group."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        output: Path,
        errors: Path,
        hand_over: Sequence[int] = (),
    ) -> None:
        """``output`` and ``errors`` are files that are appended to; ``hand_over`` are descriptors for it."""
        self.name = name
        self.output = output
        self.errors = errors
        self._life, held = os.pipe()
        with output.open("ab") as stdout, errors.open("ab") as stderr:
            try:
                self._child = subprocess.Popen(
                    argv,
                    env=env,
                    cwd=cwd,
                    stdin=subprocess.DEVNULL,
                    stdout=stdout,
                    stderr=stderr,
                    pass_fds=(held, *hand_over),
                    start_new_session=True,
                )
            finally:
                os.close(held)
        self.pid = self._child.pid

    def fileno(self) -> int:
        """A descriptor that can be read, its end at once, when the process has died."""
        return self._life

    def ended_by(self) -> str | None:
        """The name of the signal that it died of, else its exit code ("exit 0"); None while it runs."""
        code = self._child.poll()
        if code is None:
            return None
        return signal.Signals(-code).name if code < 0 else f"exit {code}"

    def wait(self) -> str:
        """Wait for its end; what ``ended_by`` says then. Raises ``DemoFailed`` where it does not come."""
        try:
            self._child.wait(STEP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            what = f"{self.name} (pid {self.pid}) has not ended within {STEP_SECONDS_MAX:g} s."
            raise DemoFailed(what + self.last_words()) from None
        ended = self.ended_by()
        assert ended is not None
        return ended

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, as long as it is there."""
        self._child.send_signal(number)

    def last_words(self) -> str:
        """The end of what it wrote to stderr, for a message."""
        lines = self.errors.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:]
        return "".join(f"\n    {line}" for line in ["The last that it wrote:", *lines]) if lines else ""

    def end(self) -> None:
        """Ask it to stop, and kill it with its process group where it does not. Safe to repeat."""
        try:
            if self._child.poll() is None:
                self._child.terminate()
                with suppress(subprocess.TimeoutExpired):
                    self._child.wait(STOP_SECONDS_MAX)
        finally:  # also where waiting was interrupted
            if self._child.poll() is None:
                os.killpg(self.pid, signal.SIGKILL)
                self._child.wait()

    def close(self) -> None:
        """End it, and let go of its pipe."""
        try:
            self.end()
        finally:
            os.close(self._life)


class Stage:
    """One demo's directory, processes and client; to be used in ``with``."""

    def __init__(self, *, keep: bool = False) -> None:
        """``keep``: leave the directory where it is at the end."""
        self._keep = keep
        self._ends = ExitStack()

    def __enter__(self) -> Self:
        self.root = _fresh_directory()
        if not self._keep:
            self._ends.callback(shutil.rmtree, self.root)
        self.data = self.root / "data"
        self._runtime = self.root / "run"
        self._env = {"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": str(self.root)}
        keys = KeyStore(str(self.root / "keys.log"), actor=OWNER)
        self.client = self._ends.enter_context(
            Client(str(self._runtime), str(self.data), key_store=keys, deadline_seconds=STEP_SECONDS_MAX)
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ends.close()

    def directory(self, name: str) -> Path:
        """A new, empty directory."""
        path = self.root / name
        path.mkdir()
        return path

    def start(
        self,
        name: str,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        hand_over: Sequence[int] = (),
    ) -> Process:
        """Start a program; what it writes goes to ``<name>.out`` and ``<name>.err`` in the directory."""
        process = Process(
            name,
            argv,
            env={**self._env, **(env or {})},
            cwd=cwd,
            output=self.root / f"{name}.out",
            errors=self.root / f"{name}.err",
            hand_over=hand_over,
        )
        self._ends.callback(process.close)
        return process

    def start_daemon(self, abort: str | None = None) -> Process:
        """Start tallyd and wait until it is ready. ``abort`` says where it dies, as its crash hook names it.

        Raises ``DemoFailed`` where it does not become ready.
        """
        argv = [sys.executable, "-I", "-m", "tallyd", "--data-dir", str(self.data)]
        argv += ["--runtime-dir", str(self._runtime)]
        env = {"TALLY_STATE_DIR": str(self.root / "state")}
        if abort is not None:
            argv.append("--test-hooks")
            env["TALLYD_ABORT"] = abort
        ready, told = os.pipe()
        try:
            try:
                argv += ["--ready-fd", str(told)]
                daemon = self.start("tallyd", argv, cwd=self.root, env=env, hand_over=[told])
            finally:
                os.close(told)
            readable, _, _ = select.select([ready], [], [], STEP_SECONDS_MAX)
            if not readable or not os.read(ready, 1):
                raise DemoFailed(f"tallyd (pid {daemon.pid}) did not become ready.{daemon.last_words()}")
        finally:
            os.close(ready)
        return daemon

    def first_to_end(self, *processes: Process) -> Process:
        """Wait until one of the processes has died; which. Raises ``DemoFailed`` where none does."""
        started = monotonic()
        ended, _, _ = select.select(processes, [], [], STEP_SECONDS_MAX)
        if not ended:
            names = " nor ".join(f"{process.name} (pid {process.pid})" for process in processes)
            raise DemoFailed(f"neither {names} has ended after {monotonic() - started:.0f} s")
        first: Process = ended[0]
        first.wait()
        return first


def _fresh_directory() -> Path:
    """Below /tmp where the usual place's name is too long for the path of a socket in it."""
    path = tempfile.mkdtemp(prefix="tally-demo-")
    if resolve(path, os.path.join(path, "run")).note() is not None:
        os.rmdir(path)
        path = tempfile.mkdtemp(prefix="tally-demo-", dir="/tmp")
    return Path(path)
