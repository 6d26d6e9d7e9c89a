"""How many refusals of one actor are written down one by one.

Up to ``AUDIT_REFUSALS_PER_MINUTE_MAX`` refusals in a minute have a row each. The next one has a row
``suppressed-begin``, and the others of that minute have none. Their number is in a row ``suppressed``, which
is written before the next audited command of anyone after that minute, when the clerk is idle, or at the
drain. If a crash comes first, ``suppressed-begin`` is there without its count, and ``diagnose`` shows that.

The clerk says what became of the transaction in which refusals were counted: ``kept`` or ``lost``. What was
lost is counted again.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from tallystick.protocol import limits

SUPPRESSED_BEGIN: Final = "suppressed-begin"
SUPPRESSED: Final = "suppressed"
_MINUTE_SECONDS: Final = 60.0


class _Window(msgspec.Struct):
    began: float
    count: int = 0


class RefusalMeter:
    """Counts refusals by actor on the monotonic clock."""

    def __init__(self, per_minute_max: int = limits.AUDIT_REFUSALS_PER_MINUTE_MAX) -> None:
        self._max = per_minute_max
        self._windows: dict[str, _Window] = {}
        self._before: dict[str, _Window | None] = {}
        """Windows that the present transaction has changed, as they were before it."""

    def refused(self, actor: str, now: float) -> Literal["write", "begin", "suppress"]:
        """Counts a refusal, and says what is to be written of it."""
        self._remember(actor)
        window = self._windows.get(actor)
        if window is None or (now - window.began >= _MINUTE_SECONDS and window.count <= self._max):
            window = self._windows[actor] = _Window(now)
        window.count += 1
        if window.count <= self._max:
            return "write"
        return "begin" if window.count == self._max + 1 else "suppress"

    def due(self, now: float, *, drain: bool = False) -> list[tuple[str, int]]:
        """Actors whose minute of suppression is over, with the number suppressed; each is told once."""
        over = [
            (actor, window.count - self._max)
            for actor, window in self._windows.items()
            if window.count > self._max and (drain or now - window.began >= _MINUTE_SECONDS)
        ]
        for actor, _ in over:
            self._remember(actor)
            del self._windows[actor]
        return over

    def kept(self) -> None:
        """The transaction is durable."""
        self._before.clear()

    def lost(self) -> None:
        """The transaction was rolled back: nothing of it was counted, and nobody told."""
        for actor, window in self._before.items():
            if window is None:
                self._windows.pop(actor, None)
            else:
                self._windows[actor] = window
        self._before.clear()

    def _remember(self, actor: str) -> None:
        if actor not in self._before:
            window = self._windows.get(actor)
            self._before[actor] = None if window is None else _Window(window.began, window.count)
