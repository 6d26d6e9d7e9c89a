"""Calls of the real program ``tally``, each set of them with places of its own."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

TALLY = str(Path(sys.executable).parent / "tally")
SECONDS_MAX = 60


class Done(NamedTuple):
    """How a call ended."""

    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Its output as JSON, one object a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def object(self) -> dict[str, Any]:
        """The one object that it printed."""
        (found,) = self.objects
        return found

    @property
    def error(self) -> dict[str, Any]:
        """The one error that it printed as JSON."""
        found: dict[str, Any] = json.loads(self.err)["error"]
        return found


class Tally:
    """Runs ``tally`` with places of its own and a small environment."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.runtime_dir = root / "r"
        self.data_dir = root / "d"
        self.state_dir = root / "s"
        self.env: dict[str, str] = {
            "PATH": os.defpath,
            "HOME": str(root),
            "LANG": "C.UTF-8",
            "TALLY_DATA_DIR": str(self.data_dir),
            "TALLY_RUNTIME_DIR": str(self.runtime_dir),
            "TALLY_STATE_DIR": str(self.state_dir),
        }

    @property
    def socket(self) -> Path:
        """The socket that clients connect to."""
        return self.runtime_dir / "tally.sock"

    def __call__(
        self,
        *arguments: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Done:
        """Run it to its end, with pipes for stdin, stdout and stderr."""
        done = subprocess.run(
            [TALLY, *arguments],
            input=stdin,
            env={**self.env, **(env or {})},
            cwd=cwd or self.root,
            capture_output=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def ok(self, *arguments: str, **options: Any) -> Done:
        """The same, and it must succeed."""
        done = self(*arguments, **options)
        assert done.code == 0, (arguments, done)
        return done

    def id(self, *arguments: str, **options: Any) -> str:
        """The id of what a call made."""
        return self.ok(*arguments, **options).out.strip()

    @contextmanager
    def daemon(self, **hooks: str) -> Iterator[subprocess.Popen[bytes]]:
        """A daemon with crash hooks, ready; it has ended at the end."""
        reads, writes = os.pipe()
        command = [sys.executable, "-m", "tallyd", "--test-hooks", "--ready-fd", str(writes)]
        env = {**self.env, **hooks}
        with subprocess.Popen(command, env=env, pass_fds=[writes], stderr=subprocess.DEVNULL) as process:
            os.close(writes)
            try:
                assert os.read(reads, 1), "the daemon ended before it was ready"
                yield process
            finally:
                os.close(reads)
                process.terminate()

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Run it in the background; its stdout and stderr can be read."""
        return subprocess.Popen(
            [TALLY, *arguments],
            env=self.env,
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def on_terminal(tally: Tally, *arguments: str, columns: int = 0, env: Mapping[str, str] | None = None) -> str:
    """What a terminal of so many columns gets from a call, which may be refused: stdout and stderr."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(
        [TALLY, *arguments], env={**tally.env, **(env or {})}, stdin=theirs, stdout=theirs, stderr=theirs
    ) as called:
        os.close(theirs)
        data = b""
        while True:
            try:
                chunk = os.read(ours, 65_536)
            except OSError:  # Linux says EIO where the other end is closed
                break
            if not chunk:
                break
            data += chunk
        os.close(ours)
    assert called.returncode in (0, 2)
    return data.decode().replace("\r\n", "\n")
