"""An upgrade, killed at each of its steps: the next start ends with the store that an unbroken one makes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import closing

import apsw
import pytest
from harness.dumps import Dump, differences, dump_copy
from harness.home import Home
from harness.wire import ask, request
from released_stores import FIRST, differing, unpack
from world import CLIENT

from tallyd.store import migrations
from tallystick.paths import migration_copies

OF_FIRST = 7
"""The schema that the store has which is brought up to date."""
MIGRATIONS = tuple(f"migration_{each.number:04d}" for each in migrations.load()[OF_FIRST:])
BEFORE_COPY = ("copy_begin", "copy_half", "copy_verified")
"""Whatever there is of a copy is not used."""
BEFORE_COMMIT = ("copy", *MIGRATIONS, "upgrade_before_commit")
"""The copy is there, and the store is what it was."""
AFTER_COMMIT = ("upgrade", "before_ready")
STEPS = (*BEFORE_COPY, *BEFORE_COMMIT, *AFTER_COMMIT)


@pytest.fixture(scope="module")
def unbroken() -> Dump:
    """What an upgrade that nothing happens to makes of the store."""
    home = Home()
    try:
        unpack(FIRST, home)
        with home.start():
            pass
        return dump_copy(home.paths)
    finally:
        home.close()


def schema(database: str) -> int:
    """The number of the last migration, by a connection that changes nothing."""
    with closing(apsw.Connection(database, apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        return migrations.version(connection)


def dump_of(database: str) -> Dump:
    """A dump of a file that stands alone."""
    home = Home()
    try:
        os.makedirs(home.paths.data_dir)
        os.link(database, home.paths.database)
        return dump_copy(home.paths)
    finally:
        home.close()


def copy_of(home: Home) -> tuple[int, int] | None:
    """Which file the finished copy is, and when it was written last; None where there is none."""
    found = migration_copies(home.paths.database)
    assert len(found) <= 1
    if not found:
        return None
    status = os.stat(found[0])
    return status.st_ino, status.st_mtime_ns


@pytest.mark.crash
@pytest.mark.parametrize("step", STEPS)
def test_upgrade(
    home: Home, unbroken: Dump, step: str, record_property: Callable[[str, object], None]
) -> None:
    """A start that dies at a step of the upgrade has taken no client, and has left the store as it was or as
    it will be. The next start makes of it what an unbroken upgrade makes, copies anew only where no copy was
    finished, and leaves one whole copy of the store as it was.
    """
    record_property("cell", f"upgrade|{step}")
    reads = unpack(FIRST, home)
    before = dump_copy(home.paths)
    died = home.start(abort=f"start:{step}", may_end=True)
    assert not died.ready
    assert died.wait() == -signal.SIGABRT
    assert schema(home.paths.database) == (migrations.load()[-1].number if step in AFTER_COMMIT else OF_FIRST)
    copied = copy_of(home)
    assert (copied is None) == (step in BEFORE_COPY)
    with home.start() as daemon:
        assert differing(daemon.paths, reads) == []
        said = ask(daemon.paths, request(CLIENT, "diagnose", {})).result
        assert [check for check in said["checks"] if check["status"] == "fail"] == []
    assert differences(unbroken, dump_copy(home.paths)) == []
    assert [name for name in os.listdir(home.paths.data_dir) if "partial" in name] == []
    judge_copy(home, step, copied, before)


def judge_copy(home: Home, step: str, copied: tuple[int, int] | None, before: Dump) -> None:
    """What is left of the copy when the second start has ended."""
    if step in AFTER_COMMIT:  # it had nothing to migrate, so the copy has done its service
        assert migration_copies(home.paths.database) == []
        return
    assert copied in (None, copy_of(home))
    (path,) = migration_copies(home.paths.database)
    assert differences(before, dump_of(path)) == []


def test_two_starts_that_died_have_copied_once(home: Home, unbroken: Dump) -> None:
    """Where a start died with its copy finished, and the next one died later, the third ends with the same
    store, and with the copy that the first has made.
    """
    unpack(FIRST, home)
    home.start(abort="start:copy", may_end=True).wait()
    copied = copy_of(home)
    home.start(abort="start:upgrade_before_commit", may_end=True).wait()
    with home.start():
        pass
    assert copied is not None
    assert copy_of(home) == copied
    assert differences(unbroken, dump_copy(home.paths)) == []
