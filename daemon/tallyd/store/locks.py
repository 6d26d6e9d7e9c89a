"""Kernel locks on a directory: one owner, for as long as its process lives.

The lock is flock(2) on a file named ``lock``. The kernel releases it when the process that holds it ends,
however that happens. So a lock file that is there says nothing, and nothing has to be cleaned up after a
crash. The file is never unlinked: if it were, two processes could each hold a lock on a file of that name.

The file's content (pid and time) is only for the message that a second daemon prints. Nothing is decided by
it, and no process is signalled because of it. While the owner changes it may be out of date for an instant.

The descriptor is closed on exec, so that no program that the daemon runs keeps the lock alive. It is only
ever closed and never unlocked: an unlock in a forked child would take the lock from its parent.
"""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import suppress
from datetime import UTC, datetime

from tallyd.store.refusals import ExitCode, StartRefused

_NOTE_BYTES_MAX = 256


class Held(Exception):
    """Another process holds the lock. The text says who, as far as the file tells."""


class KernelLock:
    """An exclusive lock that this process holds until :meth:`release` or its end."""

    def __init__(self, path: str, *, wall_ms: int) -> None:
        """Take the lock without waiting. Raises Held, or OSError where the file cannot be opened."""
        self.path = path
        self._pid = os.getpid()
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        self._descriptor = os.open(path, flags, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _read_note(self._descriptor)
            os.close(self._descriptor)
            raise Held(holder) from None
        except BaseException:
            os.close(self._descriptor)
            raise
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            os.close(self._descriptor)
            raise OSError(0, "it is not a regular file", path)
        since = datetime.fromtimestamp(wall_ms / 1000, UTC).isoformat(timespec="seconds")
        _write_note(self._descriptor, f"pid {self._pid} since {since}\n")
        self._identity = _identity(os.fstat(self._descriptor))

    def still_ours(self) -> bool:
        """Whether the file at the path is still the one that is locked; to be asked at intervals.

        Where it is not, somebody removed or replaced it, and a second owner could hold the new one.
        """
        try:
            return _identity(os.stat(self.path, follow_symlinks=False)) == self._identity
        except (FileNotFoundError, NotADirectoryError):
            return False

    def release(self) -> None:
        """Let go of the lock. In a forked child this closes the child's descriptor and nothing else."""
        if self._descriptor < 0:
            return
        if os.getpid() == self._pid:
            with suppress(OSError):
                os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)
        self._descriptor = -1


def take(path: str, what: str, choose: str, code: ExitCode, *, wall_ms: int) -> KernelLock:
    """The lock, or StartRefused with ``code`` and a sentence that says who holds ``what``."""
    try:
        return KernelLock(path, wall_ms=wall_ms)
    except Held as held:
        raise StartRefused(
            code,
            f"{what} {os.path.dirname(path)} is held by another tallyd ({held})."
            f" Use that one (tally status), end it (tally down), or name another directory with {choose}",
        ) from None
    except OSError as error:
        raise StartRefused(
            ExitCode.BAD_DIRECTORY,
            f"the lock file {path} cannot be opened: {error.strerror}. It must be a regular file that"
            f" belongs to uid {os.geteuid()}",
        ) from error


def keep_from_tidying(directory: str) -> int:
    """A descriptor to be kept open: systemd-tmpfiles leaves a directory alone that has a lock on itself.

    Sockets have no content and no lock of their own, so in /tmp they would be tidied away as old files
    (tmpfiles.d(5), "Age"). Where the file system has no such locks, the descriptor is all there is.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return descriptor


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _write_note(descriptor: int, note: str) -> None:
    with suppress(OSError):  # on a full disk the lock holds without a note
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, note.encode(), 0)


def _read_note(descriptor: int) -> str:
    # Printed on a terminal: what stands there may have been written by anything.
    note = os.pread(descriptor, _NOTE_BYTES_MAX, 0).decode("ascii", "replace").strip()
    return note if note and note.isprintable() else "which has not yet said its pid"
