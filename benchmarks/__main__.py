"""Runs the benchmarks and says whether their bars are met: exit code 0 where all are."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from benchmarks import appends, artifact, shell, upgrade, waiters, wal
from benchmarks.bars import Bars
from benchmarks.machine import describe

PARTS: Final = ("shell", "appends", "waiters", "wal", "artifact", "upgrade")


def main() -> int:
    """The number of bars missed."""
    given = _arguments()
    print(describe(given.place), flush=True)
    bars = Bars()
    parts = given.parts or PARTS
    if "shell" in parts:
        shell.bench(bars, given.place)
    if "appends" in parts:
        appends.bench(bars, given.rounds, given.seconds, given.place)
    if "waiters" in parts:
        waiters.bench(bars, given.waiting_seconds, given.place)
    if "wal" in parts:
        wal.bench(bars, given.log_seconds, given.place)
    if "artifact" in parts:
        artifact.bench(bars, given.mebibytes, given.place)
    if "upgrade" in parts:
        upgrade.bench(bars, given.rows, given.place)
    print(f"\n{bars.missed} bars missed" if bars.missed else "\nall bars met")
    return bars.missed


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=(__doc__ or "").strip())
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which of them (default: all)")
    parser.add_argument("--rounds", type=int, default=3, help="of the appends (default 3)")
    parser.add_argument("--seconds", type=float, default=5.0, help="of appends, each (default 5)")
    parser.add_argument("--waiting-seconds", type=float, default=20.0, help="with waiters, and without")
    parser.add_argument("--log-seconds", type=float, default=60.0, help="of load on the log, each")
    parser.add_argument("--mebibytes", type=int, default=1024, help="of the artifact (default 1024)")
    parser.add_argument("--rows", type=int, default=upgrade.ROWS, help="of the log of the upgraded store")
    parser.add_argument("--place", help="a directory on the disk to measure (default: temporary files')")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
