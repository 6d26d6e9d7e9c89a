"""Reads, as they are served: on the loop where they are short, on a thread where they may look at much.

A short read is made when it comes, if the gate is open and reads have time (``read_turns``): then no task is
made for it. Any other is a task that waits for what it needs. One that is not at its end after a slice
(``Further``) waits for its turn before each further one, and so do waits for events (``follows``). What is
sensitive is put on record by the clerk first, and then read again: without a durable record nothing of it is
served.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
import trio

from tallyd.admission import Speaker, admit
from tallyd.door import Exchange
from tallyd.families.shared.family import ReadHandler, SlicedHandler
from tallyd.families.shared.host import Host
from tallyd.families.shared.results import FileIO, Further, Served
from tallyd.ledger.view import View
from tallyd.readers.reads import LoopReader, Reader, Seen
from tallyd.service.answers import done, refused, served, speaker_of
from tallyd.service.read_turns import ReadTurns
from tallyd.service.records import AccessRecords
from tallyd.service.tasks import Tasks, answer_to
from tallystick.protocol.envelope import AnyRequest
from tallystick.protocol.problems import Refusal

_FILE_IO_MAX: Final = 2
"""Threads that wait for an artifact's files at a time."""
_SLOW_READS_MAX: Final = 2
"""Threads that read at a time: more would only share one interpreter."""

Found = Seen[Served | FileIO | Further]


class Reads:
    """On the loop."""

    def __init__(
        self,
        reader: LoopReader,
        new_reader: Callable[[], Reader],
        host: Host,
        turns: ReadTurns,
        records: AccessRecords,
        tasks: Tasks,
    ) -> None:
        self._reader = reader
        self._new_reader = new_reader
        self._host = host
        self._turns = turns
        self._records = records
        self._tasks = tasks
        self._slow_limit = trio.CapacityLimiter(_SLOW_READS_MAX)
        self._io_limit = trio.CapacityLimiter(_FILE_IO_MAX)

    def begin(self, handler: ReadHandler | SlicedHandler, request: AnyRequest, exchange: Exchange) -> None:
        """A reply follows."""
        if isinstance(handler, SlicedHandler) or handler.scans(request):
            self._tasks.answer(exchange, self._serve_on_a_thread, handler, request, exchange)
            return
        look = partial(self._look, handler, request, speaker_of(exchange.channel))
        seen = self._turns.timed(partial(self._reader.try_look, look)) if self._turns.has_time() else None
        if seen is not None and not seen.accessed:
            if isinstance(seen.outcome, Served):
                exchange.reply(served(seen.outcome))
                return
            if isinstance(seen.outcome, Refusal):
                exchange.reply(refused(seen.outcome))
                return
        self._tasks.answer(exchange, self._serve, look, request, exchange, seen)

    def _look(
        self, handler: ReadHandler, request: AnyRequest, speaker: Speaker, view: View
    ) -> Served | FileIO | Further:
        return handler.run(self._host, view, request, admit(view, request, speaker))

    # --- on the loop ----------------------------------------------------------------------------------------
    async def _serve(
        self,
        look: Callable[[View], Served | FileIO | Further],
        request: AnyRequest,
        exchange: Exchange,
        seen: Found | None,
    ) -> bytes:
        """One read transaction, and two where something sensitive has to be put on record. Raises Refusal."""
        speaker = speaker_of(exchange.channel)
        recorded: frozenset[str] = frozenset()
        while True:
            seen = await self._to_its_end(look, seen, request, exchange)
            if seen is None:
                return b""
            if seen.accessed <= recorded:
                break
            await self._records.write(request, speaker, seen.accessed, denied=seen.denied)
            recorded |= seen.accessed
            seen = None
        found = seen.value()
        if isinstance(found, Served):
            return served(found)
        assert not isinstance(found, Further), "a look that was not at its end"
        return await trio.to_thread.run_sync(partial(done, found), limiter=self._io_limit)

    async def _to_its_end(
        self,
        look: Callable[[View], Served | FileIO | Further],
        seen: Found | None,
        request: AnyRequest,
        exchange: Exchange,
    ) -> Found | None:
        """A look, slice by slice, each in its turn, with all that it accessed; ``seen`` is its first slice
        where that was made. None where nobody wants it any more.
        """
        accessed: frozenset[str] = frozenset()
        while True:
            if seen is None:
                await self._turns.turn()
                if exchange.abandoned:
                    return None
                seen = self._turns.timed(partial(self._reader.try_look, look)) or await self._reader.look(
                    look
                )
            accessed |= seen.accessed
            if not isinstance(seen.outcome, Further):
                return Seen(seen.outcome, accessed)
            look = partial(_further, seen.outcome, request, speaker_of(exchange.channel))
            seen = None

    # --- on a thread ----------------------------------------------------------------------------------------
    async def _serve_on_a_thread(
        self, handler: ReadHandler | SlicedHandler, request: AnyRequest, exchange: Exchange
    ) -> bytes:
        """A list that looks at more than it shows, or a diagnosis: the loop goes on meanwhile."""
        speaker = speaker_of(exchange.channel)
        recorded: frozenset[str] = frozenset()
        while True:
            seen = await trio.to_thread.run_sync(
                partial(self._on_a_thread, handler, request, speaker), limiter=self._slow_limit
            )
            if seen.accessed <= recorded:
                return seen.reply
            await self._records.write(request, speaker, seen.accessed, denied=seen.denied)
            recorded |= seen.accessed

    def _on_a_thread(
        self, handler: ReadHandler | SlicedHandler, request: AnyRequest, speaker: Speaker
    ) -> _Replied:
        try:
            reader = self._new_reader()
        except Exception as error:
            return _Replied(answer_to(error), frozenset())
        try:
            return _Replied(served(self._found(handler, request, speaker, reader)), reader.accessed)
        except Refusal as refusal:
            return _Replied(refused(refusal), reader.accessed, denied=True)
        except Exception as error:
            return _Replied(answer_to(error), frozenset())
        finally:
            reader.close()

    def _found(
        self, handler: ReadHandler | SlicedHandler, request: AnyRequest, speaker: Speaker, reader: Reader
    ) -> Served:
        if isinstance(handler, ReadHandler):
            found = reader.read(partial(self._look, handler, request, speaker))
            assert not isinstance(found, Further), "what goes on in slices takes its turns on the loop"
            return found if isinstance(found, Served) else found()
        admission = reader.read(lambda view: admit(view, request, speaker))
        return handler.run(
            self._host, reader.view, request, admission, lambda piece: reader.read(lambda _: piece())
        )


def _further(
    further: Further, request: AnyRequest, speaker: Speaker, view: View
) -> Served | FileIO | Further:
    return further.go_on(view, admit(view, request, speaker))


class _Replied(msgspec.Struct, frozen=True):
    """What a read on a thread came to, and which sensitive objects it looked at."""

    reply: bytes
    accessed: frozenset[str]
    denied: bool = False
