"""Which descriptors are ready: epoll directly where there is one, else the standard library's selector.

For: the pump, which asks without waiting (trio waits, on the poller's own descriptor). Promises:
level-triggered; a descriptor watched for nothing costs nothing, except that ``EpollPoller`` still reports
when its peer is gone. Does not: own the descriptors; whoever closes one removes it first.

``EpollPoller.sees_hangup``: a Unix socket whose peer closed it (or shut down both ways) is reported as
``HANGUP``, one whose peer only stopped sending is not (unix(7), epoll_ctl(2)). A selector cannot tell the
two apart; there the pump tries the other way when it reads the end of the stream, and otherwise learns it
when it sends.
"""

from __future__ import annotations

import select
import selectors
import sys
from typing import Final, Protocol

READ: Final = 0x01
"""EPOLLIN"""
WRITE: Final = 0x04
"""EPOLLOUT"""
HANGUP: Final = 0x18
"""EPOLLERR and EPOLLHUP: reported whether asked for or not."""


class Poller(Protocol):
    """What the pump needs to know of descriptors."""

    sees_hangup: bool

    def fileno(self) -> int:
        """A descriptor that is readable while any watched one is ready."""

    def add(self, descriptor: int, interest: int) -> None:
        """Watch; ``interest`` is READ, WRITE, both, or 0."""

    def change(self, descriptor: int, interest: int) -> None:
        """Watch for something else."""

    def remove(self, descriptor: int) -> None:
        """Stop watching."""

    def ready(self) -> list[tuple[int, int]]:
        """What is ready now, without waiting: descriptors and READ, WRITE, HANGUP as bits."""

    def close(self) -> None:
        """Stop watching everything."""


if sys.platform == "linux":

    class EpollPoller:
        """Linux: bits are epoll's own, and nothing is translated."""

        sees_hangup = True

        def __init__(self) -> None:
            self._epoll = select.epoll(flags=select.EPOLL_CLOEXEC)
            self.fileno = self._epoll.fileno
            self.add = self._epoll.register
            self.change = self._epoll.modify
            self.remove = self._epoll.unregister
            self.close = self._epoll.close

        def ready(self) -> list[tuple[int, int]]:
            """See Poller."""
            return self._epoll.poll(0)


class SelectorPoller:
    """Everywhere else (kqueue on macOS)."""

    sees_hangup = False

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def fileno(self) -> int:
        """See Poller."""
        return self._selector.fileno()

    def add(self, descriptor: int, interest: int) -> None:
        """See Poller."""
        if interest:
            self._selector.register(descriptor, self._translated(interest))

    def change(self, descriptor: int, interest: int) -> None:
        """See Poller."""
        if not interest:
            self.remove(descriptor)
        elif descriptor in self._selector.get_map():
            self._selector.modify(descriptor, self._translated(interest))
        else:
            self._selector.register(descriptor, self._translated(interest))

    def remove(self, descriptor: int) -> None:
        """See Poller."""
        if descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)

    def ready(self) -> list[tuple[int, int]]:
        """See Poller."""
        return [(key.fd, self._bits(events)) for key, events in self._selector.select(0)]

    def close(self) -> None:
        """See Poller."""
        self._selector.close()

    @staticmethod
    def _bits(events: int) -> int:
        read = READ if events & selectors.EVENT_READ else 0
        return read | (WRITE if events & selectors.EVENT_WRITE else 0)

    @staticmethod
    def _translated(interest: int) -> int:
        read = selectors.EVENT_READ if interest & READ else 0
        return read | (selectors.EVENT_WRITE if interest & WRITE else 0)


def default_poller() -> Poller:
    """The best one of this system."""
    if sys.platform == "linux":
        return EpollPoller()
    return SelectorPoller()
