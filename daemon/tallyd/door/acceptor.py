"""New connections: accepting them, checking the peer's uid and the caps, and lasting while descriptors are
short.

Promises:

- A connection of a peer with another uid is closed before a byte of it is read.
- Where a cap is reached, a new connection is told so in one line and closed. When too many come in one
  second, further ones are closed without a line.
- When the process is out of descriptors (or memory), a listener pauses for ``accept_retry_seconds`` at a time
  until accepting works again, and logs it once. A descriptor is kept in reserve for this: it is freed for a
  moment to accept whoever waits, and to tell them to come again, so that they do not hang.
- Any other error pauses the listener, too. It never spins, and it never stops for good.

Does not: read from or write to a connection that is let in.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import socket
from collections.abc import Callable

import trio

from tallyd.door.channel import Channel, Peer
from tallyd.door.descriptors import OUT_OF_DESCRIPTORS, Reserve
from tallyd.door.interface import ListenRefused
from tallyd.door.listeners import Listener
from tallyd.door.peer import peer_of
from tallyd.door.poller import READ, Poller
from tallyd.door.timers import Timers
from tallystick.protocol import limits

logger = logging.getLogger("tallyd.door")

LOG_SECONDS_MIN = 60
"""What clients can cause as often as they like is logged at most once in this time, together with how many
such lines were left out."""
REFUSED_FROM_RESERVE_MAX = 16
"""Connections that are told in one pause that there are no descriptors: each costs a close and an open."""


class Seldom:
    """A log line that clients can cause: written at most once in ``LOG_SECONDS_MIN``."""

    def __init__(self, message: str) -> None:
        self._message = message
        self._said_at = -math.inf
        self._left_out = 0

    def say(self, *values: object) -> None:
        """Log the line as a warning; or only count it, where the last one is not long ago."""
        now = trio.current_time()
        if now - self._said_at < LOG_SECONDS_MIN:
            self._left_out += 1
            return
        logger.warning(self._message + " (%d more since the last such line)", *values, self._left_out)
        self._said_at = now
        self._left_out = 0


class Acceptor:
    """All listeners of the door.

    ``admit`` is given each connection that is let in. ``full`` names the cap that lets no further
    connection of a listener in, or returns None. ``refusal`` makes the line for a connection that is
    refused.
    """

    def __init__(
        self,
        poller: Poller,
        timers: Timers,
        retry_seconds: float,
        *,
        admit: Callable[[socket.socket, Peer, Listener], None],
        full: Callable[[Listener], str | None],
        refusal: Callable[[], bytes],
    ) -> None:
        self._poller = poller
        self._timers = timers
        self._retry_seconds = retry_seconds
        self._admit = admit
        self._full = full
        self._refusal = refusal
        self._listeners: dict[int, Listener] = {}
        self._reserve = Reserve()
        self._failing: int | None = None
        """The errno with which accept failed last; None again when an accept says that nobody waits. A
        success does not clear it: it may have taken the last free descriptor, and the kernel asks for a free
        one before it looks whether anybody waits."""
        self._refused_since = -math.inf
        self._refused = 0
        self._stranger = Seldom("%s: a process of uid %d (pid %d) was turned away; only uid %d is let in")
        self._crowd = Seldom("%s: a connection was refused: %s")

    # --- listeners -----------------------------------------------------------------------------------------

    def listen(self, channel: Channel) -> None:
        """See Door.listen."""
        if any(listener.channel.path == channel.path for listener in self._listeners.values()):
            raise ListenRefused(f"{channel.path} is listened on already")
        self._add(Listener(channel))

    @property
    def listeners(self) -> int:
        """How many there are."""
        return len(self._listeners)

    def unlisten(self, path: str) -> None:
        """See Door.unlisten."""
        for listener in list(self._listeners.values()):
            if listener.channel.path == path:
                self._remove(listener)
                listener.close_and_remove()

    def rebind_lost(self) -> list[str]:
        """See Door.rebind_lost."""
        rebound: list[str] = []
        for lost in [listener for listener in self._listeners.values() if listener.lost]:
            path = lost.channel.path
            try:
                self._add(Listener(lost.channel))
            except ListenRefused as error:
                logger.error("nobody can connect: %s", error)
                continue
            self.accept(lost.fileno())  # those who connected before the file went away
            self._remove(lost)
            lost.close()
            rebound.append(path)
            logger.warning("%s was gone, and is bound anew", path)
        for listener in self._listeners.values():
            listener.relink()
        return rebound

    def stop(self) -> None:
        """Close all listeners and remove their files."""
        for listener in list(self._listeners.values()):
            self.unlisten(listener.channel.path)

    def close(self) -> None:
        """Stop, and free the descriptor in reserve."""
        self.stop()
        self._reserve.give_up()

    def _add(self, listener: Listener) -> None:
        try:
            self._poller.add(listener.fileno(), READ)
        except OSError as error:
            listener.close_and_remove()
            raise ListenRefused(f"{listener.channel.path} cannot be watched: {error.strerror}") from error
        self._listeners[listener.fileno()] = listener

    def _remove(self, listener: Listener) -> None:
        self._poller.remove(listener.fileno())
        del self._listeners[listener.fileno()]

    # --- connections ---------------------------------------------------------------------------------------

    def accept(self, descriptor: int) -> None:
        """Accept those who wait at this listener, up to ``CONNECTIONS_A_TURN_MAX``. Does nothing where the
        descriptor is no listener's any more."""
        listener = self._listeners.get(descriptor)
        if listener is None:
            return
        for _ in range(limits.CONNECTIONS_A_TURN_MAX):
            try:
                connected, _ = listener.socket.accept()
            except BlockingIOError:
                self._failing = None
                return
            except (InterruptedError, ConnectionAbortedError):
                continue
            except OSError as error:
                self._accept_failed(listener, error)
                return
            self._judge(connected, listener)

    def _judge(self, connected: socket.socket, listener: Listener) -> None:
        connected.setblocking(False)
        channel = listener.channel
        try:
            peer = peer_of(connected)
        except OSError:  # gone already
            connected.close()
            return
        if peer.uid != channel.allowed_uid:
            connected.close()
            self._stranger.say(channel.path, peer.uid, peer.pid, channel.allowed_uid)
            return
        cap = self._full(listener)
        if cap is None:
            self._admit(connected, peer, listener)
        else:
            self._refuse(connected)
            self._crowd.say(channel.path, cap)

    def _refuse(self, connected: socket.socket) -> None:
        """Send the line of refusal, unless too many were sent in this second, and close."""
        now = trio.current_time()
        if now - self._refused_since >= 1:
            self._refused_since = now
            self._refused = 0
        self._refused += 1
        with connected, contextlib.suppress(OSError):
            if self._refused <= limits.REFUSED_CONNECTIONS_A_SECOND_MAX:
                connected.send(self._refusal() + b"\n")
                connected.recv(limits.REQUEST_BYTES_MAX)  # closing with bytes unread is a reset

    def _accept_failed(self, listener: Listener, error: OSError) -> None:
        reason = error.errno or 0
        if self._failing != reason:
            self._failing = reason
            logger.error("%s: accept failed: %s; trying on", listener.channel.path, os.strerror(reason))
        if reason in OUT_OF_DESCRIPTORS:
            self._refuse_from_reserve(listener)
        self._poller.change(listener.fileno(), 0)
        self._timers.call_at(trio.current_time() + self._retry_seconds, lambda: self._resume(listener))

    def _refuse_from_reserve(self, listener: Listener) -> None:
        for _ in range(REFUSED_FROM_RESERVE_MAX):
            if not self._reserve.give_up():
                return
            try:
                connected, _ = listener.socket.accept()
                connected.setblocking(False)
                self._refuse(connected)
            except OSError:
                return
            finally:
                self._reserve.take()

    def _resume(self, listener: Listener) -> None:
        self._reserve.take()
        if self._listeners.get(listener.fileno()) is listener:
            self._poller.change(listener.fileno(), READ)
            self.accept(listener.fileno())  # also where nobody waits: it tells whether the lack is over
