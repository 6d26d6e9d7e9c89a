"""Steps of the schema: numbered files, each committed together with the number that says that it was done.

``NNNN_name.sql``, from 0001 on without a gap, in ``tallyd/migrations`` of an installed package or in
``migrations`` of a source checkout. ``PRAGMA user_version`` holds the number of the last one that was
applied; it is part of the same transaction as the step's statements, so that a step is there whole or not
at all.

A store that exists is copied before its schema is changed, by SQLite's backup API and never as a file: a
file copy would leave the write-ahead log behind. The copy, ``tally.db.before-NNNN``, is verified and
durable before the first statement runs. A schema that is newer than this program is refused, and nothing is
touched.

A copy made before a migration keeps what is erased later. Whoever erases content has to know of these files
(:func:`copies`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import apsw

from tallyd.store.files import Disk, sync_file
from tallyd.store.refusals import ExitCode, StartRefused

APPLICATION_ID: Final = 0x54414C59
"""``PRAGMA application_id``: "TALY". Tells our database from another program's."""
_NAME: Final = re.compile(r"(?P<number>\d{4})_(?P<name>[a-z0-9_]+)\.sql\Z")


class BadMigrations(Exception):
    """The files themselves are wrong: a mistake in the package, and never in a store."""


class Migration(NamedTuple):
    """One step of the schema."""

    number: int
    name: str
    statements: tuple[str, ...]


def directory() -> str:
    """Where this program's migrations are."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    installed = os.path.join(package, "migrations")
    if os.path.isdir(installed):
        return installed
    return os.path.join(os.path.dirname(os.path.dirname(package)), "migrations")


def load(where: str | None = None) -> tuple[Migration, ...]:
    """All migrations in their order. Raises BadMigrations for a gap, a twin, a bad name or unfinished SQL."""
    where = directory() if where is None else where
    found: list[Migration] = []
    for name in sorted(os.listdir(where)):
        if not name.endswith(".sql"):
            continue
        match = _NAME.match(name)
        if match is None:
            raise BadMigrations(f"{name} in {where} is not named NNNN_name.sql")
        with open(os.path.join(where, name), encoding="utf-8") as file:
            found.append(Migration(int(match["number"]), match["name"], split(file.read(), name)))
    numbers = [migration.number for migration in found]
    if not found or numbers != list(range(1, len(found) + 1)):
        raise BadMigrations(f"the migrations in {where} are not numbered 1, 2, 3 …: {numbers}")
    return tuple(found)


def split(sql: str, name: str) -> tuple[str, ...]:
    """The statements of a file, one each, without what stands between them.

    SQLite itself says where a statement ends (``sqlite3_complete``), so that semicolons in strings,
    comments and triggers end none.
    """
    statements: list[str] = []
    begun = 0
    for end in (match.end() for match in re.finditer(";", sql)):
        if apsw.complete(sql[begun:end]):
            statements.append(sql[begun:end].strip())
            begun = end
    if re.sub(r"--[^\n]*|/\*.*?\*/", "", sql[begun:], flags=re.DOTALL).strip():
        raise BadMigrations(f"{name} ends in the middle of a statement: {sql[begun:].strip()[:60]!r}")
    return tuple(statements)


def version(connection: apsw.Connection) -> int:
    """The number of the last migration that was applied; 0 before the first."""
    number = connection.pragma("user_version")
    assert isinstance(number, int)
    return number


def check_schema(connection: apsw.Connection, migrations: Sequence[Migration]) -> None:
    """Refuse a database that is not ours or is newer than this program. Raises StartRefused."""
    number, newest = version(connection), migrations[-1].number
    application = connection.pragma("application_id")
    if application not in (0, APPLICATION_ID) or (application == 0 and _has_tables(connection)):
        raise StartRefused(
            ExitCode.FOREIGN_DATABASE,
            f"{connection.filename} is a database of another program, and was left as it is."
            " Name another data directory with --data-dir or TALLY_DATA_DIR",
        )
    if number > newest:
        raise StartRefused(
            ExitCode.NEWER_SCHEMA,
            f"{connection.filename} has schema {number}, and this program knows schemas up to {newest}."
            " Use the newer program; the store is healthy and was left as it is",
        )


def create(connection: apsw.Connection, migrations: Sequence[Migration]) -> None:
    """All migrations, in the transaction that makes the store."""
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}").fetchall()
    for migration in migrations:
        _apply(connection, migration)


def upgrade(connection: apsw.Connection, migrations: Sequence[Migration]) -> None:
    """Apply to an existing store what it lacks, each migration in a transaction of its own.

    Foreign keys are off meanwhile, as SQLite's procedure for changing tables wants it (lang_altertable,
    section 7), and checked before each commit. Raises StartRefused; the step that failed is then undone.
    """
    pending = [migration for migration in migrations if migration.number > version(connection)]
    if not pending:
        return
    connection.execute("PRAGMA foreign_keys=OFF").fetchall()
    for migration in pending:
        _upgrade_by(connection, migration)
    connection.execute("PRAGMA foreign_keys=ON").fetchall()
    assert connection.pragma("foreign_keys") == 1


def copy_before_upgrade(
    connection: apsw.Connection, migrations: Sequence[Migration], disk: Disk, vfs: str | None
) -> str | None:
    """Path of a verified, durable copy of a store that is about to be migrated; None where nothing is
    pending."""
    pending = [migration.number for migration in migrations if migration.number > version(connection)]
    if not pending:
        return None
    target = f"{connection.filename}.before-{pending[0]:04d}"
    partial = f"{target}.partial"
    for name in (partial, f"{partial}-journal"):  # of an attempt that was interrupted
        if os.path.lexists(name):
            disk.unlink(name)
    copied = _copy(connection, partial, vfs)
    if copied is not None:
        raise StartRefused(
            ExitCode.CORRUPT,
            f"the integrity check of a copy of {connection.filename} says: {copied}. Nothing was changed."
            " Keep all files as they are, and restore a backup into another directory",
        )
    sync_file(disk, partial)
    disk.rename(partial, target)
    disk.sync_directory(os.path.dirname(target))
    return target


def copies(database: str) -> list[str]:
    """The copies made before migrations that are still there."""
    where, name = os.path.split(database)
    pattern = re.compile(re.escape(name) + r"\.before-\d{4}\Z")
    return sorted(os.path.join(where, found) for found in os.listdir(where) if pattern.match(found))


def integrity_problem(connection: apsw.Connection) -> str | None:
    """What SQLite's integrity check says, shortened to one line, or None where it finds nothing. Reads the
    whole database."""
    rows = connection.execute("PRAGMA integrity_check(3)").fetchall()
    if rows == [("ok",)]:
        return None
    return "; ".join(line for row in rows for line in str(row[0]).splitlines())


def _has_tables(connection: apsw.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall() != []


def _apply(connection: apsw.Connection, migration: Migration) -> None:
    for statement in migration.statements:
        connection.execute(statement).fetchall()
    connection.execute(f"PRAGMA user_version={migration.number}").fetchall()


def _upgrade_by(connection: apsw.Connection, migration: Migration) -> None:
    connection.execute("BEGIN IMMEDIATE").fetchall()
    try:
        _apply(connection, migration)
        dangling = connection.execute("PRAGMA foreign_key_check").fetchall()
        if dangling:
            raise _failed(migration, f"a row of {dangling[0][0]} refers to nothing")
        connection.execute("COMMIT").fetchall()
    except BaseException as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK").fetchall()
        if isinstance(error, (apsw.SQLError, apsw.ConstraintError)):
            raise _failed(migration, str(error)) from error
        raise


def _failed(migration: Migration, reason: str) -> StartRefused:
    return StartRefused(
        ExitCode.MIGRATION_FAILED,
        f"migration {migration.number:04d}_{migration.name} failed and was undone: {reason}. The store is"
        " as it was before; go on with the program that wrote it, and report this",
    )


def _copy(connection: apsw.Connection, target: str, vfs: str | None) -> str | None:
    """Copy the whole database; what the integrity check of the copy says, or None where it is good."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    copy = apsw.Connection(target, flags, vfs=vfs)
    try:
        with copy.backup("main", connection, "main") as backup:
            backup.step(-1)
        # One file, with no log beside it.
        copy.execute("PRAGMA journal_mode=DELETE").fetchall()
        return integrity_problem(copy)
    finally:
        copy.close()
