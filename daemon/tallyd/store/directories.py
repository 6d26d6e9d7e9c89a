"""Private directories: made durable, and checked before anything is trusted in them.

A directory of the store must be a directory and not a symbolic link, must belong to the daemon's user, and
must be closed to everybody else (mode 0700). It is opened without following links and judged by its
descriptor, so that what was checked is what is used. Where something is wrong the start is refused, and the
message has the command that corrects it. Owner and mode of what exists are never changed here.

A parent that everybody may write to, as /tmp, is fine where its sticky bit keeps others from renaming what is
ours. A parent without it is refused: anybody could put another directory in the place of this one.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from tallyd.store.files import Disk
from tallyd.store.refusals import ExitCode, StartRefused


class Place(NamedTuple):
    """A directory, with the words for a refusal. One that is ``passable`` may be 0711: others reach through
    it to a directory of their own, and neither list nor change it.
    """

    path: str
    what: str
    """As in "the data directory"."""
    choose: str
    """How a person names another one, as in "--data-dir or TALLY_DATA_DIR"."""
    passable: bool = False


@contextmanager
def private_umask() -> Iterator[None]:
    """Create nothing that others can read, from its first instant. The umask is the whole process's."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def make_private(disk: Disk, place: Place) -> None:
    """Make the directory and its missing parents durable, then check it. Raises StartRefused."""
    try:
        _make_with_parents(disk, place.path)
    except OSError as error:
        raise StartRefused(ExitCode.BAD_DIRECTORY, _cannot("made", place, error)) from error
    check_private(place)


def check_private(place: Place) -> None:
    """Refuse a directory that others could read or replace. Raises StartRefused."""
    try:
        descriptor = os.open(place.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise StartRefused(ExitCode.BAD_DIRECTORY, _unopened(place, error)) from error
    try:
        wrong = _wrong(place, os.fstat(descriptor))
    finally:
        os.close(descriptor)
    wrong = wrong or _wrong_parent(place)
    if wrong is not None:
        raise StartRefused(ExitCode.BAD_DIRECTORY, wrong)


def sync_ancestors(disk: Disk, path: str) -> None:
    """Put the name of ``path``, and of each directory above it on its file system, on the disk.

    A first start that was interrupted may have made any of them without having synced the one above.
    """
    device = os.stat(path).st_dev
    while path != os.path.dirname(path):
        path = os.path.dirname(path)
        if os.stat(path).st_dev != device:
            return
        with suppress(PermissionError):  # one that we cannot read is none that we made
            disk.sync_directory(path)


def _make_with_parents(disk: Disk, path: str) -> None:
    missing: list[str] = []
    while not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    for name in reversed(missing):
        try:
            disk.make_directory(name, 0o700)
        except FileExistsError:  # another starter was faster; the check that follows judges it
            continue
        disk.sync_directory(os.path.dirname(name))


def _wrong(place: Place, status: os.stat_result) -> str | None:
    uid, mode = os.geteuid(), stat.S_IMODE(status.st_mode)
    if status.st_uid != uid:
        return (
            f"{place.what} {place.path} belongs to uid {status.st_uid}, and tallyd runs as uid {uid}."
            f" Run: chown {uid} {place.path}, or name another one with {place.choose}"
        )
    allowed = (0o700, 0o711) if place.passable else (0o700,)
    if mode & 0o777 not in allowed:
        return (
            f"{place.what} {place.path} has mode {mode:04o}; it must be 0700, so that nobody else can look"
            f" into it. Run: chmod 700 {place.path}"
        )
    return None


def _wrong_parent(place: Place) -> str | None:
    parent = os.path.dirname(place.path)
    mode = os.stat(parent).st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        return (
            f"{place.what} {place.path} stands in {parent}, which everybody may write to, so that anybody"
            f" could put another directory in its place. Run: chmod o-w {parent} (or chmod +t {parent}),"
            f" or name another one with {place.choose}"
        )
    return None


def _unopened(place: Place, error: OSError) -> str:
    if os.path.islink(place.path):
        return (
            f"{place.what} {place.path} is a symbolic link, which could be turned elsewhere."
            f" Name the directory itself ({os.path.realpath(place.path)}) with {place.choose}"
        )
    if error.errno == errno.ENOTDIR:
        return f"{place.what} {place.path} is not a directory. Name another one with {place.choose}"
    return _cannot("opened", place, error)


def _cannot(done: str, place: Place, error: OSError) -> str:
    where = f" ({error.filename})" if error.filename not in (None, place.path) else ""
    return (
        f"{place.what} {place.path} cannot be {done}: {error.strerror}{where}."
        f" Give uid {os.geteuid()} access to it, or name another one with {place.choose}"
    )
