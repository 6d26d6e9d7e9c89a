"""Descriptors of the process: the soft limit, how many connections it leaves room for, and one in reserve.

Promises: running out of descriptors is never fatal and never silent: the reserve is given up for the moment
that it takes to accept a connection and tell it so. Does not: count descriptors of other parts of the
daemon; a share is kept for them.
"""

from __future__ import annotations

import errno
import os
import resource
from typing import Final

from tallystick.protocol import limits

OUT_OF_DESCRIPTORS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
"""What ``accept`` raises when the process or the system has no more; it goes away by itself."""


def raise_soft_limit() -> int:
    """Raise the soft limit of descriptors to what ``CONNECTIONS_MAX`` needs, or as near as the hard limit
    lets; return the soft limit then in force. Called once at the start of the daemon."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.CONNECTIONS_MAX + limits.DESCRIPTORS_RESERVED
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):  # macOS names an infinite hard limit and refuses more than OPEN_MAX
        return soft
    return wanted


def room_for_connections() -> int:
    """Connections that the soft limit leaves room for; at least one."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft == resource.RLIM_INFINITY:
        return limits.CONNECTIONS_MAX
    return max(1, soft - limits.DESCRIPTORS_RESERVED)


class Reserve:
    """One descriptor that is held only to be given up."""

    def __init__(self) -> None:
        self._descriptor: int | None = None
        self.take()

    def take(self) -> None:
        """Hold one, if there is one and none is held."""
        if self._descriptor is None:
            try:
                self._descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                self._descriptor = None

    def give_up(self) -> bool:
        """Free it; False when none was held."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return False
        os.close(descriptor)
        return True
