"""Which descriptors are ready: epoll on Linux, and the standard library's selector everywhere else.

For: the pump, which asks without waiting; trio waits, on the poller's own descriptor. Promises: a
descriptor is reported as long as it is ready (level-triggered). A descriptor may be watched for nothing,
and is not reported then, except that ``EpollPoller`` still reports that its peer is gone. Does not: own the
descriptors. Whoever closes one removes it first.

``sees_hangup`` tells the two pollers apart. ``EpollPoller`` reports ``HANGUP`` for a Unix socket whose peer
has closed it (or shut down both directions), and not for one whose peer has only stopped sending (unix(7),
epoll_ctl(2)). A selector reports the same for both. There the pump tries to send when it reads the end of
the stream, and otherwise learns that the peer is gone when it sends a reply.
"""

from __future__ import annotations

import select
import selectors
import sys
from typing import Final, Protocol

READ: Final = 0x01
"""EPOLLIN: there are bytes to read, or somebody to accept, or the end of the stream."""
WRITE: Final = 0x04
"""EPOLLOUT: the socket takes bytes."""
HANGUP: Final = 0x18
"""EPOLLERR and EPOLLHUP: reported whether asked for or not."""


class Poller(Protocol):
    """Tells the pump which descriptors are ready."""

    sees_hangup: bool

    def fileno(self) -> int:
        """A descriptor that is readable while any watched one is ready."""

    def add(self, descriptor: int, interest: int) -> None:
        """Begin to watch a descriptor for ``interest``: READ, WRITE, both, or 0."""

    def change(self, descriptor: int, interest: int) -> None:
        """Watch a descriptor for something else from now on."""

    def remove(self, descriptor: int) -> None:
        """Stop watching a descriptor."""

    def ready(self) -> list[tuple[int, int]]:
        """The descriptors that are ready now, each with its bits of READ, WRITE and HANGUP. Does not wait."""

    def close(self) -> None:
        """Stop watching everything."""


if sys.platform == "linux":

    class EpollPoller:
        """For Linux. The bits are epoll's own, so nothing is translated."""

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
    """For every other system (kqueue on macOS)."""

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
    """The poller of this system."""
    if sys.platform == "linux":
        return EpollPoller()
    return SelectorPoller()
