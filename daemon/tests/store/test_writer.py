"""The writer's connection: buffered rows are written once, in order, and never too late for a reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from tallyd.store.pragmas import connect_writer
from tallyd.store.writer import RowsRefused, Writer

LOG = "INSERT INTO log (position) VALUES (?)"
ITEM = "INSERT INTO items (position, said) VALUES (?, ?)"
SAY = "UPDATE items SET said = ? WHERE position = ?"
ALL = "SELECT position, said FROM items ORDER BY position"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Writer]:
    """A buffering writer inside a transaction, with a log and a table that refers to it."""
    writer = connect_writer(str(tmp_path / "db"), create=True, vfs=None)
    writer.execute("PRAGMA foreign_keys=ON").fetchall()
    writer.execute("CREATE TABLE log (position INTEGER PRIMARY KEY)")
    writer.execute("CREATE TABLE items (position INTEGER PRIMARY KEY REFERENCES log (position), said TEXT)")
    writer.execute("BEGIN IMMEDIATE")
    writer.buffering = True
    yield writer
    writer.close()


def rows(db: Writer) -> list[object]:
    """The items as a reader on the same connection sees them."""
    return list(db.execute(ALL))


def written(db: Writer) -> list[object]:
    """The items that SQLite has heard of."""
    return list(db.look_up(ALL, ()))


def add(db: Writer, position: int, said: str = "x") -> None:
    """A complete command of one item, which is noted before the log row that it refers to."""
    db.open_command()
    db.note("items", ITEM, (position, said))
    db.note("log", LOG, (position,))
    db.keep_command()


def test_rows_reach_sqlite_when_they_are_settled(db: Writer) -> None:
    """Until then SQLite has none of them; then it has all, and a reference noted first finds its log row."""
    add(db, 1)
    add(db, 2)
    assert written(db) == []
    db.flush()
    assert written(db) == [(1, "x"), (2, "x")]


def test_whatever_is_executed_sees_what_was_noted(db: Writer) -> None:
    """A read finds the rows of complete commands, and those of the command under way."""
    db.buffering = False
    db.note("log", LOG, (3,))
    db.buffering = True
    add(db, 1)
    db.open_command()
    db.note("items", ITEM, (3, "own"))
    assert rows(db) == [(1, "x"), (3, "own")]
    db.note("items", SAY, ("later", 3))
    db.keep_command()
    db.flush()
    assert written(db) == [(1, "x"), (3, "later")]


@pytest.mark.parametrize("between", [None, ALL, "DELETE FROM items WHERE position = 1"])
def test_a_dropped_command_leaves_nothing(db: Writer, between: str | None) -> None:
    """Also where it read its own rows, or executed something that wrote, before it was dropped."""
    add(db, 1, "kept")
    db.flush()
    db.open_command()
    if between is not None and between != ALL:
        db.execute(between)
    db.note("items", SAY, ("dropped", 1))
    if between == ALL:
        assert rows(db) == [(1, "dropped")]
    db.drop_command()
    add(db, 2, "after")
    assert rows(db) == [(1, "kept"), (2, "after")]


def test_statements_of_one_table_keep_their_order(db: Writer) -> None:
    """A row inserted, changed and changed by another statement ends as the last one said."""
    other = "UPDATE items SET said = said || ? WHERE position = ?"
    add(db, 1, "first")
    for statement, said in ((SAY, "second"), (other, "+"), (SAY, "third"), (other, "!")):
        db.note("items", statement, (said, 1))
    add(db, 2)
    assert rows(db) == [(1, "third!"), (2, "x")]


def test_a_row_of_a_complete_command_that_is_refused_is_nobodys(db: Writer) -> None:
    """The error is another than that of a command's own row, and after the roll-back nothing is there."""
    add(db, 1)
    add(db, 1)
    add(db, 2)
    with pytest.raises(RowsRefused) as refused:
        rows(db)
    assert isinstance(refused.value.__cause__, apsw.ConstraintError)
    db.forget()
    db.execute("ROLLBACK")
    assert rows(db) == []


def test_an_update_that_meets_no_row_is_refused(db: Writer) -> None:
    """A statement that is noted changes one row each time."""
    db.note("items", SAY, ("x", 7))
    with pytest.raises(RowsRefused, match="1 rows were noted, and 0 met"):
        db.flush()


def test_without_buffering_each_row_is_written_as_it_is_noted(db: Writer) -> None:
    """Then a refused row is its command's own, and dropping the command takes its rows back."""
    db.buffering = False
    db.note("log", LOG, (1,))
    db.open_command()
    db.note("items", ITEM, (1, "x"))
    assert written(db) == [(1, "x")]
    with pytest.raises(apsw.ConstraintError):
        db.note("items", ITEM, (1, "again"))
    db.drop_command()
    assert written(db) == []
