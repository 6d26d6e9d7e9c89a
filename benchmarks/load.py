"""The load: one process, many connections, as little CPU as Python can do with.

It runs as a process of its own (``python -m benchmarks.load``, a ``Plan`` in JSON on its standard input, a
``Measured`` on its standard output), so that it shares no interpreter with whoever measures. Requests are
prebuilt but for their keys; one epoll (or kqueue) serves all connections; a reply is looked at for its first
bytes and its length. Each connection has one request in flight: the next is sent when the reply is there.

* *Writers* append at the head of a space of their own; their latencies are what is reported.
* *Readers* read pages one after the other, and are there to be in the way.
* The size of the write-ahead log is taken by ``stat`` at least every two milliseconds.

What it does not do: open loops (a rate that does not wait for replies); ``waiters`` has one of its own.
"""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import sys
import time
from array import array
from typing import Final

import msgspec

from benchmarks.daemons import ROOT, cpu_seconds
from benchmarks.wire import Append, Space, keys, request

_RECEIVE_BYTES: Final = 262_144
_SAMPLE_SECONDS: Final = 0.002
_OK: Final = b'{"outcome":"ok"'


class Writer(msgspec.Struct, frozen=True):
    """Where one client appends."""

    project_id: str
    space_id: str
    branch_id: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What the load is to do."""

    socket: str
    log_file: str
    daemon_pid: int
    writers: list[Writer]
    readers: int = 0
    text_bytes: int = 400
    warm_up_seconds: float = 1.0
    seconds: float = 6.0


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it, the warm-up left out."""

    appends: int
    seconds: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    reads: int
    log_bytes_max: int
    problems: int
    first_problem: str
    load_cpu_seconds: float
    daemon_cpu_seconds: float

    @property
    def daemon_cpu_us(self) -> float:
        """Of the daemon's CPU, for one append and what else it did meanwhile."""
        return 1e6 * self.daemon_cpu_seconds / max(1, self.appends)

    def check(self) -> None:
        """Raises RuntimeError where a request was refused: then nothing was measured."""
        if self.problems:
            raise RuntimeError(f"{self.problems} requests were refused, the first with {self.first_problem}")

    @property
    def per_second(self) -> float:
        return self.appends / self.seconds


def run(plan: Plan) -> Measured:
    """Carries out the plan in a process of its own. Raises RuntimeError where that fails."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.load"],
        input=msgspec.json.encode(plan),
        stdout=subprocess.PIPE,
        cwd=ROOT,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the load ended with exit code {done.returncode}")
    return msgspec.json.decode(done.stdout, type=Measured)


class _Client:
    """One connection: what it sends next, and when it sent last."""

    __slots__ = ("append", "held", "reads", "sent_at", "socket", "turn")

    def __init__(self, path: str, append: Append | None, reads: list[bytes]) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.append = append
        self.reads = reads
        self.turn = 0
        self.held = b""
        """The beginning of a reply whose end has not come yet."""
        self.sent_at = 0.0


class _Load:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._keys = keys()
        self._selector = selectors.DefaultSelector()
        self._latencies = array("d")
        self._reads = 0
        self._problems = 0
        self._first_problem = ""
        self._log_bytes_max = 0
        self._clients = [
            _Client(plan.socket, Append(Space(w.project_id, w.space_id, w.branch_id), plan.text_bytes), [])
            for w in plan.writers
        ]
        self._clients += [
            _Client(plan.socket, None, _reads(plan.writers[number % len(plan.writers)], number))
            for number in range(plan.readers)
        ]

    def run(self) -> Measured:
        plan, select = self._plan, self._selector.select
        for client in self._clients:
            self._selector.register(client.socket, selectors.EVENT_READ, client)
            self._send(client)
        start = time.perf_counter() + plan.warm_up_seconds
        end = start + plan.seconds
        sampled = 0.0
        counting = False
        while (now := time.perf_counter()) < end:
            if not counting and now >= start:
                counting, self._reads = True, 0
                self._latencies = array("d")
                cpu, of_daemon = time.process_time(), cpu_seconds(plan.daemon_pid)
            if now - sampled >= _SAMPLE_SECONDS:
                sampled = now
                self._sample()
            for key, _ in select(0.05):
                self._receive(key.data)
        return self._measured(time.process_time() - cpu, cpu_seconds(plan.daemon_pid) - of_daemon)

    def _send(self, client: _Client) -> None:
        if client.append is not None:
            line = client.append.line(next(self._keys))
        else:
            line = client.reads[client.turn % len(client.reads)]
            client.turn += 1
        client.sent_at = time.perf_counter()
        client.socket.sendall(line)

    def _receive(self, client: _Client) -> None:
        data = client.socket.recv(_RECEIVE_BYTES)
        if not data:
            raise RuntimeError("the daemon closed a connection")
        if not data.endswith(b"\n"):  # one request is in flight, so a newline is the last byte of its reply
            client.held += data
            return
        reply, client.held = client.held + data, b""
        if not reply.startswith(_OK):
            self._problems += 1
            self._first_problem = self._first_problem or reply.decode(errors="replace")
        if client.append is not None:
            self._latencies.append(time.perf_counter() - client.sent_at)
        else:
            self._reads += 1
        self._send(client)

    def _sample(self) -> None:
        try:
            size = os.stat(self._plan.log_file).st_size
        except FileNotFoundError:
            return
        self._log_bytes_max = max(self._log_bytes_max, size)

    def _measured(self, own_cpu: float, daemon_cpu: float) -> Measured:
        ordered = sorted(self._latencies) or [0.0]
        return Measured(
            appends=len(self._latencies),
            seconds=self._plan.seconds,
            p50_ms=1000 * percentile(ordered, 50),
            p99_ms=1000 * percentile(ordered, 99),
            max_ms=1000 * ordered[-1],
            reads=self._reads,
            log_bytes_max=self._log_bytes_max,
            problems=self._problems,
            first_problem=self._first_problem,
            load_cpu_seconds=own_cpu,
            daemon_cpu_seconds=daemon_cpu,
        )


def percentile(ordered: list[float], percent: float) -> float:
    """The value that this many of a hundred do not exceed (nearest rank)."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def _reads(writer: Writer, number: int) -> list[bytes]:
    """A reader's requests: a page of events, or a filtered list, which the daemon reads on a thread."""
    if number % 2:
        args = {"space_id": writer.space_id, "kind": "evidence", "limit": 512}
        return [request("contribution_list", args, project_id=writer.project_id)]
    return [request("events_read", {"source": writer.project_id, "limit": 512})]


if __name__ == "__main__":
    plan_read = msgspec.json.decode(sys.stdin.buffer.read(), type=Plan)
    sys.stdout.buffer.write(msgspec.json.encode(_Load(plan_read).run()))
