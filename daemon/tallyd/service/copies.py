"""Copies made before migrations: what is erased from the store is erased from them too."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import apsw

from tallyd.ledger.view import View

Read = Callable[[Callable[[View], list[int]]], list[int]]


def clean_copy(path: str, read: Read) -> None:
    """Deletes from a copy what the store itself does not have any more. Raises apsw.Error."""
    copy = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        copy.execute("PRAGMA secure_delete = ON").fetchall()
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()
        copy.execute("BEGIN IMMEDIATE")
        for table in ("bodies", "object_keys"):
            if copy.table_exists("main", table):
                held = [int(row[0]) for row in copy.execute(f"SELECT body FROM {table}")]
                gone = read(partial(_gone, table, held))
                copy.executemany(f"DELETE FROM {table} WHERE body = ?", [(body,) for body in gone])
        copy.execute("COMMIT")
    finally:
        copy.close()


def _gone(table: str, held: list[int], view: View) -> list[int]:
    return [body for body in held if view.one(f"SELECT 1 FROM {table} WHERE body = ?", body) is None]
