"""Connections and their settings."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from store.helpers import Opener, append
from tallyd.store import pragmas
from tallyd.store.pragmas import READER, WRITER, Pragma, apply, check_sqlite_version, connect, open_reader
from tallyd.store.refusals import ExitCode, StartRefused
from tallystick.paths import Paths

PROMISED = {
    "journal_mode": "wal",
    "synchronous": 2,
    "foreign_keys": 1,
    "secure_delete": 1,
    "temp_store": 2,
    "mmap_size": 0,
    "cache_size": -65_536,
    "page_size": 4_096,
    "wal_autocheckpoint": 0,
    "fullfsync": 1,
    "checkpoint_fullfsync": 1,
    "query_only": 0,
}
"""Written by hand, and not taken from the table that the product reads."""


def reads(connection: apsw.Connection) -> dict[str, apsw.SQLiteValue]:
    """The settings of a connection, as SQLite says them."""
    return {name: connection.execute(f"PRAGMA {name}").fetchall()[0][0] for name in PROMISED}


@pytest.mark.parametrize("version", ["3.51.2", "3.50.9", "3.9.99", "2.99.99"])
def test_case_038_an_old_sqlite_is_refused(version: str) -> None:
    """Before 3.51.3 an acknowledged commit could vanish when the log was reset."""
    with pytest.raises(StartRefused) as refused:
        check_sqlite_version(version)
    assert refused.value.exit_code is ExitCode.OLD_SQLITE
    assert version in refused.value.sentence
    assert "pip install" in refused.value.sentence


@pytest.mark.parametrize("version", ["3.51.3", "3.52.0", "3.100.0", "4.0.0"])
def test_case_038_a_newer_sqlite_is_taken(version: str) -> None:
    """Versions are compared by number and not as text."""
    check_sqlite_version(version)


def test_the_writers_settings_are_as_promised(opened: Opener) -> None:
    """Each setting that a promise rests on reads as it must, on the connection that commits."""
    assert reads(opened().writer) == PROMISED


def test_a_readers_settings_are_as_promised_and_it_cannot_write(opened: Opener) -> None:
    """A reader differs in its cache, and in that no statement of it changes anything."""
    store = opened()
    with closing(store.reader()) as reader:
        assert reads(reader) == {**PROMISED, "query_only": 1, "cache_size": -16_384}
        with pytest.raises(apsw.ReadOnlyError):
            append(reader, 1)
        assert reader.execute("SELECT count(*) FROM log").fetchall() == [(1,)]


def test_case_039_fullfsync_is_asked_for(opened: Opener) -> None:
    """On macOS fsync leaves the drive's cache unwritten; these two settings are what writes it."""
    found = reads(opened().writer)
    assert (found["fullfsync"], found["checkpoint_fullfsync"]) == (1, 1)


@pytest.mark.parametrize("setting", [Pragma("journal_mode", "WAL", "wal"), Pragma("no_such_pragma", "ON", 1)])
def test_a_setting_that_is_not_taken_is_refused(setting: Pragma) -> None:
    """SQLite answers an unknown pragma with silence, and one that it cannot have with another value."""
    with closing(connect(":memory:", create=True)) as connection:
        with pytest.raises(StartRefused) as refused:
            apply(connection, (setting,))
        assert refused.value.exit_code is ExitCode.SETTING_NOT_TAKEN
        assert setting.name in refused.value.sentence


@pytest.mark.parametrize("number", range(len(READER)))
def test_each_setting_is_read_back(tmp_path: Path, number: int) -> None:
    """With any one of them expected to read otherwise, the connection is refused: none goes unread."""
    setting = READER[number]
    other = "other" if isinstance(setting.reads, str) else setting.reads + 7
    expecting = (*READER[:number], setting._replace(reads=other), *READER[number + 1 :])
    connection = connect(str(tmp_path / "db"), create=True)
    with closing(connection), pytest.raises(StartRefused, match=setting.name):
        apply(connection, expecting)


def test_a_connection_that_is_refused_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader whose settings were not taken does not stay open."""
    with closing(connect(str(tmp_path / "db"), create=True)) as connection:
        apply(connection, WRITER)
        before = len(os.listdir("/dev/fd"))
        monkeypatch.setattr(pragmas, "READER", (Pragma("no_such_pragma", "ON", 1),))
        with pytest.raises(StartRefused):
            open_reader(str(tmp_path / "db"))
        assert len(os.listdir("/dev/fd")) == before


def test_a_misspelt_column_is_no_string(opened: Opener) -> None:
    """A name in double quotes that names nothing is an error."""
    with pytest.raises(apsw.SQLError, match="no such column"):
        opened().writer.execute('SELECT "positon" FROM log').fetchall()


def test_temporary_data_stays_in_memory(opened: Opener, places: Paths) -> None:
    """A savepoint's journal and a large sort open no file outside the data directory."""
    store = opened()
    before = set(os.listdir("/dev/fd"))
    store.writer.execute("BEGIN IMMEDIATE").fetchall()
    store.writer.execute("SAVEPOINT one").fetchall()
    store.writer.execute(
        "WITH RECURSIVE n (p) AS (VALUES (1) UNION ALL SELECT p + 1 FROM n WHERE p < 20000)"
        " INSERT INTO log SELECT p, randomblob(2000) FROM n"
    ).fetchall()
    store.writer.execute("SAVEPOINT two").fetchall()
    store.writer.execute("UPDATE log SET leaf = randomblob(2000)").fetchall()
    files = [os.path.realpath(f"/dev/fd/{name}") for name in set(os.listdir("/dev/fd")) - before]
    assert [name for name in files if "etilqs" in name or "deleted" in name] == []
    store.writer.execute("ROLLBACK").fetchall()
    assert sorted(os.listdir(places.data_dir)) == [
        "keys", "lock", "store.json", "tally.db", "tally.db-shm", "tally.db-wal",
    ]  # fmt: skip


def test_deleted_content_is_overwritten(opened: Opener, places: Paths) -> None:
    """After a deletion and a checkpoint no byte of the row is in the files."""
    canary = b"a canary that is to be forgotten"
    store = opened()
    store.writer.execute("INSERT INTO log VALUES (1, ?)", (canary,)).fetchall()
    assert store.truncate(store.writer)
    store.writer.execute("DELETE FROM log WHERE position = 1").fetchall()
    assert store.truncate(store.writer)
    store.close()
    assert all(canary not in path.read_bytes() for path in Path(places.data_dir).rglob("*") if path.is_file())
