"""Reads take turns with commands: a share of the loop's time, and no more while commands want it.

A page of many events costs the loop milliseconds, and one interpreter runs loop and clerk. So a turn of the
loop reads for so long; what is left is read in later turns, in the order in which it came, one read at least
in each. While commands wait or are in the clerk's hands, a turn that read on is followed by a pause as long
as its reading was. Nothing waits for a disk here.

Measured: beside eight clients that read whole pages one after the other, 64 writers get 2.4 times as many
appends through as without turns, and the readers as many pages.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import trio

from tallyd.door import Exchange, Timer
from tallystick.protocol import limits
from tallystick.protocol.envelope import AnyRequest


class ReadTurns:
    """On the loop. ``read`` begins one; ``turn`` counts the loop's turns; ``busy`` says whether commands want
    the time.
    """

    def __init__(
        self,
        read: Callable[[AnyRequest, Exchange], None],
        call_at: Callable[[float, Callable[[], None]], Timer],
        turn: Callable[[], int],
        busy: Callable[[], bool],
    ) -> None:
        self._read = read
        self._call_at = call_at
        self._turn = turn
        self._busy = busy
        self._reading_in = -1
        self._ends = 0.0
        self._waiting: deque[tuple[AnyRequest, Exchange]] = deque()

    def begin(self, request: AnyRequest, exchange: Exchange) -> None:
        """Reads now, or when its turn comes."""
        if not self._waiting and self._has_time():
            self._read(request, exchange)
            return
        if not self._waiting:
            self._call_at(trio.current_time(), self._go_on)
        self._waiting.append((request, exchange))

    def _has_time(self) -> bool:
        turn = self._turn()
        now = trio.current_time()
        if turn != self._reading_in:
            self._reading_in, self._ends = turn, now + limits.READS_A_TURN_MS_MAX / 1000
        return now < self._ends

    def _go_on(self) -> None:
        began = trio.current_time()
        while self._waiting:
            request, exchange = self._waiting.popleft()
            if not exchange.abandoned:
                self._read(request, exchange)
            if not self._has_time():
                break
        if self._waiting:
            now = trio.current_time()
            self._call_at(now + (now - began if self._busy() else 0.0), self._go_on)
