"""Calls into the loop from other threads: a socketpair that wakes the loop, and a queue of the wakers called.

Promises: after each call of a waker its callback runs in the loop; several calls may share one run. No lock
is taken, and a caller never blocks. Does not: carry values. The caller leaves them where the callback finds
them.

Why no call is lost: a caller first queues its waker and then looks at ``_signalled``. The loop first clears
``_signalled`` and then empties the queue. So a caller that finds it set, and sends nothing, has queued its
waker before the loop clears it and empties the queue.
"""

from __future__ import annotations

import contextlib
import logging
import socket
from collections import deque
from collections.abc import Callable

from tallyd.door.defects import describe

logger = logging.getLogger("tallyd.door")

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
        """A descriptor that is readable while there is something to run."""
        return self._reader.fileno()

    def waker(self, callback: Callable[[], None]) -> Callable[[], None]:
        """A function that any thread may call to have ``callback`` run in the loop; see the module."""
        return _Waker(self, callback)

    def run(self) -> None:
        """Run the callbacks of the wakers that were called. The loop calls this. What a callback raises is
        logged, and the others run."""
        with contextlib.suppress(BlockingIOError):
            self._reader.recv(_DRAIN_BYTES)
        self._signalled = False
        for _ in range(len(self._queue)):
            waker = self._queue.popleft()
            waker.queued = False
            try:
                waker.callback()
            except Exception as error:
                logger.error("a waker's callback failed, which is a defect: %s", describe(error))

    def close(self) -> None:
        """Close both sockets. A waker that is called later does nothing."""
        self._reader.close()
        self._writer.close()

    def signal(self, waker: _Waker) -> None:
        """``waker`` has something to run. Any thread may call this."""
        self._queue.append(waker)
        if not self._signalled:
            self._signalled = True
            with contextlib.suppress(OSError):  # full: readable already; closed: there is no loop to wake
                self._writer.send(b"\0")


class _Waker:
    """One callback, and whether it is in the queue."""

    __slots__ = ("_wakers", "callback", "queued")

    def __init__(self, wakers: Wakers, callback: Callable[[], None]) -> None:
        self._wakers = wakers
        self.callback = callback
        self.queued = False

    def __call__(self) -> None:
        """Queue the callback, unless it is in the queue already; see ``Wakers.waker``."""
        if not self.queued:
            self.queued = True
            self._wakers.signal(self)
