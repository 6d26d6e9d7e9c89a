"""A sealing run: read once, hashed and sealed in one pass, durable before anybody is told, or nowhere."""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tallyd.store.files import Disk
from tallyd.vault import NO_BYTES, Stopped, Vault
from tallyd.vault.stream import CHUNK_BYTES

from .vault_helpers import (
    ARTIFACT,
    MEDIA_TYPE,
    UPLOAD,
    FailingDisk,
    NotingDisk,
    content_of,
    files,
    order,
    read_all,
    staged,
)


def framed(*parts: bytes) -> bytes:
    """Typed bytes as KCP frames them."""
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def test_the_content_digest_is_kcps_under_the_runs_key(vault: Vault) -> None:
    """HMAC over the typed bytes, with the digest key of this run."""
    content = content_of(CHUNK_BYTES + 5)
    staged(vault, content)
    made = order(content)
    typed = framed(
        b"dev.kovee.typed-bytes-digest.v1",
        b"dev.kovee.artifact-content.v1",
        b"0",
        MEDIA_TYPE.encode(),
        content,
    )
    expected = hmac.digest(made.keys.digest, typed, hashlib.sha256)
    assert vault.seal(made).content_digest == expected


def test_two_runs_share_nothing(vault: Vault) -> None:
    """Each run has its own key, prefix, name and digest: the files of two runs over the same bytes differ."""
    content = content_of(100)
    staged(vault, content)
    first, second = vault.seal(order(content, seed=1)), vault.seal(order(content, seed=2))
    assert first.version != second.version
    assert first.content_digest != second.content_digest
    sealed = [Path(vault.sealed.path(f"{ARTIFACT}.{one.version}")).read_bytes() for one in (first, second)]
    assert sealed[0][-116:] != sealed[1][-116:]


def test_the_file_is_on_the_disk_before_the_run_ends(data_dir: Path) -> None:
    """File, then name, then directory, each synced before the next."""
    disk = NotingDisk()
    vault = Vault(str(data_dir), disk)
    vault.open()
    staged(vault, b"abc")
    made = order(b"abc")
    disk.done.clear()
    vault.seal(made)
    name = f"{ARTIFACT}.{made.version}"
    assert disk.done == [("sync", f"{name}.part"), ("rename", name), ("sync directory", "sealed")]


def test_a_sealed_file_is_private_and_read_only(vault: Vault) -> None:
    """Nobody but the daemon reads it, and nobody writes it."""
    staged(vault, b"abc")
    made = order(b"abc")
    vault.seal(made)
    assert stat.S_IMODE(os.stat(vault.sealed.path(f"{ARTIFACT}.{made.version}")).st_mode) == 0o400


@pytest.mark.parametrize("size", [0, 5, CHUNK_BYTES, 2 * CHUNK_BYTES + 1])
def test_other_bytes_of_the_right_size_are_no_match(vault: Vault, data_dir: Path, size: int) -> None:
    """Bytes whose SHA-256 was not declared leave no sealed file."""
    staged(vault, content_of(size))
    sealing = vault.seal(order(content_of(size + 1), size=size))
    assert (sealing.matches, sealing.observed_size) == (False, size)
    assert sealing.version.startswith("v1-")
    assert files(data_dir / "artifacts")["sealed"] == []


@pytest.mark.parametrize("size", [2, 4, 10 * CHUNK_BYTES])
def test_another_size_is_no_match(vault: Vault, data_dir: Path, size: int) -> None:
    """Too few and too many bytes are found before anything is sealed."""
    staged(vault, content_of(size))
    sealing = vault.seal(order(b"abc"))
    assert (sealing.matches, sealing.observed_size) == (False, size)
    assert files(data_dir / "artifacts")["sealed"] == []


def test_without_bytes_there_is_no_version(vault: Vault) -> None:
    """A missing staging file is no empty one."""
    sealing = vault.seal(order(b""))
    assert (sealing.matches, sealing.version, sealing.content_digest) == (False, NO_BYTES, None)


def symbolic(path: Path, other: Path) -> None:
    path.symlink_to(other)


def hard(path: Path, other: Path) -> None:
    os.link(other, path)


def directory(path: Path, _other: Path) -> None:
    path.mkdir()


def fifo(path: Path, _other: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize("put", [symbolic, hard, directory, fifo])
def test_what_is_no_clients_file_is_no_bytes(
    vault: Vault, data_dir: Path, put: Callable[[Path, Path], None]
) -> None:
    """A link, a second name of another file, a directory and a FIFO are not read, and hold nobody up."""
    other = data_dir / "key"
    other.write_bytes(b"abc")
    put(Path(vault.staging.path(UPLOAD)), other)
    sealing = vault.seal(order(b"abc"))
    assert (sealing.matches, sealing.version) == (False, NO_BYTES)
    assert other.read_bytes() == b"abc"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_somebody_elses_file_is_no_bytes(vault: Vault) -> None:
    """Bytes that another user owns, and may change at any time, are not sealed."""
    os.chown(staged(vault, b"abc"), 12345, -1)
    assert vault.seal(order(b"abc")).version == NO_BYTES


class MeddlingDisk(Disk):
    """A client that goes on writing its staging file: before the run's n-th write, n from 1."""

    def __init__(self, nth: int, meddle: Callable[[], object]) -> None:
        self._left = nth
        self._meddle = meddle

    def write(self, descriptor: int, data: bytes) -> int:
        self._left -= 1
        if self._left == 0:
            self._meddle()
        return super().write(descriptor, data)


def meddled(data_dir: Path, nth: int, meddle: Callable[[Path], object], content: bytes) -> Vault:
    """A vault whose client writes into its staging file while it is sealed."""
    path = data_dir / "artifacts" / "staging" / UPLOAD
    vault = Vault(str(data_dir), MeddlingDisk(nth, lambda: meddle(path)))
    vault.open()
    staged(vault, content)
    return vault


def overwrite(at: int) -> Callable[[Path], object]:
    """Writes other bytes into the file, its size unchanged."""

    def write(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(at)
            file.write(b"changed")

    return write


def test_a_file_that_grows_meanwhile_is_no_match(data_dir: Path) -> None:
    """More bytes than declared are found in the pass itself, and what was written of it goes."""
    content = content_of(3 * CHUNK_BYTES)
    vault = meddled(data_dir, 1, lambda path: path.write_bytes(content + b"more"), content)
    assert not vault.seal(order(content)).matches
    assert files(data_dir / "artifacts")["sealed"] == []


def test_bytes_changed_behind_the_pass_change_nothing(data_dir: Path) -> None:
    """What was hashed is what was sealed, whatever stands in the file by now."""
    content = content_of(3 * CHUNK_BYTES)
    vault = meddled(data_dir, 2, overwrite(0), content)
    made = order(content)
    assert vault.seal(made).matches
    assert read_all(vault, made, made.version) == content


def test_bytes_changed_before_the_pass_are_no_match(data_dir: Path) -> None:
    """Bytes that were right when the run began and wrong when they were read are what was hashed."""
    content = content_of(3 * CHUNK_BYTES)
    vault = meddled(data_dir, 2, overwrite(2 * CHUNK_BYTES + 9), content)
    assert not vault.seal(order(content)).matches


def test_a_run_told_to_stop_leaves_nothing(vault: Vault, data_dir: Path) -> None:
    """A stop between two chunks ends the run, and what it wrote is gone."""
    content = content_of(5 * CHUNK_BYTES)
    staged(vault, content)
    asked: list[int] = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) == 3

    with pytest.raises(Stopped):
        vault.seal(order(content), stop)
    assert files(data_dir / "artifacts")["sealed"] == []
    assert vault.seal(order(content, seed=2)).matches


def test_every_failure_of_the_disk_leaves_nothing(data_dir: Path) -> None:
    """The n-th write, sync or rename fails, n = 1, 2, 3 …: no sealed file is left, until none fails."""
    content = content_of(CHUNK_BYTES + 3)
    Vault(str(data_dir), Disk()).open()
    fail_at = 0
    while True:
        fail_at += 1
        disk = FailingDisk(fail_at)
        vault = Vault(str(data_dir), disk)
        staged(vault, content)
        try:
            sealing = vault.seal(order(content, seed=fail_at))
        except OSError:
            assert files(data_dir / "artifacts")["sealed"] == []
            continue
        assert sealing.matches
        assert disk.calls < fail_at
        break
    assert fail_at > 8


def test_a_discarded_run_is_gone_whole(vault: Vault, data_dir: Path) -> None:
    """What no row will name is unlinked; discarding twice, or what was never sealed, is nothing."""
    staged(vault, b"abc")
    sealing = vault.seal(order(b"abc"))
    vault.discard(sealing)
    vault.discard(sealing)
    vault.discard(vault.seal(order(b"abd")))
    assert files(data_dir / "artifacts")["sealed"] == []


def test_erasing_is_durable_and_may_be_repeated(data_dir: Path) -> None:
    """The name is gone from the disk when erase returns; after a crash it can be called again."""
    disk = NotingDisk()
    vault = Vault(str(data_dir), disk)
    vault.open()
    staged(vault, b"abc")
    made = order(b"abc")
    vault.seal(made)
    disk.done.clear()
    assert vault.erase(ARTIFACT, made.version)
    assert disk.done == [("unlink", f"{ARTIFACT}.{made.version}"), ("sync directory", "sealed")]
    assert not vault.erase(ARTIFACT, made.version)
