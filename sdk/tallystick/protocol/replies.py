"""Replies: one line of JSON around a result or a problem (KCP 1.5).

A module of its own, since a client needs it and not the registry. Members stand in KCP's order: outcome,
result, revision, event_cursor. A result comes in as JSON text, because the clerk stores it as such and a
replay serves the stored bytes.
"""

from typing import Literal, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from . import ijson
from .problems import Problem
from .shapes import AnyJson, Cursor, SafeInt, convert, member_fault

R = TypeVar("R")


class Reply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A reply as it stands on the wire: a result with what belongs to it, or a problem (KCP 1.5)."""

    outcome: Literal["ok", "problem"]
    result: AnyJson = UNSET
    revision: SafeInt | UnsetType = UNSET
    event_cursor: Cursor | UnsetType = UNSET
    problem: Problem | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.outcome == "ok":
            if self.result is UNSET:
                raise ValueError("the member `result` is missing; an ok reply has one")
            if self.problem is not UNSET:
                raise member_fault("problem", "an ok reply has none")
        else:
            if self.problem is UNSET:
                raise ValueError("the member `problem` is missing; a problem reply has one")
            for member in ("result", "revision", "event_cursor"):
                if getattr(self, member) is not UNSET:
                    raise member_fault(member, "a problem reply has none")

    def typed(self, shape: type[R]) -> R:
        """The result of an ok reply as a `shape` (`Operation.result` is one). Raises `Misshapen`."""
        return convert(self.result, shape, "$.result")


def decode_reply(raw: bytes) -> Reply:
    """The reply in `raw` (without its newline). Raises `ValueError`: `NotStrict` or `Misshapen`."""
    return convert(ijson.parse(raw, ijson.Cap.REPLY), Reply)


def encode_ok(result_json: bytes, revision: int | None, event_cursor: str | None) -> bytes:
    """The line, without its newline, of an ok reply around `result_json`, in KCP's order of members."""
    parts = [b'{"outcome":"ok","result":', result_json]
    if revision is not None:
        parts.append(b',"revision":%d' % revision)
    if event_cursor is not None:
        parts += (b',"event_cursor":', msgspec.json.encode(event_cursor))
    parts.append(b"}")
    return b"".join(parts)


def encode_problem(problem: Problem) -> bytes:
    """The line, without its newline, of a problem reply, in KCP's order of members."""
    return b'{"outcome":"problem","problem":' + msgspec.json.encode(problem) + b"}"
