"""Steps of the schema: numbered files, and the number of the last one that a store has.

``NNNN_name.sql``, from 0001 on without a gap, in ``tallyd/migrations`` of an installed package or in
``migrations`` of a source checkout. ``PRAGMA user_version`` holds the number of the last one that was
applied.

A store that lacks some is brought up to date by all of them in one transaction, the number with them: after
a crash or a refusal it is what it was before, at its old number, and the program that wrote it opens it.
Before the first statement runs a verified copy is made (``copies``). A schema that is newer than this
program is refused, and nothing is touched.

A file that was released never changes again: what it did stands in people's stores, and a store that is made
anew must be the same. What has to be different is another migration.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import apsw

from tallyd.store.progress import OnProgress, reported
from tallyd.store.references import Changes, dangling
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


def pending(connection: apsw.Connection, migrations: Sequence[Migration]) -> list[Migration]:
    """The migrations that the store lacks, in their order."""
    done = version(connection)
    return [migration for migration in migrations if migration.number > done]


def upgrade(
    connection: apsw.Connection,
    lacking: Sequence[Migration],
    on_step: Callable[[str], None],
    on_progress: OnProgress,
) -> None:
    """Apply the pending migrations to an existing store, all of them in one transaction.

    Foreign keys are off meanwhile, as SQLite's procedure for changing tables wants it (lang_altertable,
    section 7), and the references that may have been broken are checked before the commit. ``on_step`` hears
    ``migration:NNNN`` when one is applied, ``upgrade:before_commit`` and ``upgrade``.

    Raises StartRefused; the store is then as it was.
    """
    connection.execute("PRAGMA foreign_keys=OFF").fetchall()
    connection.execute("BEGIN IMMEDIATE").fetchall()
    try:
        changes = Changes(connection)
        with changes.watched():
            for migration in lacking:
                _upgrade_by(connection, migration, on_progress)
                on_step(f"migration:{migration.number:04d}")
        _check_references(connection, changes, lacking, on_progress)
        on_step("upgrade:before_commit")
        on_progress("committing the migrations", None)
        connection.execute("COMMIT").fetchall()
    except BaseException:
        if connection.in_transaction:  # some errors have rolled back already
            connection.execute("ROLLBACK").fetchall()
        raise
    on_step("upgrade")
    connection.execute("PRAGMA foreign_keys=ON").fetchall()
    assert connection.pragma("foreign_keys") == 1


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


def _upgrade_by(connection: apsw.Connection, migration: Migration, on_progress: OnProgress) -> None:
    try:
        with reported(connection, f"migration {_label(migration)}", on_progress):
            _apply(connection, migration)
    except (apsw.SQLError, apsw.ConstraintError) as error:
        raise _failed(f"migration {_label(migration)}", str(error)) from error


def _check_references(
    connection: apsw.Connection, changes: Changes, lacking: Sequence[Migration], on_progress: OnProgress
) -> None:
    for table in changes.to_check():
        with reported(connection, f"checking the references of {table}", on_progress):
            found = dangling(connection, table)
        if found is not None:
            names = ", ".join(map(_label, lacking))
            reason = f"a row of {found.table} refers to a row of {found.parent} that is not there"
            raise _failed(f"the check after {names}", reason)


def _label(migration: Migration) -> str:
    return f"{migration.number:04d}_{migration.name}"


def _failed(what: str, reason: str) -> StartRefused:
    return StartRefused(
        ExitCode.MIGRATION_FAILED,
        f"{what} failed, and all was undone: {reason}. The store is as it was before; go on with the program"
        " that wrote it, and report this",
    )
