"""Says what a call waits for, where that takes more than a second, and when waiting is of no use.

People are told one sentence on stderr; with ``--json`` nothing is told, since stderr then holds one object at
most. It decides nothing about time: how long is waited is the client's own deadline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tallystick.core import Wait

TOLD_AFTER_SECONDS: Final = 1.0
"""Shorter waits are not noticed, or not minded."""
_DISK: Final = "dev.tallystick.disk"


class Waiting:
    """What one call waits for. `tell` hears the sentence; None where nobody is to be told."""

    def __init__(self, tell: Callable[[str], None] | None) -> None:
        self._tell = tell
        self._why = ""

    def goes_on(self, wait: Wait) -> bool:
        """Whether a request is worth sending again: not while the disk takes nothing. It is the client's
        ``patience``.
        """
        ext = getattr(wait.why, "ext", {})
        self._why = f": {getattr(wait.why, 'detail', None) or wait.why}"
        return _DISK not in ext

    @contextmanager
    def told(self, what: str) -> Iterator[None]:
        """While its body runs: after a second people hear that `what` is waited for, and why."""
        if self._tell is None:
            yield
            return
        timer = Timer(TOLD_AFTER_SECONDS, self._say, [what])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _say(self, what: str) -> None:
        if self._tell is not None:
            self._tell(f"tally: waiting for {what}{self._why}")
