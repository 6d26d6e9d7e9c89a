"""Which references between tables a migration may have broken, and whether it has.

While a migration runs, foreign keys are off, so its result has to be checked before it is committed. SQLite's
check of a whole store takes longer than copying it. So only these tables are checked:

- those whose rows were inserted or updated, and those that are new, altered or rebuilt;
- those that refer to a table whose rows were deleted or updated, or which was rebuilt or dropped.

The statements themselves tell (SQLite's authorizer is called for each table that a statement may touch), and
so do two looks at the schema: a rebuilt table has another root page than before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

import apsw
import msgspec

_REMOVES: Final = frozenset({apsw.SQLITE_DELETE, apsw.SQLITE_UPDATE, apsw.SQLITE_DROP_TABLE})
_WRITES: Final = frozenset({apsw.SQLITE_INSERT, apsw.SQLITE_UPDATE})


class Dangling(NamedTuple):
    """A row of ``table`` that refers to a row of ``parent`` which is not there."""

    table: str
    parent: str


class _Table(NamedTuple):
    root: int
    sql: str


class Changes:
    """What the statements of a transaction touch, from :meth:`watched` on."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._before = _tables(connection)
        self._written: set[str] = set()
        self._removed: set[str] = set()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Inside, each statement that is run on the connection is noted."""
        self._connection.authorizer = self._note
        try:
            yield
        finally:
            self._connection.authorizer = None

    def _note(
        self, action: int, table: str | None, _column: str | None, _database: str | None, _by: str | None
    ) -> int:
        if table is not None:
            if action in _WRITES:
                self._written.add(table.lower())
            if action in _REMOVES:
                self._removed.add(table.lower())
        return apsw.SQLITE_OK

    def to_check(self) -> list[str]:
        """The tables whose references may hang in the air now."""
        before, now = self._before, _tables(self._connection)
        changed = {name for name in now if before.get(name) != now[name]} | self._written
        moved = {name for name in before if name not in now or before[name].root != now[name].root}
        shaken = moved | self._removed
        return [name for name in sorted(now) if name in changed or _parents(self._connection, name) & shaken]


def dangling(connection: apsw.Connection, table: str) -> Dangling | None:
    """The first row of the table that refers to nothing, or None. Reads the whole table."""
    row = connection.execute(f'PRAGMA foreign_key_check("{table}")').fetchone()
    return None if row is None else Dangling(str(row[0]), str(row[2]))


def _tables(connection: apsw.Connection) -> dict[str, _Table]:
    """Every table by its name in small letters."""
    rows = connection.execute(
        "SELECT lower(name), rootpage, sql FROM sqlite_schema"
        " WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    ).fetchall()
    return {name: _Table(root, sql) for name, root, sql in msgspec.convert(rows, list[tuple[str, int, str]])}


def _parents(connection: apsw.Connection, table: str) -> set[str]:
    """The tables that it refers to."""
    return {str(row[2]).lower() for row in connection.execute(f'PRAGMA foreign_key_list("{table}")')}
