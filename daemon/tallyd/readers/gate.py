"""The gate between read transactions and the reset of the write-ahead log.

Overlapping readers alone, however short, keep SQLite from ever starting the log over. So the clerk closes the
gate when the log is long: new read transactions wait, the running ones end within their limit, the clerk
resets the log between two batches, and the gate opens. Readers on the loop do not block: they are told, and
come again when it opens.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from tallystick.protocol import limits


class Gate:
    """Counts running read transactions. Any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._closed = False
        self._opened: Callable[[], None] = lambda: None

    def on_open(self, callback: Callable[[], None]) -> None:
        """``callback`` is called, on the clerk's thread, each time the gate opens."""
        self._opened = callback

    @property
    def closed(self) -> bool:
        """Whether running read transactions should come to their end."""
        return self._closed

    def try_enter(self) -> bool:
        """Begins a read transaction, or says that the gate is closed."""
        with self._changed:
            if self._closed:
                return False
            self._running += 1
            return True

    def enter(self) -> None:
        """Begins a read transaction, waiting while the gate is closed. Not on the loop."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._running += 1

    def leave(self) -> None:
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def shut(self, action: Callable[[], object]) -> bool:
        """Runs ``action`` while no read transaction runs; False where one did not end within its limit.

        A reader is interrupted at its limit, so waiting twice as long is waiting long enough.
        """
        with self._changed:
            self._closed = True
            quiet = self._changed.wait_for(
                lambda: self._running == 0, 2 * limits.READ_TRANSACTION_MS_MAX / 1000
            )
        try:
            if quiet:
                action()
        finally:
            with self._changed:
                self._closed = False
                self._changed.notify_all()
            self._opened()
        return quiet
