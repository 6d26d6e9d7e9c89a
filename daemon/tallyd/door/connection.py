"""The state of one connection, without its socket: order, pipelining, half-close, deadlines.

What comes in: bytes, the end of the stream, replies of the dispatcher, the time. What goes out: calls of
the dispatcher, bytes to send, and three facts that the pump acts on (``wants_read``, ``output_bytes``,
``finished``). A line goes this way::

    lines ──parse──► held ──start──► in flight ──reply──► output ──sent──►
    (taken, whole)   (at most one,   (in order; several   (in order)
                      waits for its   only if all are
                      turn)           concurrent)

The rules, and why there are so few:

- Replies leave in the order of their requests, whenever they are given.
- A line is parsed only while everything in flight is ``concurrent``: so whoever speaks is settled by then.
  A concurrent one starts at once; another one is *held* until nothing is in flight, and nothing behind it
  starts before its reply.
- A wait with a line behind it is hurried, once.
- Nothing starts while more than ``reply_backlog_bytes_max`` of replies wait for the client, or while
  ``pipelined_requests_max`` are in flight; and while as many are unanswered, the socket is not read: the
  kernel holds the rest.
- The end of the stream, a line too long to be dropped, and a line too late all mean the same: no more is
  read, what was taken whole is answered, and then the connection is finished.

Promises: no call costs more than what it moves; memory is bounded by the limits. Does not: touch a
descriptor or a clock.
"""

from __future__ import annotations

import logging
import math
import weakref
from collections import deque
from collections.abc import Callable
from typing import Generic

from tallyd.door.defects import describe
from tallyd.door.framing import OVERSIZE, Framed, LineReader
from tallyd.door.interface import Channel, Dispatcher, DoorLimits, P, Peer
from tallystick.protocol import limits

logger = logging.getLogger("tallyd.door")


class Load:
    """Requests in flight, and waits, over all connections."""

    __slots__ = ("_let_go", "_started", "waits")

    def __init__(self) -> None:
        self._started = 0
        self._let_go: deque[None] = deque()
        self.waits = 0
        """Waits in flight."""

    @property
    def in_flight(self) -> int:
        """Requests started and not over; waits are not among them."""
        while self._let_go:
            self._let_go.popleft()
            self._started -= 1
        return self._started

    def enter(self, waits: bool) -> None:
        """A request was started."""
        if waits:
            self.waits += 1
        else:
            self._started += 1

    def leave(self, waits: bool) -> None:
        """It was answered."""
        if waits:
            self.waits -= 1
        else:
            self._started -= 1

    def let_go(self) -> None:
        """An abandoned request is over. From any thread: the last to hold it may be the clerk's."""
        self._let_go.append(None)


class Exchange:
    """One request in flight, and the place of its reply."""

    __slots__ = (
        "__weakref__",
        "_connection",
        "_let_go",
        "abandoned",
        "answer",
        "concurrent",
        "hurried",
        "last",
        "waits",
    )

    def __init__(self, connection: ConnectionBase, concurrent: bool, waits: bool) -> None:
        self._connection = connection
        self._let_go: Callable[[], object] | None = None
        self.concurrent = concurrent
        self.waits = waits
        self.answer: bytes | None = None
        self.hurried = False
        self.last = False
        self.abandoned = False
        """The client is gone, or the request failed and the door has answered it: a reply is dropped."""

    @property
    def channel(self) -> Channel:
        """Who speaks on this connection."""
        return self._connection.channel

    @property
    def peer(self) -> Peer:
        """The process that connected, as the kernel named it."""
        return self._connection.peer

    def reply(self, line: bytes) -> None:
        """Answer with one line (without its newline), on trio's thread. A second reply is a defect of the
        dispatcher and raises RuntimeError; one to an abandoned exchange is dropped."""
        if self.abandoned:
            if self._let_go is not None:
                self._let_go()
            return
        if self.answer is not None:
            raise RuntimeError("an exchange was answered twice")
        self.answer = line
        self._connection.answered(self)

    def reply_last(self, line: bytes) -> None:
        """Answer, and end the connection once the reply is sent; what stands behind this request is
        dropped."""
        self.last = True
        self.reply(line)

    def strike(self) -> int:
        """Count a wrong credential on this connection, and say how many there were."""
        self._connection.strikes += 1
        return self._connection.strikes

    def adopt(self, channel: Channel) -> None:
        """From now on the connection speaks as ``channel`` says: lines behind this request are parsed with
        it."""
        self._connection.channel = channel

    def abandon(self, load: Load) -> None:
        """For the connection: its client is gone. A wait is over with that; anything else occupies the
        clerk or a reader until it is answered or nobody holds it, and counts as long."""
        self.abandoned = True
        if self.waits:
            load.leave(True)
        else:
            self._let_go = finalizer = weakref.finalize(self, load.let_go)
            finalizer.atexit = False


class ConnectionBase:
    """What an exchange needs of its connection, whatever its dispatcher's requests are."""

    __slots__ = ("_load", "_touch", "channel", "peer", "strikes", "touched")

    def __init__(self, channel: Channel, peer: Peer, load: Load, touch: Callable[[], None]) -> None:
        self.channel = channel
        self.peer = peer
        self.strikes = 0
        """Wrong credentials shown so far."""
        self._load = load
        self._touch = touch
        self.touched = False
        """The pump knows that something is to be done here, and ``touch`` need not be called."""

    def answered(self, exchange: Exchange) -> None:
        """A reply was given to an exchange in flight."""
        self._load.leave(exchange.waits)
        if not self.touched:
            self.touched = True
            self._touch()


class Connection(ConnectionBase, Generic[P]):
    """See the module. ``now`` is in seconds of the loop's clock everywhere."""

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
        """What a send left over; it goes before ``_output``."""
        self.output_bytes = 0
        self.blocked = False
        """The last send did not take all: the next is tried when the socket says that it can."""
        self.read_closed = False
        """Nothing more is taken from the socket; what was taken is answered."""
        self._reading = True
        self._spoke = False
        self._opened = now
        self._line_since: float | None = None
        self._quiet_since = now
        self._sent_at = now

    # --- what comes in -------------------------------------------------------------------------------------

    def receive(self, data: bytes, now: float) -> None:
        """Bytes came (not empty)."""
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
        """Move everything on as far as it goes. True when only the other connections' turn stopped it."""
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
            elif not self._hurry_head():
                return False

    def _may_start(self) -> bool:
        """Is it the turn of the next line, or of the held request?"""
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
        if not waits and self._load.in_flight >= self._caps.requests_in_flight_max:
            self._answered_by_door().answer = self._dispatcher.refuse_capacity(limits.CAPACITY_RETRY_SECONDS)
            return
        exchange = Exchange(self, parsed.concurrent, waits)
        self._in_flight.append(exchange)
        self._load.enter(waits)
        try:
            self._dispatcher.start(parsed, exchange)
        except Exception as error:
            logger.error("a request could not be started, which is a defect: %s", describe(error))
            if exchange.answer is None:
                exchange.reply(self._dispatcher.failed(exchange))
            exchange.abandoned = True

    def _answered_by_door(self) -> Exchange:
        """A place in the order of replies for what the dispatcher does not start."""
        exchange = Exchange(self, True, False)
        self._in_flight.append(exchange)
        return exchange

    def _hurry_head(self) -> bool:
        """Tell a wait that something stands behind it, once. True when it was told: its reply may be there
        now."""
        if not self._lines and self._held is None:
            return False
        return self.hurry()

    def hurry(self) -> bool:
        """Tell the wait in flight, if there is one that was not told, to answer now."""
        head = self._in_flight[0] if self._in_flight else None
        if head is None or not head.waits or head.hurried or head.answer is not None:
            return False
        head.hurried = True
        try:
            self._dispatcher.hurry(head)
        except Exception as error:
            logger.error("a wait could not be hurried, which is a defect: %s", describe(error))
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
        """What to send next; only while ``output_bytes``. ``sent`` must follow."""
        if self._head is not None:
            return self._head
        pieces, self._output = self._output, []
        if len(pieces) == 1:
            return pieces[0] + b"\n"
        pieces.append(b"")
        return b"\n".join(pieces)

    def sent(self, data: bytes | memoryview, count: int, now: float) -> None:
        """Of ``data`` the socket took the first ``count`` bytes."""
        self.output_bytes -= count
        if count or self._head is None:
            self._sent_at = now
        self.blocked = count < len(data)
        self._head = memoryview(data)[count:] if self.blocked else None
        self._quiet_since = now

    # --- the pump's questions ------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Something taken is not answered, or an answer not sent."""
        return bool(self._in_flight or self.output_bytes or self._lines) or self._held is not None

    @property
    def finished(self) -> bool:
        """All is answered and sent, and nothing more will be read."""
        return self.read_closed and not self.busy

    @property
    def may_go_on(self) -> bool:
        """A call of ``advance`` would start something (room was made since the last one)."""
        return self._may_start()

    def wants_read(self, now: float) -> bool:
        """Should the socket be read? While it is not, a line that began does not grow late."""
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
        """When ``expire`` is to be called unless something happens before; infinity while the client owes
        nothing."""
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
        """The deadline has come. True: end the connection. False: only the line that had begun is too late;
        what was taken before it is still answered."""
        unread = self.output_bytes and self._sent_at + self._caps.reply_read_seconds_max <= now
        if unread or not self.busy:
            return True
        self._close_reading()
        return False

    def close(self) -> None:
        """The connection has ended, whoever ended it: let go of everything."""
        self.touched = True
        self._drop_requests()
        self._close_reading()
        self._output.clear()
        self._head = None
        self.output_bytes = 0

    def _drop_requests(self) -> None:
        """Nobody will read what these are answered."""
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
