"""The sealed form of an artifact: a header, then chunks that cannot be changed, moved, dropped or added.

::

    offset   bytes
    0        30       "tallystick sealed artifact v1\\n"
    30       7        nonce prefix, random
    37 + i × 65,552   chunk i: 65,536 bytes of the artifact, sealed, and a tag of 16; the last may be shorter

This is the STREAM construction (Hoang, Reyhanitabar, Rogaway, Vizár: Online Authenticated-Encryption and its
Nonce-Reuse Misuse-Resistance, CRYPTO 2015) over AES-256-GCM: a chunk's nonce is the prefix, the chunk's
number in four bytes, big-endian, and one byte that is 1 for the last chunk and 0 for all others; its
associated data name the format and the artifact. An empty artifact is one empty last chunk; no other last
chunk is empty. The key is used for one artifact and one run, so that no nonce is ever used twice.

Any chunk can be opened alone, which is what makes a download resumable.
"""

from __future__ import annotations

from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MAGIC: Final = b"tallystick sealed artifact v1\n"
PREFIX_BYTES: Final = 7
HEADER_BYTES: Final = len(MAGIC) + PREFIX_BYTES
CHUNK_BYTES: Final = 65_536
TAG_BYTES: Final = 16
SEALED_CHUNK_BYTES: Final = CHUNK_BYTES + TAG_BYTES

_CONTEXT: Final = b"tallystick artifact chunk v1 "


class Damaged(Exception):
    """A sealed file is missing, or is not what was sealed; the text says which, and how it shows."""


class Stream:
    """Seals and opens the chunks of one artifact. Its ``repr`` shows no key."""

    def __init__(self, key: bytes, prefix: bytes, artifact: bytes) -> None:
        if len(prefix) != PREFIX_BYTES:
            raise ValueError(f"a nonce prefix is {PREFIX_BYTES} bytes, not {len(prefix)}")
        self._aead = AESGCM(key)
        self._prefix = prefix
        self._data = _CONTEXT + artifact

    def __repr__(self) -> str:
        return "Stream(redacted)"

    @property
    def header(self) -> bytes:
        """What the file begins with."""
        return MAGIC + self._prefix

    def seal(self, number: int, plain: bytes, *, last: bool) -> bytes:
        """A chunk as it stands in the file."""
        return self._aead.encrypt(self._nonce(number, last), plain, self._data)

    def open(self, number: int, sealed: bytes, *, last: bool) -> bytes:
        """The chunk's bytes. Raises Damaged."""
        try:
            return self._aead.decrypt(self._nonce(number, last), sealed, self._data)
        except InvalidTag:
            raise Damaged(f"chunk {number} is not what was sealed") from None

    def _nonce(self, number: int, last: bool) -> bytes:
        return self._prefix + number.to_bytes(4, "big") + (b"\1" if last else b"\0")


def prefix_of(header: bytes) -> bytes:
    """The nonce prefix that a file's header holds. Raises Damaged."""
    if len(header) != HEADER_BYTES or not header.startswith(MAGIC):
        raise Damaged("the file does not begin as a sealed artifact does")
    return header[len(MAGIC) :]


def chunks_of(size: int) -> int:
    """How many chunks an artifact of ``size`` bytes has."""
    return max(1, -(-size // CHUNK_BYTES))


def sealed_bytes(size: int) -> int:
    """How long the sealed file of an artifact of ``size`` bytes is."""
    return HEADER_BYTES + size + TAG_BYTES * chunks_of(size)
