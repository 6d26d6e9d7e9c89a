"""The process's file descriptors: the soft limit, how many connections it leaves room for, and one in
reserve.

Promises: with the one in reserve there is a way to tell a client that descriptors have run out: it is
freed, the client's connection is accepted in its place, told, and closed. Does not: count the descriptors
that other parts of the daemon use; ``DESCRIPTORS_RESERVED`` are left for them.
"""

from __future__ import annotations

import errno
import os
import resource
from typing import Final

from tallyd.door.shares import Bounds
from tallystick.protocol import limits

OUT_OF_DESCRIPTORS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})
"""What ``accept`` raises when the process or the system has no descriptor or no memory left. It passes by
itself."""

LISTENERS_OWNER: Final = 2
LISTENERS_A_GUEST: Final = 2
"""A socket for clients and one for workers each."""


def raise_soft_limit() -> int:
    """Raise the soft limit of descriptors to what ``CONNECTIONS_MAX`` connections need, or as far as the
    hard limit allows; return the soft limit that is in force then. Called once, when the daemon starts."""
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


def room_for_connections(listeners: int = LISTENERS_OWNER) -> int:
    """How many connections the soft limit leaves room for beside so many listeners; at least one. The owner's
    two are among the descriptors reserved; an agent's two are not.
    """
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft == resource.RLIM_INFINITY:
        return limits.CONNECTIONS_MAX
    return max(1, soft - limits.DESCRIPTORS_RESERVED - max(0, listeners - LISTENERS_OWNER))


def room_for_guest(guests: int) -> bool:
    """Whether one more guest beside so many could be served: its two listeners leave it a connection for each
    of them, and take none of the owner's. Any thread.
    """
    listeners = LISTENERS_OWNER + LISTENERS_A_GUEST * (guests + 1)
    whole = min(limits.CONNECTIONS_MAX, room_for_connections(listeners))
    return Bounds.of(whole).guest >= LISTENERS_A_GUEST


class Reserve:
    """One descriptor that is held only so that it can be freed when there is no other."""

    def __init__(self) -> None:
        self._descriptor: int | None = None
        self.take()

    def take(self) -> None:
        """Hold a descriptor, where none is held and one can be had."""
        if self._descriptor is None:
            try:
                self._descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                self._descriptor = None

    def give_up(self) -> bool:
        """Free the descriptor. False where none was held."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return False
        os.close(descriptor)
        return True
