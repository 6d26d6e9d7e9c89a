"""What the daemon does of itself at intervals, whether or not anybody asks for anything.

Uploads whose time has run out are written down as expired, each as a system command, and their
staging files removed. Commands and reads do not wait for it: to them an upload is expired from the moment on
in which it is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

import trio

from tallyd.clerk import Command, SystemCommand
from tallyd.operations import artifact_rows, artifacts
from tallyd.readers.reads import Reader
from tallyd.service.driver import Replied
from tallyd.service.sealing import Sealer

logger = logging.getLogger("tallyd.housekeeping")

LOOK_SECONDS: Final = 60.0
"""Between two looks: staging bytes of an upload that expired stay no longer than this."""

_EXPIRY: Final = SystemCommand(artifacts.EXPIRE, artifacts.expire)


class Told:
    """Waits for a system command's answer."""

    __slots__ = ("done", "failed")

    def __init__(self) -> None:
        self.done = trio.Event()
        self.failed = False

    def reply(self, line: bytes) -> None:
        """An empty line says that it is durable; anything else is the problem that kept it."""
        self.failed = bool(line)
        self.done.set()


class Housekeeping:
    """On the loop."""

    def __init__(
        self, reader: Reader, submit: Callable[[Command | SystemCommand, Replied], None], sealer: Sealer
    ) -> None:
        self._reader = reader
        self._submit = submit
        self._sealer = sealer

    async def run(self) -> None:
        """Until canceled."""
        while True:
            try:
                await self.look()
            except Exception:
                logger.exception("housekeeping failed, which is a defect or a disk; it is tried again")
            await trio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """One look: everything that is due is done when it returns."""
        while self._due():
            told = Told()
            self._submit(_EXPIRY, told)
            await told.done.wait()
            if told.failed:
                break
        await self._sealer.drop_ended()

    def _due(self) -> bool:
        found = self._reader.try_read(lambda view: (artifact_rows.first_expired(view) is not None,))
        return found is not None and found[0]
