"""The door: sockets, peer credentials, lines, order, deadlines. See ``interface`` for what stands behind
it."""

from tallyd.door.connection import Exchange
from tallyd.door.interface import (
    Channel,
    Dispatcher,
    DoorLimits,
    ListenRefused,
    Parsed,
    Peer,
)
from tallyd.door.pump import Door
from tallyd.door.timers import Timer

__all__ = [
    "Channel",
    "Dispatcher",
    "Door",
    "DoorLimits",
    "Exchange",
    "ListenRefused",
    "Parsed",
    "Peer",
    "Timer",
]
