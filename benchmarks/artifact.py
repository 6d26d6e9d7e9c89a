"""A large artifact up, sealed and down again: the daemon's memory, and what others wait meanwhile."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final

from benchmarks.bars import Bars
from benchmarks.daemons import Daemon
from tallystick import Client

MEMORY_BYTES_MAX: Final = 150_000_000
"""What the daemon may take at its highest, whatever the artifact's size."""
WAIT_SECONDS_MAX: Final = 1.0
"""The longest that a small command may wait while an artifact is sealed."""
_MIB: Final = 2**20
_PIECE: Final = hashlib.sha512(b"tallystick").digest() * (_MIB // 64)


def write(file: BinaryIO, size: int) -> None:
    """Bytes of which no two mebibytes are alike."""
    for number in range(size // _MIB):
        file.write(number.to_bytes(8, "big") + _PIECE[8:])


def digest(path: str) -> str:
    """The SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def peak_bytes(pid: int) -> int:
    """The most memory that a process has had so far: the resident set's high-water mark."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    raise LookupError("this system does not say what a process has had at most")


@contextmanager
def beside(runtime_dir: str) -> Iterator[list[float]]:
    """While it runs, one client makes projects, one after the other: the seconds that each took."""
    took: list[float] = []
    done = threading.Event()

    def make() -> None:
        with Client(runtime_dir, key_store=None) as client:
            while not done.is_set():
                began = time.perf_counter()
                client.project_create("beside")
                took.append(time.perf_counter() - began)

    thread = threading.Thread(target=make)
    thread.start()
    try:
        yield took
    finally:
        done.set()
        thread.join()


def bench(bars: Bars, mebibytes: int, place: str | None) -> None:
    """Prints how long it took each way, and its bars."""
    print(f"\nan artifact of {mebibytes} MiB, up, sealed and down again")
    with Daemon(place=place) as daemon:
        source_path, target_path = (os.path.join(daemon.home, name) for name in ("source", "target"))
        with open(source_path, "w+b") as source, open(target_path, "w+b") as target:
            write(source, mebibytes * _MIB)
            runtime_dir = daemon.paths.runtime_dir
            before = peak_bytes(daemon.pid)
            with Client(runtime_dir, key_store=None) as client, beside(runtime_dir) as took:
                began = time.perf_counter()
                artifact = client.upload(source)
                up = time.perf_counter()
                client.download(artifact.artifact_id, target)
                down = time.perf_counter()
        same = digest(source_path) == digest(target_path)
        peak = peak_bytes(daemon.pid)
    rates = f"up and sealed {mebibytes / (up - began):.0f} MiB/s, down {mebibytes / (down - up):.0f} MiB/s"
    print(f"  {rates}; the daemon took {before / 1e6:.0f} MB before")
    bars.hold(same, "what came down is what went up")
    bars.hold(peak < MEMORY_BYTES_MAX, f"the daemon's memory at its highest: {peak / 1e6:.0f} MB")
    bars.hold(
        max(took) < WAIT_SECONDS_MAX,
        f"{len(took)} commands beside it: median {sorted(took)[len(took) // 2] * 1e3:.1f} ms, "
        f"at most {max(took) * 1e3:.0f} ms",
    )
