"""Reads, as they are served: on the loop where they are short, on a thread where they may look at much.

What is sensitive is put on record by the clerk first, and then read again: without a durable record nothing
of it is served. A read that the gate keeps out is kept back until the gate opens.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

import msgspec
import trio

from tallyd.admission import Admission, Speaker, admit
from tallyd.clerk import AccessRecord
from tallyd.door import Exchange
from tallyd.ledger.view import View
from tallyd.operations import diagnose
from tallyd.operations.results import FileIO, Served
from tallyd.readers.reads import Reader
from tallyd.service.answers import done, guarded, refused, served, speaker_of
from tallyd.service.handlers import Read
from tallystick.protocol.canonical import canonical
from tallystick.protocol.envelope import AnyRequest
from tallystick.protocol.families.artifacts import TallystickArtifactListArgs
from tallystick.protocol.families.context import TallystickAssemblyListArgs, TallystickFrontierListArgs
from tallystick.protocol.families.contributions import (
    ContributionListArgs,
    TallystickContributionListArgs,
    TallystickRelationListArgs,
)
from tallystick.protocol.families.invocations import InvocationListArgs
from tallystick.protocol.families.lenses import LensReadArgs
from tallystick.protocol.families.service import Status
from tallystick.protocol.operation import Socket
from tallystick.protocol.problems import Refusal, internal

logger = logging.getLogger("tallyd.serving")

T = TypeVar("T")

_LISTS: Final = (ContributionListArgs, InvocationListArgs)
_SIEVES: Final = (
    LensReadArgs,
    TallystickContributionListArgs,
    TallystickRelationListArgs,
    TallystickFrontierListArgs,
    TallystickAssemblyListArgs,
    TallystickArtifactListArgs,
)
"""Lists that go through all of a space, or of the realm, for what they show."""
_BYTES_MAX: Final = 2
"""Threads that wait for an artifact's files at a time."""
_SLOW_READS_MAX: Final = 2
"""Threads that read at a time: more would only share one interpreter."""

Record = Callable[[AccessRecord, Exchange, Callable[[], None]], None]
"""Has a reading made durable, and goes on; or answers why it cannot be."""


class Serving:
    """On the loop. ``attach`` gives it what it runs in."""

    def __init__(
        self,
        reader: Reader,
        slow_reader: Callable[[], Reader],
        handlers: dict[tuple[Socket, str], Read],
        place: diagnose.Place,
        status: Callable[[], Status],
        record: Record,
        keep_back: Callable[[AnyRequest, Exchange], None],
    ) -> None:
        self._reader = reader
        self._slow_reader = slow_reader
        self._handlers = handlers
        self._place = place
        self._status = status
        self._record = record
        self._keep_back = keep_back
        self._slow_limit = trio.CapacityLimiter(_SLOW_READS_MAX)
        self._bytes_limit = trio.CapacityLimiter(_BYTES_MAX)

    def attach(self, nursery: trio.Nursery, in_turn: Callable[[AnyRequest, Exchange], None]) -> None:
        """``in_turn`` has ``read_at_once`` called when the read's turn comes."""
        self._nursery = nursery
        self._in_turn = in_turn

    def begin(self, request: AnyRequest, exchange: Exchange) -> None:
        """A reply follows. Raises Refusal."""
        operation = request.operation
        if operation.name == "tallystick_status":
            self._tell_status(request, exchange)
        elif operation.name == "diagnose" or _is_filtered_list(request):
            self._nursery.start_soon(self._read_slowly, request, exchange)
        else:
            self._in_turn(request, exchange)

    def finish(self, found: Served | FileIO, exchange: Exchange) -> None:
        """Answers, or runs the read's file I/O on a thread first."""
        if isinstance(found, Served):
            exchange.reply(served(found))
        else:
            self._nursery.start_soon(self._finish_outside, found, exchange)

    async def _finish_outside(self, file_io: FileIO, exchange: Exchange) -> None:
        exchange.reply(await trio.to_thread.run_sync(partial(done, file_io), limiter=self._bytes_limit))

    def look(self, request: AnyRequest, exchange: Exchange, look: Callable[[View, Admission], T]) -> T | None:
        """What one look at the store finds, for who may have it; None where the gate keeps it back, and it
        begins anew. Raises Refusal.
        """
        speaker = speaker_of(exchange.channel)
        found = self._reader.try_read(lambda view: look(view, admit(view, request, speaker)))
        if found is None:
            self._keep_back(request, exchange)
        return found

    def _tell_status(self, request: AnyRequest, exchange: Exchange) -> None:
        """What needs admission, and no look at the store beside it."""
        if self.look(request, exchange, lambda _view, admission: admission) is not None:
            exchange.reply(served(Served(canonical(self._status()))))

    # --- on the loop ----------------------------------------------------------------------------------------
    def read_at_once(self, request: AnyRequest, exchange: Exchange) -> None:
        """One read transaction, and two where something sensitive has to be put on record."""
        guarded(exchange, partial(self._read, request, exchange))

    def _read(self, request: AnyRequest, exchange: Exchange, recorded: frozenset[str] = frozenset()) -> None:
        handler = self._handlers[request.operation.socket, request.operation.name]
        refusal: Refusal | None = None
        found: Served | FileIO | None = None
        try:
            found = self.look(request, exchange, lambda view, admission: handler(view, request, admission))
        except Refusal as raised:
            refusal = raised
        if found is None and refusal is None:
            return
        accessed = self._reader.accessed
        if not accessed <= recorded:
            speaker = speaker_of(exchange.channel)
            record = AccessRecord(request, speaker, tuple(accessed), denied=refusal is not None)
            again = partial(self._read, request, exchange, recorded | accessed)
            self._record(record, exchange, lambda: guarded(exchange, again))
        elif refusal is not None:
            exchange.reply(refused(refusal))
        else:
            assert found is not None
            self.finish(found, exchange)

    # --- on a thread ----------------------------------------------------------------------------------------
    async def _read_slowly(self, request: AnyRequest, exchange: Exchange) -> None:
        """A list that looks at more than it shows, or a diagnosis: the loop goes on meanwhile."""
        speaker = speaker_of(exchange.channel)
        recorded: frozenset[str] = frozenset()
        while True:
            found = await trio.to_thread.run_sync(
                partial(self._on_a_thread, request, speaker), limiter=self._slow_limit
            )
            if found.accessed <= recorded:
                exchange.reply(found.reply)
                return
            durable = trio.Event()
            record = AccessRecord(request, speaker, tuple(found.accessed), denied=found.denied)
            self._record(record, exchange, durable.set)
            if exchange.answer is not None:
                return
            await durable.wait()
            recorded |= found.accessed

    def _on_a_thread(self, request: AnyRequest, speaker: Speaker) -> _Found:
        reader = self._slow_reader()
        try:
            return _Found(served(self._slow_result(request, speaker, reader)), reader.accessed)
        except Refusal as refusal:
            return _Found(refused(refusal), reader.accessed, denied=True)
        except Exception:
            logger.exception("%s failed, which is a defect", request.operation.name)
            fault = internal(f"{request.operation.name} failed; the daemon's log says why")
            return _Found(refused(fault), frozenset())
        finally:
            reader.close()

    def _slow_result(self, request: AnyRequest, speaker: Speaker, reader: Reader) -> Served:
        if request.operation.name != "diagnose":
            handler = self._handlers[request.operation.socket, request.operation.name]
            found = reader.read(lambda view: handler(view, request, admit(view, request, speaker)))
            return found if isinstance(found, Served) else found()
        admission = reader.read(lambda view: admit(view, request, speaker))
        return diagnose.diagnose(
            reader.view, request, admission, self._place, lambda piece: reader.read(lambda _: piece())
        )


class _Found(msgspec.Struct, frozen=True):
    """What a read on a thread came to, and which sensitive objects it looked at."""

    reply: bytes
    accessed: frozenset[str]
    denied: bool = False


def _is_filtered_list(request: AnyRequest) -> bool:
    """Whether a list may look at more than it shows: what is left out is not known before it is read."""
    args = request.args
    if isinstance(args, _SIEVES):
        return True
    if not isinstance(args, _LISTS):
        return False
    names = (
        ("kind",)
        if isinstance(args, ContributionListArgs)
        else ("assistant_deployment_id", "space_id", "state")
    )
    return any(getattr(args, name) is not msgspec.UNSET for name in names)
