"""What an error of the disk or of SQLite means for a start.

An error does not mean that the file is damaged. SQLite says "malformed" or "not a database" of a healthy file
too, when a read failed. So after such an error its integrity check is run, and only what that finds is called
damage. Nothing is repaired, replaced or moved in any case.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import apsw

from tallyd.store import migrations, pragmas
from tallyd.store.refusals import ExitCode, StartRefused
from tallystick.paths import Paths

_STORAGE = (apsw.FullError, apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError)
_BUSY = (apsw.BusyError, apsw.LockedError)
_SUSPICIOUS = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)


@contextmanager
def as_refusals(paths: Paths, vfs: str | None) -> Iterator[None]:
    """Turn errors of the disk and of SQLite into StartRefused; a mistake in a statement stays what it is."""
    try:
        yield
    except _STORAGE as error:
        raise _storage(paths, str(error)) from error
    except OSError as error:
        raise _storage(
            paths, f"{error.strerror} ({error.filename})" if error.filename else str(error)
        ) from error
    except _BUSY as error:
        raise StartRefused(
            ExitCode.DATABASE_BUSY,
            f"another program has {paths.database} open and locked ({error}). End that program, a sqlite3"
            " shell or a copying tool perhaps, and start tallyd again",
        ) from error
    except _SUSPICIOUS as error:
        raise _examined(paths, vfs, str(error)) from error


def _storage(paths: Paths, reason: str) -> StartRefused:
    return StartRefused(
        ExitCode.STORAGE_FAILED,
        f"the disk of {paths.data_dir} failed: {reason}. Nothing that was acknowledged is lost by this."
        " Free space or repair the disk, then start tallyd again",
    )


def _examined(paths: Paths, vfs: str | None, reason: str) -> StartRefused:
    try:
        with closing(pragmas.connect(paths.database, vfs=vfs)) as connection:
            problem = migrations.integrity_problem(connection)
    except _SUSPICIOUS as error:
        problem = str(error)
    except (*_STORAGE, *_BUSY) as error:
        return _storage(paths, f"{reason}; its integrity check could not run: {error}")
    if problem is None:
        return _storage(paths, f"{reason}; the integrity check finds the database whole")
    return StartRefused(
        ExitCode.CORRUPT,
        f"SQLite's integrity check of {paths.database} says: {problem}. Nothing was changed. Keep all"
        " files as they are, and restore a backup into another directory",
    )
