"""The door itself: one trio task over a selector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic

import trio

from tallyd.door.interface import Channel, Dispatcher, DoorLimits, P
from tallyd.door.timers import Timer

DEFAULT_LIMITS = DoorLimits()


class Door(Generic[P]):
    """All listeners and connections of the daemon. One thread, the one that runs trio, calls everything
    here."""

    def __init__(self, dispatcher: Dispatcher[P], limits: DoorLimits = DEFAULT_LIMITS) -> None:
        raise NotImplementedError

    def listen(self, channel: Channel) -> None:
        """Bind and listen, before ``run`` or while it runs. Raises ListenRefused."""
        raise NotImplementedError

    def unlisten(self, channel: Channel) -> None:
        """Stop listening and remove the socket and its link; connections made there live on."""
        raise NotImplementedError

    def disconnect(self, channel: Channel) -> None:
        """End every connection that was made on a channel (its agent was revoked); requests in flight are
        abandoned."""
        raise NotImplementedError

    def rebind_lost(self) -> list[str]:
        """Bind anew each socket whose file is no longer the one that was bound; return their paths. The
        caller, who holds the runtime directory's lock, decides how often."""
        raise NotImplementedError

    async def run(self) -> None:
        """Move bytes until cancelled; then close everything."""
        raise NotImplementedError

    def call_at(self, deadline: float, callback: Callable[[], None]) -> Timer:
        """Call back once at ``deadline`` (``trio.current_time()`` seconds) inside the loop; ``.cancel()``
        is cheap."""
        raise NotImplementedError

    def waker(self, callback: Callable[[], None]) -> Callable[[], None]:
        """A function that any thread may call, as often as it likes: ``callback`` then runs in the loop, at
        least once after the last call, and before the next batch is cut."""
        raise NotImplementedError

    def stop_accepting(self) -> None:
        """Close the listeners and remove their files; open connections go on, and the dispatcher refuses."""
        raise NotImplementedError

    def end_waits(self) -> None:
        """Hurry every wait in flight."""
        raise NotImplementedError

    async def drained(self) -> None:
        """Return when nothing is in flight and every reply was sent, or its client disconnected for not
        reading."""
        await trio.lowlevel.checkpoint()
        raise NotImplementedError

    def close_all(self) -> None:
        """End every connection now; requests in flight are abandoned."""
        raise NotImplementedError

    @property
    def connections(self) -> int:
        """Open connections."""
        raise NotImplementedError

    @property
    def in_flight(self) -> int:
        """Requests started and not over, without waits."""
        raise NotImplementedError

    @property
    def waits(self) -> int:
        """Waits in flight."""
        raise NotImplementedError

    @property
    def turns(self) -> int:
        """How often the loop went round: an idle door stands still."""
        raise NotImplementedError
