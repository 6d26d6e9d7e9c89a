"""Two checkouts side by side: the only figures of this machine that mean something are ratios of one hour.

``python -m benchmarks.compare <checkout before> [<checkout after>] [--clients 64] [--flush-ms 2]``

Each round runs both, in turn first; what is printed for each is the median, and of the pairs' ratios the
median. The load and the slow disk are this checkout's for both; the daemon alone differs.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Final

from benchmarks.appends import measure
from benchmarks.daemons import ROOT
from benchmarks.load import Measured

_COLUMNS: Final = ("per_second", "p50_ms", "p99_ms", "daemon_cpu_us")


def main() -> None:
    """Prints a line for each checkout, and the ratios."""
    parser = argparse.ArgumentParser(prog="benchmarks.compare", description=__doc__.partition("\n")[0])
    parser.add_argument("before")
    parser.add_argument("after", nargs="?", default=ROOT)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--flush-ms", type=float, default=0.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    given = parser.parse_args()
    trees = (given.before, given.after)
    found: dict[str, list[Measured]] = {tree: [] for tree in trees}
    for number in range(given.rounds):
        for tree in trees if number % 2 == 0 else reversed(trees):
            found[tree].append(
                measure(given.clients, flush_ms=given.flush_ms, seconds=given.seconds, tree=tree)
            )
    for tree in trees:
        print(f"{tree}: " + _line([[getattr(run, name) for name in _COLUMNS] for run in found[tree]]))
    pairs = zip(found[given.before], found[given.after], strict=True)
    print("ratio: " + _line([[getattr(b, name) / getattr(a, name) for name in _COLUMNS] for a, b in pairs]))


def _line(rows: list[list[float]]) -> str:
    medians = [statistics.median(column) for column in zip(*rows, strict=True)]
    return ", ".join(
        f"{name} {value:.3g}" if value < 100 else f"{name} {value:.0f}"
        for name, value in zip(_COLUMNS, medians, strict=True)
    )


if __name__ == "__main__":
    main()
