"""The door: sockets, peer credentials, lines, order, deadlines. It moves bytes, and understands none of them.

Its job is to let anybody of the right uid send lines and read replies, at any rate and in any state of
health, without anybody else noticing. Behind it stands one *dispatcher*, which makes requests of lines.

==================== =========================================================================================
``interface``        channels, the dispatcher's protocol, caps and deadlines: read this first
``framing``          lines out of bytes (no socket)
``connection``       order, pipelining, half-close, deadlines of one connection; ``Exchange`` (no socket)
``pump``             ``Door``: the one task that moves bytes, over ``poller``, ``timers`` and ``waker``
``acceptor``         new connections: uid, caps, lack of descriptors (``descriptors``, ``peer``)
``listeners``        sockets as files: modes, links, stale and lost ones
==================== =========================================================================================

What always holds:

- Whoever connects at a channel's socket is that channel's actor; nothing that a client writes changes it,
  except through the dispatcher (``Exchange.adopt``).
- A connection's requests are answered in their order, each once, or the connection ends.
- Every wait of the door for a client has a deadline, and everything that it keeps for one has a bound. What a
  client does ends at most its own connection.
- A half-closed client gets its replies; one that is gone is noticed at once, and its waits are let go of.
- The loop stands still while nothing is due and nothing comes.

What it does not do: read JSON, know an operation, judge authority, take locks, make directories, or handle
signals. Closing down is the service's: ``stop_accepting``, ``end_waits``, ``drained``, then cancel ``run``.
"""

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
