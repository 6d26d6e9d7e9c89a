"""One intent, one effect: the key's triple, the digests that are compared, the look-up, and the expiry.

The triple is (actor scope, operation, key). Its SHA-256 is in the log; the table that finds it holds 12 bytes
of the client's key and 12 of the hash. The SDK makes keys that grow with time, so new rows of that table land
at its end.

Two digests stand beside a stored result. The first is of the request with every content argument replaced by
null: identifiers alone go in, so it may stand unkeyed. The second is an HMAC of the whole request under a key
that goes when the content is erased. While that key lives both are compared; afterwards the first alone.

**Expiry.** A key gives its result for at least ``IDEMPOTENCY_SECONDS_MIN`` by the daemon's clock. After that
the key is a tombstone: the same words are answered ``idempotency-result-expired``, other words
``idempotency-mismatch`` as before, and neither is executed, ever. A worker's keys give their results until
its invocation has ended, however long that takes, because a later attempt goes on from them.

Whether a result has expired follows from the time in its row of the log, and nothing is deleted or written
when it does. One commitment under the row's leaf covers payload, result and key together: without the result,
a verifier could no longer tell whether the event's payload, or the key that must never run again, was
changed. Most results are the payload of an event, and stay readable as that. What this does not do is give
back space; a result is a skeleton and holds no content, so nothing that must be forgotten stays because of
it.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

import msgspec

from tallyd.admission import Admission
from tallyd.ledger import log, times
from tallyd.ledger.attempts import ENDED_STATES
from tallyd.ledger.log import LogRow
from tallyd.ledger.transaction import Transaction
from tallyd.ledger.view import View
from tallyd.store.bodies import BODIES_PER_COMMAND_MAX, mac
from tallystick.protocol import digests, limits
from tallystick.protocol.canonical import canonical
from tallystick.protocol.envelope import AnyRequest, Meta
from tallystick.protocol.operation import Socket
from tallystick.protocol.problems import idempotency_mismatch, idempotency_result_expired, invalid

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


def check_kept(tx: Transaction, first: LogRow, request: AnyRequest, admission: Admission) -> None:
    """Raises Refusal ``idempotency-result-expired`` where the key no longer gives the result of its command,
    whose row is ``first``. For a request that may have the result, as ``authorize_replay`` says.
    """
    age_ms = tx.now_ms - first.recorded_ms
    if age_ms > limits.IDEMPOTENCY_SECONDS_MIN * 1000 and not _is_working(request, admission):
        raise idempotency_result_expired()


def _is_working(request: AnyRequest, admission: Admission) -> bool:
    """Whether the request comes from a worker whose invocation has not ended. A claim of whatever comes next
    names no invocation; it may have its result only while its attempt is the current one, so it is working.
    """
    if request.operation.socket is not Socket.WORKER:
        return False
    return admission.invocation is None or admission.invocation.state not in ENDED_STATES


def _means_the_same(view: View, first: LogRow, wanted: Intent) -> bool:
    assert first.request_digest is not None
    if not hmac.compare_digest(first.request_digest, wanted.request_digest):
        return False
    if first.request_mac is None:
        return True
    keys = view.object_keys(first.position * BODIES_PER_COMMAND_MAX)
    if keys is None:
        return True
    spoken = wanted.request_mac(keys.request)
    return spoken is not None and hmac.compare_digest(first.request_mac, spoken)
