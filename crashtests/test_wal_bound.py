"""The write-ahead log stays short under a full write load, whoever reads meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness.home import Daemon, Home
from harness.wire import Wire, request
from world import CLIENT, make_space

from tallystick.protocol.limits import WAL_BYTES_MAX

ROOT = Path(__file__).parents[1]
WRITERS = 16
SECONDS = 10.0
TEXT_BYTES = 40_000


def load(daemon: Daemon, readers: int) -> dict[str, Any]:
    """What the benchmarks' load generator measured, in a process of its own."""
    with Wire(daemon.paths) as wire:
        made = wire.ask(request(CLIENT, "project_create", {"name": "p"}, key="p"))
        project = made.result["project_id"]
        spaces = [make_space(wire, project, f"s{number}") for number in range(WRITERS)]
    plan = {
        "socket": daemon.paths.client_socket,
        "log_file": daemon.paths.database + "-wal",
        "daemon_pid": daemon.pid,
        "writers": [
            {"project_id": project, "space_id": space.space_id, "branch_id": space.branch_id}
            for space in spaces
        ],
        "readers": readers,
        "text_bytes": TEXT_BYTES,
        "seconds": SECONDS,
    }
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.load"],
        input=json.dumps(plan).encode(),
        stdout=subprocess.PIPE,
        cwd=ROOT,
        check=True,
    )
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


@pytest.mark.slow
@pytest.mark.parametrize("readers", [0, 8])
def test_the_log_stays_short(
    home: Home, readers: int, record_property: Callable[[str, object], None]
) -> None:
    """With overlapping readers and without, all is answered, and the log is a part of what was written (case
    31).
    """
    with home.start() as daemon:
        measured = load(daemon, readers)
    longest = measured["log_bytes_max"]
    record_property("figure", f"{readers} readers: the log was {longest / 2**20:.1f} MiB at its longest")
    assert measured["problems"] == 0, measured["first_problem"]
    assert bool(measured["reads"]) == bool(readers)
    assert measured["appends"] * TEXT_BYTES > WAL_BYTES_MAX, "too little was written to outgrow the bound"
    assert longest < WAL_BYTES_MAX
