"""A client of a few lines, that owes nothing to the product's own: bytes out, bytes in.

Whatever it reads is held against the protocol before a test sees it: the product's strict decoder of replies,
and, where KCP's data is, KCP's schemas, for the reply and for each event in it.
"""

from __future__ import annotations

import json
import socket
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from conformance.kcp_vectors import data_root
from conformance.schemas import check_event, check_reply

from tallystick.paths import Paths
from tallystick.protocol.envelope import decode_reply
from tallystick.protocol.operation import Kind, Socket
from tallystick.protocol.registry import BY_SOCKET

REPLY_SECONDS_MAX: Final = 60
"""Longest wait for a reply: past it the test has failed."""
REALM: Final = "realm-personal"

VALIDATES: Final = data_root() is not None
"""Whether KCP's schemas are here to judge by."""

JsonObject = dict[str, Any]


class Reply(NamedTuple):
    """One line that came back, without its newline; ``raw`` is empty where the connection ended instead."""

    raw: bytes
    value: JsonObject

    @property
    def ok(self) -> bool:
        return bool(self.value.get("outcome") == "ok")

    @property
    def result(self) -> JsonObject:
        """The result of what must have been answered with one."""
        assert self.ok, f"refused: {self.value.get('problem', 'no reply')}"
        result = self.value["result"]
        assert isinstance(result, dict)
        return result

    @property
    def kind(self) -> str | None:
        """The kind of the problem that was answered."""
        problem = self.value.get("problem")
        return None if problem is None else str(problem["type"]).rpartition(":")[2]

    @property
    def problem(self) -> JsonObject:
        """The problem of what must have been refused."""
        assert self.kind is not None, f"not refused: {self.value}"
        problem = self.value["problem"]
        assert isinstance(problem, dict)
        return problem


class Request(NamedTuple):
    """A request and the socket that it is for."""

    socket: Socket
    body: JsonObject

    @property
    def operation(self) -> str:
        return str(self.body["op"])

    @property
    def line(self) -> bytes:
        return json.dumps(self.body, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"

    def changed(self, **args: object) -> Request:
        """The same under the same key, with other arguments: another intent."""
        return Request(self.socket, {**self.body, "args": {**self.body["args"], **args}})


def request(
    socket: Socket,
    operation: str,
    args: JsonObject,
    *,
    project: str | None = None,
    key: str | None = None,
    revision: int | None = None,
    ext: JsonObject | None = None,
) -> Request:
    """A request as a client writes it; a write gets its meta from ``key``."""
    body: JsonObject = {"version": "0.1", "op": operation}
    known = BY_SOCKET[socket, operation]
    if known.kind is Kind.WRITE:
        assert key is not None, f"{operation} is a write and needs a key"
        body["meta"] = {"request_id": f"req-{key}", "idempotency_key": key}
        if revision is not None:
            body["meta"]["expected_revision"] = revision
    if operation not in ("hello", "protocol_info", "tallystick_limits"):
        body["realm_id"] = REALM
    if project is not None:
        body["project_id"] = project
    body["args"] = args
    if ext is not None:
        body["ext"] = ext
    return Request(socket, body)


def judged(operation: str, raw: bytes) -> Reply:
    """The reply, parsed, when it is what the protocol says. Raises what the judges raise."""
    decode_reply(raw)
    value = json.loads(raw)
    if VALIDATES:
        check_reply(operation, value)
        result = value.get("result")
        events = result.get("events", ()) if isinstance(result, dict) else ()
        for event in events:
            check_event(event)
    return Reply(raw, value)


NO_REPLY: Final = Reply(b"", {})


class Wire:
    """A connection that stays open, for one request after the other, or many in flight."""

    def __init__(self, paths: Paths, to: Socket = Socket.CLIENT) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(REPLY_SECONDS_MAX)
        self._socket.connect(paths.client_socket if to is Socket.CLIENT else paths.worker_socket)
        self._buffer = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, *requests: Request) -> None:
        """Sends without reading; together they are one piece, and arrive as one."""
        self._socket.sendall(b"".join(request.line for request in requests))

    def read_line(self) -> bytes:
        """The next line without its newline; what there is of it where the connection ended."""
        while b"\n" not in self._buffer:
            try:
                data = self._socket.recv(1 << 20)
            except ConnectionResetError:
                data = b""
            if not data:
                rest, self._buffer = self._buffer, b""
                return rest
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def receive(self, operation: str) -> Reply:
        """The next reply, which is to a request of that operation."""
        line = self.read_line()
        return judged(operation, line) if line else NO_REPLY

    def ask(self, asked: Request) -> Reply:
        """Sends a request and waits for its reply."""
        self.send(asked)
        return self.receive(asked.operation)


def ask(paths: Paths, asked: Request) -> Reply:
    """One request on a connection of its own, half-closed behind it and read to the end, as KCP clients do.

    Every byte that comes is in the reply's ``raw``; without any the reply is ``NO_REPLY``.
    """
    with Wire(paths, asked.socket) as wire:
        wire.send(asked)
        wire._socket.shutdown(socket.SHUT_WR)
        line = wire.read_line()
        rest = wire.read_line()
    assert not rest, f"more than one line came back: {rest[:80]!r}"
    return judged(asked.operation, line) if line else NO_REPLY
