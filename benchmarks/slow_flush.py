"""Starts the daemon over a disk whose flush takes a stated time longer.

``python -m benchmarks.slow_flush <milliseconds> <arguments of tallyd>``

It registers a SQLite VFS that does everything as the machine's own, and then waits in each sync. A laptop's
or a server's flush takes 1 to 5 ms, where a virtual machine's often takes 0.1: so this is what the daemon
does on a real disk. While it waits it holds no lock of the interpreter, as a real flush does not.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import apsw

from tallyd.service.main import run
from tallyd.store.ambient import SystemAmbient

VFS_NAME = "slow-flush"


class SlowFile(apsw.VFSFile):
    """A file of the machine's own VFS whose syncs take longer."""

    def __init__(self, name: str | apsw.URIFilename | None, flags: list[int], seconds: float) -> None:
        super().__init__("", name, flags)
        self._seconds = seconds

    def xSync(self, flags: int) -> None:
        """See sqlite3_io_methods."""
        super().xSync(flags)
        time.sleep(self._seconds)


class SlowVFS(apsw.VFS):
    """Makes such files, and does everything else as the machine's own VFS."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        super().__init__(VFS_NAME, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> SlowFile:
        """See sqlite3_vfs."""
        return SlowFile(name, flags, self._seconds)


def main(argv: Sequence[str]) -> int:
    """Returns the daemon's exit code."""
    vfs = SlowVFS(float(argv[0]) / 1000)
    try:
        return run(argv[1:], ambient=SystemAmbient(), vfs=VFS_NAME)
    finally:
        vfs.unregister()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
