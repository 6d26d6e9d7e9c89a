"""A small line server that speaks what a test tells it to: the SDK's other end where no daemon may decide.

It is a real listener on a real socket. The greeting with which the SDK begins a connection is answered with
``store``, and not noted. Each other line that arrives is noted with the number of its connection,
and the next *act* of the script is played: a function of the connection's socket and the line. After the
script, ``echo`` is played for ever.
"""

import json
import os
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple, Self

from tallystick.calls.service import GREETING

Act = Callable[[socket.socket, bytes], None]


class Heard(NamedTuple):
    """A line, and the number of the connection that it came on, from 0."""

    connection: int
    line: bytes

    @property
    def request(self) -> dict[str, object]:
        """The line as JSON."""
        value = json.loads(self.line)
        assert isinstance(value, dict)
        return value


class LineServer:
    """Listens at ``path`` from ``with`` to the end of its block; ``heard`` is what came, in order."""

    def __init__(
        self, path: str, script: Iterable[Act] = (), *, greeting: bytes = b"", store: str = "inst-1"
    ) -> None:
        self.path = path
        self.heard: list[Heard] = []
        self.connections = 0
        self.ended: set[int] = set()
        self.changed = threading.Condition()  # guards the script and what was heard
        self._script = list(script)
        self._greeting = greeting
        self.store = store
        self._open: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        if os.path.exists(self.path):
            os.unlink(self.path)
        self._listener.bind(self.path)
        self._listener.listen(128)
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop listening and end every connection, as a daemon that dies does."""
        for each in (self._listener, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for each in (self._listener, *self._open):
            each.close()

    def then(self, act: Act) -> None:
        """Add an act to the script."""
        with self.changed:
            self._script.append(act)

    def wait_for(self, condition: Callable[[Self], bool]) -> None:
        """Returns when the condition holds; fails the test after ten seconds."""
        with self.changed:
            assert self.changed.wait_for(lambda: condition(self), timeout=10), "it did not come to that"

    @property
    def lines(self) -> list[bytes]:
        """What came, without its connections."""
        return [each.line for each in self.heard]

    def _start(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connected, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connected)
            self._start(self._serve, self.connections, connected)
            self.connections += 1

    def _serve(self, number: int, connected: socket.socket) -> None:
        try:
            if self._greeting:
                connected.sendall(self._greeting)
                connected.shutdown(socket.SHUT_RDWR)
                return
            for line in connected.makefile("rb"):
                self._play(number, connected, line.rstrip(b"\n"))
        except OSError:
            pass
        finally:
            with self.changed:
                self.ended.add(number)
                self.changed.notify_all()

    def _play(self, number: int, connected: socket.socket, line: bytes) -> None:
        if line == GREETING:
            connected.sendall(ok({"installation_id": self.store}))
            return
        with self.changed:
            self.heard.append(Heard(number, line))
            act = self._script.pop(0) if self._script else echo
            self.changed.notify_all()
        act(connected, line)


# --- acts -------------------------------------------------------------------------------------------------
def ok(result: object, **members: object) -> bytes:
    """A reply line whose outcome is ok."""
    return json.dumps({"outcome": "ok", "result": result, **members}).encode() + b"\n"


def problem(kind: str, status: int, **members: object) -> bytes:
    """A reply line with a problem."""
    body = {"type": f"urn:kovee:error:{kind}", "title": kind, "status": status, **members}
    return json.dumps({"outcome": "problem", "problem": body}).encode() + b"\n"


def echo(connected: socket.socket, line: bytes) -> None:
    """Answer with the request itself as the result: an answer that shows which request it belongs to."""
    connected.sendall(ok(json.loads(line)))


def say(data: bytes) -> Act:
    """Answer with these bytes."""

    def act(connected: socket.socket, _line: bytes) -> None:
        connected.sendall(data)

    return act


def drop(connected: socket.socket, _line: bytes) -> None:
    """Close the connection without an answer."""
    connected.shutdown(socket.SHUT_RDWR)


def half(connected: socket.socket, line: bytes) -> None:
    """Close the connection in the middle of the answer."""
    connected.sendall(ok(json.loads(line))[:20])
    connected.shutdown(socket.SHUT_RDWR)


def silence(_connected: socket.socket, _line: bytes) -> None:
    """Never answer, and leave the connection open."""


def after(event: threading.Event, act: Act) -> Act:
    """Play the act when the event is set."""

    def later(connected: socket.socket, line: bytes) -> None:
        event.wait(10)
        act(connected, line)

    return later


UNKNOWN = problem("unavailable", 503, ext={"dev.tallystick.outcome": {"state": "unknown"}})
NOT_APPLIED = problem("unavailable", 503, ext={"dev.tallystick.outcome": {"state": "not_applied"}})


def limited(seconds: int) -> bytes:
    """The problem that tells a client to come again later."""
    recovery = {"dev.kovee.recovery.rate-limited": {"retry_after_seconds": seconds}}
    return problem("rate-limited", 429, ext=recovery)
