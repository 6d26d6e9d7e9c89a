"""What a line is: a request, a credential, or a refusal. No authority is judged here, and nothing looked up.

Most lines are strict JSON and are told at once. One that is not is read again for what is wrong with it,
which takes a microsecond a byte: of a long line that is done on a thread (``Parsed.doubtful``,
``read_for_fault``).
"""

from __future__ import annotations

from typing import Final

import msgspec

from tallyd.door import Channel
from tallyd.service.answers import refused
from tallyd.service.credentials import Credential, shown
from tallyd.service.handlers import FIRST_STEPS
from tallystick.protocol import ijson, limits
from tallystick.protocol.envelope import AnyRequest, request_of
from tallystick.protocol.operation import Kind
from tallystick.protocol.problems import Refusal, invalid

CLERKS: Final = frozenset({Kind.WRITE, Kind.FENCED_READ})
"""Kinds of operation that the clerk does."""


class Parsed(msgspec.Struct, frozen=True, eq=False):
    """A line as the door sees it, and the one thing that it is."""

    concurrent: bool
    waits: bool
    request: AnyRequest | None = None
    refusal: bytes | None = None
    credential: Credential | None = None
    doubtful: bytes | None = None
    """A long line that is no strict JSON."""


def parse(line: bytes, channel: Channel) -> Parsed:
    """A line, at once. Never raises."""
    try:
        return _parsed(ijson.accept(line), channel)
    except ijson.NotAccepted:
        if len(line) > limits.REFUSED_AT_ONCE_BYTES_MAX:
            return Parsed(False, False, doubtful=line)
        return read_for_fault(line, channel)


def read_for_fault(line: bytes, channel: Channel) -> Parsed:
    """A line that was not accepted, with the reason."""
    try:
        return _parsed(ijson.read(line), channel)
    except ijson.NotStrict as fault:
        return Parsed(False, False, refusal=refused(invalid(fault.detail)))


def _parsed(value: ijson.JsonValue, channel: Channel) -> Parsed:
    credential = shown(value)
    if credential is not None:
        return Parsed(False, False, credential=credential)
    try:
        request = request_of(value, channel.socket)
    except Refusal as refusal:
        return Parsed(False, False, refusal=refused(refusal))
    kind = request.operation.kind
    # What has two transactions is answered before anything behind it on its connection begins.
    whole = kind in CLERKS and (channel.socket, request.operation.name) not in FIRST_STEPS
    waits = kind is Kind.WAIT or request.operation.waits
    return Parsed(whole and not waits, waits, request)
