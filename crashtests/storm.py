"""Many clients that append to one space at once, over a daemon that is killed under them.

Each client keeps some appends in flight on its connection, at the head of the space. An append is *recorded*
when its reply has been read and its number is on the disk, in a file of the clients: what a client could act
on. When the daemon dies, each client keeps what it had not been answered, and sends it to the next daemon
under the same key.

All clients are one thread over a selector, so that what is outstanding at a kill is counted and not guessed:
the kill comes from this same loop.
"""

from __future__ import annotations

import os
import selectors
import socket
from collections import deque
from contextlib import closing
from typing import Final

import apsw
from harness.home import Daemon
from harness.wire import judged
from world import Space, append

from tallystick.paths import Paths

CLIENTS: Final = 64
IN_FLIGHT: Final = 8
"""Appends of one client; those of all are more than one transaction takes, so that a kill that comes as one
is committed finds others that are not."""
JUDGED_EACH: Final = 50
"""One reply of so many is held against the schemas; all of them are looked at."""
_OK: Final = b'{"outcome":"ok"'


class Client:
    """One connection, and the appends that are in flight on it, oldest first."""

    def __init__(self) -> None:
        self.socket: socket.socket | None = None
        self.in_flight: deque[int] = deque()
        self._buffer = b""

    def connect(self, path: str) -> socket.socket:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self._buffer = b""
        return self.socket

    def read(self) -> list[bytes]:
        """The replies that have come whole; at the end of the connection it is closed."""
        assert self.socket is not None
        try:
            data = self.socket.recv(262_144)
        except ConnectionResetError:
            data = b""
        if not data:
            self.close()
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return lines

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()
            self.socket = None


class Storm:
    """The clients, what they have recorded, and what is still to be sent."""

    def __init__(self, project: str, space: Space, total: int, record: str) -> None:
        self._project = project
        self._space = space
        self._total = total
        self._clients = [Client() for _ in range(CLIENTS)]
        self._selector = selectors.DefaultSelector()
        self._next = 0
        self._record = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self.recorded: list[int] = []

    def close(self) -> None:
        for client in self._clients:
            client.close()
        self._selector.close()
        os.close(self._record)

    @staticmethod
    def key(number: int) -> str:
        """The idempotency key of an append; they sort as they were made."""
        return f"storm-{number:06}"

    def connect(self, daemon: Daemon) -> None:
        """All clients to a daemon that has just started; what was in flight is sent again."""
        for client in self._clients:
            self._selector.register(client.connect(daemon.paths.client_socket), selectors.EVENT_READ, client)
            self._send(client, list(client.in_flight))
            self._fill(client)

    def run(self, until: int) -> None:
        """Sends and records until so many are recorded."""
        while len(self.recorded) < until:
            ready = [key.data for key, _ in self._selector.select()]
            self._take(ready)
            for client in ready:
                self._fill(client)

    def kill(self, daemon: Daemon, *, at_commit: bool) -> frozenset[int]:
        """Kills the daemon, at once or as its next transaction becomes durable. Returns what was sent and
        never answered: half of the clients lose their connections with the daemon, and whatever stood in
        them; the others first read what it had still sent."""
        if at_commit:
            _await_commit(daemon.paths)
        daemon.process.kill()
        daemon.wait()
        self._selector.close()
        self._selector = selectors.DefaultSelector()
        for client in self._clients[::2]:
            client.close()
        while open_ := [client for client in self._clients if client.socket is not None]:
            self._take(open_)
        return frozenset(number for client in self._clients for number in client.in_flight)

    def _take(self, ready: list[Client]) -> None:
        """Reads what is there, and puts what was acknowledged on the disk before anything follows from it."""
        fresh = []
        for client in ready:
            for line in client.read():
                assert line.startswith(_OK), line
                fresh.append(client.in_flight.popleft())
                if fresh[-1] % JUDGED_EACH == 0:
                    judged("contribution_append", line)
        if fresh:
            os.write(self._record, b"".join(b"%d\n" % number for number in fresh))
            os.fsync(self._record)
            self.recorded += fresh

    def _fill(self, client: Client) -> None:
        count = min(IN_FLIGHT - len(client.in_flight), self._total - self._next)
        fresh = list(range(self._next, self._next + count))
        self._next += count
        client.in_flight += fresh
        self._send(client, fresh)

    def _send(self, client: Client, numbers: list[int]) -> None:
        if numbers and client.socket is not None:
            requests = (append(self._project, self._space, self.key(n), f"Drop {n}.") for n in numbers)
            client.socket.sendall(b"".join(request.line for request in requests))


def _await_commit(paths: Paths) -> None:
    """Returns as soon as a transaction is durable that was not when it was called: its replies are due."""
    with closing(apsw.Connection(paths.database, flags=apsw.SQLITE_OPEN_READONLY)) as reader:
        first = _version(reader)
        while _version(reader) == first:
            pass


def _version(reader: apsw.Connection) -> object:
    return reader.execute("SELECT max(position) FROM log").fetchall()
