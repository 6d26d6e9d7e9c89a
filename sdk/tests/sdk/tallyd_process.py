"""The real daemon as a process that a test starts, kills and starts again."""

import os
import signal
import subprocess
import sys


class Tallyd:
    """One data directory and one runtime directory, and the daemon on them while one runs."""

    def __init__(self, data_dir: str, runtime_dir: str) -> None:
        self.data_dir = data_dir
        self.runtime_dir = runtime_dir
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The pid of the running daemon."""
        assert self._process is not None
        return self._process.pid

    def start(self, *, abort: str = "") -> None:
        """Start it, and return when it is ready. ``abort`` is a crash hook's ``phase:operation``."""
        assert self._process is None
        reading, writing = os.pipe()
        command = [sys.executable, "-m", "tallyd", "--data-dir", self.data_dir]
        command += ["--runtime-dir", self.runtime_dir, "--ready-fd", str(writing)]
        environment = dict(os.environ)
        if abort:
            command.append("--test-hooks")
            environment["TALLYD_ABORT"] = abort
        try:
            self._process = subprocess.Popen(
                command, pass_fds=[writing], env=environment, stderr=subprocess.DEVNULL
            )
        finally:
            os.close(writing)
        with os.fdopen(reading) as ready:
            assert ready.read().startswith("ready"), "the daemon ended before it was ready"

    def wait_for_death(self) -> int:
        """Returns the exit status when the daemon has ended by itself; negative is a signal."""
        assert self._process is not None
        status = self._process.wait(timeout=30)
        self._process = None
        return status

    def kill(self) -> None:
        """End it as a power switch would end its process."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def restart(self) -> None:
        """Kill it and start it again."""
        self.kill()
        self.start()
