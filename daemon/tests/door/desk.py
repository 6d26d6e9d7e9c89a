"""What the door's tests stand on: a dispatcher whose work ends when the test says so, and a client.

The desk's requests are words, not JSON, which shows that the door reads none:

=============== ==============================================================================
``echo TEXT``   answered at once with TEXT
``size N``      answered at once with N bytes
``write KEY``   concurrent: queued, cut into a batch, answered when the test calls ``commit``
``read KEY``    not concurrent: answered when the test calls ``answer``
``wait KEY S``  a wait: answered by ``answer``, by finishing early, or by a timer of S seconds
``who``         answered with the channel's actor
``adopt NAME``  answered; from then on the connection speaks as NAME
``last TEXT``   answered with TEXT, and the connection ends
``raise``       ``start`` raises
``stumble KEY`` the same, when it has already put the request down as open
``break``       ``parse`` raises
=============== ==============================================================================

Everything that the door asks of the desk stands in ``log``, and ``until`` waits for it.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Protocol

import msgspec
import trio
import trio.testing

from tallyd.door import Channel, Door, DoorLimits, Exchange, Timer
from tallyd.door.poller import Poller


class Asked(msgspec.Struct, frozen=True):
    """A parsed request of the desk."""

    verb: str
    words: tuple[str, ...]
    actor: str
    concurrent: bool
    waits: bool


class Desk:
    """A dispatcher. See the module."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.queue: list[tuple[str, Exchange]] = []
        self.batch: list[tuple[str, Exchange]] = []
        self.open: dict[str, Exchange] = {}
        self.timers: dict[str, Timer] = {}
        self.clerk_is_inline = False
        self.on_write: Callable[[str], None] = lambda _: None
        """What the test wants to happen in the moment in which a write is started."""
        self.on_refuse: Callable[[], None] = lambda: None
        """The same, where a connection is refused."""
        self._door: Door[Asked] | None = None
        self._clerk_done: Callable[[], None] = lambda: None
        self._changed = trio.Event()

    def attach(self, door: Door[Asked]) -> None:
        """Waits use the door's timers, and the clerk its waker."""
        self._door = door
        self._clerk_done = door.waker(self._committed)

    # --- the dispatcher's protocol -------------------------------------------------------------------------

    def parse(self, line: bytes, channel: Channel) -> Asked:
        """See Dispatcher."""
        verb, *words = line.decode(errors="replace").split(" ") if line else ["empty"]
        if verb == "break":
            raise ValueError("secret content")
        return Asked(verb, tuple(words), channel.actor, verb == "write", verb == "wait")

    def start(self, parsed: Asked, exchange: Exchange) -> None:
        """See Dispatcher."""
        verb, words = parsed.verb, parsed.words
        self.note(f"start {verb} {words[0]}" if verb in ("write", "read", "wait") else f"start {verb}")
        if verb == "write":
            self.queue.append((words[0], exchange))
            self.on_write(words[0])
        elif verb in ("read", "wait"):
            if verb == "wait":
                self._set_timer(words[0], float(words[1]))
            self.open[words[0]] = exchange
        elif verb == "size":
            exchange.reply(b"x" * int(words[0]))
        elif verb == "who":
            exchange.reply(parsed.actor.encode())
        elif verb == "adopt":
            channel = msgspec.structs.replace(exchange.channel, actor=words[0], guest=words[0])
            adopted = exchange.adopt(channel)
            exchange.reply(b"adopted" if adopted else b"come again")
        elif verb == "last":
            exchange.reply_last(" ".join(words).encode())
        elif verb == "stumble":
            self.open[words[0]] = exchange
            raise LookupError("secret content")
        elif verb == "raise":
            raise LookupError("secret content")
        else:
            exchange.reply(" ".join(words).encode() if verb == "echo" else f"invalid {verb}".encode())

    def finish_early(self, exchange: Exchange) -> None:
        """See Dispatcher."""
        key = self._key(exchange)
        self.note(f"finish early {key}")
        self.answer(key, f"early {key}")

    def abandon(self, exchange: Exchange) -> None:
        """See Dispatcher."""
        key = self._key(exchange)
        self.note(f"abandon {key}")
        if key in self.open:
            self._forget(key)

    def wants_drain(self) -> bool:
        """See Dispatcher."""
        return bool(self.queue) and not self.batch

    def cut(self) -> None:
        """See Dispatcher."""
        self.batch, self.queue = self.queue, []
        self.note("cut " + " ".join(key for key, _ in self.batch))
        if self.clerk_is_inline:
            self._committed()

    def oversize(self, channel: Channel) -> bytes:
        """See Dispatcher."""
        return f"oversize for {channel.actor}".encode()

    def refuse_capacity(self, retry_after_seconds: int) -> bytes:
        """See Dispatcher."""
        self.note("refused")
        self.on_refuse()
        return f"come again in {retry_after_seconds}".encode()

    def failed(self, exchange: Exchange) -> bytes:
        """See Dispatcher."""
        return f"failed for {exchange.channel.actor}".encode()

    # --- the test's hands ----------------------------------------------------------------------------------

    def commit(self) -> None:
        """The clerk has done its batch, and wakes the loop as its thread would."""
        self._clerk_done()

    def _committed(self) -> None:
        batch, self.batch = self.batch, []
        for key, exchange in batch:
            exchange.reply(f"wrote {key}".encode())
        self.note("committed " + " ".join(key for key, _ in batch))

    def answer(self, key: str, text: str | None = None) -> None:
        """Answer an open read or wait."""
        exchange = self._forget(key)
        exchange.reply((text if text is not None else f"answer {key}").encode())

    def note(self, entry: str) -> None:
        """Something happened."""
        self.log.append(entry)
        self._changed.set()
        self._changed = trio.Event()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until what the desk was asked makes ``holds`` true."""
        while not holds():
            await self._changed.wait()

    async def heard(self, *entries: str) -> None:
        """Wait until each of these stands in the log."""
        await self.until(lambda: set(entries) <= set(self.log))

    def started(self, verb: str) -> list[str]:
        """Keys of the requests of one verb that were started, in their order."""
        return [entry.split()[2] for entry in self.log if entry.startswith(f"start {verb} ")]

    def _set_timer(self, key: str, seconds: float) -> None:
        assert self._door is not None
        self.timers[key] = self._door.call_at(
            trio.current_time() + seconds, lambda: self.answer(key, f"late {key}")
        )

    def _forget(self, key: str) -> Exchange:
        timer = self.timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        return self.open.pop(key)

    def _key(self, exchange: Exchange) -> str:
        everything = [*self.open.items(), *self.queue, *self.batch]
        return next(key for key, other in everything if other is exchange)


class Caller:
    """A client: bytes out, lines in, on a real socket."""

    def __init__(self, connected: trio.socket.SocketType) -> None:
        self.socket = connected
        self._rest = b""

    async def say(self, *lines: str) -> None:
        """Send lines in one segment."""
        await self.send("".join(f"{line}\n" for line in lines).encode())

    async def send(self, data: bytes) -> None:
        """Send all of it."""
        while data:
            data = data[await self.socket.send(data) :]

    def sent_at_once(self, data: bytes) -> int:
        """Send without waiting; how many bytes the socket took."""
        try:
            return os.write(self.socket.fileno(), data)
        except BlockingIOError:
            return 0

    async def line(self) -> str:
        """The next line; raises EOFError where the stream ends instead."""
        while b"\n" not in self._rest:
            data = await self.socket.recv(65_536)
            if not data:
                raise EOFError(self._rest)
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()

    async def lines(self, count: int) -> list[str]:
        """The next lines."""
        return [await self.line() for _ in range(count)]

    async def ask(self, line: str) -> str:
        """Send a line and return the next one."""
        await self.say(line)
        return await self.line()

    async def ended(self) -> bool:
        """True when the stream ends here, with nothing left to read."""
        if self._rest:
            return False
        try:
            return not await self.socket.recv(1)
        except ConnectionResetError:
            return True

    def half_close(self) -> None:
        """Send no more, go on reading."""
        self.socket.shutdown(trio.socket.SHUT_WR)

    def close(self) -> None:
        """Be gone."""
        self.socket.close()


class Open(msgspec.Struct):
    """A running door and what belongs to it."""

    door: Door[Asked]
    desk: Desk
    channel: Channel
    callers: list[Caller]
    stop: trio.CancelScope

    async def caller(self, path: str | None = None) -> Caller:
        """A new connection."""
        connected = trio.socket.socket(trio.socket.AF_UNIX, trio.socket.SOCK_STREAM)
        await connected.connect(path if path is not None else self.channel.path)
        caller = Caller(connected)
        self.callers.append(caller)
        return caller

    def caller_at_once(self, data: bytes, path: str | None = None) -> Caller:
        """A new connection that has sent something before the door has seen it."""
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connected.connect(path if path is not None else self.channel.path)
        connected.send(data)
        connected.setblocking(False)
        caller = Caller(trio.socket.from_stdlib_socket(connected))
        self.callers.append(caller)
        return caller

    async def settled(self) -> None:
        """Wait until the door has nothing more to do: all that was sent is taken, all that could be
        answered is."""
        while True:
            turns = self.door.turns
            await trio.testing.wait_all_tasks_blocked()
            if self.door.turns == turns:
                return


class Opener(Protocol):
    """The fixture ``open_door``: a door that runs until the test ends."""

    def __call__(self, caps: DoorLimits | None = None, poller: Poller | None = None) -> Open:
        """With the product's caps unless others are given, and the system's best poller."""
