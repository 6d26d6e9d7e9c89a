"""Bringing a large store up to date: the seconds of each step, as the daemon tells its service manager.

The store is a real one of schema 7, that of version 0.1.0, filled by SQL with rows of the sizes that appends
of 400 bytes have: random bytes where hashes and sealed content are. Every reference holds; its leaves mean
nothing, and no step of an upgrade looks at them.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from typing import Final

from benchmarks.bars import Bars
from benchmarks.daemons import ROOT
from tallyd.service.bootstrap import bootstrap
from tallyd.service.ready import EXTEND_SECONDS
from tallyd.store import copies, marker, migrations
from tallyd.store.ambient import SystemAmbient
from tallyd.store.opening import open_store
from tallystick.paths import Paths, resolve

ROWS: Final = 524_000
"""Of the log: some 1.15 GB."""
_OLD_SCHEMA: Final = 7
_SILENCE_SECONDS_MAX: Final = EXTEND_SECONDS / 2
_START_SECONDS_MAX: Final = 3_600
_PART_OF_COPYING_MAX: Final = 0.5
_GB: Final = 1e9

_NUMBERS: Final = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
_FILL: Final = (
    """INSERT INTO log (
        position, leaf, epoch, recorded_ms, actor, strength, operation, mode, outcome, detail, event_id, type,
        schema_ref, resource, resource_revision, author, correlation, classification, stream, stream_sequence,
        project, project_sequence, payload, idempotency_key, key_hash, request_digest, request_mac, salt,
        content_commitment, state_commitment)
    SELECT i, randomblob(32), 1, 1764000000000 + i, 'prin-owner', 'peer-uid', 'contribution_append', 'owner',
        'applied', '{}', randomblob(16), 'dev.kovee.contribution.appended.v1', 'schema:contribution-v1',
        'contrib-' || lower(hex(randomblob(16))), 1, 'prin-owner', 'req-' || i, 'class-default', 1, i, 1, i,
        randomblob(600), 'key-' || lower(hex(randomblob(12))), randomblob(32), randomblob(32), randomblob(32),
        randomblob(16), randomblob(32), randomblob(32) FROM n""",
    "INSERT INTO ids SELECT randomblob(16), i FROM n",
    "INSERT INTO idempotency SELECT randomblob(24), i FROM n",
    """INSERT INTO contributions
    SELECT i, 1, i, 'observation', 'class-default', randomblob(32), 400, i * 16 FROM n""",
    "INSERT INTO bodies SELECT i * 16, randomblob(460) FROM n",
    "INSERT INTO object_keys SELECT i * 16, randomblob(124) FROM n",
)


def bench(bars: Bars, rows: int, place: str | None) -> None:
    """Prints the seconds of each step, and what they are held against."""
    home = tempfile.mkdtemp(prefix="tally-bench-", dir=place)
    runtime = tempfile.mkdtemp(prefix="ty", dir="/tmp")  # short: it stands in socket addresses
    paths = resolve(os.path.join(home, "data"), runtime, {"TALLY_STATE_DIR": os.path.join(home, "state")})
    try:
        fill(paths, rows)
        size = os.stat(paths.database).st_size / _GB
        print(f"\nbringing a store of {size:.2f} GB, {rows:,} rows in its log, up to date")
        judge(bars, upgrade(paths))
    finally:
        shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(runtime, ignore_errors=True)


def fill(paths: Paths, rows: int) -> None:
    """Makes the store."""
    ambient = SystemAmbient()
    schema = migrations.load()[:_OLD_SCHEMA]
    store = open_store(paths, ambient=ambient, bootstrap=bootstrap(ambient), steps_of_schema=schema)
    writer = store.writer
    writer.execute("PRAGMA foreign_keys=OFF").fetchall()  # they hold; checking each row takes minutes
    writer.execute("BEGIN").fetchall()
    for statement in _FILL:
        writer.execute(_NUMBERS + statement, (rows,)).fetchall()
    writer.execute("COMMIT").fetchall()
    store.truncate(writer)
    store.write_marker(*marker.end_of_log(writer))
    store.close()


class Step:
    """A step of a start: its name, how long it took, and the longest time without a word about it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seconds = self.silence = 0.0


def upgrade(paths: Paths) -> list[Step]:
    """Starts the daemon, follows it until it is ready, and ends it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(os.path.join(paths.runtime_dir, "notify"))
        supervisor.settimeout(_START_SECONDS_MAX)
        command = [sys.executable, "-m", "tallyd", "--data-dir", paths.data_dir]
        sources = os.pathsep.join(os.path.join(ROOT, part) for part in ("daemon", "sdk"))
        process = subprocess.Popen(
            [*command, "--runtime-dir", paths.runtime_dir],
            env={
                **os.environ,
                "PYTHONPATH": sources,
                "TALLY_STATE_DIR": paths.state_dir,
                "NOTIFY_SOCKET": supervisor.getsockname(),
            },
            stderr=subprocess.DEVNULL,
        )
        try:
            return _follow(supervisor)
        finally:
            process.terminate()
            process.wait()


def _follow(supervisor: socket.socket) -> list[Step]:
    steps = [Step("before the first word")]
    heard = time.perf_counter()
    while True:
        said = supervisor.recv(4096).decode()
        passed, heard = time.perf_counter() - heard, time.perf_counter()
        steps[-1].seconds += passed
        steps[-1].silence = max(steps[-1].silence, passed)
        if said.startswith("READY=1"):
            return steps
        name = said.partition("STATUS=")[2].partition(", ")[0]
        if name != steps[-1].name:
            steps.append(Step(name))


def judge(bars: Bars, steps: list[Step]) -> None:
    """A line for each step, and the bars: what a migration of small tables takes beside the copy, and that a
    supervisor hears in time.
    """
    for step in steps:
        print(f"          {step.seconds:7.2f} s  {step.name}")
    print(f"          {sum(step.seconds for step in steps):7.2f} s  from the start of the process to READY")
    of_the_copy = (copies.COPYING, copies.VERIFYING, copies.SYNCING)
    copying = sum(step.seconds for step in steps if step.name in of_the_copy)
    others = sum(step.seconds for step in steps) - copying
    bars.hold(
        others < _PART_OF_COPYING_MAX * copying,
        f"all but the copy: {others:.2f} s, under {_PART_OF_COPYING_MAX:g} of the copy's {copying:.2f} s",
    )
    silence = max(step.silence for step in steps)
    bars.hold(
        silence < _SILENCE_SECONDS_MAX,
        f"the longest silence: {silence:.2f} s, under {_SILENCE_SECONDS_MAX:g}"
        f" (a supervisor is asked for {EXTEND_SECONDS})",
    )
