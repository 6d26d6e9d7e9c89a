"""Sealed files: written by a run, read chunk by chunk, erased with their key."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from tallyd.store.files import Disk
from tallyd.store.lacks import lack_of
from tallyd.vault import stream
from tallyd.vault.sealing import PART, Order, Pass
from tallyd.vault.stream import CHUNK_BYTES, HEADER_BYTES, SEALED_CHUNK_BYTES, Damaged, Stream

_READ_ONLY: Final = 0o400


def name_of(artifact_id: str, version: str) -> str:
    """The name of a sealed file."""
    return f"{artifact_id}.{version}"


class Sealed:
    """The directory of sealed files."""

    def __init__(self, directory: str, disk: Disk) -> None:
        self._directory = directory
        self._disk = disk

    def path(self, name: str) -> str:
        return os.path.join(self._directory, name)

    def write(self, order: Order, source: int, stop: Callable[[], bool]) -> Pass:
        """Seals what ``source`` holds. If it matches, the file stands under its name and on the disk when
        this returns; otherwise there is none. Raises Stopped and OSError, and leaves nothing then either.
        """
        path = self.path(name_of(order.artifact_id, order.version))
        part = path + PART
        run = Pass(order, self._disk, stop)
        target = self._disk.create(part, _READ_ONLY)
        try:
            try:
                run.run(source, target)
                if run.matches(order):
                    self._disk.sync(target)
            finally:
                self._disk.close(target)
            if run.matches(order):
                self._disk.rename(part, path)
                self._disk.sync_directory(self._directory)
                return run
        except BaseException:
            for left in (part, path):  # nobody was told of either name
                with suppress(OSError):
                    self._disk.unlink(left)
            raise
        self._disk.unlink(part)
        return run

    def read(self, name: str, key: bytes, artifact: bytes, size: int, offset: int, count: int) -> bytes:
        """``count`` bytes of an artifact of ``size`` bytes from ``offset``, or what is left.

        Every chunk that is touched is authenticated whole. Raises Damaged and OSError.
        """
        end = min(size, offset + count)
        if offset >= end:
            return b""
        last = stream.chunks_of(size) - 1
        first, final = offset // CHUNK_BYTES, (end - 1) // CHUNK_BYTES
        with self._opened(name, size) as descriptor:
            chunks = Stream(key, stream.prefix_of(os.pread(descriptor, HEADER_BYTES, 0)), artifact)
            pieces = [
                chunks.open(number, _sealed_chunk(descriptor, number), last=number == last)
                for number in range(first, final + 1)
            ]
        plain = b"".join(pieces)
        return plain[offset - first * CHUNK_BYTES : end - first * CHUNK_BYTES]

    @contextmanager
    def _opened(self, name: str, size: int) -> Iterator[int]:
        try:
            descriptor = os.open(self.path(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            raise Damaged(f"the sealed file {name} is missing") from None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size != stream.sealed_bytes(size):
                raise Damaged(
                    f"the sealed file {name} has not the {stream.sealed_bytes(size)} bytes that were written"
                )
            yield descriptor
        finally:
            os.close(descriptor)

    def erase(self, name: str) -> bool:
        """Unlinks a sealed file; whether there was one. May be called again after a crash, as often as it
        takes.
        """
        try:
            self._disk.unlink(self.path(name))
        except FileNotFoundError:
            return False
        self._disk.sync_directory(self._directory)
        return True

    def fault(self, name: str, size: int) -> str | None:
        """What is wrong with a sealed file, as far as its length and beginning show it; None where nothing
        is. Raises OSError for what the system would not give: that says nothing of the file.
        """
        try:
            with self._opened(name, size) as descriptor:
                stream.prefix_of(os.pread(descriptor, HEADER_BYTES, 0))
        except (Damaged, OSError) as found:
            if lack_of(found) is not None:
                raise
            return str(found)
        return None


def _sealed_chunk(descriptor: int, number: int) -> bytes:
    return os.pread(descriptor, SEALED_CHUNK_BYTES, HEADER_BYTES + number * SEALED_CHUNK_BYTES)
