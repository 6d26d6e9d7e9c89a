"""How many requests a second the door moves, with nothing behind it: one process echoes, another asks.

Run it, on an otherwise quiet machine with two cores::

    python daemon/tests/door/bench_echo.py --clients 64 --bytes 400 --seconds 5

It prints one JSON line: requests a second, and microseconds of the daemon's CPU for each. No test gates on
it.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import select
import shutil
import socket
import sys
import tempfile
import time
from multiprocessing.connection import Connection

import msgspec
import trio

from tallyd.door import Channel, Door, Exchange
from tallystick.protocol.operation import Socket


class Now(msgspec.Struct, frozen=True):
    """A request that is answered as it stands."""

    line: bytes
    concurrent: bool = False
    waits: bool = False


class Echo:
    """The smallest dispatcher."""

    def parse(self, line: bytes, channel: Channel) -> Now:  # noqa: ARG002
        """See Dispatcher."""
        return Now(line)

    def start(self, parsed: Now, exchange: Exchange) -> None:
        """See Dispatcher."""
        exchange.reply(parsed.line)

    def finish_early(self, exchange: Exchange) -> None:
        """See Dispatcher."""

    def abandon(self, exchange: Exchange) -> None:
        """See Dispatcher."""

    def wants_drain(self) -> bool:
        """See Dispatcher."""
        return False

    def cut(self) -> None:
        """See Dispatcher."""

    def oversize(self, channel: Channel) -> bytes:
        """See Dispatcher."""
        return channel.actor.encode()

    def refuse_capacity(self, retry_after_seconds: int) -> bytes:
        """See Dispatcher."""
        return b"%d" % retry_after_seconds

    def failed(self, exchange: Exchange) -> bytes:
        """See Dispatcher."""
        return exchange.channel.actor.encode()


def serve(path: str, core: int, report: Connection) -> None:
    """The daemon's side: run until told to stop, then report CPU seconds."""
    _pin(core)

    async def main() -> None:
        door = Door(Echo())
        door.listen(
            Channel(
                socket=Socket.CLIENT, actor="me", strength="peer-uid", path=path, allowed_uid=os.geteuid()
            )
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(door.run)
            begin = time.process_time()
            report.send("ready")
            await trio.lowlevel.wait_readable(report.fileno())
            report.recv()
            report.send((time.process_time() - begin, door.turns))
            nursery.cancel_scope.cancel()

    trio.run(main)


def ask(path: str, clients: int, size: int, pipelined: int, seconds: float) -> float:
    """The clients' side: every connection always has `pipelined` requests under way; requests a second."""
    line = b"x" * (size - 1) + b"\n"
    poll = select.epoll()
    sockets: dict[int, socket.socket] = {}
    for _ in range(clients):
        connected = socket.socket(socket.AF_UNIX)
        connected.connect(path)
        sockets[connected.fileno()] = connected
        poll.register(connected.fileno(), select.EPOLLIN)
        connected.send(line * pipelined)
    partial = dict.fromkeys(sockets, 0)
    done = 0
    begin = time.perf_counter()
    end = begin + seconds
    while time.perf_counter() < end:
        for descriptor, _ in poll.poll():
            connected = sockets[descriptor]
            whole, partial[descriptor] = divmod(partial[descriptor] + len(connected.recv(65_536)), size)
            if whole:
                done += whole
                connected.send(line if whole == 1 else line * whole)
    return done / (time.perf_counter() - begin)


def _pin(core: int) -> None:
    if sys.platform == "linux":
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[core % len(cores)]})


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--bytes", type=int, default=400)
    parser.add_argument("--pipelined", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5.0)
    given = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="ty", dir="/tmp")
    path = os.path.join(directory, "tally.sock")
    ours, theirs = multiprocessing.Pipe()
    daemon = multiprocessing.get_context("spawn").Process(target=serve, args=(path, 0, theirs))
    daemon.start()
    try:
        ours.recv()
        _pin(1)
        rate = ask(path, given.clients, given.bytes, given.pipelined, given.seconds)
        ours.send("stop")
        cpu_seconds, turns = ours.recv()
        result = {
            "requests_per_second": round(rate),
            "daemon_cpu_us_per_request": round(cpu_seconds / (rate * given.seconds) * 1e6, 1),
            "requests_per_turn": round(rate * given.seconds / turns, 1),
        }
        sys.stdout.write(json.dumps(vars(given) | result) + "\n")
    finally:
        daemon.join()
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
