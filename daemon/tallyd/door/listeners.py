"""Listening sockets as files: binding them, the links beside them, noticing that a file is no longer ours,
and removing them.

The caller holds the runtime directory's lock. So a socket that lies at our path is left over from a process
that has ended, and is replaced without further checks. Promises:

- The directory is opened without following a link, belongs to us, and nobody else may write or list it. The
  socket is made with its mode, by the umask, and its mode is never changed: between the two an agent could
  put a link in its place, to a file of the owner's. Where it has another mode all the same (a file system
  without modes) that is a warning, if the directory keeps others out.
- Only a socket is ever replaced, and only our own file and link are ever removed.
- A path longer than the kernel takes is refused before it is tried. The refusal names its length, the
  limit, and what to set.

Does not: create the directory, take the lock, or decide when to look whether a file is still there.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import socket
import stat
from typing import Final, NamedTuple

from tallyd.door.channel import Channel
from tallyd.door.interface import ListenRefused
from tallystick.paths import CLIENT_ALIAS, CLIENT_SOCKET, SOCKET_PATH_BYTES_MAX, WORKER_ALIAS, WORKER_SOCKET
from tallystick.protocol import limits

logger = logging.getLogger("tallyd.door")

ALIASES: Final = {CLIENT_SOCKET: CLIENT_ALIAS, WORKER_SOCKET: WORKER_ALIAS}
"""For each socket's name, the name under which KCP's clients look for it (KCP 1.1): a relative link beside
it."""

_OTHERS: Final = 0o077
_OTHERS_READ_OR_WRITE: Final = 0o066
"""What others may never do in a directory. They may search it (go through it) where an agent has a uid of
its own and its socket lies there."""


class _Identity(NamedTuple):
    """By this we know the file that we bound. The inode number alone is not enough: some file systems use a
    freed one again at once."""

    device: int
    inode: int
    changed_ns: int


class Listener:
    """The listening socket of one channel. Raises ListenRefused where it cannot be made."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.socket = _bind(channel)
        self._identity = _identity(channel.path)
        _link(channel.path)

    def fileno(self) -> int:
        """The listening descriptor."""
        return self.socket.fileno()

    @property
    def lost(self) -> bool:
        """The file at our path is not the one that we bound, or there is none: nobody can connect here."""
        return _identity(self.channel.path) != self._identity

    def relink(self) -> None:
        """Put the link back where it is missing."""
        _link(self.channel.path)

    def close(self) -> None:
        """Stop listening, and leave the file: it is gone, or is not ours any more."""
        self.socket.close()

    def close_and_remove(self) -> None:
        """Stop listening, and remove the file and the link where they are still ours."""
        path = self.channel.path
        alias = _alias(path)
        if alias is not None and _target(alias) == os.path.basename(path):
            with contextlib.suppress(OSError):
                os.unlink(alias)
        if not self.lost:
            with contextlib.suppress(OSError):
                os.unlink(path)
        self.socket.close()


def _bind(channel: Channel) -> socket.socket:
    path = channel.path
    _check_length(path)
    try:
        directory_mode = _check_directory(os.path.dirname(path) or ".")
        _make_way(path)
        return _bind_free(channel, private=not directory_mode & _OTHERS)
    except OSError as error:
        raise ListenRefused(f"{path} cannot be bound: {error.strerror}") from error


def _check_length(path: str) -> None:
    length = len(os.fsencode(path))
    if length > SOCKET_PATH_BYTES_MAX:
        raise ListenRefused(
            f"the socket path {path} has {length} bytes, and {SOCKET_PATH_BYTES_MAX} is what the kernel "
            "takes: set TALLY_RUNTIME_DIR to a shorter directory"
        )


def _check_directory(directory: str) -> int:
    """Check that the directory is ours and that others may not list or change it; return its permission
    bits."""
    if os.path.islink(directory):
        raise ListenRefused(
            f"{directory} is a symbolic link, which whoever owns it could turn: set TALLY_RUNTIME_DIR to the "
            "directory itself"
        )
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if status.st_uid != os.geteuid():
        raise ListenRefused(
            f"{directory} belongs to uid {status.st_uid} and not to uid {os.geteuid()}: "
            "set TALLY_RUNTIME_DIR to a directory of your own"
        )
    if status.st_mode & _OTHERS_READ_OR_WRITE:
        raise ListenRefused(
            f"{directory} has mode {stat.S_IMODE(status.st_mode):04o}, so others may list or change it: "
            f"run chmod 0700 {directory}"
        )
    return stat.S_IMODE(status.st_mode)


def _make_way(path: str) -> None:
    """Remove a socket that an earlier process left. Refuse where anything else lies at the path."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise ListenRefused(f"{path} is there and is no socket: move it elsewhere")
    os.unlink(path)


def _bind_free(channel: Channel, *, private: bool) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.setblocking(False)
        umask = os.umask(0o777 & ~channel.mode)
        try:
            listening.bind(channel.path)
        finally:
            os.umask(umask)
        try:
            _check_mode(channel, private=private)
            listening.listen(limits.CONNECTIONS_BACKLOG_MAX)
        except OSError:
            os.unlink(channel.path)
            raise
    except BaseException:
        listening.close()
        raise
    return listening


def _check_mode(channel: Channel, *, private: bool) -> None:
    """Raises OSError where the socket has another mode than it was made with, and its directory does not
    keep others out.
    """
    mode = stat.S_IMODE(os.lstat(channel.path).st_mode)
    if mode == channel.mode:
        return
    if channel.mode & _OTHERS or not private:
        raise OSError(errno.EPERM, f"it has mode {mode:04o} and not {channel.mode:04o}, whatever the umask")
    logger.warning(
        "%s has mode %04o and not %04o; its directory keeps others out, and so does the check of their uid",
        channel.path,
        mode,
        channel.mode,
    )


def _identity(path: str) -> _Identity | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return _Identity(status.st_dev, status.st_ino, status.st_ctime_ns)


def _alias(path: str) -> str | None:
    name = ALIASES.get(os.path.basename(path))
    return os.path.join(os.path.dirname(path), name) if name is not None else None


def _target(link: str) -> str | None:
    """Where a link points; None where there is no link of that name."""
    try:
        return os.readlink(link)
    except OSError:
        return None


def _link(path: str) -> None:
    """Make the relative link under KCP's name, where it is missing. Without it KCP's clients do not find the
    socket and everything else works, so a failure is a warning."""
    alias = _alias(path)
    name = os.path.basename(path)
    if alias is None or _target(alias) == name:
        return
    if os.path.lexists(alias) and _target(alias) is None:
        logger.warning(
            "%s is there and is no link: move it elsewhere, so that KCP clients find %s", alias, path
        )
        return
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(alias)
        os.symlink(name, alias)
    except OSError as error:
        logger.warning("%s cannot be made (%s): KCP clients do not find %s", alias, error.strerror, path)
