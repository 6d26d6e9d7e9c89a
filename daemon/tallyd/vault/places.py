"""The vault's directories, and the calls that the rest of the daemon makes."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection

from tallyd.store.directories import Place, make_private
from tallyd.store.files import Disk
from tallyd.vault.sealed import Sealed, name_of
from tallyd.vault.sealing import NO_BYTES, Order, Sealing
from tallyd.vault.staging import NotOurs, Staging
from tallyd.vault.sweeping import Sweeper, Swept


class Vault:
    """The bytes of one store's artifacts. From any thread; two runs of one upload at a time are the caller's
    to avoid.
    """

    def __init__(self, data_dir: str, disk: Disk) -> None:
        self._disk = disk
        self._root = os.path.join(data_dir, "artifacts")
        staging, sealed, aside = (os.path.join(self._root, name) for name in ("staging", "sealed", "aside"))
        self._directories = (self._root, staging, sealed, aside)
        self.staging = Staging(staging, disk)
        self.sealed = Sealed(sealed, disk)
        self._sweeper = Sweeper(staging, sealed, aside, disk)

    def open(self) -> None:
        """Makes the directories durably, or checks those that are there. Raises StartRefused."""
        for path in self._directories:
            make_private(self._disk, Place(path, "the artifacts' directory", "--data-dir or TALLY_DATA_DIR"))

    def seal(self, order: Order, stop: Callable[[], bool] = lambda: False) -> Sealing:
        """One run (see ``sealing``), which begins when the last chunk is written that was let in before.
        ``stop`` is asked before each chunk. Raises Stopped and OSError.
        """
        try:
            with self.staging.turn(order.upload_id):
                found = self.staging.open(order.upload_id)
        except NotOurs:
            return Sealing(order, NO_BYTES, 0)
        if found is None:
            return Sealing(order, NO_BYTES, 0)
        source, size = found
        try:
            if size != order.size:
                return Sealing(order, order.version, size)
            run = self.sealed.write(order, source, stop)
        finally:
            os.close(source)
        return Sealing(order, order.version, run.observed, run.content_digest, run.matches(order))

    def discard(self, sealing: Sealing) -> None:
        """Throws away what a run wrote, once it is certain that no row names it. Raises OSError."""
        if sealing.matches:
            self.erase(sealing.order.artifact_id, sealing.version)

    def read(
        self, artifact_id: str, version: str, key: bytes, artifact: bytes, size: int, offset: int, count: int
    ) -> bytes:
        """Bytes of an available artifact (``Sealed.read``). Raises Damaged and OSError."""
        return self.sealed.read(name_of(artifact_id, version), key, artifact, size, offset, count)

    def erase(self, artifact_id: str, version: str) -> bool:
        """Unlinks an artifact's sealed file, durably; whether it was there. Its key must be gone before, so
        that what is left of the file anywhere is noise. Raises OSError, and may be called again after it or
        after a crash.
        """
        return self.sealed.erase(name_of(artifact_id, version))

    def fault(self, artifact_id: str, version: str, size: int) -> str | None:
        """What is wrong with an available artifact's file, as far as it shows without reading it; None where
        nothing. Raises OSError for what the system would not give: that says nothing of the file.
        """
        return self.sealed.fault(name_of(artifact_id, version), size)

    def sweep(self, uploads: Collection[str], sealed: Collection[tuple[str, str]]) -> Swept:
        """At start (see ``sweeping``): ``uploads`` have not ended, ``sealed`` are artifact id and version of
        each file that a row names. Raises OSError.
        """
        return self._sweeper.sweep(uploads, {name_of(*one) for one in sealed})
