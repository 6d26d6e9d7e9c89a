"""Copies made before migrations: what is erased from the store is erased from them too, and one that is
needed no more goes altogether.

What stands beside the database under the name of such a copy and is none is named in the log and left alone.
It does not keep an erasure from being finished: the daemon never wrote anything there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

import apsw

from tallyd.ledger.view import View
from tallyd.store.copies import SortedOut
from tallyd.store.store import Store

logger = logging.getLogger("tallyd.copies")

_SLICE_ROWS: Final = 4_096
"""Of a copy, compared at a time: some ten milliseconds."""

Read = Callable[[Callable[[View], list[int]]], list[int]]


def remove_old_copies(store: Store) -> None:
    """When the daemon is ready: copies that earlier starts made before they migrated are needed no more. On a
    thread, and before ``clean_copies``, which writes in them.
    """
    try:
        found = store.remove_old_copies()
    except (OSError, apsw.Error) as failure:
        logger.error("copies made before migrations are still there: %s; the next start tries again", failure)
        return
    _name_others(found)
    for path in found.ours:
        logger.info("removed %s, made before a migration: the newer schema has proved itself", path)


def clean_copies(store: Store, read: Read) -> None:
    """Deletes from the copies what the store itself does not have any more. On a thread. Raises OSError,
    apsw.Error.
    """
    found = store.migration_copies()
    _name_others(found)
    for path in found.ours:
        _clean_copy(path, read)


def _name_others(found: SortedOut) -> None:
    for path in found.others:
        logger.warning("%s is named as a copy of this store and is none; it is left as it is", path)


def _clean_copy(path: str, read: Read) -> None:
    copy = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        copy.execute("PRAGMA secure_delete = ON").fetchall()
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()
        copy.execute("BEGIN IMMEDIATE")
        for table in ("bodies", "object_keys"):
            if copy.table_exists("main", table):
                _clean_table(copy, table, read)
        copy.execute("COMMIT")
    finally:
        copy.close()


def _clean_table(copy: apsw.Connection, table: str, read: Read) -> None:
    """In slices, each compared in a read transaction of its own: a copy is as large as a store."""
    page = f"SELECT body FROM {table} WHERE body > ? ORDER BY body LIMIT {_SLICE_ROWS}"
    last = -1
    while held := [int(row[0]) for row in copy.execute(page, (last,))]:
        gone = read(partial(_gone, table, held))
        copy.executemany(f"DELETE FROM {table} WHERE body = ?", [(body,) for body in gone])
        last = held[-1]


def _gone(table: str, held: list[int], view: View) -> list[int]:
    return [body for body in held if view.one(f"SELECT 1 FROM {table} WHERE body = ?", body) is None]
