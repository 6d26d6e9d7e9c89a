"""The dispatcher: what the door's lines become.

A command goes to the clerk in batches; a read is served (``serving``), on the loop when its turn comes
(``read_turns``); a wait sleeps in ``readers.waiters``. Nothing is decided here but which of these a request
is: authority is ``admission``'s, meaning ``operations``'.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

import trio

from tallyd.admission import admit
from tallyd.clerk import AccessRecord, Answer, Command, Member
from tallyd.door import Channel, Door, Exchange, Timer
from tallyd.ledger.log import REALM_STREAM
from tallyd.ledger.transaction import Idle
from tallyd.operations import artifact_bytes, diagnose, erasure, events
from tallyd.operations.results import Served
from tallyd.readers.reads import Reader
from tallyd.readers.waiters import Waiter, Waiters
from tallyd.service.answers import guarded, refused, served, speaker_of
from tallyd.service.credentials import Credential, Credentials
from tallyd.service.driver import Driver, Pair, Replied
from tallyd.service.handlers import reads
from tallyd.service.lines import CLERKS, Parsed, parse, read_for_fault
from tallyd.service.read_turns import ReadTurns
from tallyd.service.sealing import Sealer
from tallyd.service.serving import Serving
from tallyd.service.work_waits import PendingClaim, WorkWaits
from tallyd.vault import Vault
from tallystick.protocol import limits
from tallystick.protocol.envelope import AnyRequest, Request, encode_ok
from tallystick.protocol.families.events import EventsWaitArgs
from tallystick.protocol.families.service import Status
from tallystick.protocol.operation import Kind
from tallystick.protocol.problems import internal, invalid, rate_limited, unavailable

logger = logging.getLogger("tallyd.dispatcher")

_IDLE_SECONDS: Final = 1.0
"""Quiet for so long, the clerk tidies up: outbox rows that every consumer has passed, counts of suppressed
refusals.
"""


class _Recorded:
    """Takes the answer to an access record: the read goes on when it is durable, and is refused when not."""

    __slots__ = ("_exchange", "_then")

    def __init__(self, exchange: Exchange, then: Callable[[], None]) -> None:
        self._exchange = exchange
        self._then = then

    def reply(self, line: bytes) -> None:
        """An empty line says that the record is durable; anything else is the problem that kept it."""
        if line:
            self._exchange.reply(line)
        else:
            self._then()


class Dispatcher:
    """On the loop. ``attach`` gives it the door, which needs it first."""

    def __init__(
        self,
        driver: Driver,
        reader: Reader,
        new_reader: Callable[[], Reader],
        place: diagnose.Place,
        status: Callable[[], Status],
        shut_down: Callable[[], None],
        credentials: Credentials,
        realm_written: Callable[[], None],
        erased: Callable[[], None],
        vault: Vault,
        sealer: Sealer,
        batch_hold: int = 0,
    ) -> None:
        self._driver = driver
        self._reader = reader
        self._shut_down = shut_down
        self._credentials = credentials
        self._realm_written = realm_written
        self._erased = erased
        self._vault = vault
        self._sealer = sealer
        self._serving = Serving(
            reader, new_reader, reads(vault), place, status, self._record, self._keep_back
        )
        self._batch_hold = batch_hold
        self._queue: deque[Pair] = deque()
        self._waiters = Waiters(reader)
        self._work = WorkWaits(self.submit, self._call_at)
        self._waiting: dict[int, Waiter] = {}
        self._kept_back: list[Callable[[], None]] = []
        self._doubt_limit = trio.CapacityLimiter(1)
        self._tidy_timer: Timer | None = None
        self._last_batch = 0.0
        self.stopping = False

    def attach(self, door: Door[Parsed], nursery: trio.Nursery) -> None:
        """Before the door runs."""
        self._door = door
        self._nursery = nursery
        self._wake = door.waker(lambda: None)
        self._sealer.attach(nursery, self.submit)
        turns = ReadTurns(self._serving.read_at_once, self._call_at, lambda: door.turns, self._busy)
        self._serving.attach(nursery, turns.begin)

    # --- what the door asks ---------------------------------------------------------------------------------
    def parse(self, line: bytes, channel: Channel) -> Parsed:
        return parse(line, channel)

    def start(self, parsed: Parsed, exchange: Exchange) -> None:
        request = parsed.request
        if parsed.credential is not None:
            self._authenticate(parsed.credential, exchange)
        elif parsed.doubtful is not None:
            self._nursery.start_soon(self._refuse_slowly, parsed.doubtful, exchange)
        elif request is None:
            assert parsed.refusal is not None
            exchange.reply(parsed.refusal)
        elif request.operation.kind in CLERKS:
            self._enqueue(request, exchange)
        else:
            self._begin(request, exchange)

    def _begin(self, request: AnyRequest, exchange: Exchange) -> None:
        """Begins what is no command; once more, where the gate was closed the first time."""
        kind = request.operation.kind
        begin = self._serving.begin
        if kind is not Kind.READ:
            begin = self._begin_wait if kind is Kind.WAIT else self._control
        guarded(exchange, partial(begin, request, exchange))

    def finish_early(self, exchange: Exchange) -> None:
        waiter = self._waiting.get(id(exchange))
        if waiter is not None:
            self._waiters.finish(waiter)
        self._work.finish_early(exchange)

    def abandon(self, exchange: Exchange) -> None:
        waiter = self._waiting.pop(id(exchange), None)
        if waiter is not None:
            self._waiters.remove(waiter)
        self._work.abandon(exchange)

    def wants_drain(self) -> bool:
        if not self._queue or not self._driver.idle:
            return False
        return len(self._queue) >= self._batch_hold

    def cut(self) -> None:
        """Hands what is queued to the clerk. A client that is gone loses its place in the queue, and nothing
        else does.
        """
        self._batch_hold = 0
        queue = self._queue
        batch = [queue.popleft() for _ in range(min(len(queue), limits.BATCH_COMMANDS_MAX))]
        self._driver.submit(batch)

    def oversize(self, _channel: Channel) -> bytes:
        return refused(
            invalid(
                f"the line is longer than {limits.REQUEST_BYTES_MAX} bytes, which is the most that a "
                f"request may be"
            )
        )

    def refuse_capacity(self, retry_after_seconds: int) -> bytes:
        return refused(
            rate_limited(retry_after_seconds, "the daemon has as much to do as it takes; come again later")
        )

    def failed(self, _exchange: Exchange) -> bytes:
        return refused(internal("the daemon failed on this request, which is a defect; its log says more"))

    def _authenticate(self, credential: Credential, exchange: Exchange) -> None:
        found = self._reader.try_read(lambda view: (self._credentials.actor(view, credential),))
        if found is None:
            self._kept_back.append(lambda: self._authenticate(credential, exchange))
        else:
            self._credentials.answer(exchange, credential, found[0])

    # --- commands -------------------------------------------------------------------------------------------
    def _enqueue(self, request: AnyRequest, exchange: Exchange) -> None:
        if self.stopping:
            exchange.reply(
                refused(unavailable("the daemon is stopping; send it again to the next one", "not_applied"))
            )
            return
        command = Command(request, speaker_of(exchange.channel))
        if request.operation.waits:
            self._work.begin(command, exchange)
        else:
            self._queue.append((command, exchange))

    def submit(self, member: Member, replied: Replied) -> None:
        """What goes on inside the daemon, also while it stops: a second transaction, a system command, an
        access record."""
        self._queue.append((member, replied))
        self._wake()

    def collect(self) -> None:
        """The clerk has finished a batch: its answers go out, and then the waiters of what it touched are
        looked after.
        """
        busy = self._driver.more_work
        for done in self._driver.collect():
            touched: set[int] = set()
            busy = busy or bool(done.batch)
            for (member, replied), answer in zip(done.batch, done.answers, strict=True):
                touched.update(answer.sources)
                if isinstance(member, Command) and member.request.operation.name in erasure.OPERATIONS:
                    self._erased()
                self._settle(member, replied, answer)
            if REALM_STREAM in touched:
                self._realm_written()
            if touched:
                self._waiters.committed(touched)
        self._last_batch = trio.current_time()
        if busy and self._tidy_timer is None and not self.stopping:
            self._tidy_timer = self._door.call_at(self._last_batch + _IDLE_SECONDS, self._tidy)

    def _call_at(self, at: float, then: Callable[[], None]) -> Timer:
        return self._door.call_at(at, then)

    def _settle(self, member: Member, replied: Replied, answer: Answer) -> None:
        """What a member of a batch was answered goes to who waits for it, and wakes whom it may concern."""
        if answer.after is None:
            replied.reply(answer.reply)
        elif isinstance(answer.after, Idle):
            assert isinstance(replied, PendingClaim)
            self._work.found_nothing(replied, answer)
        else:
            assert isinstance(member, Command)
            self._sealer.take(member, answer.after, replied, answer.reply)
        if answer.wakes:
            self._work.woken(answer.wakes)

    def _tidy(self) -> None:
        self._tidy_timer = None
        due = self._last_batch + _IDLE_SECONDS
        if self.stopping or self._queue:
            return
        if not self._driver.idle or trio.current_time() < due:
            self._tidy_timer = self._door.call_at(max(due, trio.current_time() + _IDLE_SECONDS), self._tidy)
            return
        self._driver.tidy()

    # --- reads ----------------------------------------------------------------------------------------------
    async def _refuse_slowly(self, line: bytes, exchange: Exchange) -> None:
        parsed = await trio.to_thread.run_sync(
            read_for_fault, line, exchange.channel, limiter=self._doubt_limit
        )
        try:
            self.start(parsed, exchange)
        except Exception:
            logger.exception("a line that was read slowly failed, which is a defect")
            exchange.reply(self.failed(exchange))

    def _busy(self) -> bool:
        """Whether commands wait, or are in the clerk's hands."""
        return bool(self._queue) or not self._driver.idle

    def _record(self, record: AccessRecord, exchange: Exchange, then: Callable[[], None]) -> None:
        """Has a reading made durable by the clerk, and goes on; without a record nothing is served."""
        if self.stopping:
            exchange.reply(refused(unavailable("the daemon is stopping, and keeps no record of a read")))
        else:
            self.submit(record, _Recorded(exchange, then))

    def _keep_back(self, request: AnyRequest, exchange: Exchange) -> None:
        """Begins it anew when the gate is open."""

        def begin() -> None:
            if not exchange.abandoned:
                self._begin(request, exchange)

        self._kept_back.append(begin)

    def reopened(self) -> None:
        """The gate is open again: what it kept back is done now."""
        kept_back, self._kept_back = self._kept_back, []
        for go_on in kept_back:
            go_on()
        self._waiters.reopened()

    # --- waits ----------------------------------------------------------------------------------------------
    def _begin_wait(self, request: Request[EventsWaitArgs], exchange: Exchange) -> None:
        following = self._serving.look(
            request, exchange, lambda view, admission: events.Following(view, request, admission)
        )
        if following is None:
            return
        speaker = speaker_of(exchange.channel)
        args = request.args
        wait_ms = min(args.timeout_ms, limits.WAIT_MS_MAX)
        waiter = Waiter(
            project=following.project,
            look=lambda view: following.look(view, admit(view, request, speaker)),
            answer=lambda result: self._end_wait(exchange, served(Served(result))),
            refuse=lambda refusal: self._end_wait(exchange, refused(refusal)),
            record=lambda objects: self._record_wait(request, exchange, objects),
            last=self.stopping or wait_ms == 0 or exchange.finishing_early,
        )
        self._waiting[id(exchange)] = waiter
        self._waiters.add(waiter)
        if id(exchange) in self._waiting:
            deadline = trio.current_time() + wait_ms / 1000
            waiter.timer = self._door.call_at(deadline, partial(self._waiters.finish, waiter))

    def _record_wait(self, request: AnyRequest, exchange: Exchange, objects: tuple[str, ...]) -> None:
        """A wait found something sensitive: its reading is put on record, and then it looks again."""

        def looked() -> None:
            waiter = self._waiting.get(id(exchange))
            if waiter is not None:
                self._waiters.recorded(waiter, objects)

        self._record(AccessRecord(request, speaker_of(exchange.channel), objects), exchange, looked)
        if exchange.answer is not None:
            self.abandon(exchange)

    def _end_wait(self, exchange: Exchange, reply: bytes) -> None:
        self._waiting.pop(id(exchange), None)
        exchange.reply(reply)

    @property
    def waiters(self) -> int:
        return len(self._waiters) + len(self._work)

    @property
    def queued(self) -> int:
        return len(self._queue)

    # --- the daemon itself ----------------------------------------------------------------------------------
    def _control(self, request: AnyRequest, exchange: Exchange) -> None:
        if request.operation.name == "tallystick_artifact_put":
            self._put(request, exchange)
            return
        if self._serving.look(request, exchange, lambda _view, admission: admission) is not None:
            exchange.reply(encode_ok(b'{"stopping":true}', None, None))
            self._shut_down()

    def _put(self, request: AnyRequest, exchange: Exchange) -> None:
        """A chunk of an upload: judged here, written on a thread."""
        later = self._serving.look(
            request,
            exchange,
            lambda view, admission: artifact_bytes.put(self._vault, view, request, admission),
        )
        if later is not None:
            self._serving.finish(later, exchange)
