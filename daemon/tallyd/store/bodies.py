"""Content, sealed once, and the keys that make it readable.

A *body* is one piece of content in canonical JSON: a contribution's parts, a name, a reason. It stands in
one row of ``bodies``, sealed (encrypted) with AES-256-GCM under a key of its own. That key stands in one row
of ``object_keys``, wrapped (encrypted) under the store's object key. Erasing a body means deleting the two
rows. Everything else that the store holds of it is then useless: records that refer to the body by its
number, and digests made with a key that was deleted with it.

Each object has three independent random keys of 32 bytes, wrapped together:

======= ==================================================================
seal    AES-256-GCM of the content; used once, so its nonce is zero
digest  HMAC of the content digest, and of the log's content commitment
request HMAC of the request that brought the content
======= ==================================================================

Nothing here reads a clock or makes randomness: the caller gives the random bytes.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

import apsw
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tallyd.store.writer import Writer

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
OBJECT_RANDOM_BYTES: Final = 3 * KEY_BYTES + NONCE_BYTES
"""Random bytes that a new object takes: its three keys and the nonce of their wrapping."""
BODIES_PER_COMMAND_MAX: Final = 16
"""A body's number is the command's position times this, plus an ordinal: never used twice, even after
erasure."""

_SEAL_NONCE: Final = bytes(NONCE_BYTES)
_WRAP_CONTEXT: Final = b"tallystick object key v1 "
_SEAL_CONTEXT: Final = b"tallystick body v1 "
_BLOCK_BYTES: Final = 64
_INNER_PAD: Final = bytes(byte ^ 0x36 for byte in range(256))
_OUTER_PAD: Final = bytes(byte ^ 0x5C for byte in range(256))


class BodyDamaged(Exception):
    """A body, or its keys, cannot be opened: what the disk gives is not what was written."""

    def __init__(self, body: int) -> None:
        super().__init__(f"body {body} cannot be opened")
        self.position = body // BODIES_PER_COMMAND_MAX
        """The log position of the command that brought it."""


class ObjectKeys:
    """The three keys of one object. Its ``repr`` shows none of them."""

    __slots__ = ("digest", "request", "seal")

    def __init__(self, plain: bytes) -> None:
        if len(plain) != 3 * KEY_BYTES:
            raise ValueError(f"an object's keys are {3 * KEY_BYTES} bytes, not {len(plain)}")
        self.seal = plain[:KEY_BYTES]
        self.digest = plain[KEY_BYTES : 2 * KEY_BYTES]
        self.request = plain[2 * KEY_BYTES :]

    def __repr__(self) -> str:
        return "ObjectKeys(redacted)"


def mac(key: bytes, data: bytes) -> bytes:
    """HMAC-SHA-256 (RFC 2104), 32 bytes; ``key`` has at most one block of 64 bytes.

    Written out, since a command takes five: ``hmac.digest`` looks its algorithm up in OpenSSL each time, and
    that takes longer than the two hashes.
    """
    assert len(key) <= _BLOCK_BYTES, "a longer key would have to be hashed first"
    block = key.ljust(_BLOCK_BYTES, b"\0")
    inner = sha256(block.translate(_INNER_PAD) + data).digest()
    return sha256(block.translate(_OUTER_PAD) + inner).digest()


class BodyStore:
    """Seals and opens bodies over one connection. Holds the unwrapped object key of the store, and no state
    beside it."""

    def __init__(self, object_key: bytes) -> None:
        self._wrap = AESGCM(object_key)

    def __repr__(self) -> str:
        return "BodyStore(redacted)"

    def put(self, db: Writer, body: int, content: bytes, random: bytes) -> ObjectKeys:
        """Seals ``content`` as ``body`` with keys taken from ``random`` (OBJECT_RANDOM_BYTES), and returns
        the keys.

        Raises apsw.ConstraintError where the body exists: a number is used once.
        """
        keys = self.put_keys(db, body, random)
        sealed = AESGCM(keys.seal).encrypt(_SEAL_NONCE, content, _SEAL_CONTEXT + b"%d" % body)
        db.note("bodies", "INSERT INTO bodies (body, sealed) VALUES (?, ?)", (body, sealed))
        return keys

    def put_keys(self, db: Writer, body: int, random: bytes) -> ObjectKeys:
        """Keeps the keys of an object alone: of a body, or, under a body's number, of content that stands in
        a file of its own. Raises as ``put`` does.
        """
        if len(random) != OBJECT_RANDOM_BYTES:
            raise ValueError(f"a new object takes {OBJECT_RANDOM_BYTES} random bytes, not {len(random)}")
        plain, nonce = random[: 3 * KEY_BYTES], random[3 * KEY_BYTES :]
        wrapped = nonce + self._wrap.encrypt(nonce, plain, _WRAP_CONTEXT + b"%d" % body)
        db.note("object_keys", "INSERT INTO object_keys (body, wrapped) VALUES (?, ?)", (body, wrapped))
        return ObjectKeys(plain)

    def keys(self, db: apsw.Connection, body: int) -> ObjectKeys | None:
        """The body's keys, or None where it was erased. Raises BodyDamaged where the row was changed, or the
        store's object key is another.
        """
        row = db.execute("SELECT wrapped FROM object_keys WHERE body = ?", (body,)).fetchone()
        if row is None:
            return None
        wrapped = row[0]
        try:
            plain = self._wrap.decrypt(
                wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], _WRAP_CONTEXT + b"%d" % body
            )
        except InvalidTag:
            raise BodyDamaged(body) from None
        return ObjectKeys(plain)

    def get(self, db: apsw.Connection, body: int) -> bytes | None:
        """The content in canonical JSON, or None where it was erased: an erasure takes both rows, so that one
        without the other is damage. Raises BodyDamaged.
        """
        keys = self.keys(db, body)
        row = db.execute("SELECT sealed FROM bodies WHERE body = ?", (body,)).fetchone()
        if keys is None and row is None:
            return None
        if keys is None or row is None:
            raise BodyDamaged(body)
        try:
            return AESGCM(keys.seal).decrypt(_SEAL_NONCE, row[0], _SEAL_CONTEXT + b"%d" % body)
        except InvalidTag:
            raise BodyDamaged(body) from None
