"""The door: sockets, peer credentials, lines, order, deadlines. It moves bytes and does not understand them.

Its job: anybody of the right uid may connect, send lines and read replies, however fast or slow or broken
that client is, and no other client notices. Behind the door stands one *dispatcher*, which makes requests
of the lines and answers them.

==================== =========================================================================================
``interface``        the dispatcher's protocol, caps and deadlines: read this first
``channel``          who speaks: ``Channel`` and ``Peer``
``shares``           how connections and requests are shared out between the owner and agents
``exchange``         one request in flight and its reply: ``Exchange``
``framing``          lines out of bytes (no socket)
``connection``       order, pipelining, half-close and deadlines of one connection (no socket)
``pump``             ``Door``: the one task that moves bytes, with ``poller``, ``timers`` and ``waker``
``acceptor``         new connections: uid, caps, lack of descriptors (with ``descriptors`` and ``peer``)
``listeners``        sockets as files: modes, links, files left over and files lost
``defects``          how an unexpected exception is logged
==================== =========================================================================================

What always holds:

- Whoever connects at a channel's socket speaks as that channel's actor. Nothing that a client writes changes
  that by itself; only the dispatcher can (``Exchange.adopt``).
- The requests of a connection are answered in their order, each exactly once, or the connection ends.
- Whenever the door waits for a client, there is a deadline; whatever it keeps for a client has a limit.
  What one client does can end its own connection and no other.
- A client that has closed its sending half still gets its replies. A client that is gone is noticed at
  once, and its waits end.
- While nothing is due and nothing comes, the loop does not run.

What it does not do: read JSON, know an operation, decide who may do what, take locks, make directories, or
handle signals. The service closes the door, in this order: ``stop_accepting``, ``end_waits``, ``drained``,
and then it cancels ``run``.
"""

from tallyd.door.channel import Channel, Peer
from tallyd.door.descriptors import raise_soft_limit, room_for_guest
from tallyd.door.exchange import Exchange
from tallyd.door.interface import Dispatcher, DoorLimits, ListenRefused, Parsed
from tallyd.door.pump import Door
from tallyd.door.timers import Timer
from tallyd.door.waker import Wakers

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
    "Wakers",
    "raise_soft_limit",
    "room_for_guest",
]
