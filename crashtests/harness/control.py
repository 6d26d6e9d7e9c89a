"""A clock and a disk that the test owns, in a small file that test and daemon both map.

The clock stands still until the test moves it. The disk does what the machine's does, until the test arms a
fault: from the n-th write on it is full or broken, its next sync fails, or every sync takes a stated time.
``launcher.py`` gives both to a daemon; the two ends share nothing else but a pipe on which the disk says,
one byte each, that a sync has begun.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from threading import Event
from typing import Any, Final, Literal

import apsw

CONTROL_VARIABLE: Final = "TALLYTEST_CONTROL"
SYNC_PIPE_VARIABLE: Final = "TALLYTEST_SYNC_PIPE"
VFS_NAME: Final = "tallytest"

Field = Literal[
    "wall_ms",
    "monotonic_ms",
    "writes",
    "writes_pass",
    "write_error",
    "syncs",
    "sync_ms",
    "syncs_pass",
    "sync_fails",
    "only",
]
"""
================ =====================================================================================
wall_ms          Unix time in milliseconds
monotonic_ms     milliseconds from an arbitrary start
writes, syncs    how many the daemon has asked for
writes_pass      while write_error is set: how many more writes succeed before it is the answer to each
write_error      SQLite's result code for those writes; 0 for none
sync_ms          how long a sync takes, at least
syncs_pass       while sync_fails is set: how many more syncs succeed before the rest fail
sync_fails       1: syncs fail
only             which files faults and counts are about: ANY_FILE, DATABASE or LOG
================ =====================================================================================
"""
_FIELDS: Final[tuple[Field, ...]] = (
    "wall_ms",
    "monotonic_ms",
    "writes",
    "writes_pass",
    "write_error",
    "syncs",
    "sync_ms",
    "syncs_pass",
    "sync_fails",
    "only",
)
ANY_FILE: Final = 0
DATABASE: Final = apsw.SQLITE_OPEN_MAIN_DB
LOG: Final = apsw.SQLITE_OPEN_WAL
_WORD: Final = struct.Struct("<q")


class Control:
    """The mapped file. Each field is one aligned word, written by one of the two ends at a time."""

    def __init__(self, path: str) -> None:
        self.path = path
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.ftruncate(descriptor, _WORD.size * len(_FIELDS))
        self._map = mmap.mmap(descriptor, _WORD.size * len(_FIELDS))
        os.close(descriptor)

    def get(self, field: Field) -> int:
        value = _WORD.unpack_from(self._map, _FIELDS.index(field) * _WORD.size)[0]
        assert isinstance(value, int)
        return value

    def put(self, field: Field, value: int) -> None:
        _WORD.pack_into(self._map, _FIELDS.index(field) * _WORD.size, value)

    def begin_clock(self) -> None:
        """Both clocks stand at now."""
        self.put("wall_ms", time.time_ns() // 1_000_000)
        self.put("monotonic_ms", 1_000_000)

    def advance(self, seconds: float) -> None:
        """Moves both clocks."""
        for field in ("wall_ms", "monotonic_ms"):
            self.put(field, self.get(field) + round(seconds * 1000))

    def break_writes(self, error: int, passing: int = 0, only: int = ANY_FILE) -> None:
        """After so many more writes each fails with that result code, until ``mend``."""
        self.put("only", only)
        self.put("writes_pass", passing)
        self.put("write_error", error)

    def break_syncs(self, passing: int = 0, only: int = ANY_FILE) -> None:
        """After so many more syncs each fails, until ``mend``."""
        self.put("only", only)
        self.put("syncs_pass", passing)
        self.put("sync_fails", 1)

    def mend(self) -> None:
        """The disk works again."""
        fields: tuple[Field, ...] = ("write_error", "sync_fails", "sync_ms", "only")
        for field in fields:
            self.put(field, 0)


class MappedAmbient:
    """The daemon's ``Ambient`` over a control file; its random numbers are the machine's."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def wall_ms(self) -> int:
        return self._control.get("wall_ms")

    def monotonic(self) -> float:
        return self._control.get("monotonic_ms") / 1000

    def random(self, count: int, /) -> bytes:
        return os.urandom(count)


class ArmedDisk(apsw.VFS):
    """The machine's disk, with the faults of a control file. Its shared memory is left alone."""

    def __init__(self, control: Control, sync_pipe: int | None) -> None:
        self._control = control
        self._sync_pipe = sync_pipe
        super().__init__(VFS_NAME, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _File(name, flags, self._control, self._sync_pipe)


class _File(apsw.VFSFile):
    def __init__(self, name: Any, flags: list[int], control: Control, sync_pipe: int | None) -> None:
        self._control = control
        self._sync_pipe = sync_pipe
        self._pause = Event()
        self._kind = flags[0] & (DATABASE | LOG)
        super().__init__("", name, flags)

    def _concerned(self) -> bool:
        return self._control.get("only") in (ANY_FILE, self._kind)

    def xWrite(self, data: bytes, offset: int) -> None:
        control = self._control
        if self._concerned():
            control.put("writes", control.get("writes") + 1)
            error = control.get("write_error")
            if error and not _passes(control, "writes_pass"):
                raise _failure(error)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        control = self._control
        if self._concerned():
            control.put("syncs", control.get("syncs") + 1)
            if self._sync_pipe is not None:
                os.write(self._sync_pipe, b"s")
            if control.get("sync_fails") and not _passes(control, "syncs_pass"):
                raise _failure(apsw.SQLITE_IOERR_FSYNC)
        super().xSync(flags)
        if control.get("sync_ms"):
            self._pause.wait(control.get("sync_ms") / 1000)


def _passes(control: Control, field: Literal["writes_pass", "syncs_pass"]) -> bool:
    left = control.get(field)
    if left <= 0:
        return False
    control.put(field, left - 1)
    return True


def _failure(code: int) -> apsw.Error:
    failure = apsw.exception_for(code)
    assert isinstance(failure, apsw.Error)
    return failure
