"""A sealing run: staging bytes are read once, hashed, sealed and written, and the result is on the disk or
nowhere.

A run is decided by its order, randomness included, and ends in one of these::

    staging file              sealed file      ends as
    none, or not a client's   none             no bytes: version "none"
    of another size           none             a mismatch
    other bytes               none             a mismatch: what was written is unlinked
    the bytes declared        durable          a match: its keys and its digest are for the transaction
    (disk fails, told to stop) none            OSError, Stopped: what was written is unlinked

A run that dies leaves a file whose name ends in ``.part``, which no row can name: the next start unlinks it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable
from typing import Final

import msgspec

from tallyd.store.bodies import KEY_BYTES, OBJECT_RANDOM_BYTES, ObjectKeys
from tallyd.store.files import Disk
from tallyd.vault import digest
from tallyd.vault.stream import CHUNK_BYTES, PREFIX_BYTES, Stream

NO_BYTES: Final = "none"
"""The version of what was never sealed, because there was nothing (KCP 16.1)."""
PART: Final = ".part"
_VERSION_BYTES: Final = 8
RUN_RANDOM_BYTES: Final = OBJECT_RANDOM_BYTES + PREFIX_BYTES + _VERSION_BYTES
"""Random bytes of a run: the artifact's keys and the nonce of their wrapping, the chunks' prefix, the
version's name.
"""


class Stopped(Exception):
    """The daemon is stopping, and the run was given up; its upload can be finalized again."""


class Order(msgspec.Struct, frozen=True, eq=False):
    """What is to be sealed, and with which randomness. Its ``repr`` shows no key."""

    upload_id: str
    artifact_id: str
    artifact: bytes
    """The artifact's 16 bytes: its chunks are bound to them."""
    size: int
    """Declared."""
    media_type: str
    commitment: bytes
    """Keyed digest of the declared SHA-256."""
    commitment_key: bytes
    random: bytes
    """RUN_RANDOM_BYTES."""

    def __repr__(self) -> str:
        return f"Order({self.upload_id})"

    @property
    def object_random(self) -> bytes:
        """Keys and wrapping nonce, as ``bodies.BodyStore`` takes them."""
        return self.random[:OBJECT_RANDOM_BYTES]

    @property
    def keys(self) -> ObjectKeys:
        return ObjectKeys(self.random[: 3 * KEY_BYTES])

    @property
    def stream(self) -> Stream:
        prefix = self.random[OBJECT_RANDOM_BYTES : OBJECT_RANDOM_BYTES + PREFIX_BYTES]
        return Stream(self.keys.seal, prefix, self.artifact)

    @property
    def version(self) -> str:
        """The name of what this run seals."""
        return "v1-" + self.random[-_VERSION_BYTES:].hex()


class Sealing(msgspec.Struct, frozen=True, eq=False):
    """How a run ended. Its ``repr`` shows no key."""

    order: Order
    version: str
    observed_size: int
    content_digest: bytes | None = None
    """Keyed with the run's own key; None where not all bytes were read."""
    matches: bool = False
    """The bytes are those that were declared, and they lie sealed on the disk."""

    def __repr__(self) -> str:
        return f"Sealing({self.order.upload_id}, {self.version}, matches={self.matches})"


class Pass:
    """The one pass over a staging file of the declared size."""

    def __init__(self, order: Order, disk: Disk, stop: Callable[[], bool]) -> None:
        self._disk = disk
        self._stop = stop
        self._stream = order.stream
        self._size = order.size
        self._raw = hashlib.sha256()
        self._keyed = digest.ContentDigest(order.keys.digest, order.media_type, order.size)
        self.observed = 0

    def run(self, source: int, target: int) -> None:
        """Reads ``source`` to its end, or to where it is longer than declared. Raises Stopped, OSError."""
        self._write(target, self._stream.header)
        number, piece = 0, _read_chunk(source)
        while True:
            following = _read_chunk(source) if len(piece) == CHUNK_BYTES else b""
            self._take(piece)
            self._write(target, self._stream.seal(number, piece, last=not following))
            if not following or self.observed > self._size:
                return
            number, piece = number + 1, following

    def _take(self, piece: bytes) -> None:
        if self._stop():
            raise Stopped
        self.observed += len(piece)
        self._raw.update(piece)
        self._keyed.update(piece)

    def _write(self, target: int, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[self._disk.write(target, bytes(left)) :]

    def matches(self, order: Order) -> bool:
        """Whether size and SHA-256 are those declared."""
        said = digest.commitment(order.commitment_key, self._raw.hexdigest())
        return self.observed == order.size and hmac.compare_digest(said, order.commitment)

    @property
    def content_digest(self) -> bytes:
        return self._keyed.digest()


def _read_chunk(source: int) -> bytes:
    """CHUNK_BYTES, or what is left."""
    piece = os.read(source, CHUNK_BYTES)
    while piece and len(piece) < CHUNK_BYTES:
        more = os.read(source, CHUNK_BYTES - len(piece))
        if not more:
            break
        piece += more
    return piece
