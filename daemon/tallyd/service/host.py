"""The daemon as its families see it (``families.shared.host``)."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import TypeVar

from tallyd.families import Family
from tallyd.families.shared.host import Check
from tallyd.ledger.view import View
from tallyd.readers.reads import Reader
from tallyd.service.copies import clean_copies
from tallyd.store.filesystem import FileSystem
from tallyd.store.store import Store
from tallyd.vault import Vault
from tallystick.protocol.families.service import Status

T = TypeVar("T")


class DaemonHost:
    """What families may ask of this daemon. ``running`` holds the keys under which work goes on outside."""

    def __init__(
        self,
        families: Iterable[Family],
        store: Store,
        vault: Vault,
        new_reader: Callable[[], Reader],
        status: Callable[[], Status],
        stop: Callable[[], None],
        running: Container[str],
    ) -> None:
        families = tuple(families)
        self._store = store
        self._new_reader = new_reader
        self.vault = vault
        self.status = status
        self.stop = stop
        self.is_busy = running.__contains__
        checks = [check for family in families for check in family.checks]
        self.checks: Sequence[Check] = sorted(checks, key=lambda check: not check.is_protocols)
        self.policies_in_use = _union(query for family in families for query in family.policies)
        self.classifications_in_use = _union(query for family in families for query in family.classifications)

    @property
    def file_system(self) -> FileSystem:
        """Where the store lies."""
        return self._store.filesystem

    def read(self, look: Callable[[View], T]) -> T:
        """One read transaction on a connection of its own. On a thread: it may wait for the gate."""
        reader = self._new_reader()
        try:
            return reader.read(look)
        finally:
            reader.close()

    def clean_copies(self) -> None:
        """Deletes from the copies made before migrations what the store itself does not have any more."""
        clean_copies(self._store, self.read)


def _union(queries: Iterable[str]) -> str:
    return " UNION ".join(queries) + " ORDER BY 1"
