"""The dispatcher: what the door's lines become.

A command goes to the clerk in batches (``commands``), a read is served (``reads``), and whatever waits is a
task that returns its reply (``tasks``). Nothing is decided here but which of these a request is: authority is
``admission``'s, meaning the families'.
"""

from __future__ import annotations

import logging

import trio

from tallyd.clerk import Command
from tallyd.door import Channel, Exchange
from tallyd.families.shared.family import (
    FencedReadHandler,
    ReadHandler,
    SlicedHandler,
    WaitHandler,
    WriteHandler,
)
from tallyd.readers.reads import LoopReader
from tallyd.service.answers import failed, refused, speaker_of
from tallyd.service.commands import Commands
from tallyd.service.credentials import Credential, Credentials
from tallyd.service.follows import Follows
from tallyd.service.lines import Asked, Lines, Parsed
from tallyd.service.pending_claims import PendingClaims
from tallyd.service.reads import Reads
from tallyd.service.tasks import Tasks, answer_to
from tallystick.protocol import limits
from tallystick.protocol.problems import Refusal, invalid, rate_limited

logger = logging.getLogger("tallyd.dispatcher")


class Dispatcher:
    """On the loop."""

    def __init__(
        self,
        lines: Lines,
        commands: Commands,
        claims: PendingClaims,
        reads: Reads,
        follows: Follows,
        credentials: Credentials,
        reader: LoopReader,
        tasks: Tasks,
    ) -> None:
        self.parse = lines.parse
        self.wants_drain = commands.wants_drain
        self.cut = commands.cut
        self._lines = lines
        self._commands = commands
        self._claims = claims
        self._reads = reads
        self._follows = follows
        self._credentials = credentials
        self._reader = reader
        self._tasks = tasks
        self._doubt_limit = trio.CapacityLimiter(1)

    def start(self, parsed: Parsed, exchange: Exchange) -> None:
        """A reply follows, whatever is raised here."""
        try:
            self._start(parsed, exchange)
        except Exception as error:
            if exchange.answer is not None:
                raise
            exchange.reply(answer_to(error))

    def _start(self, parsed: Parsed, exchange: Exchange) -> None:
        if parsed.asked is not None:
            self._begin(parsed.asked, exchange)
        elif parsed.refusal is not None:
            exchange.last = parsed.last
            exchange.reply(parsed.refusal)
        elif parsed.credential is not None:
            self._tasks.answer(exchange, self._authenticate, parsed.credential, exchange)
        else:
            assert parsed.doubtful is not None
            self._tasks.answer(exchange, self._read_for_fault, parsed.doubtful, exchange)

    def _begin(self, asked: Asked, exchange: Exchange) -> None:
        handler, request = asked.handler, asked.request
        if isinstance(handler, WriteHandler | FencedReadHandler):
            self._begin_command(handler, Command(request, speaker_of(exchange.channel)), exchange)
        elif isinstance(handler, WaitHandler):
            self._tasks.answer(exchange, self._follows.serve, handler, request, exchange)
        else:
            assert isinstance(handler, ReadHandler | SlicedHandler)
            self._reads.begin(handler, request, exchange)

    def _begin_command(
        self, handler: WriteHandler | FencedReadHandler, command: Command, exchange: Exchange
    ) -> None:
        if isinstance(handler, WriteHandler) and handler.pending is not None:
            self._tasks.answer(exchange, self._claims.serve, command, handler.pending, exchange)
            return
        try:
            self._commands.queue(command, exchange)
        except Refusal as refusal:
            exchange.reply(refused(refusal))

    async def _authenticate(self, credential: Credential, exchange: Exchange) -> bytes:
        actor = await self._reader.read(lambda view: self._credentials.actor(view, credential))
        return self._credentials.admit(exchange, credential, actor)

    async def _read_for_fault(self, line: bytes, exchange: Exchange) -> None:
        """A long line that is no strict JSON: the loop goes on while it is read for the reason."""
        parsed = await trio.to_thread.run_sync(
            self._lines.read_for_fault, line, exchange.channel, limiter=self._doubt_limit
        )
        self.start(parsed, exchange)

    def finish_early(self, exchange: Exchange) -> None:
        """A request stands behind this wait, or the daemon stops."""
        if exchange.wake is not None:
            exchange.wake()

    def abandon(self, exchange: Exchange) -> None:
        """The client is gone: a wait ends. What was begun for it goes on, and its reply is dropped."""
        if exchange.wake is not None:
            exchange.wake()

    def oversize(self, _channel: Channel) -> bytes:
        """The reply to a line that is longer than a request may be."""
        return refused(
            invalid(
                f"the line is longer than {limits.REQUEST_BYTES_MAX} bytes, which is the most that a "
                f"request may be"
            )
        )

    def refuse_capacity(self, retry_after_seconds: int) -> bytes:
        """The reply where a cap is reached."""
        return refused(
            rate_limited(retry_after_seconds, "the daemon has as much to do as it takes; come again later")
        )

    def failed(self, _exchange: Exchange) -> bytes:
        """The reply where ``start`` raised."""
        return failed()
