"""The sealed form: each chunk stands for itself, and nothing can be changed, moved, dropped or added."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallyd.vault import Damaged, Vault
from tallyd.vault.sealed import name_of
from tallyd.vault.sealing import PART
from tallyd.vault.stream import CHUNK_BYTES, HEADER_BYTES, SEALED_CHUNK_BYTES, Stream, chunks_of, sealed_bytes

from .vault_helpers import ARTIFACT, content_of, order, read_all, staged

SIZES = [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES, 3 * CHUNK_BYTES + 17]


def sealed_file(vault: Vault, content: bytes) -> Path:
    """Seals the content under the order of seed 1, and returns the file."""
    staged(vault, content)
    sealing = vault.seal(order(content))
    assert sealing.matches
    return Path(vault.sealed.path(name_of(ARTIFACT, sealing.version)))


@pytest.mark.parametrize("size", SIZES)
def test_what_was_sealed_is_read_back(vault: Vault, size: int) -> None:
    """Every size at, below and above the edges of a chunk comes back byte for byte."""
    content = content_of(size)
    path = sealed_file(vault, content)
    made = order(content)
    assert read_all(vault, made, made.version) == content
    assert path.stat().st_size == sealed_bytes(size)
    assert chunks_of(size) == max(1, -(-size // CHUNK_BYTES))


@pytest.mark.parametrize(
    ("offset", "count"),
    [
        (0, 1),
        (CHUNK_BYTES - 1, 2),
        (CHUNK_BYTES, CHUNK_BYTES),
        (5, 2 * CHUNK_BYTES),
        (2 * CHUNK_BYTES, 10**9),
    ],
)
def test_any_range_is_read_alone(vault: Vault, offset: int, count: int) -> None:
    """A range is what the same slice of the whole is, and no more than the whole."""
    content = content_of(2 * CHUNK_BYTES + 99)
    sealed_file(vault, content)
    made = order(content)
    found = vault.read(ARTIFACT, made.version, made.keys.seal, made.artifact, made.size, offset, count)
    assert found == content[offset : offset + count]


def test_reading_at_the_end_gives_nothing(vault: Vault) -> None:
    """The offset behind the last byte is the end, and no fault."""
    content = content_of(100)
    sealed_file(vault, content)
    made = order(content)
    assert vault.read(ARTIFACT, made.version, made.keys.seal, made.artifact, 100, 100, 1) == b""


def test_no_plain_bytes_are_sealed(vault: Vault) -> None:
    """Nothing of the content stands in the file."""
    path = sealed_file(vault, b"a secret of twenty-odd bytes")
    assert b"secret" not in path.read_bytes()


@pytest.mark.parametrize("at", [0, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + SEALED_CHUNK_BYTES + 3, -1])
def test_a_changed_byte_is_found(vault: Vault, at: int) -> None:
    """In the header, in a chunk, in a tag: what is not what was sealed is not served."""
    content = content_of(2 * CHUNK_BYTES)
    path = sealed_file(vault, content)
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    rewrite(path, bytes(raw))
    made = order(content)
    with pytest.raises(Damaged):
        read_all(vault, made, made.version)


def chunk(raw: bytes, number: int) -> bytes:
    """A sealed chunk of a file."""
    start = HEADER_BYTES + number * SEALED_CHUNK_BYTES
    return raw[start : start + SEALED_CHUNK_BYTES]


def rewrite(path: Path, raw: bytes) -> None:
    """Puts other bytes in the place of a file that is read-only."""
    path.unlink()
    path.write_bytes(raw)


def test_exchanged_chunks_are_found(vault: Vault) -> None:
    """A chunk is bound to its number."""
    content = content_of(3 * CHUNK_BYTES)
    path = sealed_file(vault, content)
    raw = path.read_bytes()
    rewrite(path, raw[:HEADER_BYTES] + chunk(raw, 1) + chunk(raw, 0) + chunk(raw, 2))
    made = order(content)
    with pytest.raises(Damaged, match="chunk 0"):
        read_all(vault, made, made.version)


def test_a_cut_file_is_found_even_by_who_is_told_its_new_size(vault: Vault) -> None:
    """The last chunk says that it is the last: a file cut at a chunk's edge does not read as a shorter
    artifact.
    """
    content = content_of(3 * CHUNK_BYTES)
    path = sealed_file(vault, content)
    rewrite(path, path.read_bytes()[:-SEALED_CHUNK_BYTES])
    made = order(content)
    with pytest.raises(Damaged, match="has not the"):
        read_all(vault, made, made.version)
    shorter = 2 * CHUNK_BYTES
    with pytest.raises(Damaged, match="chunk 1"):
        vault.read(ARTIFACT, made.version, made.keys.seal, made.artifact, shorter, 0, shorter)


def test_another_artifacts_chunk_is_found() -> None:
    """A chunk is bound to its artifact, also where key and prefix were the same."""
    key, prefix = bytes(32), bytes(7)
    sealed = Stream(key, prefix, b"a" * 16).seal(0, b"mine", last=True)
    with pytest.raises(Damaged):
        Stream(key, prefix, b"b" * 16).open(0, sealed, last=True)


def test_nonces_are_never_used_twice() -> None:
    """The nonce of a chunk is prefix, number and last flag: two chunks of one run never share it."""
    stream = Stream(bytes(32), bytes(7), bytes(16))
    sealed = {stream.seal(number, b"", last=last) for number in range(600) for last in (False, True)}
    assert len(sealed) == 1200


def test_a_missing_file_is_named(vault: Vault) -> None:
    """What is not there is damage, said with the file's name."""
    made = order(b"abc")
    with pytest.raises(Damaged, match=f"{ARTIFACT}.*is missing"):
        read_all(vault, made, made.version)


def test_keys_show_in_no_repr() -> None:
    """An order, its stream and a sealing may be logged."""
    made = order(b"abc")
    shown = repr(made) + repr(made.stream) + repr(made.keys)
    assert made.random[:8].hex() not in shown
    assert "\\x" not in shown


def test_the_part_file_has_no_name_that_a_row_could_have() -> None:
    """What a run has not finished can never be taken for what it has."""
    assert PART not in name_of(ARTIFACT, order(b"").version)
