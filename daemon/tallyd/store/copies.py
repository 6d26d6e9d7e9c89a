"""The copy of a store that is made before its schema changes: the way back to the older program.

It is ``tally.db.before-NNNN`` beside the database, where NNNN is the first migration that was pending.
SQLite's backup API makes it, and never a copy of files, which would leave the write-ahead log behind. It is
made as ``tally.db.before-NNNN.partial``, checked by SQLite's integrity check, synced, and only then given
its name: so a file under the final name is whole.

**A start that was killed.** A finished copy that still is what the database is (the same store, the same
schema, the same last row of the log) is used again, and not checked anew. One that is of an older state of
the same store is replaced, once the new one is finished. A partial copy is thrown away and begun anew: which
of its pages are on the disk nobody knows. Anything else under the copy's name is not ours: the start is
refused, and says so.

**How long it stays.** Until a start that had nothing to migrate is ready (:func:`remove`). Until then whoever
erases content erases it here too (:func:`sort_out`).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import closing
from typing import Final, NamedTuple

import apsw

from tallyd.store import identity as identities
from tallyd.store import marker, migrations
from tallyd.store.files import Disk, sync_file
from tallyd.store.progress import OnProgress, reported
from tallyd.store.refusals import ExitCode, StartRefused
from tallystick.paths import migration_copies

COPYING: Final = "copying the database"
VERIFYING: Final = "verifying the copy"
SYNCING: Final = "writing the copy to the disk"

_PARTIAL: Final = ".partial"
_STEPS: Final = 100
"""Into which a copy is divided: one for each per cent, with a look at the clock in between."""


class SortedOut(NamedTuple):
    """What stands beside a database under the names of copies."""

    ours: list[str]
    others: list[str]
    """What is no copy of this store: another store's, any other file, a directory, a link."""


class _State(NamedTuple):
    """What tells two states of stores apart."""

    store_id: str
    schema: int
    position: int
    leaf: bytes


def make(
    connection: apsw.Connection,
    first: int,
    disk: Disk,
    vfs: str | None,
    on_step: Callable[[str], None],
    on_progress: OnProgress,
) -> str:
    """A finished copy of a store whose first pending migration is ``first``; its path. Raises StartRefused.

    ``on_step`` hears ``copy:begin``, ``copy:half``, ``copy:verified`` and, also where a finished copy is used
    again, ``copy``.
    """
    database = connection.filename
    target = f"{database}.before-{first:04d}"
    if not _is_there(target, connection, vfs):
        partial = target + _PARTIAL
        sweep(database, disk)
        on_step("copy:begin")
        try:
            _copy(connection, partial, vfs, on_step, on_progress)
            on_progress(SYNCING, None)
            sync_file(disk, partial)
        except (apsw.Error, OSError, StartRefused):
            sweep(database, disk)  # a full disk is not left full
            raise
        on_step("copy:verified")
        disk.rename(partial, target)
        disk.sync_directory(os.path.dirname(target))
    on_step("copy")
    return target


def sweep(database: str, disk: Disk) -> None:
    """Throw away the partial copies of starts that were killed."""
    where, name = os.path.split(database)
    for found in os.listdir(where):
        path = os.path.join(where, found)
        if found.startswith(f"{name}.before-") and found.endswith(_PARTIAL) and os.path.isfile(path):
            disk.unlink(path)


def sort_out(database: str, store_id: str, vfs: str | None) -> SortedOut:
    """What there is under the names of copies. Raises OSError and apsw.Error where one cannot be read."""
    found = SortedOut([], [])
    for path in migration_copies(database):
        (found.ours if _is_of(store_id, path, vfs) else found.others).append(path)
    return found


def remove(database: str, store_id: str, disk: Disk, vfs: str | None) -> SortedOut:
    """Unlink the copies; returns them, and what is not ours, which stays. Raises OSError and apsw.Error."""
    found = sort_out(database, store_id, vfs)
    for path in found.ours:
        disk.unlink(path)
    if found.ours:
        disk.sync_directory(os.path.dirname(database))
    return found


def _is_of(store_id: str, path: str, vfs: str | None) -> bool:
    """Whether it is a copy of that store. Opening it also rolls back what was interrupted in it."""
    if not stat.S_ISREG(os.stat(path, follow_symlinks=False).st_mode):
        return False
    try:
        with closing(apsw.Connection(path, apsw.SQLITE_OPEN_READWRITE, vfs)) as copy:
            if copy.pragma("application_id") != migrations.APPLICATION_ID:
                return False
            return _state(copy).store_id == store_id
    except apsw.NotADBError:
        return False


def _is_there(target: str, connection: apsw.Connection, vfs: str | None) -> bool:
    """Whether there is a finished copy of the state that the database is in. Raises StartRefused where there
    is something that must not be replaced."""
    if not os.path.lexists(target):
        return False
    now = _state(connection)
    if not _is_of(now.store_id, target, vfs):
        raise StartRefused(
            ExitCode.BAD_DIRECTORY,
            f"{target} is where the copy of this store goes before its schema changes, and what is there is"
            " no copy of it. Nothing was changed. Move it to another directory, then start tallyd again",
        )
    with closing(apsw.Connection(target, apsw.SQLITE_OPEN_READWRITE, vfs)) as copy:
        return _state(copy) == now


def _state(connection: apsw.Connection) -> _State:
    """Where there is no store the first member is empty."""
    identity = identities.read_identity(connection)
    if identity is None:
        return _State("", 0, *marker.NO_LOG)
    return _State(identity.store_id, migrations.version(connection), *marker.end_of_log(connection))


def _copy(
    connection: apsw.Connection,
    target: str,
    vfs: str | None,
    on_step: Callable[[str], None],
    on_progress: OnProgress,
) -> None:
    """Copy the whole database and check the copy. Raises StartRefused where the check finds something."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    with closing(apsw.Connection(target, flags, vfs)) as copy:
        # Whoever dies meanwhile leaves a partial copy, which nobody reads: it needs no journal, and is synced
        # once, when it is whole.
        copy.execute("PRAGMA journal_mode=OFF").fetchall()
        copy.execute("PRAGMA synchronous=OFF").fetchall()
        _copy_pages(connection, copy, on_step, on_progress)
        # One file, with no log beside it.
        copy.execute("PRAGMA journal_mode=DELETE").fetchall()
        with reported(copy, VERIFYING, on_progress):
            problem = migrations.integrity_problem(copy)
    if problem is not None:
        raise StartRefused(
            ExitCode.CORRUPT,
            f"the integrity check of a copy of {connection.filename} says: {problem}. Nothing was changed."
            " Keep all files as they are, and restore a backup into another directory",
        )


def _copy_pages(
    connection: apsw.Connection,
    copy: apsw.Connection,
    on_step: Callable[[str], None],
    on_progress: OnProgress,
) -> None:
    halved = False
    with copy.backup("main", connection, "main") as backup:
        while not backup.step(max(1, backup.page_count // _STEPS)):
            done = backup.page_count - backup.remaining
            on_progress(COPYING, 100 * done // backup.page_count)
            if not halved and 2 * done >= backup.page_count:
                halved = True
                on_step("copy:half")
