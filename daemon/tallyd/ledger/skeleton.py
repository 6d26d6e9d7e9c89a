"""Skeletons: canonical JSON with places for content that is stored elsewhere.

Events, stored results and records hold no content. Where content belongs, a skeleton has a *place*: ``NUL
kind number NUL``. A raw NUL byte cannot occur in JSON text (RFC 8259 asks for ``\\u0000``), so no value that
a client sends can look like a place. Putting a skeleton together is cutting it at the NULs and joining the
pieces: no JSON is parsed, and the bytes are the same each time until something in them is erased.
Where a body cannot be opened, because the disk has changed it, a page shows a mark of the same shape
(``damaged``).

======= ===================== ==========================================
kind    number                where the body was erased
======= ===================== ==========================================
``p``   body of parts         one part of media type application/x.kovee.redacted
``n``   body of a name, text  ``"[erased]"``
``o``   body of an object     ``{}``
``a``   attempt               (an attempt's id is derived when its claim is served, and is never stored)
``c``   claim                 (the same of a task's claim)
``e``   erasure               (how far it is, as it is when the reply is given)
``m``   body, member          ``"[erased]"`` (a text in the body's data part, by its path: ``12.reason``)
======= ===================== ==========================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

PARTS: Final = b"p"
NAME: Final = b"n"
OBJECT: Final = b"o"
ATTEMPT: Final = b"a"
CLAIM: Final = b"c"
ERASURE: Final = b"e"
MEMBER: Final = b"m"
_NO_BODY: Final = frozenset({ATTEMPT, CLAIM, ERASURE})

ERASED: Final = {
    PARTS: b'[{"media_type":"application/x.kovee.redacted","text":""}]',
    NAME: b'"[erased]"',
    MEMBER: b'"[erased]"',
    OBJECT: b"{}",
}

DAMAGED_MEDIA_TYPE: Final = "application/x.tallystick.damaged"
DAMAGED_MEMBER: Final = "dev.tallystick.damaged"

_encoder: Final = msgspec.json.Encoder(order="sorted")


def place(kind: bytes, number: int | str) -> msgspec.Raw:
    """A place, to be put into a value that ``encode`` makes a skeleton of."""
    return msgspec.Raw(b"\0%b%b\0" % (kind, str(number).encode()))


def embedded(skeleton: bytes) -> msgspec.Raw:
    """A skeleton, to be a member of a larger one."""
    return msgspec.Raw(skeleton)


def encode(value: object) -> bytes:
    """Canonical JSON (RFC 8785) of a value of typed members: strings, integers, lists, dicts, structs and
    places.

    Free-form content is never encoded here: it belongs in bodies.
    """
    return _encoder.encode(value)


def render(skeleton: bytes, fill: Callable[[bytes, bytes], bytes]) -> bytes:
    """The whole JSON text; ``fill(kind, number)`` gives the bytes for each place."""
    if b"\0" not in skeleton:
        return skeleton
    pieces = skeleton.split(b"\0")
    for index in range(1, len(pieces), 2):
        what = pieces[index]
        pieces[index] = fill(what[:1], what[1:])
    return b"".join(pieces)


def damaged(kind: bytes, position: int) -> bytes:
    """What stands in the place of a body that cannot be opened; ``position`` is that of the log row that
    brought it.
    """
    if kind in (NAME, MEMBER):
        return encode(f"[damaged: log row {position}]")
    if kind == PARTS:
        text = f"[damaged: what log row {position} brought cannot be opened; run `tally diagnose`]"
        return encode([{"media_type": DAMAGED_MEDIA_TYPE, "text": text}])
    return encode({DAMAGED_MEMBER: {"log_position": position}})


def bodies(skeleton: bytes) -> list[int]:
    """The bodies that the skeleton refers to, in order."""
    found = [body_of(what[1:]) for what in skeleton.split(b"\0")[1::2] if what[:1] not in _NO_BODY]
    return list(dict.fromkeys(found))


def body_of(number: bytes) -> int:
    """The body that a place is about; a member's path stands behind it."""
    return int(number.partition(b".")[0])


def member(parts: bytes, path: str) -> bytes:
    """A member of the data part that a body begins with, by its path: ``excludes.0.value``."""
    found: object = msgspec.json.decode(parts)[0]["value"]
    for step in path.split("."):
        found = found[int(step)] if isinstance(found, list) else found[step]  # type: ignore[index]
    return encode(found)
