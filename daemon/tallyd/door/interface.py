"""What the door and the rest of the daemon say to each other: channels, requests in flight, the dispatcher,
the caps.

For: whoever writes the dispatcher (which turns lines into commands and reads) or starts the door. Promises:
everything here is called on the one thread that runs trio; only a waker (``Door.waker``) may be called from
another. Does not: read JSON, know an operation, or decide authority.

The life of one request, as the dispatcher sees it::

    parse(line, channel) ──► Parsed ──► start(parsed, exchange) ──► exchange.reply(line)      exactly once
                                             │
                                             ├─► hurry(exchange)     another request stands behind this wait
                                             └─► abandon(exchange)   its client is gone; a reply is ignored

``parse`` is called when a line's turn has come and not before: no line is parsed while a request that must
be answered first (one that is not ``concurrent``) is in flight. So a request that changes who speaks
(``Exchange.adopt``) governs every line behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from tallystick.protocol import limits
from tallystick.protocol.operation import Socket

if TYPE_CHECKING:
    from tallyd.door.connection import Exchange

PRIVATE_SOCKET_MODE = 0o600


class Channel(msgspec.Struct, frozen=True, kw_only=True):
    """One listening socket, and who speaks there: the channel is the actor.

    ``path`` is the socket's file (at most 103 bytes), which also names the channel: no two have the same.
    ``strength`` says how the actor was authenticated. ``allowed_uid`` is the only peer uid that is let in;
    a peer of another is closed before a byte of it is read. ``mode`` is the socket file's; only an agent
    with a uid of its own needs another.
    """

    socket: Socket
    actor: str
    strength: str
    path: str
    allowed_uid: int
    mode: int = PRIVATE_SOCKET_MODE
    connections_max: int = limits.CONNECTIONS_MAX
    """Open connections of this channel: no channel can take the places of all others."""


class Peer(msgspec.Struct, frozen=True):
    """Who connected, as the kernel says: the credentials at the time of ``connect``. ``pid`` is 0 where
    unknown."""

    pid: int
    uid: int
    gid: int


class Parsed(Protocol):
    """What ``Dispatcher.parse`` made of a line; the door looks at these two members only."""

    @property
    def concurrent(self) -> bool:
        """True for a command of the clerk (a write or a fenced read): several of one connection may be in
        flight together, in their order. Anything else starts when all before it are answered, and all after
        it wait for it.
        """

    @property
    def waits(self) -> bool:
        """True for a request that sleeps until something happens; it is not counted as in flight, and it is
        hurried as soon as a complete request stands behind it on its connection.
        """


P = TypeVar("P", bound=Parsed)


class Dispatcher(Protocol[P]):
    """What stands behind the door. All replies are one line without its newline."""

    def parse(self, line: bytes, channel: Channel) -> P:
        """Type one line (no newline; possibly empty, possibly not JSON). Never raises: a refusal is a
        Parsed that replies at once when started."""

    def start(self, parsed: P, exchange: Exchange) -> None:
        """Begin; ``exchange.reply`` follows exactly once, inside this call or later on this thread."""

    def hurry(self, exchange: Exchange) -> None:
        """A wait has a request behind it, or the daemon is stopping: reply now with what there is."""

    def abandon(self, exchange: Exchange) -> None:
        """The client is gone. A wait must be let go of; a command may go on. No reply is needed, and one
        that comes is dropped. A command counts as in flight until its reply or until nothing holds the
        exchange any more."""

    def wants_drain(self) -> bool:
        """True while commands are queued and the clerk is free, so that ``cut`` would hand something over.
        It is asked in each turn of the loop: whoever makes it true outside of one (the clerk's thread,
        another task) calls a waker."""

    def cut(self) -> None:
        """Hand what is queued to the clerk. Called only while ``wants_drain()``; may reply inside the
        call."""

    def oversize(self, channel: Channel) -> bytes:
        """The answer to a line longer than a request may be."""

    def refuse_capacity(self, retry_after_seconds: int) -> bytes:
        """The answer where a cap is reached: ``rate-limited``, with when to come again."""

    def failed(self, exchange: Exchange) -> bytes:
        """The answer where ``parse`` or ``start`` raised, which is a defect: it was logged by the door."""


class DoorLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The door's caps and deadlines; the defaults are the product's, other values are for tests and
    settings."""

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
    """A channel's socket cannot be made; the sentence says what is wrong, where, and what to do."""
