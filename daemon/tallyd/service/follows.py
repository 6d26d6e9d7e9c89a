"""Followers: a wait for events is a task that looks, sleeps until its project is committed to, looks again.

It sleeps only where it stands at the head: a filter that passes over many events is taken through them in
slices, each in the turn of reads, also where its time is over by then. It is admitted once before it sleeps,
and again each time it looks: authority that was lost ends the wait with the refusal. What it finds that is
sensitive is put on record, and then looked at again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import trio

from tallyd.admission import Speaker, admit
from tallyd.door import Exchange
from tallyd.families.shared.family import WaitHandler, Watching
from tallyd.families.shared.results import Served
from tallyd.ledger.view import View
from tallyd.readers.reads import LoopReader, Seen
from tallyd.readers.waiters import Waiters
from tallyd.service.answers import served, speaker_of
from tallyd.service.read_turns import ReadTurns
from tallyd.service.records import AccessRecords
from tallystick.protocol.envelope import AnyRequest


class Follows:
    """On the loop."""

    def __init__(
        self, reader: LoopReader, waiters: Waiters, records: AccessRecords, turns: ReadTurns
    ) -> None:
        self._reader = reader
        self._turns = turns
        self._waiters = waiters
        self._records = records
        self._following = 0
        self.stopping = False
        """Nobody sleeps any more."""

    def __len__(self) -> int:
        return self._following

    async def serve(self, handler: WaitHandler, request: AnyRequest, exchange: Exchange) -> bytes:
        """The reply, when there is something or the time is over. Raises Refusal."""
        self._following += 1
        try:
            return await self._serve(handler, request, exchange)
        finally:
            self._following -= 1
            exchange.wake = None

    async def _serve(self, handler: WaitHandler, request: AnyRequest, exchange: Exchange) -> bytes:
        speaker = speaker_of(exchange.channel)
        began = trio.current_time()
        watching = await self._reader.read(partial(_begin, handler, request, speaker))
        ends = began + watching.wait_ms / 1000
        recorded: frozenset[str] = frozenset()
        while True:
            over = self._is_over(exchange, ends)
            seen = await self._looked(partial(_look, watching, request, speaker))
            if not seen.accessed <= recorded:
                await self._records.write(request, speaker, seen.accessed, denied=seen.denied)
                recorded |= seen.accessed
                continue
            found, result = seen.value()
            if found or exchange.abandoned or (over and (watching.at_head or self._is_wanted_back(exchange))):
                return served(Served(result))
            if not watching.at_head:
                await self._turns.turn()
                continue
            with trio.move_on_at(ends) as scope:
                exchange.wake = scope.cancel
                if not self._is_over(exchange, ends):
                    await self._waiters.sleep(watching.project)

    async def _looked(self, look: Callable[[View], tuple[bool, bytes]]) -> Seen[tuple[bool, bytes]]:
        """One slice, as soon as the gate is open; its time is that of reads."""
        return self._turns.timed(partial(self._reader.try_look, look)) or await self._reader.look(look)

    def _is_over(self, exchange: Exchange, ends: float) -> bool:
        return self._is_wanted_back(exchange) or exchange.abandoned or trio.current_time() >= ends

    def _is_wanted_back(self, exchange: Exchange) -> bool:
        """Whether it is to end where it stands: the daemon stops, or a request stands behind it."""
        return self.stopping or exchange.finishing_early


def _begin(handler: WaitHandler, request: AnyRequest, speaker: Speaker, view: View) -> Watching:
    return handler.run(view, request, admit(view, request, speaker))


def _look(watching: Watching, request: AnyRequest, speaker: Speaker, view: View) -> tuple[bool, bytes]:
    return watching.look(view, admit(view, request, speaker))
