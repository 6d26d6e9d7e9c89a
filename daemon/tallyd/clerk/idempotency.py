"""One intent, one effect: the key's triple, the digests that are compared, and the look-up.

The triple is (actor scope, operation, key); its SHA-256 is in the log, and the table that finds it has 12
bytes of the client's key, which the SDK makes time-ordered so that rows land at the right edge, and 12 of the
hash.

Two digests stand beside a stored result. The first is of the request with every content argument replaced by
null: identifiers alone go in, so it may stand unkeyed. The second is an HMAC of the whole request under a key
that goes when the content is erased. While that key lives both are compared; afterwards the first alone.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

import msgspec

from tallyd.ledger import log, times
from tallyd.ledger.log import LogRow
from tallyd.ledger.transaction import Transaction
from tallyd.ledger.view import View
from tallyd.store.bodies import BODIES_PER_COMMAND_MAX, mac
from tallystick.protocol import digests
from tallystick.protocol.canonical import canonical
from tallystick.protocol.envelope import AnyRequest, Meta
from tallystick.protocol.operation import Socket
from tallystick.protocol.problems import idempotency_mismatch, invalid

_PART_BYTES: Final = 12
_WHO_SPEAKS: Final = ("attempt_id", "fence_epoch")
"""Left out of a worker's digest: they say who speaks, not what is meant."""


class Intent(msgspec.Struct, frozen=True):
    """What a command means, ready to be looked up."""

    key: str
    key_hash: bytes
    lookup: bytes
    request_digest: bytes
    content: bytes | None
    """Canonical bytes of the content arguments where the operation takes any, else None."""

    def request_mac(self, request_key: bytes | None) -> bytes | None:
        """Covers the whole request: its content, and by the request digest all else."""
        if self.content is None or request_key is None:
            return None
        return mac(request_key, b"tallystick request v1" + self.request_digest + self.content)


def intent(request: AnyRequest, meta: Meta, scope: str) -> Intent:
    """Derives triple and digests of a command under its actor's scope."""
    worker = request.operation.socket is Socket.WORKER
    surface = "worker" if worker else "external_client"
    leave_out = _WHO_SPEAKS if worker else ()
    names = request.operation.content
    projection = digests.request_projection(request.raw, surface=surface, leave_out=leave_out, blank=names)
    args = request.raw["args"]
    content = canonical({name: args[name] for name in names if name in args}) if names else None
    key = meta.idempotency_key
    key_hash = hashlib.sha256(
        b"tallystick key v1" + log.framed(scope.encode(), request.operation.name.encode(), key.encode())
    ).digest()
    lookup = key.encode()[:_PART_BYTES].ljust(_PART_BYTES, b"\0") + key_hash[:_PART_BYTES]
    return Intent(key, key_hash, lookup, bytes.fromhex(digests.request_digest(projection)), content)


def find(tx: Transaction, wanted: Intent) -> LogRow | None:
    """The command that used the key first, if one did and meant the same.

    Raises Refusal ``idempotency-mismatch``, with time and request id of the first use, where it meant
    something else.
    """
    position = tx.position_of_key(wanted.lookup)
    if position is None:
        return None
    first = tx.log_row(position)
    if first.key_hash != wanted.key_hash:
        raise invalid("meta.idempotency_key collides with another key; choose another one")
    if not _means_the_same(tx, first, wanted):
        raise idempotency_mismatch(times.rfc3339(first.recorded_ms), first.correlation or "")
    return first


def _means_the_same(view: View, first: LogRow, wanted: Intent) -> bool:
    assert first.request_digest is not None
    if not hmac.compare_digest(first.request_digest, wanted.request_digest):
        return False
    if first.request_mac is None:
        return True
    keys = view.bodies.keys(view.db, first.position * BODIES_PER_COMMAND_MAX)
    if keys is None:
        return True
    spoken = wanted.request_mac(keys.request)
    return spoken is not None and hmac.compare_digest(first.request_mac, spoken)
