"""What a test takes from a running daemon, from outside: descriptors, threads, room on a disk."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

DISK_BYTES: Final = 48 << 20
"""Of a small disk: room for the store of a scene, and little to fill."""


def lowest_free(pid: int) -> int:
    """The lowest descriptor that is free in a process: with this for its limit it can open nothing."""
    taken = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
    return next(number for number in range(len(taken) + 1) if number not in taken)


@contextmanager
def limited(pid: int, which: int, most: int) -> Iterator[None]:
    """A process has this soft limit: ``which`` is one of ``resource``."""
    before = resource.prlimit(pid, which)
    resource.prlimit(pid, which, (most, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, which, before)


@contextmanager
def speaking_as(uid: int) -> Iterator[None]:
    """What this process connects to sees this user, who may set limits of a process of theirs. Root alone."""
    os.setresgid(uid, uid, 0)
    os.setresuid(uid, uid, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)


@contextmanager
def small_disk(directory: str) -> Iterator[None]:
    """A file system of its own, in memory, in a directory that this makes. Root alone; skips the test where
    nothing can be mounted.
    """
    os.mkdir(directory, 0o700)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=700", "small", directory]
    mounted = subprocess.run(mount, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"nothing can be mounted here: {mounted.stderr.decode()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", directory], check=True)


@contextmanager
def full(directory: str) -> Iterator[None]:
    """The disk of a directory has no block left, until the file that takes them is removed again."""
    ballast = Path(directory, "ballast")
    try:
        with open(ballast, "wb", buffering=0) as file:
            for piece in (1 << 20, 4096):
                _write_until_full(file.fileno(), bytes(piece))
        assert os.statvfs(directory).f_bfree == 0
        yield
    finally:
        ballast.unlink()


def _write_until_full(descriptor: int, piece: bytes) -> None:
    try:
        while os.write(descriptor, piece) == len(piece):
            pass
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
