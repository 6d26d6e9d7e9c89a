"""The checkpointing thread: copies the write-ahead log into the database behind the commits, and writes the
marker.

It runs after commits and at most every 50 ms; idle, it sleeps for good. A passive checkpoint makes nobody
wait: done inside the commits it would be the worst part of their tail. The marker, and its copy, say how far
the log was known to reach: at most once a second, and never ahead of the disk.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Final

import apsw

from tallyd.service import threads
from tallyd.service.driver import Driver
from tallyd.store.store import Store
from tallystick.protocol import limits

logger = logging.getLogger("tallyd.checkpointer")

_PERIOD_SECONDS: Final = 0.05


class Checkpointer:
    """One thread and one connection of its own."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._db = store.reader()
        self._due = threading.Event()
        self._stopping = threading.Event()
        self._marked = (-1, 0.0)
        self._thread: threading.Thread | None = None
        self._driver: Driver | None = None

    def start(self, driver: Driver) -> None:
        """Raises StartRefused where no thread can be had."""
        self._driver = driver
        self._thread = threads.start("checkpointing", self._run)

    def committed(self) -> None:
        """Something became durable. Any thread."""
        self._due.set()

    def stop(self) -> None:
        """Ends the thread and closes its connection. Blocks for it."""
        self._stopping.set()
        self._due.set()
        if self._thread is not None:
            self._thread.join()
        self.close()

    def close(self) -> None:
        """Closes the connection of a thread that has ended, or was never started."""
        self._db.close()

    def _run(self) -> None:
        while True:
            self._due.wait()
            if self._stopping.is_set():
                return
            self._due.clear()
            try:
                self._checkpoint()
                pause = self._mark()
            except Exception:
                logger.exception("a checkpoint failed, which is a defect; the next commit has another")
                pause = 0.0
            self._stopping.wait(_PERIOD_SECONDS)
            if pause > 0 and not self._due.is_set():
                self._due.wait(pause)
                self._due.set()

    def _checkpoint(self) -> None:
        assert self._driver is not None
        with self._driver.checkpoint_lock:
            try:
                self._store.checkpoint_passive(self._db)
            except apsw.Error as failure:
                logger.warning("a checkpoint did not get through: %s (%s)", type(failure).__name__, failure)

    def _mark(self) -> float:
        """Writes the marker where it is due; seconds until it is, 0 where it says all."""
        assert self._driver is not None
        position, leaf = self._driver.durable
        if position == self._marked[0]:
            return 0.0
        wait = self._marked[1] + limits.MARKER_SECONDS_MIN - time.monotonic()
        if wait > 0:
            return wait
        try:
            self._store.write_marker(position, leaf)
        except OSError as failure:
            logger.warning("the marker could not be written: %s", failure)
        self._marked = (position, time.monotonic())
        return 0.0
