"""The door itself: one trio task that moves bytes between sockets and ``ConnectionState``.

One turn of the loop::

    wait (trio, on the poller's descriptor, until the next timer) ──► pass ──► timers ──► settle
        ──► up to four more passes while the dispatcher wants to drain and the last one brought something
        ──► cut the batch

A *pass* asks the poller once, without waiting, and takes what is ready: bytes of connections and wakers
first, new connections last (a new one may be given the descriptor of one that was closed in this pass,
whose events must be past by then). To *settle* a connection is to start what may start, send what is
answered, set what the socket is watched for, and set its deadline. A reply that is given outside of a turn
ends the wait.

Promises:

- An error of one connection ends that connection. When the dispatcher raises for one request, that request
  is answered with ``Dispatcher.failed``. What a timer, a waker or a new connection raises is logged, and ends
  nothing else. Only ``cut`` ends the loop when it raises: nothing could be applied any more.
- Without a free descriptor, a listener pauses and tells whoever it can to come again. It never spins, and it
  never stops for good.
- While nothing is due and nothing comes, nothing runs: waits and idle connections cost memory only.

Does not: read JSON, or decide who may do what. Its only clock is ``trio.current_time()``.
"""

from __future__ import annotations

import contextlib
import logging
import math
import socket
from collections.abc import Callable
from functools import partial
from typing import Generic

import trio

from tallyd.door.acceptor import Acceptor
from tallyd.door.channel import Channel, Peer
from tallyd.door.connection import ConnectionState
from tallyd.door.defects import describe
from tallyd.door.descriptors import LISTENERS_OWNER, room_for_connections
from tallyd.door.exchange import Load
from tallyd.door.interface import Dispatcher, DoorLimits, P
from tallyd.door.listeners import Listener
from tallyd.door.poller import HANGUP, READ, WRITE, Poller, default_poller
from tallyd.door.timers import Timer, Timers
from tallyd.door.waker import Wakers
from tallystick.protocol import limits

logger = logging.getLogger("tallyd.door")

DEFAULT_LIMITS = DoorLimits()


class _Link(Generic[P]):
    """An open connection: its state and its socket, and when the pump looks at it next."""

    __slots__ = ("armed_at", "connection", "interest", "listener", "socket", "timer")

    connection: ConnectionState[P]

    def __init__(self, connected: socket.socket, listener: Listener) -> None:
        self.socket = connected
        self.listener = listener
        self.interest = READ
        """What the poller watches its socket for."""
        self.timer: Timer | None = None
        self.armed_at = math.inf
        """When the timer is due: never later than the connection's deadline. Infinity without a timer."""


class Door(Generic[P]):
    """All listeners and connections of the daemon. Everything here is called on the thread that runs trio,
    except what ``waker`` returns."""

    def __init__(
        self,
        dispatcher: Dispatcher[P],
        caps: DoorLimits = DEFAULT_LIMITS,
        poller: Poller | None = None,
        wakers: Wakers | None = None,
    ) -> None:
        """``wakers`` are given where something needs one before there is a door; the door closes them."""
        self._dispatcher = dispatcher
        self._caps = caps
        self._poller = poller if poller is not None else default_poller()
        self._wakers = Wakers() if wakers is None else wakers
        self._wakers_descriptor = self._wakers.fileno()
        self._poller.add(self._wakers_descriptor, READ)
        self._timers = Timers()
        self._room = room_for_connections()
        self._load = Load(min(caps.connections_max, self._room))
        self._acceptor = Acceptor(
            self._poller,
            self._timers,
            caps.accept_retry_seconds,
            admit=self._admit,
            full=self._full,
            refusal=lambda: dispatcher.refuse_capacity(limits.CAPACITY_RETRY_SECONDS),
        )
        self._links: dict[int, _Link[P]] = {}
        self._touched: list[_Link[P]] = []
        self._buffer = memoryview(bytearray(limits.RECEIVE_BYTES_MAX))
        self._scope = trio.CancelScope()
        self._parked = False
        """The loop waits in ``_scope``. Whoever has something for it to do cancels that scope."""
        self._turn_over: trio.Event | None = None
        """Set at the end of this turn, for whoever waits in ``drained``."""
        self._turns = 0

    # --- listeners -----------------------------------------------------------------------------------------

    def listen(self, channel: Channel) -> None:
        """Bind and listen, before ``run`` or while it runs. Raises ListenRefused."""
        self._acceptor.listen(channel)

    def unlisten(self, channel: Channel) -> None:
        """Stop listening, and remove the socket's file and its link. Connections made there go on."""
        self._acceptor.unlisten(channel.path)

    def disconnect(self, channel: Channel) -> None:
        """End every connection that was made on this channel, or that speaks as its actor on another one
        (for an agent that was revoked). What they have in flight is abandoned."""
        for link in list(self._links.values()):
            if link.listener.channel.path == channel.path or link.connection.channel.actor == channel.actor:
                self._end(link)

    def rebind_lost(self) -> list[str]:
        """Bind each socket again whose file is no longer the one that was bound (something cleaned the
        directory), and return the paths. The caller holds the runtime directory's lock, and decides how
        often to look."""
        return self._acceptor.rebind_lost()

    def stop_accepting(self) -> None:
        """Close the listeners and remove their files. Open connections go on; it is the dispatcher that
        refuses their new requests."""
        self._acceptor.stop()

    # --- for the dispatcher and the service ----------------------------------------------------------------

    def call_at(self, deadline: float, callback: Callable[[], None]) -> Timer:
        """Call ``callback`` once in the loop, at ``deadline`` (seconds of ``trio.current_time()``). To
        cancel the timer is cheap."""
        if deadline < self._scope.deadline:
            self._scope.deadline = deadline
        return self._timers.call_at(deadline, callback)

    def waker(self, callback: Callable[[], None]) -> Callable[[], None]:
        """A function that any thread may call, as often as it likes. After each call ``callback`` runs in the
        loop; several calls may share one run, and it comes before the next batch is cut."""
        return self._wakers.waker(callback)

    def end_waits(self) -> None:
        """Have every wait in flight finish early. A wait that starts later is not told: the dispatcher
        answers it at once."""
        for link in list(self._links.values()):
            link.connection.finish_early()

    async def drained(self) -> None:
        """Return when every request that was taken is answered, and every reply is sent or its client was
        disconnected for not reading it in time. ``run`` must be running."""
        await trio.lowlevel.checkpoint()
        while any(link.connection.busy for link in self._links.values()):
            if self._turn_over is None:
                self._turn_over = trio.Event()
            await self._turn_over.wait()

    def close_all(self) -> None:
        """End every connection now; what is in flight is abandoned."""
        for link in list(self._links.values()):
            self._end(link)

    @property
    def connections(self) -> int:
        """Open connections."""
        return len(self._links)

    @property
    def in_flight(self) -> int:
        """Requests started and not over, without waits."""
        return self._load.requests.total

    @property
    def waits(self) -> int:
        """Waits in flight."""
        return self._load.waits

    @property
    def timer_entries(self) -> int:
        """Timers held, including those that are cancelled and not yet thrown away."""
        return self._timers.entries

    @property
    def turns(self) -> int:
        """How many turns the loop has made. While the door is idle the number does not change."""
        return self._turns

    # --- the loop ------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Move bytes until cancelled; then close everything and remove the sockets' files. Call it once."""
        again = False
        try:
            while True:
                # A scope is used until a timer or a reply from outside ends it. To make one in each turn
                # would cost as much as a request does.
                with trio.CancelScope(deadline=self._timers.next_deadline()) as self._scope:
                    while True:
                        await self._park(again)
                        again = self._turn()
                        deadline = self._timers.next_deadline()
                        if deadline != self._scope.deadline:
                            self._scope.deadline = deadline
                again = self._turn()
        finally:
            self._close()

    async def _park(self, again: bool) -> None:
        """Wait until something comes. When there is more to do (``again``), only let other tasks run."""
        if again:
            await trio.lowlevel.checkpoint()
            return
        self._parked = True
        try:
            await trio.lowlevel.wait_readable(self._poller.fileno())
        finally:
            self._parked = False

    def _close(self) -> None:
        self._acceptor.close()
        self.close_all()
        self._wakers.close()
        self._poller.close()

    def _turn(self) -> bool:
        """One turn; see the module. True when there is more to do at once."""
        self._turns += 1
        now = trio.current_time()
        dispatcher = self._dispatcher
        brought = self._pass(now)
        self._run_timers(now)
        self._settle_touched(now)
        passes = 0
        while dispatcher.wants_drain():
            if not brought or passes == self._caps.drain_passes_max:
                dispatcher.cut()
                break
            passes += 1
            brought = self._pass(now)
            self._settle_touched(now)
        if self._turn_over is not None:
            self._turn_over.set()
            self._turn_over = None
        return bool(self._touched) or dispatcher.wants_drain()

    def _pass(self, now: float) -> bool:
        """Take what is ready now. True when something was ready."""
        events = self._poller.ready()
        if not events:
            return False
        links = self._links
        callers: list[int] = []
        for descriptor, bits in events:
            link = links.get(descriptor)
            if link is not None:
                self._serve(link, bits, now)
            elif descriptor == self._wakers_descriptor:
                self._wakers.run()
            else:
                callers.append(descriptor)
        for descriptor in callers:
            try:
                self._acceptor.accept(descriptor)
            except Exception as error:
                logger.error("a connection could not be let in, which is a defect: %s", describe(error))
        return True

    def _run_timers(self, now: float) -> None:
        while (callback := self._timers.pop_due(now)) is not None:
            try:
                callback()
            except Exception as error:
                logger.error("a timer failed, which is a defect: %s", describe(error))

    def _touch(self, link: _Link[P]) -> None:
        """A connection was given a reply: it is settled in this turn, or in one that begins now."""
        self._touched.append(link)
        if self._parked:
            self._scope.cancel()

    def _settle_touched(self, now: float) -> None:
        """Settle the connections touched since this was called last. One that has more to do then is touched
        again, for the next turn."""
        if not self._touched:
            return
        touched, self._touched = self._touched, []
        for link in touched:
            link.connection.touched = False
            if link.socket.fileno() >= 0:
                self._guarded(link, self._settle, now)

    # --- one connection ------------------------------------------------------------------------------------

    def _full(self, listener: Listener) -> str | None:
        """The cap that lets no further connection of this listener in, in words; None where there is room."""
        room = self._room - max(0, self._acceptor.listeners - LISTENERS_OWNER)
        self._load.connections_max = max(1, min(self._caps.connections_max, room))
        return self._load.connections.full(listener.channel.guest, self._load.connections_max)

    def _admit(self, connected: socket.socket, peer: Peer, listener: Listener) -> None:
        now = trio.current_time()
        link: _Link[P] = _Link(connected, listener)
        link.connection = ConnectionState(
            self._dispatcher, self._caps, self._load, listener.channel, peer, partial(self._touch, link), now
        )
        self._links[connected.fileno()] = link
        try:
            self._poller.add(connected.fileno(), READ)
        except OSError as error:  # the system watches as many as it may for this user
            logger.warning("a connection could not be watched: %s", error.strerror)
            self._end(link)
            return
        self._guarded(link, self._receive, now)  # most clients connect and send at once

    def _guarded(self, link: _Link[P], step: Callable[[_Link[P], float], None], now: float) -> None:
        """Run one step for a connection. An error ends that connection, and no other."""
        try:
            step(link, now)
        except OSError:
            self._end(link)
        except Exception as error:
            logger.error("a connection failed, which is a defect: %s", describe(error))
            self._end(link)

    def _serve(self, link: _Link[P], bits: int, now: float) -> None:
        """The socket is ready for something that it is watched for, or its peer is gone."""
        if bits & WRITE:
            link.connection.blocked = False
        if bits & link.interest & READ:
            self._guarded(link, self._receive_last if bits & HANGUP else self._receive, now)
        elif bits & HANGUP:
            self._end(link)
        else:
            self._guarded(link, self._settle, now)

    def _receive(self, link: _Link[P], now: float) -> None:
        """Read once from the socket, and settle."""
        try:
            count = link.socket.recv_into(self._buffer)
        except BlockingIOError:
            pass
        else:
            if count:
                link.connection.receive(bytes(self._buffer[:count]), now)
            else:
                link.connection.receive_eof()
                if not self._poller.sees_hangup:
                    link.socket.send(b"")  # raises where the peer does not read either
        self._settle(link, now)

    def _receive_last(self, link: _Link[P], now: float) -> None:
        """Read once from a socket whose peer is gone: what the peer sent before is still taken, read by
        read, and at the end of it the connection ends."""
        count = link.socket.recv_into(self._buffer)
        if count:
            link.connection.receive(bytes(self._buffer[:count]), now)
            self._settle(link, now)
        else:
            self._end(link)

    def _settle(self, link: _Link[P], now: float) -> None:
        """Start, send, set what is watched for and the deadline; see the module."""
        connection = link.connection
        queued = connection.touched
        connection.touched = True
        more = connection.advance()
        if connection.output_bytes and not connection.blocked:
            self._send(link, now)
            more = more or connection.may_go_on
        if connection.finished:
            self._end(link)
            return
        interest = READ if connection.wants_read(now) else 0
        if connection.blocked:
            interest |= WRITE
        if interest != link.interest:
            link.interest = interest
            self._poller.change(link.socket.fileno(), interest)
        deadline = connection.deadline()
        if deadline < link.armed_at:
            self._arm(link, deadline)
        if more and not queued:
            self._touched.append(link)
        connection.touched = more or queued

    def _send(self, link: _Link[P], now: float) -> None:
        """Send what the socket takes now, and keep the rest."""
        connection = link.connection
        while connection.output_bytes and not connection.blocked:
            data = connection.output()
            try:
                count = link.socket.send(data)
            except BlockingIOError:
                count = 0
            connection.sent(data, count, now)

    def _arm(self, link: _Link[P], deadline: float) -> None:
        """Set the timer to an earlier time. A deadline that moves to a later time leaves the timer alone:
        ``_expire`` sets it anew when it is due."""
        if link.timer is not None:
            link.timer.cancel()
        link.timer = self._timers.call_at(deadline, partial(self._expire, link))
        link.armed_at = deadline

    def _expire(self, link: _Link[P]) -> None:
        """The timer is due. The deadline may have moved to a later time meanwhile."""
        link.timer = None
        link.armed_at = math.inf
        now = trio.current_time()
        if link.connection.deadline() <= now and link.connection.expire(now):
            self._end(link)
        else:
            self._guarded(link, self._settle, now)

    def _end(self, link: _Link[P]) -> None:
        """Close the socket and drop everything that the connection holds. A second call does nothing."""
        descriptor = link.socket.fileno()
        if descriptor < 0:
            return
        del self._links[descriptor]
        with contextlib.suppress(OSError):
            self._poller.remove(descriptor)
        link.socket.close()
        if link.timer is not None:
            link.timer.cancel()
        link.connection.close()
