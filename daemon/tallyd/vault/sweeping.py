"""Tidying up after a crash: what no upload wants goes, what no row names is kept aside.

Staging bytes are plain, and so none may outlive its upload. A sealed file without a row is another matter:
perhaps the database is older than the file, because somebody put a copy back. Such a file is moved aside and
kept; a person looks at it. A second sweep finds nothing to do.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Collection

import msgspec

from tallyd.store.files import Disk
from tallyd.vault.sealing import PART

logger = logging.getLogger("tallyd.vault")


class Swept(msgspec.Struct, frozen=True):
    """What a sweep did, by names."""

    staging: tuple[str, ...] = ()
    """Staging files that no upload wanted, removed."""
    unfinished: tuple[str, ...] = ()
    """What runs that died had written, removed."""
    aside: tuple[str, ...] = ()
    """Sealed files that no row names, moved aside."""


class Sweeper:
    """Over the three directories."""

    def __init__(self, staging: str, sealed: str, aside: str, disk: Disk) -> None:
        self._staging = staging
        self._sealed = sealed
        self._aside = aside
        self._disk = disk

    def sweep(self, uploads: Collection[str], known: Collection[str]) -> Swept:
        """Before anything is sealed in this process: ``uploads`` are those that have not ended, ``known`` the
        sealed files that a row names. Raises OSError.
        """
        unwanted = [name for name in _names(self._staging) if name not in uploads]
        dropped = tuple(name for name in unwanted if self._remove(self._staging, name))
        found = _names(self._sealed)
        parts = tuple(name for name in found if name.endswith(PART) and self._remove(self._sealed, name))
        strays = tuple(name for name in found if not name.endswith(PART) and name not in known)
        for name in strays:
            self._set_aside(name)
        if dropped:
            self._disk.sync_directory(self._staging)
        if strays:
            self._disk.sync_directory(self._aside)
        if parts or strays:
            self._disk.sync_directory(self._sealed)
        return Swept(dropped, parts, strays)

    def _remove(self, directory: str, name: str) -> bool:
        path = os.path.join(directory, name)
        if stat.S_ISDIR(os.lstat(path).st_mode):
            logger.warning("%s is a directory, and none of ours; it is left where it is", path)
            return False
        self._disk.unlink(path)
        return True

    def _set_aside(self, name: str) -> None:
        """Under its own name, or, where that is taken, another: nothing is ever written over."""
        target, count = os.path.join(self._aside, name), 0
        while os.path.lexists(target):
            count += 1
            target = os.path.join(self._aside, f"{name}.{count}")
        self._disk.rename(os.path.join(self._sealed, name), target)
        logger.warning(
            "the sealed file %s has no row in the database; it was moved to %s and kept", name, target
        )


def _names(directory: str) -> list[str]:
    return sorted(os.listdir(directory))
