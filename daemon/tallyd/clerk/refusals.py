"""How many refusals of one actor are written down one by one.

Beyond ``AUDIT_REFUSALS_PER_MINUTE_MAX`` a minute the first further one writes a row ``suppressed-begin``, and
the next audited command of anyone after that minute, or the drain, a row ``suppressed`` with the count. After
a crash the first stands alone, and ``diagnose`` shows it: the record never pretends to hold what it does not.
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

    def refused(self, actor: str, now: float) -> Literal["write", "begin", "suppress"]:
        """Counts a refusal, and says what is to be written of it."""
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
            del self._windows[actor]
        return over
