"""Telling whoever started the daemon how far it is: that it is ready, and before that what takes so long.

READY is said after the sockets are bound and the store has recovered, never before: a supervisor that
believes it may send commands at once. It is one line on a descriptor, and systemd's notification.

A start that copies and migrates a large store takes minutes. Meanwhile two are told, once a second at most:

- the supervisor, by ``EXTEND_TIMEOUT_USEC`` and a ``STATUS`` text (sd_notify(3)), so that it goes on waiting;
- ``tally up``, by the file ``starting.json`` in the runtime directory, one line of JSON that is replaced
  each time, ``{"pid": 7, "step": "copying the database", "percent": 42, "seconds": 3.1}``. ``percent`` is
  null where nobody knows it, and ``seconds`` are those since the step began. The file is gone once the
  daemon is ready.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

import msgspec

from tallystick.paths import Paths

logger = logging.getLogger("tallyd")

EXTEND_SECONDS: Final = 120
"""What the supervisor is asked for each time. More than SQLite needs for a commit, and a disk for a sync, of
some gigabytes: nothing can be told while one of these goes on."""
TELL_SECONDS: Final = 1.0
"""A step that goes on is told again after so long; a new one at once."""

_NOTIFY_SECONDS_MAX: Final = 10.0
"""A supervisor that does not read does not hold the start up for ever."""


class _Told(msgspec.Struct, frozen=True):
    """What ``starting.json`` holds."""

    pid: int
    step: str
    percent: int | None
    seconds: float


class Readiness:
    """Where it is told. That the daemon is ready is told each place once."""

    def __init__(
        self,
        descriptor: int | None,
        env: Mapping[str, str],
        paths: Paths,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._descriptor = descriptor
        self._notify_socket = env.get("NOTIFY_SOCKET")
        self._paths = paths
        self._monotonic = monotonic
        self._step = ""
        self._begun = self._told = 0.0

    def progress(self, step: str, percent: int | None) -> None:
        """The start is at this step. May be called as often as one likes, and only by whoever holds the
        runtime directory's lock."""
        now = self._monotonic()
        if step != self._step:
            logger.info("starting: %s", step)
            self._step, self._begun = step, now
        elif now - self._told < TELL_SECONDS:
            return
        self._told = now
        words = step if percent is None else f"{step}, {percent} %"
        self._notify(f"EXTEND_TIMEOUT_USEC={EXTEND_SECONDS * 1_000_000}\nSTATUS={words}")
        self._write(_Told(os.getpid(), step, percent, round(now - self._begun, 3)))

    def _write(self, told: _Told) -> None:
        """Not synced: it is for whoever waits now."""
        aside = self._paths.starting + ".new"
        try:
            with open(aside, "wb") as file:
                file.write(msgspec.json.encode(told) + b"\n")
            os.replace(aside, self._paths.starting)
        except OSError as failure:
            logger.warning("who waits cannot be told how far the start is: %s", failure)

    def ready(self) -> None:
        """The sockets are bound: clients may come."""
        logger.info("ready on %s", self._paths.client_socket)
        with suppress(FileNotFoundError):  # also what a start that was killed has left
            os.unlink(self._paths.starting)
        self._notify("READY=1\nSTATUS=ready" if self._step else "READY=1")
        if self._descriptor is not None:
            self._tell_starter(self._descriptor, f"ready {self._paths.client_socket}\n")
            self._descriptor = None

    def refused(self) -> None:
        """The daemon will not start: what this process has written about its start is gone."""
        if self._step:
            with suppress(OSError):
                os.unlink(self._paths.starting)

    def _tell_starter(self, descriptor: int, line: str) -> None:
        """A starter that died meanwhile is no reason to stop: other clients may be on their way."""
        try:
            os.write(descriptor, line.encode())
            os.close(descriptor)
        except OSError as failure:
            logger.warning("nobody heard on descriptor %d that it is ready: %s", descriptor, failure.strerror)

    def stopping(self) -> None:
        """The drain has begun."""
        self._notify("STOPPING=1")

    def _notify(self, state: str) -> None:
        """sd_notify(3): a datagram to the supervisor's socket, where one was named."""
        if not self._notify_socket:
            return
        address = self._notify_socket
        if address.startswith("@"):
            address = "\0" + address[1:]
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
                channel.settimeout(_NOTIFY_SECONDS_MAX)
                channel.sendto(state.encode(), address)
        except OSError as failure:
            logger.warning("the supervisor could not be told %s: %s", state, failure)
