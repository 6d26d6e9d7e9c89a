"""The write-ahead log's greatest length under a full write load, beside eight readers and alone."""

from __future__ import annotations

from typing import Final

from benchmarks.appends import writers
from benchmarks.bars import Bars
from benchmarks.daemons import Daemon
from benchmarks.load import Measured, Plan, run
from tallystick.protocol.limits import WAL_BYTES_MAX

READERS: Final = 8
_WRITERS: Final = 64
_MIB: Final = 2**20


def measure(readers: int, seconds: float, place: str | None) -> Measured:
    """64 writers, and so many readers that read pages of 512 one after the other."""
    with Daemon(place=place) as daemon:
        found = run(
            Plan(
                socket=daemon.socket,
                log_file=daemon.log_file,
                daemon_pid=daemon.pid,
                writers=writers(daemon.socket, _WRITERS),
                readers=readers,
                seconds=seconds,
            )
        )
    found.check()
    return found


def bench(bars: Bars, seconds: float, place: str | None) -> None:
    """Prints both maxima and their bar."""
    print(f"\nthe write-ahead log's greatest length, {_WRITERS} writers, {seconds:g} s")
    for readers in (0, READERS):
        found = measure(readers, seconds, place)
        bars.hold(
            found.log_bytes_max < WAL_BYTES_MAX,
            f"{readers} readers: {found.log_bytes_max / _MIB:.1f} MiB, under {WAL_BYTES_MAX / _MIB:.0f} "
            f"({found.per_second:.0f} appends and {found.reads / seconds:.0f} pages a second)",
        )
