"""What the vault's tests share: orders, a disk that fails, and one that takes notes."""

from __future__ import annotations

import errno
import hashlib
import os
import random
from pathlib import Path
from typing import Final

from tallyd.store.files import Disk
from tallyd.vault import Order, Vault, digest
from tallyd.vault.sealing import RUN_RANDOM_BYTES

UPLOAD: Final = "upl-" + "1" * 32
ARTIFACT: Final = "art-" + "2" * 32
COMMITMENT_KEY: Final = bytes(range(32))
MEDIA_TYPE: Final = "text/plain"


def order(content: bytes, *, seed: int = 1, size: int | None = None) -> Order:
    """An order for that content; ``size`` is declared where it is not the content's own."""
    declared = hashlib.sha256(content).hexdigest()
    return Order(
        upload_id=UPLOAD,
        artifact_id=ARTIFACT,
        artifact=bytes.fromhex(ARTIFACT[4:]),
        size=len(content) if size is None else size,
        media_type=MEDIA_TYPE,
        commitment=digest.commitment(COMMITMENT_KEY, declared),
        commitment_key=COMMITMENT_KEY,
        random=random.Random(seed).randbytes(RUN_RANDOM_BYTES),
    )


def content_of(size: int) -> bytes:
    """Bytes that do not repeat."""
    return random.Random(size).randbytes(size)


def staged(vault: Vault, content: bytes) -> Path:
    """Writes the bytes as a client does, and returns the file."""
    path = Path(vault.staging.path(UPLOAD))
    path.write_bytes(content)
    return path


def read_all(vault: Vault, made: Order, version: str) -> bytes:
    """The whole artifact, opened with the order's key."""
    return vault.read(ARTIFACT, version, made.keys.seal, made.artifact, made.size, 0, made.size)


def files(vault_root: Path) -> dict[str, list[str]]:
    """The names in each of the vault's directories."""
    return {name: sorted(os.listdir(vault_root / name)) for name in ("staging", "sealed", "aside")}


class FailingDisk(Disk):
    """The n-th call that changes anything fails, n from 1; 0 is a disk that works and counts."""

    def __init__(self, fail_at: int = 0) -> None:
        self.calls = 0
        self.fail_at = fail_at

    def _count(self) -> None:
        self.calls += 1
        if self.calls == self.fail_at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def create(self, path: str, mode: int) -> int:
        self._count()
        return super().create(path, mode)

    def extend(self, path: str, mode: int) -> int:
        self._count()
        return super().extend(path, mode)

    def write(self, descriptor: int, data: bytes) -> int:
        self._count()
        return super().write(descriptor, data[: (len(data) + 1) // 2])  # short writes are legal

    def write_at(self, descriptor: int, data: bytes, offset: int) -> int:
        self._count()
        return super().write_at(descriptor, data[: (len(data) + 1) // 2], offset)

    def sync(self, descriptor: int) -> None:
        self._count()
        super().sync(descriptor)

    def rename(self, source: str, target: str) -> None:
        self._count()
        super().rename(source, target)

    def sync_directory(self, path: str) -> None:
        self._count()
        super().sync_directory(path)


class NotingDisk(Disk):
    """Writes down, in order, what was made durable and named: ``(call, name)``."""

    def __init__(self) -> None:
        self.done: list[tuple[str, str]] = []
        self._paths: dict[int, str] = {}

    def create(self, path: str, mode: int) -> int:
        descriptor = super().create(path, mode)
        self._paths[descriptor] = path
        return descriptor

    def extend(self, path: str, mode: int) -> int:
        descriptor = super().extend(path, mode)
        self._paths[descriptor] = path
        return descriptor

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        self.done.append(("sync", os.path.basename(self._paths[descriptor])))

    def rename(self, source: str, target: str) -> None:
        super().rename(source, target)
        self.done.append(("rename", os.path.basename(target)))

    def unlink(self, path: str) -> None:
        super().unlink(path)
        self.done.append(("unlink", os.path.basename(path)))

    def sync_directory(self, path: str) -> None:
        super().sync_directory(path)
        self.done.append(("sync directory", os.path.basename(path)))
