"""Cursors: positions in a source, and places in a list, that a client can hold and neither make nor read.

``kc1.<hex of the sealed JSON>.<hex HMAC-SHA-256>`` (KCP section 6): sealed with AES-SIV (RFC 5297), which
gives the same bytes for the same JSON, then authenticated. The JSON is filled with spaces to a length that
follows from its source alone, so not even the number of digits shows. It has sorted members and no spaces:

====== ==========================================================================================
b      list tokens: the project sequence (or realm stream sequence) of the page's boundary cursor
epoch  the store's epoch number
f      a digest of the filter that made it; absent from a token that any filter may go on from
k      continuations: the last item's position
nonce  the beginning of the epoch's random bytes: two epochs of one number are not one epoch
seq    the sequence after which to go on; of a list token the highest log position it shows
source what it is a cursor of; of a list, ``list:<what>:<parent>``
v      1
====== ==========================================================================================

The same state gives the same token. Version 0.1.0 did not seal: its tokens, which hold the JSON itself under
an HMAC, are taken as long as their epoch lasts, because followers and frontiers keep them.

A foreign, truncated, forged or otherwise unusable token is one and the same ``invalid``; one of an old epoch
is ``Expired``, and what to tell the client is its caller's part. Possession grants nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from typing import Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from tallyd.store.bodies import mac
from tallystick.protocol.problems import invalid

_TOKEN: Final = re.compile(r"kc1\.([0-9a-f]{2,3800})\.([0-9a-f]{64})\Z")
_SEALED: Final = b"tallystick cursor v2"
_BESIDE_SOURCE_BYTES_MAX: Final = 192
"""What a cursor's JSON has beside its source, at most: four numbers and two short digests, with their
names."""


class Cursor(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a token says; field names as on the wire."""

    epoch: int
    nonce: str
    seq: int
    source: str
    v: int = 1
    b: int | None = None
    f: str | None = None
    k: int | None = None


class Expired(Exception):
    """The token was made in another epoch of this store, or stands past the head of its source."""


_encoder: Final = msgspec.json.Encoder(order="sorted")
_decoder: Final = msgspec.json.Decoder(Cursor)


def filter_digest(prefixes: Sequence[str]) -> str | None:
    """A short digest of a set of type prefixes; None if there are none. Order and repetition do not matter.
    """
    if not prefixes:
        return None
    return hashlib.sha256("\0".join(sorted(set(prefixes))).encode()).hexdigest()[:16]


class Cursors:
    """Makes and reads tokens under the store's cursor key, in one epoch."""

    def __init__(self, key: bytes, epoch: int, nonce: bytes) -> None:
        self._key = key
        self._siv = AESSIV(mac(key, _SEALED + b" key 1") + mac(key, _SEALED + b" key 2"))
        self.epoch = epoch
        self._nonce = nonce.hex()[:16]

    def __repr__(self) -> str:
        return f"Cursors(epoch={self.epoch})"

    def token(self, source: str, seq: int, *, f: str | None = None) -> str:
        """A cursor of events: go on after ``seq``."""
        return self._mint(Cursor(self.epoch, self._nonce, seq, source, f=f))

    def snapshot(self, source: str, bound: int, boundary: int, *, f: str | None = None) -> str:
        """A list's snapshot: the rows up to log position ``bound``, with its boundary cursor's sequence."""
        return self._mint(Cursor(self.epoch, self._nonce, bound, source, b=boundary, f=f))

    def continuation(self, source: str, bound: int, boundary: int, last: int, *, f: str | None = None) -> str:
        """Where the next page of a snapshot begins: after the item made at ``last``."""
        return self._mint(Cursor(self.epoch, self._nonce, bound, source, b=boundary, f=f, k=last))

    def _mint(self, cursor: Cursor) -> str:
        said = _encoder.encode(cursor).ljust(len(cursor.source) + _BESIDE_SOURCE_BYTES_MAX)
        sealed = self._siv.encrypt(said, [_SEALED])
        return f"kc1.{sealed.hex()}.{mac(self._key, _SEALED + sealed).hex()}"

    def read(self, token: str, source: str, at: str) -> Cursor:
        """What the token says. Raises Refusal ``invalid`` (``at`` is the JSON path of the argument) or
        Expired.
        """
        said = self._opened(token)
        if said is None:
            raise _unusable(at)
        try:
            cursor = _decoder.decode(said)
        except msgspec.MsgspecError:
            raise _unusable(at) from None
        if cursor.source != source:
            raise _unusable(at)
        if (cursor.epoch, cursor.nonce) != (self.epoch, self._nonce):
            raise Expired
        return cursor

    def _opened(self, token: str) -> bytes | None:
        """The JSON of a token that was made under our key, sealed or not; None for any other."""
        match = _TOKEN.match(token)
        if match is None or len(match[1]) % 2:
            return None
        held, seal = bytes.fromhex(match[1]), bytes.fromhex(match[2])
        if hmac.compare_digest(mac(self._key, _SEALED + held), seal):
            try:
                return self._siv.decrypt(held, [_SEALED])
            except InvalidTag:
                return None
        return held if hmac.compare_digest(mac(self._key, held), seal) else None


def _unusable(at: str) -> Exception:
    return invalid(f"{at} is not a cursor that this daemon made for this source; begin without one")
