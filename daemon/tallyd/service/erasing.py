"""Cleaning up behind erasures: on the loop, the clerk's thread and a thread for files, in this order.

1. The write-ahead log is cut to nothing, on the clerk's thread, while no read transaction runs: its old
   frames hold what the rows were.
2. Sealed files of erased artifacts are unlinked; copies made before migrations are cleaned of the same rows.
3. An errand of the clerk's writes down that nothing is left.

What stands beside the database under the name of such a copy and is none is named in the log and left alone.
It does not keep an erasure from being finished: the daemon never wrote anything there.

A copy goes altogether once it is needed no more: ``remove_old_copies``, when the daemon is ready.

Each step may be done again. What a crash or a full disk interrupts is still ``erasing``, and is taken up
again: at the next start, or a little later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

import apsw
import trio

from tallyd.clerk.clerk import Errand
from tallyd.ledger.view import View
from tallyd.operations import artifact_rows, erasure
from tallyd.readers.reads import Reader
from tallyd.service.driver import Driver, Replied
from tallyd.service.housekeeping import Told
from tallyd.store.copies import SortedOut
from tallyd.store.store import Store
from tallyd.vault import Vault

logger = logging.getLogger("tallyd.erasing")

_AGAIN_SECONDS: Final = 1.0
_SLICE_ROWS: Final = 4_096
"""Of a copy, compared at a time: some ten milliseconds."""


class Eraser:
    """``due`` says that a command erased something; ``run`` does the rest."""

    def __init__(
        self,
        store: Store,
        vault: Vault,
        reader: Reader,
        new_reader: Callable[[], Reader],
        driver: Driver,
        submit: Callable[[Errand, Replied], None],
    ) -> None:
        self._store = store
        self._vault = vault
        self._reader = reader
        self._driver = driver
        self._new_reader = new_reader
        self._submit = submit
        self._due = trio.Event()

    def due(self) -> None:
        """On the loop."""
        self._due.set()

    async def remove_old_copies(self) -> None:
        """The daemon is ready: copies that earlier starts made before they migrated are needed no more. To be
        done before ``run``, which writes in them."""
        try:
            found = await trio.to_thread.run_sync(self._store.remove_old_copies)
        except (OSError, apsw.Error) as failure:
            logger.error(
                "copies made before migrations are still there: %s; the next start tries again", failure
            )
            return
        _name_others(found)
        for path in found.ours:
            logger.info("removed %s, made before a migration: the newer schema has proved itself", path)

    async def run(self) -> None:
        """Until canceled."""
        while True:
            await self._due.wait()
            self._due = trio.Event()
            if not await self._clean():
                await trio.sleep(_AGAIN_SECONDS)
                self._due.set()

    async def _clean(self) -> bool:
        """Whether everything that was to be done is done."""
        found = self._reader.try_read(lambda view: (_last(view),))
        if found is None:
            return False
        until = found[0]
        if until is None:
            return True
        if not await self._driver.cut_log():
            return False
        try:
            files = await trio.to_thread.run_sync(self._clean_files)
        except (OSError, apsw.Error) as failure:
            logger.error("erasing goes on later: %s (%s)", type(failure).__name__, failure)
            return False
        cleaned = erasure.Cleaned(until, files)
        told = Told()
        self._submit(Errand(erasure.FINISH, partial(erasure.finish, cleaned)), told)
        await told.done.wait()
        return not told.failed

    def _clean_files(self) -> tuple[int, ...]:
        """On a thread, with connections of its own. Positions of the artifacts whose files are gone."""
        reader = self._new_reader()
        try:
            erasing = reader.read(lambda view: artifact_rows.with_files(view, erasing=True))
            for artifact in erasing:
                assert artifact.sealed_storage_version is not None
                self._vault.erase(artifact.artifact_id, artifact.sealed_storage_version)
            found = self._store.migration_copies()
            _name_others(found)
            for path in found.ours:
                _clean_copy(path, reader)
            return tuple(artifact.position for artifact in erasing)
        finally:
            reader.close()


def _name_others(found: SortedOut) -> None:
    for path in found.others:
        logger.warning("%s is named as a copy of this store and is none; it is left as it is", path)


def _last(view: View) -> int | None:
    """The last erasure that is to be cleaned up behind, by its position; what comes later is another round's.
    """
    rows = erasure.in_progress(view)
    return rows[-1].position if rows else None


def _clean_copy(path: str, reader: Reader) -> None:
    """Deletes from a copy what the store itself does not have any more."""
    copy = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        copy.execute("PRAGMA secure_delete = ON").fetchall()
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()
        copy.execute("BEGIN IMMEDIATE")
        for table in ("bodies", "object_keys"):
            if copy.table_exists("main", table):
                _clean_table(copy, table, reader)
        copy.execute("COMMIT")
    finally:
        copy.close()


def _clean_table(copy: apsw.Connection, table: str, reader: Reader) -> None:
    """In slices, each compared in a read transaction of its own: a copy is as large as a store."""
    page = f"SELECT body FROM {table} WHERE body > ? ORDER BY body LIMIT {_SLICE_ROWS}"
    last = -1
    while held := [int(row[0]) for row in copy.execute(page, (last,))]:
        gone = reader.read(partial(_gone, table, held))
        copy.executemany(f"DELETE FROM {table} WHERE body = ?", [(body,) for body in gone])
        last = held[-1]


def _gone(table: str, held: list[int], view: View) -> list[int]:
    return [body for body in held if view.one(f"SELECT 1 FROM {table} WHERE body = ?", body) is None]


__all__ = ["Eraser"]
