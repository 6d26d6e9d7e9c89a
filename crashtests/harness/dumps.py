"""Every table of a store as data, and what differs between two dumps.

A store whose process is dead is dumped from a copy of its directory, with the write-ahead log and its shared
memory, so that looking changes nothing of what the next start finds. One whose daemon runs is read over a
connection of another process, which is what SQLite's locks are for.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Literal, NamedTuple

import apsw

from tallystick.paths import Paths

Value = int | str | bytes | float | None
Key = tuple[Value, ...]
Row = dict[str, Value]
Dump = dict[str, dict[Key, Row]]
"""Rows by primary key, by table."""
Action = Literal["insert", "update", "delete"]


class Change(NamedTuple):
    """A row that differs: ``columns`` are those that an update changed, ``row`` the row as it is, or was."""

    table: str
    action: Action
    key: Key
    columns: frozenset[str]
    row: Row


class Effect(NamedTuple):
    """Rows of one table touched in one way: how many, and which columns an update changed."""

    table: str
    action: Action
    number: int
    columns: frozenset[str] = frozenset()


def dump_copy(paths: Paths) -> Dump:
    """A dump of a store that no process has open, taken from a copy."""
    with copied(paths) as database, closing(_opened(database)) as connection:
        return _tables(connection)


def dump_live(paths: Paths) -> Dump:
    """A dump of a store that a daemon has open: one read transaction over a connection of our own."""
    with closing(_opened(paths.database)) as connection:
        connection.execute("BEGIN").fetchall()
        return _tables(connection)


@contextmanager
def copied(paths: Paths) -> Iterator[str]:
    """The path of a copy of the database, with all that stands beside it."""
    directory = tempfile.mkdtemp(prefix="tydump", dir="/tmp")
    try:
        for name in os.listdir(paths.data_dir):
            if name.startswith(os.path.basename(paths.database)):
                shutil.copy2(os.path.join(paths.data_dir, name), directory)
        yield os.path.join(directory, os.path.basename(paths.database))
    finally:
        shutil.rmtree(directory)


def _opened(database: str) -> apsw.Connection:
    return apsw.Connection(database, flags=apsw.SQLITE_OPEN_READWRITE)


def _tables(connection: apsw.Connection) -> Dump:
    found = connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").fetchall()
    dump: Dump = {"sqlite_schema": {(kind, name): {"sql": sql} for kind, name, sql in found}}
    for kind, name, _ in found:
        if kind == "table":
            dump[str(name)] = _rows(connection, str(name))
    return dump


def _rows(connection: apsw.Connection, table: str) -> dict[Key, Row]:
    columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
    names = [str(column[1]) for column in columns]
    places = sorted((_int(column[5]), index) for index, column in enumerate(columns) if column[5])
    primary = [index for _, index in places]
    assert primary, f"{table} has no primary key to name its rows by"
    rows = connection.execute(f"SELECT {', '.join(names)} FROM {table}")
    return {tuple(row[i] for i in primary): dict(zip(names, row, strict=True)) for row in rows}


def differences(before: Dump, after: Dump) -> list[Change]:
    """Each row that is not the same in both, in the order of tables and keys."""
    changes: list[Change] = []
    for table in sorted(before.keys() | after.keys()):
        old, new = before.get(table, {}), after.get(table, {})
        for key in sorted(old.keys() | new.keys(), key=repr):
            if key not in old:
                changes.append(Change(table, "insert", key, frozenset(), new[key]))
            elif key not in new:
                changes.append(Change(table, "delete", key, frozenset(), old[key]))
            elif old[key] != new[key]:
                columns = frozenset(name for name in new[key] if new[key][name] != old[key].get(name))
                changes.append(Change(table, "update", key, columns, new[key]))
    return changes


def new_entries(before: Dump, after: Dump) -> list[Row]:
    """The rows of the log that the second dump has and the first has not, in their order."""
    positions = after["log"].keys() - before["log"].keys()
    return [after["log"][key] for key in sorted(positions, key=lambda key: _int(key[0]))]


def effects(changes: list[Change]) -> Counter[tuple[str, Action, frozenset[str]]]:
    """How many rows of each table were touched in each way."""
    return Counter((change.table, change.action, change.columns) for change in changes)


def counted(declared: tuple[Effect, ...]) -> Counter[tuple[str, Action, frozenset[str]]]:
    """The same of what was declared."""
    total: Counter[tuple[str, Action, frozenset[str]]] = Counter()
    for effect in declared:
        total[effect.table, effect.action, effect.columns] += effect.number
    return total


def without(dump: Dump, *tables: str) -> Dump:
    """The dump without the rows of some tables: what a later batch may have tidied away."""
    return {table: {} if table in tables else rows for table, rows in dump.items()}


def sequence_faults(dump: Dump) -> list[str]:
    """What is not dense: positions of the log, and the sequences of each stream and each project."""
    log = [row for _, row in sorted(dump["log"].items(), key=lambda item: _int(item[1]["position"]))]
    faults = _gaps("position", [_int(row["position"]) for row in log], 0)
    for name in ("stream", "project"):
        by_owner: dict[Value, list[int]] = {}
        for row in log:
            if row[name] is not None:
                by_owner.setdefault(row[name], []).append(_int(row[f"{name}_sequence"]))
        for owner, sequence in by_owner.items():
            faults += _gaps(f"{name} {owner!r}", sequence, 1)
    return faults


def _gaps(what: str, found: list[int], first: int) -> list[str]:
    expected = list(range(first, first + len(found)))
    return [] if found == expected else [f"{what}: {found} instead of {expected}"]


def _int(value: Value) -> int:
    assert isinstance(value, int)
    return value
