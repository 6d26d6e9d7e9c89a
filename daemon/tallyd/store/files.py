"""Files that must survive a power cut: keys, markers, copies, directories.

All that the store writes beside SQLite goes through a :class:`Disk`, one method a system call that matters,
so that a test can put a disk under it that records every write and sync, fails the n-th of them, or forgets
what was not synced. What is built of these calls stands below as functions.

The recipe is the usual one: write aside, fsync the file, rename, fsync the directory. A reader sees the old
content or the new one, never a mixture, and after ``write_durable`` returned it is on the disk.
"""

from __future__ import annotations

import fcntl
import os
import stat
import sys
from typing import Final

_ASIDE: Final = ".new"


class Disk:
    """The system calls that change the disk. Each raises OSError, with the path in it where there is one."""

    def make_directory(self, path: str, mode: int) -> None:
        os.mkdir(path, mode)

    def create(self, path: str, mode: int) -> int:
        """A descriptor for writing; the file is empty, and was not reached through a symbolic link."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, mode)

    def extend(self, path: str, mode: int) -> int:
        """A descriptor for writing that leaves what is there; not reached through a symbolic link either."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return os.open(path, flags, mode)

    def write(self, descriptor: int, data: bytes) -> int:
        return os.write(descriptor, data)

    def write_at(self, descriptor: int, data: bytes, offset: int) -> int:
        return os.pwrite(descriptor, data, offset)

    def sync(self, descriptor: int) -> None:
        if sys.platform == "darwin":  # fsync there leaves the drive's own cache unwritten
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fsync(descriptor)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def rename(self, source: str, target: str) -> None:
        os.rename(source, target)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def remove_directory(self, path: str) -> None:
        os.rmdir(path)

    def sync_directory(self, path: str) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_durable(disk: Disk, path: str, data: bytes, *, mode: int = 0o600) -> None:
    """Make ``data`` the content of ``path``, on the disk, or leave what was there.

    Only one writer may do this to a path at a time; an aside file left by one that died is written over.
    """
    aside = path + _ASIDE
    descriptor = disk.create(aside, mode)
    try:
        left = memoryview(data)
        while left:
            left = left[disk.write(descriptor, bytes(left)) :]
        disk.sync(descriptor)
    finally:
        disk.close(descriptor)
    disk.rename(aside, path)
    disk.sync_directory(os.path.dirname(path))


def sync_file(disk: Disk, path: str) -> None:
    """Put on the disk what others wrote to ``path``. Never for a database that this process has open."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        disk.sync(descriptor)
    finally:
        disk.close(descriptor)


def read_regular(path: str, bytes_max: int) -> tuple[bytes, os.stat_result] | None:
    """Content and status of a regular file, or None where nothing has that name.

    Raises OSError for anything else: a symbolic link (ELOOP), a FIFO or directory, more than ``bytes_max``
    bytes.
    """
    try:
        # Not blocking, so that a FIFO under that name cannot hold the start up.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "not a regular file", path)
        data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise OSError(0, f"longer than {bytes_max} bytes", path)
    return data, status
