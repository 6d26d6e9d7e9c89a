"""A daemon of its own for each measurement: real process, real sockets, a store in a directory of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from typing import Final, Self

from tallystick.paths import resolve

_START_SECONDS: Final = 30.0
_STOP_SECONDS: Final = 60.0
_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
ROOT: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class DidNotStart(Exception):
    """The daemon ended before it was ready; the text is what it said."""


class Daemon:
    """Use it as a context: it runs inside, and its store is gone afterwards.

    ``flush_ms`` is how much longer than the machine's own each flush takes. ``tree`` is another checkout
    whose daemon is to run; ``place`` the directory to make the store in (its disk is what is measured).
    """

    def __init__(self, *, flush_ms: float = 0.0, tree: str = ROOT, place: str | None = None) -> None:
        self._flush_ms = flush_ms
        self._tree = tree
        self._place = place

    def __enter__(self) -> Self:
        self._home = tempfile.mkdtemp(prefix="tally-bench-", dir=self._place)
        self._runtime = tempfile.mkdtemp(prefix="ty", dir="/tmp")  # short: it stands in socket addresses
        self.paths = resolve(os.path.join(self._home, "data"), self._runtime, self._environment())
        try:
            self._start()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._remove()

    def _environment(self) -> dict[str, str]:
        sources = os.pathsep.join(os.path.join(self._tree, part) for part in ("daemon", "sdk"))
        return {**os.environ, "PYTHONPATH": sources, "TALLY_STATE_DIR": os.path.join(self._home, "state")}

    def _start(self) -> None:
        log = os.path.join(self._home, "log")
        ready, said = os.pipe()
        places = ["--data-dir", self.paths.data_dir, "--runtime-dir", self._runtime]
        program = ["tallyd"]
        if self._flush_ms:
            program = ["benchmarks.slow_flush", str(self._flush_ms)]
        with open(log, "wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", *program, *places, "--ready-fd", str(said)],
                pass_fds=(said,),
                stderr=errors,
                env=self._environment(),
                cwd=ROOT,
            )
        os.close(said)
        with open(ready, "rb") as pipe:
            if not pipe.readline():
                with open(log, encoding="utf-8", errors="replace") as text:
                    raise DidNotStart(f"exit code {self._process.wait(_START_SECONDS)}: {text.read()}")

    def _remove(self) -> None:
        shutil.rmtree(self._home, ignore_errors=True)
        shutil.rmtree(self._runtime, ignore_errors=True)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def home(self) -> str:
        """The directory of all that is the daemon's."""
        return self._home

    @property
    def socket(self) -> str:
        """The client socket's path."""
        return self.paths.client_socket

    @property
    def log_file(self) -> str:
        """The write-ahead log's path."""
        return self.paths.database + "-wal"

    def cpu_seconds(self) -> float:
        """What it has used so far, user and system."""
        return cpu_seconds(self.pid)


def cpu_seconds(pid: int) -> float:
    """What a process has used so far, user and system; 0 where there is no /proc to read it from."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND
