"""The state of one connection, without its socket: order, pipelining, half-close, deadlines.

In come: bytes, the end of the stream, replies of the dispatcher, the time. Out go: calls of the dispatcher,
bytes to send, and three facts that the pump acts on (``wants_read``, ``output_bytes``, ``finished``). This is
the way of a line::

    lines ──parse──► held ──start──► in flight ──reply──► output ──sent──►
    (whole,          (at most one,   (in order; several   (in order)
     not parsed)      waits for its   only if all are
                      turn)           concurrent)

The rules, and why there are no more:

- Replies leave in the order of their requests, in whatever order they are given.
- A line is parsed only while everything in flight is ``concurrent``. None of those changes who speaks, so
  it is settled by then for whom the line is parsed. A concurrent request starts at once. Any other is
  *held* until nothing is in flight, and nothing behind it starts before it is answered.
- A wait with a line behind it is told once to finish early.
- Nothing starts while replies of ``reply_backlog_bytes_max`` or more wait for the client to read them, or
  while ``pipelined_requests_max`` requests are in flight. While that many are unanswered, the socket is not
  read either: the kernel keeps what the client sends, and then holds the client up.
- Three things mean the same: the end of the stream, a line too long to be dropped, and a line that comes too
  late. No more is read, what was taken whole is answered, and then the connection is finished.

Promises: a call costs no more than what it moves; memory stays within the limits. Does not: touch a
descriptor or a clock.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable
from typing import Generic

from tallyd.door.channel import Channel, Peer
from tallyd.door.defects import describe
from tallyd.door.exchange import ConnectionBase, Exchange, Load
from tallyd.door.framing import OVERSIZE, Framed, LineReader
from tallyd.door.interface import Dispatcher, DoorLimits, P
from tallystick.protocol import limits

logger = logging.getLogger("tallyd.door")


class ConnectionState(ConnectionBase, Generic[P]):
    """See the module. ``now`` is always in seconds of the loop's clock."""

    __slots__ = (
        "_caps",
        "_dispatcher",
        "_head",
        "_held",
        "_in_flight",
        "_line_since",
        "_lines",
        "_lines_bytes",
        "_opened",
        "_output",
        "_quiet_since",
        "_reader",
        "_reading",
        "_sent_at",
        "_spoke",
        "blocked",
        "output_bytes",
        "read_closed",
    )

    def __init__(
        self,
        dispatcher: Dispatcher[P],
        caps: DoorLimits,
        load: Load,
        channel: Channel,
        peer: Peer,
        touch: Callable[[], None],
        now: float,
    ) -> None:
        super().__init__(channel, peer, load, touch)
        self._dispatcher = dispatcher
        self._caps = caps
        self._reader = LineReader(caps.request_bytes_max, caps.oversize_line_discard_bytes_max)
        self._lines: deque[Framed] = deque()
        self._lines_bytes = 0
        self._held: P | None = None
        self._in_flight: deque[Exchange] = deque()
        self._output: list[bytes] = []
        self._head: memoryview | None = None
        """What the last send left over. It is sent before ``_output``."""
        self.output_bytes = 0
        self.blocked = False
        """The socket did not take all of the last send. The next is tried when the socket is writable."""
        self.read_closed = False
        """Nothing more is read from the socket. What was read is still answered."""
        self._reading = True
        """What ``wants_read`` said last."""
        self._spoke = False
        """A whole line has come, or the end of the stream."""
        self._opened = now
        self._line_since: float | None = None
        """When the line began that has come in part; None where there is none."""
        self._quiet_since = now
        """When something was sent last."""
        self._sent_at = now
        """When the client last took bytes of what is sent, or the first of it was sent."""

    # --- what comes in -------------------------------------------------------------------------------------

    def receive(self, data: bytes, now: float) -> None:
        """The client sent these bytes (one at least)."""
        lines = self._reader.feed(data)
        if lines:
            self._take(lines)
        if not self._reader.within_line:
            self._line_since = None
        elif lines or self._line_since is None:
            self._line_since = now
        if self._reader.too_long:
            self._close_reading()

    def receive_eof(self) -> None:
        """The client has sent its last byte; it may still read."""
        self._take(self._reader.eof())
        self._close_reading()

    def _take(self, lines: list[Framed]) -> None:
        self._lines.extend(lines)
        self._spoke = True
        for line in lines:
            if line is not OVERSIZE:
                self._lines_bytes += len(line)

    def _close_reading(self) -> None:
        self.read_closed = True
        self._line_since = None

    # --- requests ------------------------------------------------------------------------------------------

    def advance(self) -> bool:
        """Put out the replies that are due, and start what may start. True when there is more to start, and
        it was put off only to let other connections have their turn."""
        starts = 0
        in_flight = self._in_flight
        while True:
            while in_flight and in_flight[0].answer is not None:
                self._put_out(in_flight.popleft())
            if self._may_start():
                if starts == limits.REQUESTS_A_TURN_MAX:
                    return True
                starts += 1
                self._start_next()
            elif not self._finish_early_for_next():
                return False

    def _may_start(self) -> bool:
        """Whether the held request may start, or the next line be parsed."""
        in_flight = self._in_flight
        if in_flight and (
            self._held is not None
            or not in_flight[-1].concurrent
            or len(in_flight) >= self._caps.pipelined_requests_max
        ):
            return False
        if not self._lines and self._held is None:
            return False
        return self.output_bytes < self._caps.reply_backlog_bytes_max

    def _start_next(self) -> None:
        """Start the held request; or parse the next line, and start it or hold it."""
        parsed, self._held = self._held, None
        if parsed is None:
            line = self._lines.popleft()
            if line is OVERSIZE:
                self._answered_by_door().answer = self._dispatcher.oversize(self.channel)
                return
            self._lines_bytes -= len(line)
            try:
                parsed = self._dispatcher.parse(line, self.channel)
            except Exception as error:
                logger.error("a request could not be parsed, which is a defect: %s", describe(error))
                exchange = self._answered_by_door()
                exchange.answer = self._dispatcher.failed(exchange)
                return
            if self._in_flight and not parsed.concurrent:
                self._held = parsed
                return
        self._start(parsed)

    def _start(self, parsed: P) -> None:
        waits = parsed.waits
        guest, whole = self.channel.guest, self._caps.requests_in_flight_max
        if not waits and self._load.requests.full(guest, whole) is not None:
            self._answered_by_door().answer = self._dispatcher.refuse_capacity(limits.CAPACITY_RETRY_SECONDS)
            return
        exchange = Exchange(self, parsed.concurrent, waits)
        self._in_flight.append(exchange)
        self._load.enter(waits, guest)
        try:
            self._dispatcher.start(parsed, exchange)
        except Exception as error:
            logger.error("a request could not be started, which is a defect: %s", describe(error))
            if exchange.answer is None:
                exchange.reply(self._dispatcher.failed(exchange))
            exchange.abandoned = True

    def _answered_by_door(self) -> Exchange:
        """A place in the order of replies, for a request that the door answers and the dispatcher never
        starts."""
        exchange = Exchange(self, True, False)
        self._in_flight.append(exchange)
        return exchange

    def _finish_early_for_next(self) -> bool:
        """Have the wait in flight finish early where a request stands behind it. See ``finish_early``."""
        if not self._lines and self._held is None:
            return False
        return self.finish_early()

    def finish_early(self) -> bool:
        """Tell the dispatcher to answer the wait in flight now. True when it was told: the reply may be there
        already. False where there is no wait, or it was told or answered before."""
        head = self._in_flight[0] if self._in_flight else None
        if head is None or not head.waits or head.finishing_early or head.answer is not None:
            return False
        head.finishing_early = True
        try:
            self._dispatcher.finish_early(head)
        except Exception as error:
            logger.error("a wait could not be finished early, which is a defect: %s", describe(error))
        return True

    # --- what goes out -------------------------------------------------------------------------------------

    def _put_out(self, exchange: Exchange) -> None:
        answer = exchange.answer
        assert answer is not None
        self._output.append(answer)
        self.output_bytes += len(answer) + 1
        if exchange.last:
            self._drop_requests()
            self._close_reading()

    def output(self) -> bytes | memoryview:
        """What to send next. Call it only while ``output_bytes`` is not 0, and call ``sent`` after it."""
        if self._head is not None:
            return self._head
        pieces, self._output = self._output, []
        if len(pieces) == 1:
            return pieces[0] + b"\n"
        pieces.append(b"")
        return b"\n".join(pieces)

    def sent(self, data: bytes | memoryview, count: int, now: float) -> None:
        """The socket took the first ``count`` bytes of ``data``, which ``output`` returned."""
        self.output_bytes -= count
        if count or self._head is None:
            self._sent_at = now
        self.blocked = count < len(data)
        self._head = memoryview(data)[count:] if self.blocked else None
        self._quiet_since = now

    # --- the pump's questions ------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Something that was taken is not answered, or a reply is not sent."""
        return bool(self._in_flight or self.output_bytes or self._lines) or self._held is not None

    @property
    def finished(self) -> bool:
        """Everything is answered and sent, and nothing more will be read: the connection can be closed."""
        return self.read_closed and not self.busy

    @property
    def may_go_on(self) -> bool:
        """``advance`` would start something: sending has made room since it was called last."""
        return self._may_start()

    def wants_read(self, now: float) -> bool:
        """Whether the socket is to be read. While it is not, the time of a line that has begun does not
        run."""
        caps = self._caps
        unanswered = len(self._in_flight) + len(self._lines) + (self._held is not None)
        wants = (
            not self.read_closed
            and unanswered < caps.pipelined_requests_max
            and self._lines_bytes < caps.pipelined_bytes_max
        )
        if wants and not self._reading and self._line_since is not None:
            self._line_since = now
        self._reading = wants
        return wants

    def deadline(self) -> float:
        """When to call ``expire`` unless something happens before; infinity while nothing is expected of the
        client."""
        caps = self._caps
        if self.output_bytes:
            deadline = self._sent_at + caps.reply_read_seconds_max
        elif self.busy:
            deadline = math.inf
        elif self._spoke:
            deadline = self._quiet_since + caps.idle_seconds_max
        else:
            deadline = self._opened + caps.first_request_seconds_max
        if self._line_since is not None and self._reading:
            deadline = min(deadline, self._line_since + caps.line_seconds_max)
        return deadline

    def expire(self, now: float) -> bool:
        """The deadline has come. True: end the connection. False: only the line that has begun is too late,
        and what was taken before it is still answered."""
        unread = self.output_bytes and self._sent_at + self._caps.reply_read_seconds_max <= now
        if unread or not self.busy:
            return True
        self._close_reading()
        return False

    def close(self) -> None:
        """The connection has ended, whoever ended it: drop everything that it holds."""
        self.touched = True
        self._load.connections.leave(self.channel.guest)
        self._drop_requests()
        self._close_reading()
        self._output.clear()
        self._head = None
        self.output_bytes = 0

    def _drop_requests(self) -> None:
        """Nobody will read replies to these: forget what has not started, and abandon what is in flight."""
        self._lines.clear()
        self._held = None
        abandoned = [exchange for exchange in self._in_flight if exchange.answer is None]
        self._in_flight.clear()
        for exchange in abandoned:
            exchange.abandon(self._load)
            try:
                self._dispatcher.abandon(exchange)
            except Exception as error:
                logger.error("a request could not be abandoned, which is a defect: %s", describe(error))
