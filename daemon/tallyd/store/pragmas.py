"""Connections to the database, each setting made by itself and read back.

SQLite does not say when a setting was not taken: an unknown pragma does nothing, and a value that cannot be
had is replaced by another. And apsw runs a string of several statements only up to the first that returns a
row. So each pragma is set by one statement, read by another, and compared; the start is refused where they
differ.

======================  =====================================================================================
page_size=4096          measured best; takes effect when the database is made
synchronous=FULL        a commit returns when it is on the disk; set before the journal mode, so that the
                        first page is as durable as all others
journal_mode=WAL        one flush a commit, and readers that do not wait for it
fullfsync, checkpoint_  macOS: the drive's own cache is written too; elsewhere they change nothing
fullfsync
foreign_keys=ON         declared references hold
secure_delete=ON        what is deleted is overwritten with zeros
temp_store=MEMORY       else the journal of a savepoint spills plaintext into /tmp
mmap_size=0             an I/O error through mapped memory is a signal and not an error code
wal_autocheckpoint=0    checkpoints run on a thread of their own, away from the commits
cell_size_check=ON,     a damaged or prepared file is found out, and runs nothing
trusted_schema=OFF
query_only=ON           readers only
======================  =====================================================================================

Readers open the file for writing all the same: in a write-ahead log a reader has to note how far it reads.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import apsw

from tallyd.store.refusals import ExitCode, StartRefused
from tallyd.store.writer import Writer

SQLITE_VERSION_MIN: Final = (3, 51, 3)
"""Before it, resetting the write-ahead log could lose an acknowledged commit."""

WRITER_CACHE_KIB: Final = 65_536
"""The writer's working set; measured."""
READER_CACHE_KIB: Final = 16_384
"""There are several readers, and what they read most the kernel has cached too."""
BUSY_MS_MAX: Final = 2_000
"""Only a foreign program can hold a lock that we want; a copying tool is done sooner, and a client waits."""
STATEMENTS_CACHED: Final = 512
"""More than the daemon has."""


class Pragma(NamedTuple):
    """A setting as it is made, and as it must read afterwards."""

    name: str
    value: str
    reads: int | str


def _common(cache_kib: int) -> tuple[Pragma, ...]:
    return (
        Pragma("page_size", "4096", 4096),
        Pragma("locking_mode", "NORMAL", "normal"),
        Pragma("synchronous", "FULL", 2),
        Pragma("fullfsync", "ON", 1),
        Pragma("checkpoint_fullfsync", "ON", 1),
        Pragma("journal_mode", "WAL", "wal"),
        Pragma("foreign_keys", "ON", 1),
        Pragma("secure_delete", "ON", 1),
        Pragma("temp_store", "MEMORY", 2),
        Pragma("mmap_size", "0", 0),
        Pragma("cache_size", str(-cache_kib), -cache_kib),
        Pragma("wal_autocheckpoint", "0", 0),
        Pragma("cell_size_check", "ON", 1),
        Pragma("trusted_schema", "OFF", 0),
    )


WRITER: Final = _common(WRITER_CACHE_KIB)
READER: Final = (*_common(READER_CACHE_KIB), Pragma("query_only", "ON", 1))


def check_sqlite_version(version: str) -> None:
    """Refuse a SQLite that could lose an acknowledged commit. ``version`` is as SQLite says it,
    ``3.51.3``."""
    if tuple(int(part) for part in version.split(".")) < SQLITE_VERSION_MIN:
        oldest = ".".join(str(part) for part in SQLITE_VERSION_MIN)
        raise StartRefused(
            ExitCode.OLD_SQLITE,
            f"SQLite {version} is too old: before {oldest} it could lose an acknowledged commit when it"
            " reset its write-ahead log. Upgrade the package that brings it: pip install --upgrade"
            f" 'apsw>={oldest}'",
        )


def connect(path: str, *, create: bool = False, vfs: str | None = None) -> apsw.Connection:
    """A bare connection: nothing of the file is read or changed yet. Raises apsw.Error."""
    connection = apsw.Connection(path, _flags(create), vfs, STATEMENTS_CACHED)
    _prepare(connection)
    return connection


def connect_writer(path: str, *, create: bool, vfs: str | None) -> Writer:
    """The same for the one that writes."""
    connection = Writer(path, _flags(create), vfs, STATEMENTS_CACHED)
    _prepare(connection)
    return connection


def _flags(create: bool) -> int:
    return apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)


def _prepare(connection: apsw.Connection) -> None:
    # Until the store is found good, closing must leave the log where it is.
    checkpoint_on_close(connection, False)
    connection.set_busy_timeout(BUSY_MS_MAX)


def apply(connection: apsw.Connection, pragmas: tuple[Pragma, ...]) -> None:
    """Make each setting and read it back. Raises StartRefused for one that was not taken, and apsw.Error."""
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    # A misspelt column in double quotes is an error and not a string.
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
    for pragma in pragmas:
        _set(connection, pragma)


def open_reader(path: str, *, vfs: str | None = None) -> apsw.Connection:
    """A connection that can only read, with its settings made. Raises StartRefused and apsw.Error."""
    connection = connect(path, vfs=vfs)
    try:
        apply(connection, READER)
    except BaseException:
        connection.close()
        raise
    return connection


def checkpoint_on_close(connection: apsw.Connection, on: bool) -> None:
    """Whether closing the last connection writes the log into the database and takes it away."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(not on))


def _set(connection: apsw.Connection, pragma: Pragma) -> None:
    connection.execute(f"PRAGMA {pragma.name}={pragma.value}").fetchall()
    rows = connection.execute(f"PRAGMA {pragma.name}").fetchall()
    if rows != [(pragma.reads,)]:
        found = rows[0][0] if rows else "nothing"
        raise StartRefused(
            ExitCode.SETTING_NOT_TAKEN,
            f"SQLite did not take {pragma.name}={pragma.value} for {connection.filename}: it reads {found}."
            " Use the packages that tallystick was installed with, and a data directory on a local disk",
        )
