"""Calls into the loop from other threads: a socketpair to be woken by, and a queue of who has something to
say.

Promises: after the last call of a waker its callback runs at least once, in the loop; calls in between are
one; no lock is taken, and a caller never blocks. Does not: carry values; the caller leaves them where the
callback finds them.

Why it loses nothing: a caller first queues its waker and then looks at ``_signalled``; the loop first
clears that and then empties the queue. Whoever saw it set had queued before it was cleared.
"""

from __future__ import annotations

import contextlib
import socket
from collections import deque
from collections.abc import Callable

_DRAIN_BYTES = 4_096


class Wakers:
    """All wakers of one loop."""

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._queue: deque[_Waker] = deque()
        self._signalled = False

    def fileno(self) -> int:
        """Readable while there is something to run."""
        return self._reader.fileno()

    def waker(self, callback: Callable[[], None]) -> Callable[[], None]:
        """A function for any thread; see the module."""
        return _Waker(self, callback)

    def run(self) -> None:
        """The loop's: run what was asked for. What a callback raises is the loop's end: nobody could say
        which replies it left out."""
        with contextlib.suppress(BlockingIOError):
            self._reader.recv(_DRAIN_BYTES)
        self._signalled = False
        for _ in range(len(self._queue)):
            waker = self._queue.popleft()
            waker.queued = False
            waker.callback()

    def close(self) -> None:
        """Wake nobody any more."""
        self._reader.close()
        self._writer.close()

    def signal(self, waker: _Waker) -> None:
        """From any thread: ``waker`` has something to run."""
        self._queue.append(waker)
        if not self._signalled:
            self._signalled = True
            with contextlib.suppress(
                OSError
            ):  # full: it is readable already; closed: there is no loop to wake
                self._writer.send(b"\0")


class _Waker:
    """One callback, and whether it is queued."""

    __slots__ = ("_wakers", "callback", "queued")

    def __init__(self, wakers: Wakers, callback: Callable[[], None]) -> None:
        self._wakers = wakers
        self.callback = callback
        self.queued = False

    def __call__(self) -> None:
        """See Wakers.waker."""
        if not self.queued:
            self.queued = True
            self._wakers.signal(self)
