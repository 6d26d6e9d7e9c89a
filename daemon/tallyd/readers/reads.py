"""Read transactions: one view, one moment, a limit.

A transaction that still runs when the gate has been closed for ``READ_TRANSACTION_MS_MAX`` is interrupted and
answered ``unavailable``: the write-ahead log cannot be reset under it, and writers must not pay for a reader.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

import apsw

from tallyd.ledger.view import View
from tallyd.readers.gate import Gate
from tallystick.protocol import limits
from tallystick.protocol.problems import unavailable

T = TypeVar("T")

_STEPS_BETWEEN_LOOKS: Final = 20_000
"""SQLite virtual machine steps between two looks at the gate: about a millisecond."""


class Reader:
    """A view over a connection of its own. One thread at a time."""

    def __init__(self, view: View, gate: Gate) -> None:
        self._view = view
        self._gate = gate
        self._closing_since: float | None = None
        view.db.set_progress_handler(self._should_stop, _STEPS_BETWEEN_LOOKS)

    @property
    def view(self) -> View:
        return self._view

    @property
    def accessed(self) -> frozenset[str]:
        """Sensitive objects that the last read looked at: their reading is recorded before it is served."""
        return frozenset(self._view.sensitive)

    def try_read(self, read: Callable[[View], T]) -> T | None:
        """The result, or None while the gate is closed: come again when it opens."""
        if not self._gate.try_enter():
            return None
        return self._in_transaction(read)

    def read(self, read: Callable[[View], T]) -> T:
        """The result, waiting for the gate. Not on the loop."""
        self._gate.enter()
        return self._in_transaction(read)

    def _in_transaction(self, read: Callable[[View], T]) -> T:
        """The gate was entered, and is left here. Raises Refusal ``unavailable`` where the read was
        interrupted.
        """
        db = self._view.db
        self._closing_since = None
        self._view.sensitive.clear()
        try:
            db.execute("BEGIN")
            try:
                return read(self._view)
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")
        except apsw.InterruptError:
            raise unavailable(
                f"the read took more than {limits.READ_TRANSACTION_MS_MAX} ms while the write-ahead log was "
                f"due to be "
                "reset; ask again, or for a smaller page"
            ) from None
        finally:
            self._gate.leave()

    def _should_stop(self) -> bool:
        if not self._gate.closed:
            return False
        now = time.monotonic()
        if self._closing_since is None:
            self._closing_since = now
        return (now - self._closing_since) * 1000 > limits.READ_TRANSACTION_MS_MAX

    def close(self) -> None:
        self._view.db.close()
