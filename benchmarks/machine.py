"""What machine this is, in one line: figures without it mean nothing."""

from __future__ import annotations

import os
import platform
import statistics
import tempfile
import time
from typing import Final

import apsw

from tallyd.store.filesystem import find, mounts_text

_FLUSHES: Final = 200
_BLOCK: Final = bytes(4096)


def describe(place: str | None) -> str:
    """Cores and their load, Python, SQLite, the file system and what a flush costs there."""
    directory = place or tempfile.gettempdir()
    type_, flush_ms = find(directory, mounts_text()).type, _flush_ms(directory)
    return (
        f"{os.cpu_count()} cores (load {os.getloadavg()[0]:.1f}), {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}, "
        f"{directory} on {type_}: writing and flushing 4 KiB takes {flush_ms:.2f} ms"
    )


def _flush_ms(directory: str) -> float:
    """The median of a write of 4 KiB with its flush."""
    took = []
    with tempfile.TemporaryFile(dir=directory) as file:
        for _ in range(_FLUSHES):
            began = time.perf_counter()
            file.write(_BLOCK)
            file.flush()
            getattr(os, "fdatasync", os.fsync)(file.fileno())
            took.append(1000 * (time.perf_counter() - began))
    return statistics.median(took)
