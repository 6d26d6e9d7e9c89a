"""Telling whoever started the daemon that it is ready: one line on a descriptor, and systemd's notification.

READY is said after the sockets are bound and the store has recovered, never before: a supervisor that
believes it may send commands at once.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Mapping

from tallystick.paths import Paths

logger = logging.getLogger("tallyd")


class Readiness:
    """Where readiness is told. Each place is told once."""

    def __init__(self, descriptor: int | None, env: Mapping[str, str]) -> None:
        self._descriptor = descriptor
        self._notify_socket = env.get("NOTIFY_SOCKET")

    def ready(self, paths: Paths) -> None:
        """The sockets are bound: clients may come."""
        logger.info("ready on %s", paths.client_socket)
        self._notify("READY=1")
        if self._descriptor is not None:
            self._tell_starter(self._descriptor, f"ready {paths.client_socket}\n")
            self._descriptor = None

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
                channel.sendto(state.encode(), address)
        except OSError as failure:
            logger.warning("the supervisor could not be told %s: %s", state, failure)
