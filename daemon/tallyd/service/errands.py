"""Errands: what the daemon does of itself for its families, each in a task of its own (``Errand``).

An errand is due at the start, at its interval, and after each commit of one of its operations. What a full
disk or a closed gate keeps it from doing is tried again a little later.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Final

import apsw
import trio

from tallyd.clerk import SystemCommand
from tallyd.families.shared.family import AnyErrand
from tallyd.families.shared.host import Host
from tallyd.readers.reads import LoopReader
from tallyd.service.commands import Commands, Touched
from tallyd.service.driver import Driver
from tallyd.store.lacks import lack_of

logger = logging.getLogger("tallyd.errands")

_AGAIN_SECONDS: Final = 1.0
_AGAIN_SECONDS_MAX: Final = 60.0
"""How long an errand waits that could not be done: twice as long each time."""


class ErrandRunner:
    """Runs one errand. On the loop."""

    def __init__(
        self, errand: AnyErrand, reader: LoopReader, commands: Commands, driver: Driver, host: Host
    ) -> None:
        self._errand = errand
        self._reader = reader
        self._commands = commands
        self._driver = driver
        self._host = host
        self._due = trio.Event()
        self._due.set()
        self._looks = 0
        """How often it has looked for what is due."""
        self._done = 0
        """The last look of which all is done."""
        self._progress = trio.lowlevel.ParkingLot()

    @property
    def name(self) -> str:
        """What it is called in the log."""
        return self._errand.name

    def touched(self, touched: Touched) -> None:
        """A batch is durable."""
        if any(done is operation for operation in self._errand.after for done in touched.operations):
            self._due.set()

    async def done(self) -> None:
        """Returns when all that is due now is done: a look that begins later sees what is durable now."""
        wanted = self._looks + 1
        self._due.set()
        while self._done < wanted:
            await self._progress.park()

    async def run(self) -> None:
        """Until canceled."""
        pause = _AGAIN_SECONDS
        while True:
            await self._wait()
            if await self._do():
                pause = _AGAIN_SECONDS
                continue
            await trio.sleep(pause)
            pause = min(2 * pause, _AGAIN_SECONDS_MAX)
            self._due.set()

    async def _wait(self) -> None:
        every = self._errand.every_seconds
        with trio.move_on_after(float("inf") if every is None else every):
            await self._due.wait()
        self._due = trio.Event()

    async def _do(self) -> bool:
        """Whether everything that was due is done."""
        errand = self._errand
        before: object = None
        while (found := await self._look()) is not None and found != before:  # else the rest is not due yet
            before = found
            if errand.cuts_log and not await self._driver.cut_log():
                return False
            if errand.clean is not None:
                try:
                    found = await trio.to_thread.run_sync(partial(errand.clean, self._host, found))
                except Exception as failure:
                    if not isinstance(failure, (OSError, apsw.Error)) and lack_of(failure) is None:
                        raise
                    logger.error("%s goes on later: %s (%s)", errand.name, type(failure).__name__, failure)
                    return False
            if errand.command is None:
                break
            answer = await self._commands.run(SystemCommand(errand.name, partial(errand.command, found)))
            if answer.problem is not None:
                return False
            self._is_done()
        self._is_done()
        return True

    async def _look(self) -> object | None:
        self._looks += 1
        found: object | None = await self._reader.read(self._errand.look)
        return found

    def _is_done(self) -> None:
        self._done = self._looks
        self._progress.unpark_all()
