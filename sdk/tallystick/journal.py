"""Small files of lines with checksums: what the SDK itself keeps from one process to the next.

A line is eight hex digits of a CRC-32, a space, a JSON object, any number of spaces, and a newline::

    5d41402a {"state":"open","key":"0199…"}

Lines are appended, or overwritten in place by a line of the same length (hence the spaces). Whatever a
crash leaves torn, at the end or in the middle, fails its checksum and is skipped; an append after a torn
end begins a new line first, so that it is not glued to it. A person can read the file, and so can a program
without us.

The checksum finds accidents. It keeps nobody from changing the file who may write to it.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple
from zlib import crc32

MODE: Final = 0o600
LINE_BYTES_MAX: Final = 1 << 16
"""More than a first line ever has; read before a file is known for one of ours."""
_CHECK_CHARS: Final = 9
_FULLFSYNC: Final[int | None] = getattr(fcntl, "F_FULLFSYNC", None)
"""macOS: fsync alone leaves the bytes in the drive's cache."""


class Line(NamedTuple):
    """A line that passed its check: where it stands (``length`` counts the newline), and its object."""

    offset: int
    length: int
    members: dict[str, object]


def encode(members: Mapping[str, object], length: int = 0) -> bytes:
    """A line, padded with spaces to ``length`` bytes. Raises ValueError where it would be longer."""
    text = json.dumps(members, separators=(",", ":")).encode()
    line = b"%08x %b" % (crc32(text), text)
    if length and len(line) >= length:
        raise ValueError(f"a line of {len(line) + 1} bytes does not fit in {length}")
    return line.ljust(length - 1) + b"\n"


def lines(data: bytes) -> Iterator[Line]:
    """The lines that pass their check, in their order; everything else is skipped."""
    offset = 0
    while (end := data.find(b"\n", offset)) >= 0:
        line = data[offset:end]
        members = _checked(line)
        if members is not None:
            yield Line(offset, end + 1 - offset, members)
        offset = end + 1


def _checked(line: bytes) -> dict[str, object] | None:
    text = line[_CHECK_CHARS:].rstrip(b" ")
    if line[:_CHECK_CHARS] != b"%08x " % crc32(text):
        return None
    try:
        members = json.loads(text)
    except ValueError:
        return None
    return members if isinstance(members, dict) else None


def open_private(path: str) -> int:
    """A descriptor for reading and writing, made with mode 0600 where there is no such file.

    Raises OSError; PermissionError where the file is another's, or can be read by others.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, MODE)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise PermissionError(0, "not a regular file", path)
        if found.st_uid != os.geteuid():
            raise PermissionError(0, f"it belongs to uid {found.st_uid}", path)
        if stat.S_IMODE(found.st_mode) & 0o077:
            raise PermissionError(0, f"others may open it: take their rights with `chmod 600 {path}`", path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def create(path: str, content: bytes) -> None:
    """Make a file with this content, whole or not at all; one that is there is left as it is. Raises OSError.
    """
    if os.path.lexists(path):
        return
    aside = f"{path}.{os.getpid()}.{os.urandom(4).hex()}.new"
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, MODE)
    try:
        write(descriptor, content, 0)
        os.fsync(descriptor)
        with suppress(FileExistsError):  # another process was first
            os.link(aside, path)
        sync_directory(os.path.dirname(path))
    finally:
        os.close(descriptor)
        os.unlink(aside)


def read(descriptor: int) -> bytes:
    """The whole file."""
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def append(descriptor: int, line: bytes) -> int:
    """Write a line at the end, beginning a new one where the end is torn; returns its offset. Not yet
    synced."""
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        write(descriptor, b"\n", size)
        size += 1
    write(descriptor, line, size)
    return size


def write(descriptor: int, data: bytes, offset: int) -> None:
    """All of the bytes at the offset. Raises OSError."""
    while data:
        written = os.pwrite(descriptor, data, offset)
        data, offset = data[written:], offset + written


def sync(descriptor: int) -> None:
    """Returns when what was written is on the disk."""
    if _FULLFSYNC is not None:
        fcntl.fcntl(descriptor, _FULLFSYNC)
    elif hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:
        os.fsync(descriptor)


def sync_directory(path: str) -> None:
    """Returns when the directory's entries are on the disk: a new file's name is not, before this."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace(path: str, content: bytes) -> int:
    """Put a file with this content in the place of ``path``, whole or not at all; returns its descriptor,
    locked.

    The caller holds the lock of the file that stood there; who waits for that one finds another file when it
    gets it, and opens anew.
    """
    aside = f"{path}.new"  # one name: only the holder of the lock makes it, so a crash leaves one at most
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(aside, flags, MODE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        write(descriptor, content, 0)
        os.fsync(descriptor)
        os.rename(aside, path)
        sync_directory(os.path.dirname(path))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def is_at(descriptor: int, path: str) -> bool:
    """Whether the open file is still the one at the path."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(found, os.fstat(descriptor))
