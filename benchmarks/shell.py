"""How long the commands take that people wait for, from the start of their process to its end."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Final

from benchmarks.bars import Bars
from benchmarks.daemons import Daemon
from benchmarks.wire import Wire

MEDIAN_MS_MAX: Final = 100
RUNS: Final = 20
TALLY: Final = os.path.join(os.path.dirname(sys.executable), "tally")


def bench(bars: Bars, place: str | None) -> None:
    """Prints the median of each command, and its bar."""
    print(f"\ntally from the shell, medians of {RUNS}")
    if not os.access(TALLY, os.X_OK):
        print(f"  nothing measured: there is no {TALLY}; install the distribution into this environment")
        return
    with Daemon(place=place) as daemon:
        with Wire(daemon.socket) as wire:
            space = wire.new_space(wire.new_project("bench"), "bench")
        environment = {
            **os.environ,
            "TALLY_DATA_DIR": daemon.paths.data_dir,
            "TALLY_RUNTIME_DIR": daemon.paths.runtime_dir,
            "TALLY_STATE_DIR": daemon.paths.state_dir,
            "TALLY_NO_START": "1",
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program has its modules compiled
        say = ("say", "--project", space.project_id, "--space", space.space_id, "It drips at night.")
        for arguments in (("--version",), ("status", "--json"), say):
            _run(arguments, environment)
            took = statistics.median(_run(arguments, environment) for _ in range(RUNS))
            bars.hold(
                took < MEDIAN_MS_MAX, f"tally {' '.join(arguments[:2])}: {took:.0f} ms, under {MEDIAN_MS_MAX}"
            )


def _run(arguments: tuple[str, ...], environment: Mapping[str, str]) -> float:
    """Milliseconds. Raises RuntimeError where it fails: then nothing was measured."""
    began = time.perf_counter()
    done = subprocess.run([TALLY, *arguments], env=environment, capture_output=True, text=True, check=False)
    took = 1000 * (time.perf_counter() - began)
    if done.returncode:
        raise RuntimeError(f"tally {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
    return took
