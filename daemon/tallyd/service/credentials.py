"""``tallystick_authenticate``: a line of its own that shows a credential, and changes who speaks on its
connection.

``{"op":"tallystick_authenticate","args":{"credential":"…"}}``. It is never logged, audited or echoed, not
even in a refusal. A wrong, expired or revoked credential is ``unauthenticated`` and never treated as absent:
whoever showed one, or one that cannot be read, is nobody until a right one is shown, also where the socket
alone would have said who it is. Three of them end the connection. Credentials are compared by their SHA-256,
in constant time where there is one to compare with.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

import msgspec

from tallyd.admission import UNKNOWN
from tallyd.door import Channel, Exchange
from tallyd.ledger import agents, ids
from tallyd.ledger.view import View
from tallystick.protocol import ijson, limits
from tallystick.protocol.envelope import encode_ok, encode_problem
from tallystick.protocol.operation import Socket
from tallystick.protocol.problems import invalid, rate_limited, unauthenticated

OPERATION: Final = "tallystick_authenticate"
WRONG_MAX: Final = 3


class Credential:
    """What a line shows; None where it cannot be read. Its ``repr`` does not show it."""

    __slots__ = ("secret",)

    def __init__(self, secret: str | None) -> None:
        self.secret = secret

    def __repr__(self) -> str:
        return "Credential(redacted)"


def shown(said: ijson.JsonValue) -> Credential | None:
    """The credential that a line shows, or was meant to; None for any other line. ``said`` is its value."""
    if not isinstance(said, dict) or said.get("op") != OPERATION:
        return None
    args = said.get("args")
    secret = args.get("credential") if isinstance(args, dict) and len(args) == 1 else None
    if said.keys() != {"op", "args"} or not isinstance(secret, str) or not secret:
        return Credential(None)
    return Credential(secret)


class Credentials:
    """Decides whose credential it is."""

    def __init__(self, owner_sha256: str | None) -> None:
        self._owner = None if owner_sha256 is None else bytes.fromhex(owner_sha256)

    def actor(self, view: View, credential: Credential) -> str | None:
        """The owner, an active agent, or None."""
        if credential.secret is None:
            return None
        hashed = hashlib.sha256(credential.secret.encode()).digest()
        if self._owner is not None and hmac.compare_digest(self._owner, hashed):
            return ids.OWNER
        agent = agents.by_credential(view, credential.secret)
        return agent.agent_id if agent is not None and agent.active(view.wall_ms()) else None

    def admit(self, exchange: Exchange, credential: Credential, actor: str | None) -> bytes:
        """Lets the connection speak as ``actor`` from now on, or as nobody. Returns the reply."""
        speaks = UNKNOWN if actor is None else actor
        channel = exchange.channel
        guest = channel.guest if actor is None else None if actor == ids.OWNER else actor
        as_shown = msgspec.structs.replace(channel, actor=speaks, strength="credential", guest=guest)
        if not exchange.adopt(as_shown):
            return encode_problem(
                rate_limited(
                    limits.CAPACITY_RETRY_SECONDS,
                    "this agent has as many connections as one may have; use one of those, or close some",
                ).problem
            )
        if actor is not None:
            return encode_ok(msgspec.json.encode({"actor": actor}), None, None)
        refusal = unauthenticated(
            "the credential is wrong, expired or revoked; ask the owner for another one"
        )
        if credential.secret is None:
            refusal = invalid(
                f'{OPERATION} is {{"op":"{OPERATION}","args":{{"credential":"…"}}}} and nothing else'
            )
        if exchange.strike() >= WRONG_MAX:
            exchange.last = True
        return encode_problem(refusal.problem)


def owner_channel(socket: Socket, path: str, uid: int, *, by_credential: bool) -> Channel:
    """The owner's socket: whoever the kernel says has the daemon's uid is the owner, unless a credential is
    asked for.
    """
    actor = UNKNOWN if by_credential else ids.OWNER
    return Channel(socket=socket, actor=actor, strength="peer-uid", path=path, allowed_uid=uid)
