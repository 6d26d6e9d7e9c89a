"""Which process is at the other end of a Unix socket, as the kernel says: one function for Linux and macOS.

Promises: the peer cannot forge the answer. It is about the moment of ``connect``: where a process has
handed its socket to another one, it is still the process that connected. Does not: decide; the acceptor
compares the uid with ``Channel.allowed_uid``.
"""

from __future__ import annotations

import socket
import struct
import sys
from typing import Final

from tallyd.door.channel import Peer

_UCRED: Final = struct.Struct("=iII")
"""Linux, ``struct ucred``: pid, uid, gid (unix(7))."""
_XUCRED: Final = struct.Struct("=IIh2x16I")
"""macOS, ``struct xucred``: version, uid, number of groups, groups (sys/ucred.h)."""
_SOL_LOCAL: Final = 0
_LOCAL_PEERCRED: Final = 1
_LOCAL_PEERPID: Final = 2
_INT_BYTES: Final = 4

if sys.platform == "darwin":

    def peer_of(connected: socket.socket) -> Peer:
        """The process that connected. Raises OSError when it is gone already."""
        raw = connected.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED.size)
        _version, uid, _count, gid, *_groups = _XUCRED.unpack(raw)
        pid = connected.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, _INT_BYTES)
        return Peer(int.from_bytes(pid, sys.byteorder), uid, gid)

else:

    def peer_of(connected: socket.socket) -> Peer:
        """The process that connected. Raises OSError when it is gone already."""
        raw = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
        return Peer(*_UCRED.unpack(raw))
