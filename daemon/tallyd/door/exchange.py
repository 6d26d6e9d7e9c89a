"""One request in flight and its reply, and the count of all that are in flight.

For: the dispatcher, which answers a request through its ``Exchange``. Promises: a reply reaches the
connection once, in whatever order replies are given; a reply to a client that is gone is dropped. Does not:
put replies into order, send anything, or know what a request says.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable

from tallyd.door.channel import Channel, Peer
from tallyd.door.shares import Shared
from tallystick.protocol import limits


class Load:
    """How many connections are open, and how many requests and waits are in flight on them."""

    __slots__ = ("_let_go", "_started", "connections", "connections_max", "waits")

    def __init__(self, connections_max: int = limits.CONNECTIONS_MAX) -> None:
        self.connections = Shared("connections are open")
        self.connections_max = connections_max
        self._started = Shared("requests are in flight")
        self._let_go: deque[str | None] = deque()
        """One entry for each abandoned request that is over and not yet subtracted from ``_started``: whose
        it was."""
        self.waits = 0
        """Waits in flight."""

    @property
    def requests(self) -> Shared:
        """Requests started and not over. Waits are not among them."""
        while self._let_go:
            self._started.leave(self._let_go.popleft())
        return self._started

    def enter(self, waits: bool, guest: str | None) -> None:
        """A request was started."""
        if waits:
            self.waits += 1
        else:
            self._started.enter(guest)

    def leave(self, waits: bool, guest: str | None) -> None:
        """A request was answered."""
        if waits:
            self.waits -= 1
        else:
            self._started.leave(guest)

    def let_go(self, guest: str | None) -> None:
        """An abandoned request is over. Any thread may call this, since the last one to hold the request
        may be the clerk's."""
        self._let_go.append(guest)


class Exchange:
    """One request in flight, and the place for its reply."""

    __slots__ = (
        "__weakref__",
        "_connection",
        "_let_go",
        "abandoned",
        "answer",
        "concurrent",
        "finishing_early",
        "guest",
        "last",
        "waits",
        "wake",
    )

    def __init__(self, connection: ConnectionBase, concurrent: bool, waits: bool) -> None:
        self._connection = connection
        self._let_go: Callable[[], object] | None = None
        self.guest = connection.channel.guest
        """Against whose share it counts, whoever speaks on its connection afterwards."""
        self.concurrent = concurrent
        self.waits = waits
        self.answer: bytes | None = None
        """The reply, once it is given."""
        self.finishing_early = False
        """The dispatcher was told that this wait is to finish early: see ``Dispatcher.finish_early``."""
        self.last = False
        """The connection ends when this reply is sent."""
        self.abandoned = False
        """The client is gone, or the request failed and the door has answered it: a reply is dropped."""
        self.wake: Callable[[], object] | None = None
        """Set by whoever sleeps for this request: ends the sleep, so that it looks at ``finishing_early`` and
        ``abandoned``."""

    @property
    def channel(self) -> Channel:
        """Who speaks on this connection."""
        return self._connection.channel

    @property
    def peer(self) -> Peer:
        """The process that connected, as the kernel named it."""
        return self._connection.peer

    def reply(self, line: bytes) -> None:
        """Answer with one line (without its newline). Call it on trio's thread, once: a second reply is a
        defect of the dispatcher and raises RuntimeError. A reply to an abandoned exchange is dropped."""
        if self.abandoned:
            if self._let_go is not None:
                self._let_go()
            return
        if self.answer is not None:
            raise RuntimeError("an exchange was answered twice")
        self.answer = line
        self._connection.answered(self)

    def reply_last(self, line: bytes) -> None:
        """Answer, and end the connection when the reply is sent. Requests behind this one are dropped."""
        self.last = True
        self.reply(line)

    def strike(self) -> int:
        """Count one wrong credential on this connection; return how many there were by now."""
        self._connection.strikes += 1
        return self._connection.strikes

    def adopt(self, channel: Channel) -> bool:
        """From now on the connection speaks as ``channel`` says, and counts against the share of its guest.
        Lines behind this request are parsed with it. False, and nothing changes, where that share is full."""
        return self._connection.adopt(channel)

    def abandon(self, load: Load) -> None:
        """The connection calls this when its client is gone. A wait is over with that. Any other request
        keeps the clerk or a reader busy, and is counted until it is answered or until nobody holds it any
        more."""
        self.abandoned = True
        if self.waits:
            load.leave(True, self.guest)
        else:
            self._let_go = finalizer = weakref.finalize(self, load.let_go, self.guest)
            finalizer.atexit = False


class ConnectionBase:
    """What an exchange needs of its connection. It does not depend on the type of the dispatcher's
    requests."""

    __slots__ = ("_load", "_touch", "channel", "peer", "strikes", "touched")

    def __init__(self, channel: Channel, peer: Peer, load: Load, touch: Callable[[], None]) -> None:
        self.channel = channel
        self.peer = peer
        self.strikes = 0
        """Wrong credentials shown so far."""
        self._load = load
        load.connections.enter(channel.guest)
        self._touch = touch
        self.touched = False
        """The pump knows already that there is something to do here: ``touch`` need not be called."""

    def adopt(self, channel: Channel) -> bool:
        """See Exchange.adopt."""
        before, after = self.channel.guest, channel.guest
        if before != after:
            connections = self._load.connections
            if connections.full(after, self._load.connections_max + 1) is not None:  # it is open already
                return False
            connections.leave(before)
            connections.enter(after)
        self.channel = channel
        return True

    def answered(self, exchange: Exchange) -> None:
        """A request in flight was given its reply."""
        self._load.leave(exchange.waits, exchange.guest)
        if not self.touched:
            self.touched = True
            self._touch()
