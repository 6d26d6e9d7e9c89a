"""Keyed digests of an artifact and of what was declared about it (KCP section 8).

Both are HMAC-SHA-256 over typed bytes: each part behind its length in eight bytes, big-endian, the first of
them naming what the whole is. Their keys are random, belong to one artifact and go with it: whoever has the
database and a guess can test nothing once they are gone.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from tallyd.store.bodies import mac

_TYPED_BYTES: Final = b"dev.kovee.typed-bytes-digest.v1"
_ARTIFACT: Final = b"dev.kovee.artifact-content.v1"
_DECLARED: Final = b"dev.kovee.declared-raw-sha256.v1"
_PROTOCOL_MAJOR: Final = b"0"


class ContentDigest:
    """HMAC(key, F(typed bytes) ‖ F(domain) ‖ F("0") ‖ F(media type) ‖ F(bytes)), fed piece by piece.

    ``size`` goes in first, as the length of the bytes; the digest is that of the bytes only if so many came.
    """

    def __init__(self, key: bytes, media_type: str, size: int) -> None:
        self._mac = hmac.new(key, digestmod=hashlib.sha256)
        for part in (_TYPED_BYTES, _ARTIFACT, _PROTOCOL_MAJOR, media_type.encode()):
            self._mac.update(_framed(part))
        self._mac.update(size.to_bytes(8, "big"))

    def update(self, piece: bytes) -> None:
        self._mac.update(piece)

    def digest(self) -> bytes:
        """32 bytes."""
        return self._mac.digest()


def commitment(key: bytes, raw_sha256: str) -> bytes:
    """What is kept of a declared SHA-256 (64 hex digits): 32 bytes that say yes or no while the key lives."""
    return mac(key, _framed(_DECLARED) + _framed(raw_sha256.encode()))


def _framed(part: bytes) -> bytes:
    return len(part).to_bytes(8, "big") + part
