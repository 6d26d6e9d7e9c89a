"""Who speaks: the channel that a client connected to, and the process that connected.

Promises: these are plain values, and nothing that a client writes changes them. Does not: open a socket, or
ask the kernel (``listeners`` and ``peer`` do).
"""

from __future__ import annotations

from typing import Final

import msgspec

from tallystick.protocol.operation import Socket

PRIVATE_SOCKET_MODE: Final = 0o600


class Channel(msgspec.Struct, frozen=True, kw_only=True):
    """One listening socket, and the actor that everybody who connects there speaks as.

    ``path`` is the socket's file (at most 103 bytes). It also names the channel: no two channels have the
    same path. ``strength`` says how the actor was authenticated. Only peers of ``allowed_uid`` are let in;
    a peer of another uid is closed before a byte of it is read. ``mode`` is the socket file's mode; only an
    agent with a uid of its own needs another one than the default.
    """

    socket: Socket
    actor: str
    strength: str
    path: str
    allowed_uid: int
    mode: int = PRIVATE_SOCKET_MODE
    guest: str | None = None
    """Whose share of the door its connections and requests count against: an agent's name, which all of its
    channels have in common. None is the owner (``shares``)."""


class Peer(msgspec.Struct, frozen=True):
    """The process at the other end, as the kernel names it for the moment of ``connect``. ``pid`` is 0
    where the kernel does not say."""

    pid: int
    uid: int
    gid: int
