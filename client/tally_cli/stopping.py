"""Waits for the end of a daemon that was asked, through its socket, to stop.

Asking is not here and no signal is: only the kernel's word on who listens at a connection's other end, and a
descriptor of that process, which becomes readable when it ends. No process id is stored, so none can name
another process.
"""

import os
import select
import socket
import sys
from collections.abc import Callable
from typing import Final

END_SECONDS_MAX: Final = 30
"""The daemon gives itself a limited time to finish; this is that and something to spare."""

_OVERFLOW_UID: Final = 65534
"""/proc/sys/kernel/overflowuid, as every Linux has it."""
_SOL_LOCAL: Final = 0
_LOCAL_PEERPID: Final = 2
"""Of <sys/un.h> on macOS; Python has no names for them."""


def peer_process(connection: socket.socket) -> int | None:
    """The process that listens at the other end; None where the kernel does not say or we cannot see it."""
    if sys.platform == "linux":
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int.from_bytes(credentials[:4], sys.byteorder) or None
    if sys.platform == "darwin":
        return connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID) or None
    return None


def peer_uid(connection: socket.socket) -> int | None:
    """The uid under which whoever listens at the other end runs; None where the kernel does not say.

    In a user namespace the kernel has one uid for all whom it cannot name, and that is no answer.
    """
    if sys.platform != "linux":
        return None
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    uid = int.from_bytes(credentials[4:8], sys.byteorder)
    return None if uid == _OVERFLOW_UID else uid


def watch(pid: int) -> Callable[[float], bool]:
    """A function that waits up to so many seconds for the end of the process, and says whether it has ended.

    Made while the process is known to live. Raises OSError where the kernel gives no descriptor of it.
    """
    if sys.platform == "linux":
        poll = select.poll()
        poll.register(os.pidfd_open(pid), select.POLLIN)
        return lambda seconds: bool(poll.poll(seconds * 1000))
    queue = select.kqueue()
    event = select.kevent(pid, select.KQ_FILTER_PROC, select.KQ_EV_ADD, select.KQ_NOTE_EXIT)
    queue.control([event], 0)
    return lambda seconds: bool(queue.control(None, 1, seconds))
