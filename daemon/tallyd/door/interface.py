"""What the door asks of the rest of the daemon: the dispatcher, and the door's limits.

For: whoever writes the dispatcher (which makes commands and reads of lines), and whoever starts the door.
Promises: the door calls everything here on the one thread that runs trio. Other threads may call one thing
only, a waker (``Door.waker``). Does not: read JSON, know an operation, or decide who may do what.

The life of one request, as the dispatcher sees it::

    parse(line, channel) ──► Parsed ──► start(parsed, exchange) ──► exchange.reply(line)     exactly once
                                             │
                                             ├─► finish_early(exchange)  this wait is to be answered now
                                             └─► abandon(exchange)       its client is gone: no reply needed

The door parses a line when its turn has come, and not earlier: no line is parsed while a request is in flight
that must be answered first (one that is not ``concurrent``). So when a request changes who speaks
(``Exchange.adopt``), that holds for every line behind it.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

import msgspec

from tallyd.door.channel import Channel
from tallyd.door.exchange import Exchange
from tallystick.protocol import limits


class Parsed(Protocol):
    """What ``Dispatcher.parse`` made of a line. The door looks at these two members only."""

    @property
    def concurrent(self) -> bool:
        """True for a command of the clerk (a write or a fenced read): several of one connection may be in
        flight together, in their order. Any other request starts when all requests before it are answered,
        and all requests after it wait until it is answered.
        """

    @property
    def waits(self) -> bool:
        """True for a request that sleeps until something happens. It is not counted as in flight. When a
        complete request stands behind it on its connection, it is to finish early.
        """


P = TypeVar("P", bound=Parsed)


class Dispatcher(Protocol[P]):
    """What stands behind the door. Every reply is one line without its newline."""

    def parse(self, line: bytes, channel: Channel) -> P:
        """Turn one line (without its newline; it may be empty, or no JSON) into a request. Never raises:
        what is refused becomes a Parsed that replies as soon as it is started."""

    def start(self, parsed: P, exchange: Exchange) -> None:
        """Begin the request. ``exchange.reply`` follows exactly once: inside this call, or later on this
        thread."""

    def finish_early(self, exchange: Exchange) -> None:
        """Reply to this wait with what there is, without waiting any longer for something to happen: a
        request stands behind it, or the daemon is stopping. Called once for a wait at most."""

    def abandon(self, exchange: Exchange) -> None:
        """The client is gone. Stop waiting, if this is a wait; a command may go on. No reply is needed, and
        one that comes is dropped. A command counts as in flight until its reply, or until nothing holds the
        exchange any more."""

    def wants_drain(self) -> bool:
        """True while commands are queued and the clerk is free, so that ``cut`` would hand some over. The
        door asks in each turn of its loop. Whoever makes it true outside of a turn (the clerk's thread,
        another task) calls a waker."""

    def cut(self) -> None:
        """Hand the queued commands to the clerk as one batch. Called only while ``wants_drain()``; may reply
        inside the call."""

    def oversize(self, channel: Channel) -> bytes:
        """The reply to a line that is longer than a request may be."""

    def refuse_capacity(self, retry_after_seconds: int) -> bytes:
        """The reply where a limit of the door is reached: ``rate-limited``, with when to come again."""

    def failed(self, exchange: Exchange) -> bytes:
        """The reply where ``parse`` or ``start`` raised, which is a defect. The door has logged it."""


class DoorLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The door's caps and deadlines. The product runs with the defaults; tests use smaller ones."""

    connections_max: int = limits.CONNECTIONS_MAX
    requests_in_flight_max: int = limits.REQUESTS_IN_FLIGHT_MAX
    pipelined_requests_max: int = limits.PIPELINED_REQUESTS_MAX
    pipelined_bytes_max: int = limits.PIPELINED_BYTES_MAX
    request_bytes_max: int = limits.REQUEST_BYTES_MAX
    oversize_line_discard_bytes_max: int = limits.OVERSIZE_LINE_DISCARD_BYTES_MAX
    reply_backlog_bytes_max: int = limits.REPLY_BACKLOG_BYTES_MAX
    first_request_seconds_max: float = limits.FIRST_REQUEST_SECONDS_MAX
    idle_seconds_max: float = limits.IDLE_SECONDS_MAX
    line_seconds_max: float = limits.LINE_SECONDS_MAX
    reply_read_seconds_max: float = limits.REPLY_READ_SECONDS_MAX
    accept_retry_seconds: float = limits.ACCEPT_RETRY_SECONDS
    drain_passes_max: int = limits.DRAIN_PASSES_MAX


class ListenRefused(Exception):
    """A channel's socket cannot be made. The sentence says what is wrong, where, and what to do."""
