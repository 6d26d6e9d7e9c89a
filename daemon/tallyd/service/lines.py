"""What a line is: a request, a credential, or a refusal. No authority is judged here, and nothing looked up.

A line of HTTP is no request: it ends its connection, so that what stands in the body of a web request that
was led here is never taken for a command.

Most lines are strict JSON and are told at once. One that is not is read again for what is wrong with it,
which takes a microsecond a byte: of a long line that is done on a thread (``Parsed.doubtful``,
``read_for_fault``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from tallyd.door import Channel
from tallyd.families.shared.family import FencedReadHandler, Handler, Key, WaitHandler, WriteHandler
from tallyd.service.answers import refused
from tallyd.service.credentials import Credential, shown
from tallystick.protocol import ijson, limits
from tallystick.protocol.envelope import AnyRequest, request_of
from tallystick.protocol.problems import Refusal, invalid


class Asked(msgspec.Struct, frozen=True, eq=False):
    """A request, and who answers it."""

    request: AnyRequest
    handler: Handler


class Parsed(msgspec.Struct, frozen=True, eq=False):
    """A line as the door sees it, and the one thing that it is."""

    concurrent: bool
    waits: bool
    asked: Asked | None = None
    refusal: bytes | None = None
    credential: Credential | None = None
    doubtful: bytes | None = None
    """A long line that is no strict JSON."""
    last: bool = False
    """The connection ends with the reply, and what stands behind the line is dropped."""


_HTTP: Final = re.compile(rb"[!-~]+ [^\r\n]*HTTP/[0-9.]+\r?|[!#-'*+.0-9A-Z^_`a-z|~-]+:[^\r\n]*\r")
"""The line of a request, or a field as it follows that line (RFC 9112): neither can begin a JSON text. Where
the line of the request was too long to be read, a field still follows.
"""


class Lines:
    """Reads lines for one set of handlers."""

    def __init__(self, handlers: Mapping[Key, Handler]) -> None:
        self._handlers = handlers

    def parse(self, line: bytes, channel: Channel) -> Parsed:
        """A line, at once. Never raises."""
        try:
            return self._parsed(ijson.accept(line), channel)
        except ijson.NotAccepted:
            if len(line) > limits.REFUSED_AT_ONCE_BYTES_MAX:
                return Parsed(False, False, doubtful=line)
            if _HTTP.fullmatch(line):
                return Parsed(False, False, refusal=_NOT_HTTP, last=True)
            return self.read_for_fault(line, channel)

    def read_for_fault(self, line: bytes, channel: Channel) -> Parsed:
        """A line that was not accepted, with the reason. From any thread."""
        try:
            return self._parsed(ijson.read(line), channel)
        except ijson.NotStrict as fault:
            return Parsed(False, False, refusal=refused(invalid(fault.detail)))

    def _parsed(self, value: ijson.JsonValue, channel: Channel) -> Parsed:
        credential = shown(value)
        if credential is not None:
            return Parsed(False, False, credential=credential)
        try:
            request = request_of(value, channel.socket)
        except Refusal as refusal:
            return Parsed(False, False, refusal=refused(refusal))
        handler = self._handlers[channel.socket, request.operation.name]
        waits = isinstance(handler, WaitHandler) or request.operation.waits
        return Parsed(_is_concurrent(handler), waits, Asked(request, handler))


_NOT_HTTP: Final = refused(
    invalid("this is a line of HTTP, and a request here is one line of JSON; the connection ends with this")
)


def _is_concurrent(handler: Handler) -> bool:
    """Whether several may be in flight on a connection: commands of one transaction. What has two, or waits,
    is answered before anything behind it on its connection begins.
    """
    if isinstance(handler, WriteHandler):
        return handler.first_step is None and handler.pending is None
    return isinstance(handler, FencedReadHandler)
