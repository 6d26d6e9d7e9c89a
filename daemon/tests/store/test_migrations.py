"""Steps of the schema: whole or not at all, and after a verified copy."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from store.helpers import SMALL_SCHEMA, UNPROBED, Opener, RecordingDisk, append, copied, leaf
from tallyd.service.bootstrap import bootstrap
from tallyd.store import migrations
from tallyd.store.ambient import SystemAmbient
from tallyd.store.migrations import BadMigrations, Migration, load, split
from tallyd.store.refusals import ExitCode, StartRefused
from tallyd.store.store import Store
from tallystick.paths import Paths, migration_copies

SECOND = Migration(
    2, "note", ("ALTER TABLE log ADD COLUMN note TEXT", "CREATE TABLE extra (a INTEGER) STRICT")
)
THIRD = Migration(3, "more", ("CREATE TABLE more (a INTEGER) STRICT",))
TRIGGER = """CREATE TRIGGER kept AFTER INSERT ON log BEGIN
    SELECT 'a;b'; -- not the end;
    UPDATE log SET leaf = x'00' WHERE position = new.position;
END;"""


def columns(connection: apsw.Connection, table: str) -> list[str]:
    return [str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})").fetchall()]


# --- files --------------------------------------------------------------------------------------------------


def write(directory: Path, **files: str) -> str:
    for name, sql in files.items():
        (directory / f"{name}.sql").write_text(sql)
    return str(directory)


def test_statements_are_split_where_sqlite_ends_them() -> None:
    """Semicolons in strings, quoted names, comments and triggers end no statement."""
    sql = f"""-- A comment; with a semicolon, and it's got a quote
CREATE TABLE a (x TEXT DEFAULT ';');
/* another; one */ CREATE TABLE "b;c" (y); CREATE TABLE d (z); -- after;
{TRIGGER}
-- the end;
"""
    found = split(sql, "0001_x.sql")
    assert [statement.rsplit("CREATE ", 1)[1][:9] for statement in found] == [
        "TABLE a (", 'TABLE "b;', "TABLE d (", "TRIGGER k",
    ]  # fmt: skip
    with closing(apsw.Connection(":memory:")) as connection:
        connection.execute("CREATE TABLE log (position, leaf)").fetchall()
        for statement in found:
            connection.execute(statement).fetchall()


@pytest.mark.parametrize(
    "sql", ["CREATE TABLE a (x)", "CREATE TABLE a (x); CREATE", "SELECT 'open;", "/* open"]
)
def test_unfinished_sql_is_a_mistake(sql: str) -> None:
    """What does not end in a statement's end would be left out in silence."""
    with pytest.raises(BadMigrations, match=r"0001_x\.sql"):
        split(sql, "0001_x.sql")


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["0002_b"],
        ["0001_a", "0003_c"],
        ["0001_a", "0001_b"],
        ["0000_z", "0001_a"],
        ["0001_a", "2_b"],
        ["a"],
    ],
)
def test_a_gap_a_twin_or_a_bad_name_is_a_mistake(tmp_path: Path, names: list[str]) -> None:
    """Numbers are 1, 2, 3 and so on, each once: nothing else could be put in order."""
    with pytest.raises(BadMigrations):
        load(write(tmp_path, **dict.fromkeys(names, "SELECT 1;")))


def test_other_files_beside_them_are_ignored(tmp_path: Path) -> None:
    """Only .sql files are migrations, in the order of their numbers."""
    (tmp_path / "README.md").write_text("")
    found = load(write(tmp_path, **{"0002_b": "SELECT 2;", "0001_a": "SELECT 1;"}))
    assert [(migration.number, migration.name) for migration in found] == [(1, "a"), (2, "b")]


def test_our_own_are_found_and_leave_transactions_to_the_runner() -> None:
    """The repository's or package's migrations load, and none begins, commits or sets a pragma itself."""
    found = load()
    assert found[0].name == "kernel"
    for migration in found:
        for statement in migration.statements:
            code = "\n".join(line for line in statement.splitlines() if not line.lstrip().startswith("--"))
            assert code.split()[0].upper() in {"CREATE", "ALTER", "INSERT", "UPDATE", "DELETE", "DROP"}, code


def test_our_own_tables_are_strict(opened: Opener) -> None:
    """The real schema: each table STRICT, its numbers as committed, and no dangling reference."""
    store = opened(schema=load(), bootstrap=bootstrap(SystemAmbient()))
    rows = store.writer.execute("SELECT name, strict FROM pragma_table_list WHERE schema = 'main'").fetchall()
    assert {name for name, strict in rows if not strict} <= {"sqlite_schema"}
    assert migrations.version(store.writer) == load()[-1].number
    assert store.writer.pragma("application_id") == migrations.APPLICATION_ID
    store.close()
    opened(schema=load())


# --- an existing store --------------------------------------------------------------------------------------


def test_a_newer_step_is_applied_once_and_what_was_there_stays(opened: Opener) -> None:
    """The step's statements and its number are there; the next start does nothing."""
    opened().close()
    store = opened(schema=(*SMALL_SCHEMA, SECOND, THIRD))
    assert migrations.version(store.writer) == 3
    assert columns(store.writer, "log") == ["position", "leaf", "note"]
    assert store.writer.execute("SELECT position, leaf FROM log").fetchall() == [(0, leaf(0))]
    assert store.writer.pragma("foreign_keys") == 1
    store.close()
    opened(schema=(*SMALL_SCHEMA, SECOND, THIRD))


def test_case_079_a_verified_copy_is_made_first(opened: Opener, places: Paths) -> None:
    """The copy is the store as it was, whole, in one private file, and can be opened by the older program."""
    store = opened()
    append(store.writer, 1)  # in the log only, and not in the database's file
    store.close()
    store = opened(schema=(*SMALL_SCHEMA, SECOND))
    copy = places.database + ".before-0002"
    assert store.migration_copies() == ([copy], [])
    assert stat.S_IMODE(os.stat(copy).st_mode) == 0o600
    with closing(apsw.Connection(copy, apsw.SQLITE_OPEN_READONLY)) as connection:
        assert migrations.version(connection) == 1
        assert migrations.integrity_problem(connection) is None
        rows = connection.execute("SELECT * FROM log").fetchall()
        assert rows == [(0, leaf(0)), (1, leaf(1))]
    assert not [name for name in os.listdir(places.data_dir) if name.startswith("tally.db.before-0002-")]
    store.close()
    os.replace(copy, places.database)
    assert opened().store_id == store.store_id


def test_case_074_the_copy_is_durable_before_the_first_statement(opened: Opener, places: Paths) -> None:
    """Synced and under its name, with its directory, while the schema is still the old one."""
    opened().close()
    versions: list[int] = []

    class Watching(RecordingDisk):
        def sync_directory(self, path: str) -> None:
            super().sync_directory(path)
            if os.path.exists(places.database + ".before-0002"):
                copy = copied(places.data_dir, f"{places.data_dir}-at-{len(versions)}")
                with closing(apsw.Connection(f"{copy}/tally.db")) as connection:
                    versions.append(migrations.version(connection))

    disk = Watching()
    opened(schema=(*SMALL_SCHEMA, SECOND), machine=UNPROBED._replace(disk=disk))
    calls = [(call, os.path.basename(path)) for call, path in disk.done]
    assert ("rename", "tally.db.before-0002") in calls
    named = calls.index(("rename", "tally.db.before-0002"))
    assert calls[named - 1][0] == "sync"
    assert calls[named + 1][0] == "sync_directory"
    assert versions[0] == 1


def test_a_store_that_lacks_nothing_is_not_copied(opened: Opener) -> None:
    """Opening costs the same whatever the store's size, unless there is something to migrate."""
    opened().close()
    assert opened().migration_copies() == ([], [])


def test_all_pending_steps_are_one_transaction(opened: Opener) -> None:
    """Where a later step fails, or what several have left is refused by the check of references, none of them
    was done: the program that wrote the store opens it, and its copy is there.
    """
    opened().close()
    child = "CREATE TABLE child (p INTEGER REFERENCES log (position)) STRICT"
    for last in ("SELECT no_such_function()", "INSERT INTO child VALUES (99)"):
        with pytest.raises(StartRefused) as refused:
            opened(schema=(*SMALL_SCHEMA, SECOND, Migration(3, "child", (child, last))))
        assert refused.value.exit_code is ExitCode.MIGRATION_FAILED
        assert "0003_child" in refused.value.sentence
        store = opened()
        assert migrations.version(store.writer) == 1
        assert columns(store.writer, "log") == ["position", "leaf"]
        store.close()


def test_a_dangling_reference_is_named(opened: Opener) -> None:
    """The refusal names the table whose row hangs in the air, the table that it refers to, and the steps."""
    opened().close()
    child = "CREATE TABLE child (p INTEGER REFERENCES log (position)) STRICT"
    broken = Migration(3, "child", (child, "INSERT INTO child VALUES (99)"))
    with pytest.raises(StartRefused, match=r"0002_note, 0003_child.* a row of child refers to a row of log"):
        opened(schema=(*SMALL_SCHEMA, SECOND, broken))


def test_an_upgrade_says_how_far_it_is(opened: Opener) -> None:
    """Each step is told in its order, the copy with its per cent, and a long statement over and over."""
    told: list[tuple[str, int | None]] = []
    store = opened()
    fill(store, 2_000)
    store.close()
    counting = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100000)"
    long = Migration(2, "long", (f"CREATE TABLE many AS {counting} SELECT i FROM n",))
    opened(schema=(*SMALL_SCHEMA, long), on_progress=lambda *said: told.append(said))
    steps = list(dict.fromkeys(step for step, _ in told))
    assert steps == [
        "copying the database", "verifying the copy", "writing the copy to the disk", "migration 0002_long",
        "checking the references of many", "committing the migrations",
    ]  # fmt: skip
    percents = [percent for step, percent in told if step == steps[0]]
    assert len(percents) >= 20
    assert percents == sorted(percents, key=lambda percent: percent or 0)
    assert len([step for step, _ in told if step == steps[3]]) >= 10


def fill(store: Store, rows: int) -> None:
    """Rows of the log, so that the database has some pages."""
    for position in range(1, rows):
        append(store.writer, position)


# --- the copy -----------------------------------------------------------------------------------------------
class Killed(BaseException):
    """The process is killed at a step of the start."""


def killed_at(opened: Opener, where: str) -> None:
    """A start with a second migration that ends at a step, leaving what a killed process leaves."""

    def on_step(step: str) -> None:
        if step == where:
            raise Killed

    with pytest.raises(Killed):
        opened(schema=(*SMALL_SCHEMA, SECOND), on_step=on_step)


@pytest.mark.parametrize("step", ["copy", "migration:0002", "upgrade:before_commit"])
def test_a_finished_copy_is_used_again(opened: Opener, places: Paths, step: str) -> None:
    """After a start that was killed with its copy finished, the next does not copy anew."""
    opened().close()
    killed_at(opened, step)
    copy = places.database + ".before-0002"
    made = os.stat(copy)
    told: list[str] = []
    store = opened(schema=(*SMALL_SCHEMA, SECOND), on_progress=lambda step, _percent: told.append(step))
    assert store.migration_copies() == ([copy], [])
    assert (os.stat(copy).st_ino, os.stat(copy).st_mtime_ns) == (made.st_ino, made.st_mtime_ns)
    assert "copying the database" not in told
    assert migrations.version(store.writer) == 2


@pytest.mark.parametrize("step", ["copy:begin", "copy:half", "copy:verified"])
def test_a_partial_copy_is_made_anew(opened: Opener, places: Paths, step: str) -> None:
    """What a start that was killed has left of a copy is replaced by a whole one."""
    store = opened()
    fill(store, 200)
    store.close()
    killed_at(opened, step)
    assert migration_copies(places.database) == []
    opened(schema=(*SMALL_SCHEMA, SECOND))
    with closing(apsw.Connection(places.database + ".before-0002")) as copy:
        assert copy.execute("SELECT count(*) FROM log").fetchall() == [(200,)]
    assert not [name for name in os.listdir(places.data_dir) if "partial" in name]


class FullForCopies(apsw.VFS):
    """A disk on which a copy has no room beyond its first pages."""

    def __init__(self) -> None:
        super().__init__("full-for-copies", "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _Bounded(name, flags)


class _Bounded(apsw.VFSFile):
    def __init__(self, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        self._full = path.endswith(".partial")
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        if self._full and offset > 16_384:
            raise apsw.FullError("no room")
        super().xWrite(data, offset)


def test_a_disk_without_room_for_a_copy_is_left_as_it_was(opened: Opener, places: Paths) -> None:
    """The start is refused for the disk, nothing of the copy is left, and the older program opens the
    store.
    """
    store = opened()
    fill(store, 1_000)
    store.close()
    disk = FullForCopies()
    with pytest.raises(StartRefused) as refused:
        opened(schema=(*SMALL_SCHEMA, SECOND), vfs="full-for-copies")
    disk.unregister()
    assert refused.value.exit_code is ExitCode.STORAGE_FAILED
    assert not [name for name in os.listdir(places.data_dir) if "before" in name]
    assert migrations.version(opened().writer) == 1


def test_a_partial_copy_goes_also_where_nothing_is_to_be_migrated(opened: Opener, places: Paths) -> None:
    """The older program, started again after the upgrade was killed, leaves no content in half a copy."""
    opened().close()
    killed_at(opened, "copy:verified")
    opened()
    assert not [name for name in os.listdir(places.data_dir) if "before" in name]


def test_a_copy_of_an_older_state_is_replaced(opened: Opener, places: Paths) -> None:
    """Where the store has gone on since its copy was finished, the copy that is kept has the newer rows."""
    opened().close()
    killed_at(opened, "copy")
    store = opened()
    append(store.writer, 1)
    store.close()
    opened(schema=(*SMALL_SCHEMA, SECOND))
    with closing(apsw.Connection(places.database + ".before-0002")) as copy:
        assert copy.execute("SELECT position FROM log").fetchall() == [(0,), (1,)]


def _junk(_places: Paths, path: str) -> None:
    Path(path).write_bytes(b"no database" * 100)


def _another_program(_places: Paths, path: str) -> None:
    with closing(apsw.Connection(path)) as connection:
        connection.execute("CREATE TABLE diary (entry)").fetchall()


def _another_store(places: Paths, path: str) -> None:
    with closing(apsw.Connection(path)) as connection:
        with (
            closing(apsw.Connection(places.database)) as ours,
            connection.backup("main", ours, "main") as all_,
        ):
            all_.step()
        connection.execute("UPDATE store_meta SET value = x'00' WHERE name = 'store_id'").fetchall()


def _directory(_places: Paths, path: str) -> None:
    os.mkdir(path)


@pytest.mark.parametrize("make", [_junk, _another_program, _another_store, _directory])
def test_what_is_no_copy_is_not_replaced(
    opened: Opener, places: Paths, make: Callable[[Paths, str], None]
) -> None:
    """Something else where the copy belongs is left as it is: the start is refused, names it, and has changed
    nothing. Under another number it is no obstacle, and no copy.
    """
    opened().close()
    path = places.database + ".before-0002"
    make(places, path)
    before = None if os.path.isdir(path) else Path(path).read_bytes()
    with pytest.raises(StartRefused) as refused:
        opened(schema=(*SMALL_SCHEMA, SECOND))
    assert refused.value.exit_code is ExitCode.BAD_DIRECTORY
    assert path in refused.value.sentence
    assert os.path.isdir(path) if before is None else Path(path).read_bytes() == before
    other = places.database + ".before-0001"
    os.rename(path, other)
    store = opened(schema=(*SMALL_SCHEMA, SECOND))
    assert store.migration_copies() == ([path], [other])


def test_copies_are_kept_until_the_next_start(opened: Opener, places: Paths) -> None:
    """Whoever opened a store by migrating it removes nothing; the next removes the copy, and only that."""
    opened().close()
    store = opened(schema=(*SMALL_SCHEMA, SECOND))
    copy, other = (f"{places.database}.before-000{number}" for number in (2, 1))
    Path(other).write_bytes(b"no database")
    assert store.remove_old_copies() == ([], [])
    assert os.path.exists(copy)
    store.close()
    store = opened(schema=(*SMALL_SCHEMA, SECOND))
    assert os.path.exists(copy)
    assert store.remove_old_copies() == ([copy], [other])
    assert not os.path.exists(copy)
    assert Path(other).read_bytes() == b"no database"


def test_the_remains_of_an_interrupted_copy_are_no_obstacle(opened: Opener, places: Paths) -> None:
    """A half-made copy is made again."""
    opened().close()
    Path(places.database + ".before-0002.partial").write_bytes(b"half a copy")
    store = opened(schema=(*SMALL_SCHEMA, SECOND))
    assert store.migration_copies() == ([places.database + ".before-0002"], [])


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE log (x)",
        "SELECT no_such_function()",
        "INSERT INTO log VALUES (0, x'00', NULL)",
        "CREATE TABLE child (p INTEGER REFERENCES log (position)) STRICT; INSERT INTO child VALUES (99)",
    ],
)
def test_a_step_that_fails_is_undone_whole(opened: Opener, statement: str) -> None:
    """Neither its first statements nor its number are there; the program that wrote the store opens it."""
    opened().close()
    broken = Migration(2, "broken", (*SECOND.statements, *statement.split("; ")))
    with pytest.raises(StartRefused) as refused:
        opened(schema=(*SMALL_SCHEMA, broken))
    assert refused.value.exit_code is ExitCode.MIGRATION_FAILED
    assert "0002_broken" in refused.value.sentence
    store = opened()
    assert migrations.version(store.writer) == 1
    assert columns(store.writer, "log") == ["position", "leaf"]


def test_a_step_may_rebuild_a_table_that_others_refer_to(opened: Opener) -> None:
    """SQLite's own procedure for changing a table works, and rows that refer to it stay."""
    child = "CREATE TABLE child (p INTEGER REFERENCES log (position) ON DELETE CASCADE) STRICT"
    first = Migration(2, "child", (child, "INSERT INTO child VALUES (0)"))
    rebuild = Migration(
        3,
        "rebuild",
        (
            "CREATE TABLE new_log (position INTEGER PRIMARY KEY, leaf BLOB NOT NULL, more TEXT) STRICT",
            "INSERT INTO new_log SELECT position, leaf, 'x' FROM log",
            "DROP TABLE log",
            "ALTER TABLE new_log RENAME TO log",
        ),
    )
    opened().close()
    store = opened(schema=(*SMALL_SCHEMA, first, rebuild))
    assert store.writer.execute("SELECT p FROM child").fetchall() == [(0,)]
    with pytest.raises(apsw.ConstraintError):
        store.writer.execute("INSERT INTO child VALUES (99)").fetchall()


def test_case_078_a_newer_schema_is_left_alone(opened: Opener, places: Paths) -> None:
    """The sentence says to use the newer program, and not a byte is changed."""
    opened(schema=(*SMALL_SCHEMA, SECOND)).close()
    before = Path(places.database).read_bytes()
    with pytest.raises(StartRefused) as refused:
        opened()
    assert refused.value.exit_code is ExitCode.NEWER_SCHEMA
    assert "Use the newer program" in refused.value.sentence
    assert Path(places.database).read_bytes() == before
    opened(schema=(*SMALL_SCHEMA, SECOND))


@pytest.mark.parametrize(
    "mark", ["CREATE TABLE diary (entry)", "PRAGMA application_id=1", "PRAGMA application_id=1;"]
)
def test_another_programs_database_is_left_alone(opened: Opener, places: Paths, mark: str) -> None:
    """A database under our name that is not ours is neither migrated nor turned to another journal."""
    os.makedirs(places.data_dir, mode=0o700)
    with closing(apsw.Connection(places.database)) as connection:
        connection.execute(mark).fetchall()
    before = Path(places.database).read_bytes()
    with pytest.raises(StartRefused) as refused:
        opened()
    assert refused.value.exit_code is ExitCode.FOREIGN_DATABASE
    assert Path(places.database).read_bytes() == before


def test_lapses_before_the_count_was_kept_are_counted() -> None:
    """0009 counts the fenced attempts of each invocation that has not ended; of one that has, none."""
    known = load()
    with closing(apsw.Connection(":memory:")) as connection:
        migrations.create(connection, known[:8])
        attempts = {"queued": ("fenced", "fenced"), "running": ("fenced", "running"), "failed": ("fenced",)}
        for position, (state, ends) in enumerate(attempts.items(), 1):
            connection.execute(
                "INSERT INTO invocations (position, id, project, deployment_id, state, revision, "
                "not_before_ms, deadline_ms, max_attempts, failed_attempts, record) "
                "VALUES (?, randomblob(16), 1, 'dep', ?, 1, 0, 1, 9, 0, x'')",
                (position, state),
            ).fetchall()
            for ordinal, ended in enumerate(ends, 1):
                connection.execute(
                    "INSERT INTO attempts (invocation, ordinal, id_hash, reference, state, channel_actor, "
                    "epoch, term_seconds, claim) "
                    "VALUES (?, ?, randomblob(32), randomblob(16), ?, 'a', 1, 1, 1)",
                    (position, ordinal, ended),
                ).fetchall()
        for statement in known[8].statements:
            connection.execute(statement).fetchall()
        found = connection.execute("SELECT lapsed_attempts FROM invocations ORDER BY position").fetchall()
    assert (known[8].number, found) == (9, [(2,), (1,), (0,)])
