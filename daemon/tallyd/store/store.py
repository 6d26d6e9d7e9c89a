"""An open store: the writer's connection, readers on demand, the keys, and the locks that make it ours."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Final

import apsw
import msgspec

from tallyd.store import copies, marker, pragmas
from tallyd.store.copies import SortedOut
from tallyd.store.files import Disk
from tallyd.store.filesystem import FileSystem
from tallyd.store.identity import Epoch, Identity
from tallyd.store.keys import Keys
from tallyd.store.locks import KernelLock
from tallyd.store.writer import Writer
from tallystick.paths import Paths
from tallystick.protocol.limits import READ_TRANSACTION_MS_MAX

FRAME_BYTES: Final = 4096 + 24
"""A page in the write-ahead log, with its header (SQLite, file format, section 4.1)."""


class Checkpoint(msgspec.Struct, frozen=True):
    """What a checkpoint did."""

    frames: int
    """Pages in the write-ahead log."""
    copied: int
    """Of them in the database by now."""


class Store:
    """The store of one data directory, owned by this process until :meth:`close`.

    Made by ``open_store`` alone. Only the clerk uses ``writer``. A reader belongs to whoever asked for it,
    and one thread at a time uses it. Nothing here waits for anything but the disk, except :meth:`reset_log`
    and :meth:`truncate`, which wait for readers.
    """

    def __init__(
        self,
        paths: Paths,
        *,
        writer: Writer,
        identity: Identity,
        keys: Keys,
        filesystem: FileSystem,
        locks: tuple[KernelLock, ...],
        held: ExitStack,
        disk: Disk,
        vfs: str | None,
        upgraded: bool,
    ) -> None:
        self.paths = paths
        self.writer = writer
        self.identity = identity
        self.keys = keys
        self.filesystem = filesystem
        self.disk = disk
        self._vfs = vfs
        self._upgraded = upgraded
        self._locks = locks
        self._held = held
        self._database = _inode(paths.database)
        self._log_frames = 0
        writer.set_wal_hook(self._note_frames)

    @property
    def store_id(self) -> str:
        return self.identity.store_id

    @property
    def installation_id(self) -> str:
        return self.identity.installation_id

    @property
    def epoch(self) -> Epoch:
        return self.identity.epoch

    def reader(self) -> apsw.Connection:
        """A new connection that can only read. Its user closes it. Raises StartRefused and apsw.Error."""
        return pragmas.open_reader(self.paths.database, vfs=self._vfs)

    def checkpoint_passive(self, connection: apsw.Connection) -> Checkpoint:
        """Copy what can be copied without making anybody wait. Raises apsw.Error.

        Beside a steady writer this never resets the log; :meth:`reset_log` does.
        """
        frames, copied = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        return Checkpoint(frames, copied)

    @property
    def log_bytes_used(self) -> int:
        """Of the write-ahead log, what commits have filled since its last reset; the file keeps its size."""
        return self._log_frames * FRAME_BYTES

    def reset_log(self, kept_bytes_max: int) -> bool:
        """Copy everything, so that the next commit begins the log again from its beginning.

        The file keeps its size: blocks that the file system has allocated already are flushed sooner than new
        ones, and under load the log is reset several times a second. One that could not be reset for a while,
        and is longer than ``kept_bytes_max``, is cut. Otherwise as :meth:`truncate`.
        """
        if self.wal_bytes() > kept_bytes_max:
            return self.truncate(self.writer)
        return self._checkpoint_whole(self.writer, apsw.SQLITE_CHECKPOINT_RESTART)

    def truncate(self, connection: apsw.Connection) -> bool:
        """Copy everything and cut the log to nothing; False where a reader or a checkpoint stood in the way.

        For the clerk's connection, between two transactions. It waits for a reader as long as one may take.
        Raises apsw.Error.
        """
        return self._checkpoint_whole(connection, apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def _checkpoint_whole(self, connection: apsw.Connection, mode: int) -> bool:
        connection.set_busy_timeout(READ_TRANSACTION_MS_MAX)
        try:
            connection.wal_checkpoint(mode=mode)
        except apsw.BusyError:
            return False
        finally:
            connection.set_busy_timeout(pragmas.BUSY_MS_MAX)
        self._log_frames = 0
        return True

    def _note_frames(self, _connection: apsw.Connection, _database: str, frames: int) -> int:
        """SQLite tells the writer after each commit how many frames the log has."""
        self._log_frames = frames
        return apsw.SQLITE_OK

    def wal_bytes(self) -> int:
        """Size of the write-ahead log, from its directory entry: opening it here would drop SQLite's
        locks."""
        try:
            return os.stat(self.paths.database + "-wal").st_size
        except FileNotFoundError:
            return 0

    def write_marker(self, position: int, leaf: bytes) -> None:
        """Note, beside the database and in the state directory, that the log reaches to ``position``.

        The position must be on the disk already: a marker ahead of it would call an ordinary crash a loss.
        Raises OSError where one of the two could not be written; the other is tried all the same.
        """
        new = marker.make(self.identity, self.paths.data_dir, position, leaf)
        try:
            marker.write(self.disk, self.paths.marker, new)
        finally:
            marker.write(self.disk, self.paths.marker_copy(self.store_id), new)

    def check_still_ours(self) -> str | None:
        """None while both lock files and the database are still the ones that this process opened; else a
        sentence that says which is not.

        To be called at intervals. After a sentence another daemon may own the store: the caller ends the
        process at once.
        """
        for lock in self._locks:
            if not lock.still_ours():
                return (
                    f"the lock file {lock.path} was removed or replaced while tallyd held it, so that another"
                    " daemon could take its place. Find out what tidied the directory up, and start"
                    " tallyd again"
                )
        if _inode(self.paths.database) != self._database:
            return (
                f"the database {self.paths.database} was removed or replaced while tallyd had it open."
                " Put the file back where it was, and start tallyd again"
            )
        return None

    def migration_copies(self) -> SortedOut:
        """Copies made before migrations: whoever erases content has to know that it may be in them too.

        Raises OSError and apsw.Error where one of them cannot be read.
        """
        return copies.sort_out(self.paths.database, self.store_id, self._vfs)

    def remove_old_copies(self) -> SortedOut:
        """Unlink the copies made before migrations, unless this start has made one: it is kept until a start
        that had nothing to migrate has succeeded, so call this when one has. Returns what was unlinked, and
        what stands there and is not ours. Raises OSError and apsw.Error.
        """
        if self._upgraded:
            return SortedOut([], [])
        return copies.remove(self.paths.database, self.store_id, self.disk, self._vfs)

    def close(self) -> None:
        """Close the writer, then let go of the locks. Readers must be closed before."""
        self._held.close()


def _inode(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino
