"""Staging: where a client's bytes lie until they are sealed.

A client writes the file itself (KCP's way), or sends it in chunks that land here. Nobody is believed about
it: the file is opened without following links, and judged by its descriptor.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import AbstractContextManager
from typing import Final

from tallyd.store.files import Disk
from tallyd.vault.turns import Turns

_OPEN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Not blocking, so that a FIFO under that name holds nobody up."""


_NO_FILE: Final = frozenset({errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EISDIR, errno.ENODEV})
"""What an open says of a name that leads to a link, a directory, a socket or a FIFO without a reader."""


class NotOurs(Exception):
    """What lies under an upload's name is no client's bytes: a link, a directory, somebody else's file."""


class Hole(Exception):
    """A chunk would leave a gap; ``received`` bytes are there, and the next one begins at that offset."""

    def __init__(self, received: int) -> None:
        super().__init__(f"{received} bytes are there")
        self.received = received


class Staging:
    """The directory of staging files, each named by its upload."""

    def __init__(self, directory: str, disk: Disk) -> None:
        self._directory = directory
        self._disk = disk
        self._turns = Turns()

    def turn(self, upload_id: str) -> AbstractContextManager[None]:
        """The upload's turn (see ``turns``): whoever lets a client's bytes in takes it, and looks within it
        whether the upload still takes any. Removing takes it too, so ``drop`` is not called inside one.
        """
        return self._turns.take(upload_id)

    def path(self, upload_id: str) -> str:
        """Where the bytes of an upload lie, or will."""
        return os.path.join(self._directory, upload_id)

    def names(self) -> list[str]:
        """What lies here. Raises OSError."""
        return sorted(os.listdir(self._directory))

    def open(self, upload_id: str) -> tuple[int, int] | None:
        """A descriptor for reading and the file's size, or None where there is none.

        Raises NotOurs for anything but a regular file of ours with one name, OSError where the disk fails.
        """
        try:
            descriptor = os.open(self.path(upload_id), _OPEN)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _told(error) from error
        try:
            return descriptor, _judge(descriptor)
        except BaseException:
            os.close(descriptor)
            raise

    def received(self, upload_id: str) -> int:
        """How many bytes of an upload are there. Raises as ``open`` does."""
        found = self.open(upload_id)
        if found is None:
            return 0
        os.close(found[0])
        return found[1]

    def receive(self, upload_id: str, offset: int, data: bytes) -> int:
        """Puts a chunk where it belongs, durably, and says how many bytes are there now.

        A chunk that came before may come again. Raises Hole where one would leave a gap, NotOurs and OSError.
        """
        if not data or offset > 0:
            received = self.received(upload_id)
            if offset > received:
                raise Hole(received)
            if not data:
                return received
        try:
            descriptor = self._disk.extend(self.path(upload_id), 0o600)
        except OSError as error:
            raise _told(error) from error
        try:
            before = _judge(descriptor)
            if offset > before:  # whoever may write here has cut it in this moment
                raise Hole(before)
            self._write(descriptor, offset, data)
            self._disk.sync(descriptor)
        finally:
            self._disk.close(descriptor)
        if before == 0:
            self._disk.sync_directory(self._directory)
        return max(before, offset + len(data))

    def make_empty(self, upload_id: str) -> None:
        """Makes sure that there is a file, durably: no byte can come for an upload that was declared empty.
        Raises as ``receive`` does.
        """
        try:
            descriptor = self._disk.extend(self.path(upload_id), 0o600)
        except OSError as error:
            raise _told(error) from error
        try:
            _judge(descriptor)
            self._disk.sync(descriptor)
        finally:
            self._disk.close(descriptor)
        self._disk.sync_directory(self._directory)

    def drop(self, upload_id: str) -> bool:
        """Removes the bytes of an upload that has ended, after whoever still writes some; whether there were
        any. Since nobody writes to one that has ended, there are none afterwards.
        """
        with self.turn(upload_id):
            try:
                self._disk.unlink(self.path(upload_id))
            except FileNotFoundError:
                return False
            self._disk.sync_directory(self._directory)
            return True

    def _write(self, descriptor: int, offset: int, data: bytes) -> None:
        left = memoryview(data)
        while left:
            written = self._disk.write_at(descriptor, bytes(left), offset)
            left, offset = left[written:], offset + written


def _judge(descriptor: int) -> int:
    """The size of what the descriptor is of. Raises NotOurs."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise NotOurs("it is no regular file")
    if status.st_nlink != 1:
        raise NotOurs(f"the file has {status.st_nlink} names")
    if status.st_uid != os.geteuid():
        raise NotOurs(f"the file belongs to uid {status.st_uid}")
    return status.st_size


def _told(error: OSError) -> Exception:
    """The error of an open, or what it says about the name."""
    if error.errno in _NO_FILE:
        return NotOurs("it is a link, a directory or a socket")
    return error
