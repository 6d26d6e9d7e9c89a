"""Read transactions: one view, one moment, a limit.

A transaction that still runs when the gate has been closed for ``READ_TRANSACTION_MS_MAX`` is interrupted and
answered ``unavailable``: the write-ahead log cannot be reset under it, and writers must not pay for a reader.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import apsw
import msgspec
import trio

from tallyd.ledger.view import View
from tallyd.readers.gate import Gate
from tallystick.protocol import limits
from tallystick.protocol.problems import Refusal, unavailable

T = TypeVar("T")

_STEPS_BETWEEN_LOOKS: Final = 20_000
"""SQLite virtual machine steps between two looks at the gate: about a millisecond."""


class Seen(msgspec.Struct, Generic[T], frozen=True):
    """What one look came to: what it found, or why it was refused; and the sensitive objects that it looked
    at, whose reading is put on record before anything is served.
    """

    outcome: T | Refusal
    accessed: frozenset[str]

    @property
    def denied(self) -> bool:
        """Whether it was refused."""
        return isinstance(self.outcome, Refusal)

    def value(self) -> T:
        """What was found. Raises the refusal."""
        if isinstance(self.outcome, Refusal):
            raise self.outcome
        return self.outcome


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

    def try_look(self, look: Callable[[View], T]) -> Seen[T] | None:
        """One look, now; None while the gate is closed. On the loop."""
        if not self._gate.try_enter():
            return None
        try:
            return Seen(self._in_transaction(look), self.accessed)
        except Refusal as refusal:
            return Seen(refusal, self.accessed)

    def read(self, look: Callable[[View], T]) -> T:
        """What a look finds, waiting for the gate. Not on the loop. Raises what the look raises."""
        self._gate.enter()
        return self._in_transaction(look)

    def _in_transaction(self, look: Callable[[View], T]) -> T:
        """The gate was entered, and is left here. Raises Refusal ``unavailable`` where the read was
        interrupted.
        """
        db = self._view.db
        self._closing_since = None
        self._view.sensitive.clear()
        try:
            db.execute("BEGIN")
            try:
                return look(self._view)
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


class LoopReader:
    """The loop's reader. A task that meets a closed gate sleeps until it opens; the loop never blocks."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._gate_opened = trio.lowlevel.ParkingLot()

    def try_look(self, look: Callable[[View], T]) -> Seen[T] | None:
        """One look, now; None while the gate is closed."""
        return self._reader.try_look(look)

    async def look(self, look: Callable[[View], T]) -> Seen[T]:
        """One look, as soon as the gate is open. It is made before anything else runs on the loop."""
        while True:
            seen = self._reader.try_look(look)
            if seen is not None:
                return seen
            await self._gate_opened.park()

    async def read(self, look: Callable[[View], T]) -> T:
        """What a look finds. Raises Refusal."""
        return (await self.look(look)).value()

    @property
    def waiting(self) -> int:
        """Tasks that sleep at the closed gate."""
        return len(self._gate_opened)

    def gate_opened(self) -> None:
        """The gate is open again. On the loop."""
        self._gate_opened.unpark_all()

    def close(self) -> None:
        self._reader.close()
