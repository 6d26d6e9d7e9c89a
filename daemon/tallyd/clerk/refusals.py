"""How many refusals of one actor, and how many records of its sensitive reads, are written down one by one.

Each of the two is counted for itself. Up to ``AUDIT_REFUSALS_PER_MINUTE_MAX`` of them in a minute have a row
each. The next one has a row ``suppressed-begin``, and the others of that minute have none. Their number is in
a row ``suppressed``, which is written before the next audited command of anyone after that minute, when the
clerk is idle, or at the drain. If a crash comes first, ``suppressed-begin`` is there without its count, and
``diagnose`` shows that.

The clerk says what became of the transaction in which refusals were counted: ``kept`` or ``lost``. What was
lost is counted again.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from tallystick.protocol import limits

REFUSALS: Final = "refusals"
READS: Final = "reads"
SUPPRESSED_BEGIN: Final = "suppressed-begin"
SUPPRESSED: Final = "suppressed"
_MINUTE_SECONDS: Final = 60.0


class _Window(msgspec.Struct):
    began: float
    count: int = 0


_Counted = tuple[str, str]
"""An actor, and which of the two."""


class RefusalMeter:
    """Counts refusals and reads by actor on the monotonic clock."""

    def __init__(self, per_minute_max: int = limits.AUDIT_REFUSALS_PER_MINUTE_MAX) -> None:
        self._max = per_minute_max
        self._windows: dict[_Counted, _Window] = {}
        self._before: dict[_Counted, _Window | None] = {}
        """Windows that the present transaction has changed, as they were before it."""

    def count(self, actor: str, what: str, now: float) -> Literal["write", "begin", "suppress"]:
        """Counts one more, and says what is to be written of it."""
        counted = (actor, what)
        self._remember(counted)
        window = self._windows.get(counted)
        if window is None or (now - window.began >= _MINUTE_SECONDS and window.count <= self._max):
            window = self._windows[counted] = _Window(now)
        window.count += 1
        if window.count <= self._max:
            return "write"
        return "begin" if window.count == self._max + 1 else "suppress"

    def due(self, now: float, *, drain: bool = False) -> list[tuple[str, str, int]]:
        """Actors whose minute of suppression is over, of what, and how many; each is told once."""
        over = [
            (*counted, window.count - self._max)
            for counted, window in self._windows.items()
            if window.count > self._max and (drain or now - window.began >= _MINUTE_SECONDS)
        ]
        for actor, what, _ in over:
            self._remember((actor, what))
            del self._windows[actor, what]
        return over

    def kept(self) -> None:
        """The transaction is durable."""
        self._before.clear()

    def lost(self) -> None:
        """The transaction was rolled back: nothing of it was counted, and nobody told."""
        for counted, window in self._before.items():
            if window is None:
                self._windows.pop(counted, None)
            else:
                self._windows[counted] = window
        self._before.clear()

    def _remember(self, counted: _Counted) -> None:
        if counted not in self._before:
            window = self._windows.get(counted)
            self._before[counted] = None if window is None else _Window(window.began, window.count)
