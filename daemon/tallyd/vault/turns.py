"""Turns: whatever touches the bytes of one upload does so one after the other.

A chunk is judged in a read transaction and written on a thread; an abort or a finalize may be committed in
between. So whoever writes, opens or removes a staging file takes the upload's turn first, and whoever writes
looks at the upload again within it: what is committed by then is seen.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """One turn at a time under each name. Any thread; not on the loop, since it may wait."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        """Guards ``_taken``."""
        self._taken: dict[str, tuple[threading.Lock, int]] = {}
        """The lock of each name that somebody holds or waits for, and how many those are."""

    @contextmanager
    def take(self, name: str) -> Iterator[None]:
        """Waits for the turn, and holds it for the block. Not twice by one thread."""
        with self._guard:
            lock, users = self._taken.get(name, (threading.Lock(), 0))
            self._taken[name] = (lock, users + 1)
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, users = self._taken.pop(name)
                if users > 1:
                    self._taken[name] = (lock, users - 1)
