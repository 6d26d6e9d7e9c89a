"""A connection that judges whatever comes back, and counts it.

The judges are the harness's: the product's strict decoder of replies and, where KCP's data is, KCP's schemas.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Final

from harness.wire import REPLY_SECONDS_MAX, Reply, judged

from tallystick.paths import Paths
from tallystick.protocol.operation import Socket

SENT: Final = "sent over the socket"
REPLIES: Final = "replies validated"
EVENTS: Final = "events validated"
STEPS: Final = "steps of transcripts"
STEPS_ALIKE: Final = "steps alike"

Note = Callable[[str, object], None]
HELLO: Final = (
    b'{"version":"0.1","op":"hello","args":{"supported_versions":["0.1"],"implementation":"wire",'
    b'"implementation_version":"1","requested_features":[]}}'
)


def unnoted(_name: str, _number: object) -> None:
    """For a connection whose counts nobody asks for."""


class Talk:
    """One connection to one socket; ``close`` notes the counts."""

    def __init__(self, paths: Paths, to: Socket = Socket.CLIENT, note: Note = unnoted) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(REPLY_SECONDS_MAX)
        self.socket.connect(paths.client_socket if to is Socket.CLIENT else paths.worker_socket)
        self._received = b""
        self._note = note
        self.sent = self.replies = self.events = 0

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, *lines: bytes) -> None:
        """Sends lines, each of which is a request whatever it holds, in one piece."""
        self.socket.sendall(b"".join(line + b"\n" for line in lines))
        self.sent += len(lines)

    def read_line(self) -> bytes:
        """The next line without its newline; what there is of it where the connection ended."""
        while b"\n" not in self._received:
            data = self.socket.recv(1 << 20)
            if not data:
                break
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        return line

    def receive(self, operation: str) -> Reply:
        """The next reply, judged as an answer to that operation."""
        line = self.read_line()
        assert line, f"the connection ended instead of an answer to {operation}"
        reply = judged(operation, line)
        self.replies += 1
        result = reply.value.get("result")
        self.events += len(result.get("events", ())) if isinstance(result, dict) else 0
        return reply

    def ask(self, operation: str, line: bytes) -> Reply:
        """Sends a line and waits for its answer."""
        self.send(line)
        return self.receive(operation)

    def lives_on(self) -> bool:
        """Whether the connection still answers a right request."""
        return self.ask("hello", HELLO).ok

    def close(self) -> None:
        """Ends the connection, and notes what passed over it."""
        self.socket.close()
        for name, number in ((SENT, self.sent), (REPLIES, self.replies), (EVENTS, self.events)):
            self._note(name, number)
