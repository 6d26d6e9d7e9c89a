"""The daemon's life inside this process: the real store, clerk, door and sockets, on trio's clock."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from tallyd.service.daemon import Daemon, Options
from tallyd.service.ready import Readiness
from tallyd.store.ambient import Ambient, SystemAmbient

from .process import Place


class Living(Daemon):
    """A daemon that serves in this process."""

    log_is_quiet = True
    """Nothing that its log would call a defect."""


class _Defects(logging.Handler):
    def __init__(self, daemon: Living) -> None:
        super().__init__(logging.ERROR)
        self._daemon = daemon

    def emit(self, _record: logging.LogRecord) -> None:
        self._daemon.log_is_quiet = False


@asynccontextmanager
async def living(home: Place, ambient: Ambient | None = None) -> AsyncIterator[Living]:
    """A daemon on that home, taking clients; it drains at the end of the block, or is cut off by an error."""
    daemon = Living(Options(paths=home.paths), ambient or SystemAmbient(), Readiness(None, {}, home.paths))
    defects = _Defects(daemon)
    logging.getLogger("tallyd").addHandler(defects)
    try:
        daemon.open()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(daemon.serve)
            try:
                yield daemon
            finally:
                daemon.stop()
    finally:
        logging.getLogger("tallyd").removeHandler(defects)


async def line_from(stream: trio.SocketStream) -> bytes:
    """The next line, without its newline; what came of it where the stream ended."""
    received = b""
    while not received.endswith(b"\n"):
        data = await stream.receive_some(1)
        if not data:
            break
        received += data
    return received.removesuffix(b"\n")


async def said(stream: trio.SocketStream, line: bytes) -> dict[str, Any]:
    """The reply to one line."""
    await stream.send_all(line)
    answered: dict[str, Any] = json.loads(await line_from(stream))
    return answered
