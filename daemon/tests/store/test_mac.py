"""The store's HMAC is the one of RFC 2104, whatever the key and the data."""

from __future__ import annotations

import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallyd.store.bodies import mac


@given(st.binary(max_size=64), st.binary(max_size=300))
def test_mac_is_hmac_sha_256(key: bytes, data: bytes) -> None:
    """The bytes are those of the standard library's HMAC, for keys up to a block of the hash."""
    assert mac(key, data) == hmac.digest(key, data, "sha256")


def test_a_longer_key_is_refused() -> None:
    """A key beyond a block would have to be hashed first: it is refused, and never cut or taken as it is."""
    with pytest.raises(AssertionError):
        mac(bytes(65), b"data")
