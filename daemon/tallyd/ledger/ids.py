"""Ids on the wire and their 128 bits.

An id is ``<prefix>-<32 lowercase hex digits>`` (KCP 1.9). The digits are those of a UUIDv7
(``tallystick.protocol.uuid7``), so that rows made one after the other are side by side in an index. Attempts,
credentials and the installation have random ids instead, which nobody can guess and which do not say when
they were made.
"""

from __future__ import annotations

import re
from typing import Final

_ID: Final = re.compile(r"([a-z]+)-([0-9a-f]{32})\Z")

REALM_ID: Final = "realm-personal"
OWNER: Final = "prin-owner"
REALM_EVENTS: Final = "events:realm"
"""The source that cursors name for events that stand in no project (KCP section 6)."""
SYSTEM: Final = "tallyd"
"""The actor of system commands."""


def text(prefix: str, digits: bytes) -> str:
    """``proj`` and 16 bytes → ``proj-0190…``."""
    return f"{prefix}-{digits.hex()}"


def digits(prefix: str, identifier: str) -> bytes | None:
    """The 16 bytes of an id of that prefix. None for anything else: an id that we cannot have made is of
    nothing.
    """
    match = _ID.match(identifier)
    if match is None or match[1] != prefix:
        return None
    return bytes.fromhex(match[2])
