"""Which references a migration may have broken: exactly these are checked."""

from __future__ import annotations

from contextlib import closing

import apsw
import pytest

from tallyd.store.references import Changes, Dangling, dangling

SCHEMA = (
    "CREATE TABLE log (position INTEGER PRIMARY KEY, leaf TEXT)",
    "CREATE TABLE ids (id TEXT PRIMARY KEY, position INTEGER REFERENCES log (position)) WITHOUT ROWID",
    "CREATE TABLE spaces (position INTEGER PRIMARY KEY REFERENCES log (position))",
    "CREATE TABLE parts (space INTEGER REFERENCES Spaces (position))",
    "CREATE TABLE alone (x)",
    "INSERT INTO log VALUES (0, 'a'), (1, 'b')",
    "INSERT INTO ids VALUES ('i', 0)",
    "INSERT INTO spaces VALUES (1)",
    "INSERT INTO parts VALUES (1)",
)


def checked(*statements: str) -> list[str]:
    """The tables that are to be checked after some statements."""
    with closing(apsw.Connection(":memory:")) as connection:
        for statement in SCHEMA:
            connection.execute(statement).fetchall()
        changes = Changes(connection)
        with changes.watched():
            for statement in statements:
                connection.execute(statement).fetchall()
        return changes.to_check()


@pytest.mark.parametrize(
    ("statement", "tables"),
    [
        ("SELECT * FROM log", []),
        ("INSERT INTO log VALUES (2, 'c')", ["log"]),
        ("INSERT INTO PARTS VALUES (2)", ["parts"]),
        ("UPDATE spaces SET position = 0", ["parts", "spaces"]),
        ("DELETE FROM log WHERE position = 1", ["ids", "spaces"]),
        ("DELETE FROM log", ["ids", "spaces"]),
        ("DELETE FROM alone", []),
        ("ALTER TABLE log ADD COLUMN more TEXT", ["log"]),
        ("ALTER TABLE spaces ADD COLUMN log INTEGER REFERENCES log (position)", ["spaces"]),
        ("CREATE TABLE new (x INTEGER REFERENCES log (position))", ["new"]),
        ("CREATE INDEX by_leaf ON log (leaf)", []),
        ("DROP TABLE spaces", ["parts"]),
    ],
)
def test_a_statement_and_what_it_may_have_broken(statement: str, tables: list[str]) -> None:
    """Tables that gained or changed rows are checked, and those that refer to rows that may be gone."""
    assert checked(statement) == tables


def test_a_rebuilt_table_and_those_that_refer_to_it() -> None:
    """SQLite's procedure for changing a table: the new one is checked, and all that refers to its name."""
    rebuilt = checked(
        "CREATE TABLE new_spaces (position INTEGER PRIMARY KEY REFERENCES log (position), more TEXT)",
        "INSERT INTO new_spaces SELECT position, 'x' FROM spaces",
        "DROP TABLE spaces",
        "ALTER TABLE new_spaces RENAME TO spaces",
    )
    assert rebuilt == ["parts", "spaces"]


def test_a_table_that_is_made_anew_on_its_old_page() -> None:
    """A table that was dropped and made anew just as it was, where it was, counts as changed all the same."""
    assert checked("DROP TABLE log", SCHEMA[0]) == ["ids", "spaces"]


def test_a_trigger_writes_too() -> None:
    """What the triggers of a statement write is noted with it."""
    trigger = "CREATE TRIGGER more AFTER INSERT ON alone BEGIN INSERT INTO parts VALUES (7); END"
    assert checked(trigger, "INSERT INTO alone VALUES (1)") == ["alone", "parts"]


def test_a_dangling_row_is_found() -> None:
    """A row that refers to nothing is found by its table and the one that it refers to; none is where all is
    well.
    """
    with closing(apsw.Connection(":memory:")) as connection:
        for statement in SCHEMA:
            connection.execute(statement).fetchall()
        assert dangling(connection, "parts") is None
        connection.execute("INSERT INTO parts VALUES (9)").fetchall()
        assert dangling(connection, "parts") == Dangling("parts", "Spaces")
