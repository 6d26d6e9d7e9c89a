"""The dispatcher: what the door's lines become.

A command goes to the clerk in batches; a point read is done on the loop, on a read connection, when its turn
comes (``read_turns``); what may take long goes to a thread with a connection of its own; a wait sleeps in
``readers.waiters``. Nothing is decided here but which of these a request is: authority is ``admission``'s,
meaning ``operations``'.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
import trio

from tallyd.admission import Speaker, admit
from tallyd.clerk.clerk import Answer, Command, Errand, Member, Reading
from tallyd.door import Channel, Door, Exchange, Timer
from tallyd.ledger.log import REALM_STREAM
from tallyd.ledger.transaction import Idle
from tallyd.operations import artifact_bytes, diagnose, erasure, events
from tallyd.operations.results import Later, Served
from tallyd.readers.reads import Reader
from tallyd.readers.waiters import Waiter, Waiters
from tallyd.service.credentials import Credential, Credentials, shown
from tallyd.service.driver import Driver, Pair, Replied
from tallyd.service.handlers import FIRST_STEPS, reads
from tallyd.service.read_turns import ReadTurns
from tallyd.service.sealing import Sealer
from tallyd.service.work_waits import Sleeper, WorkWaits
from tallyd.vault import Vault
from tallystick.protocol import arguments, ijson, limits
from tallystick.protocol.canonical import canonical
from tallystick.protocol.envelope import Request, encode_ok, encode_problem, request_of
from tallystick.protocol.problems import Refusal, internal, invalid, rate_limited, unavailable
from tallystick.protocol.records import Status
from tallystick.protocol.registry import Kind

logger = logging.getLogger("tallyd.dispatcher")

_CLERKS: Final = frozenset({Kind.WRITE, Kind.FENCED_READ})
_LISTS: Final = (arguments.ContributionListArgs, arguments.InvocationListArgs)
_SIEVES: Final = (
    arguments.LensReadArgs,
    arguments.TallystickContributionListArgs,
    arguments.TallystickRelationListArgs,
    arguments.TallystickFrontierListArgs,
    arguments.TallystickAssemblyListArgs,
    arguments.TallystickArtifactListArgs,
)
"""Lists that go through all of a space, or of the realm, for what they show."""
_BYTES_MAX: Final = 2
"""Threads that wait for an artifact's files at a time."""
_SLOW_READS_MAX: Final = 2
"""Threads that read at a time: more would only share one interpreter."""
_IDLE_SECONDS: Final = 1.0
"""Quiet for so long, the clerk tidies up: outbox rows that every consumer has passed, counts of suppressed
refusals.
"""


class Parsed(msgspec.Struct, frozen=True, eq=False):
    """A line as the door sees it: a request, or the refusal that answers it."""

    concurrent: bool
    waits: bool
    request: Request | None = None
    refusal: bytes | None = None
    credential: Credential | None = None
    doubtful: bytes | None = None
    """A long line that is no strict JSON: why, is read on a thread."""


class _Recorded:
    """Stands in a batch for a reading: goes on when its record is durable, and tells its client when not."""

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
        slow_reader: Callable[[], Reader],
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
        self.slow_reader = slow_reader
        self._place = place
        self._status = status
        self._shut_down = shut_down
        self._credentials = credentials
        self._realm_written = realm_written
        self._erased = erased
        self._vault = vault
        self._sealer = sealer
        self._reads = reads(vault)
        self._batch_hold = batch_hold
        self._queue: deque[Pair] = deque()
        self._waiters = Waiters(reader)
        self._work = WorkWaits(self.submit, self._call_at)
        self._waiting: dict[int, Waiter] = {}
        self._deferred: list[tuple[Request, Exchange]] = []
        self._kept_back: list[Callable[[], None]] = []
        self._slow: trio.Nursery | None = None
        self._slow_limit = trio.CapacityLimiter(_SLOW_READS_MAX)
        self._bytes_limit = trio.CapacityLimiter(_BYTES_MAX)
        self._doubt_limit = trio.CapacityLimiter(1)
        self._tidy_timer: Timer | None = None
        self._last_batch = 0.0
        self.stopping = False

    def attach(self, door: Door[Parsed], nursery: trio.Nursery) -> None:
        """Before the door runs."""
        self._door = door
        self._slow = nursery
        self._wake = door.waker(lambda: None)
        self._sealer.attach(nursery, self.submit)
        self._turns = ReadTurns(self._read_in_turn, self._call_at, lambda: door.turns, self._busy)

    # --- what the door asks ---------------------------------------------------------------------------------
    def parse(self, line: bytes, channel: Channel) -> Parsed:
        try:
            return self._parsed(ijson.accept(line), channel)
        except ijson.NotAccepted:
            if len(line) > limits.REFUSED_AT_ONCE_BYTES_MAX:
                return Parsed(False, False, doubtful=line)
            return self._read_for_fault(line, channel)

    def _read_for_fault(self, line: bytes, channel: Channel) -> Parsed:
        try:
            return self._parsed(ijson.read(line), channel)
        except ijson.NotStrict as fault:
            return Parsed(False, False, refusal=_refused(invalid(fault.detail)))

    async def _refuse_slowly(self, line: bytes, exchange: Exchange) -> None:
        parsed = await trio.to_thread.run_sync(
            self._read_for_fault, line, exchange.channel, limiter=self._doubt_limit
        )
        try:
            self.start(parsed, exchange)
        except Exception:
            logger.exception("a line that was read slowly failed, which is a defect")
            exchange.reply(self.failed(exchange))

    def _parsed(self, value: ijson.JsonValue, channel: Channel) -> Parsed:
        credential = shown(value)
        if credential is not None:
            return Parsed(False, False, credential=credential)
        try:
            request = request_of(value, channel.socket)
        except Refusal as refusal:
            return Parsed(False, False, refusal=encode_problem(refusal.problem))
        kind = request.operation.kind
        # What has two transactions is answered before anything behind it on its connection begins.
        whole = kind in _CLERKS and (channel.socket, request.operation.name) not in FIRST_STEPS
        waits = kind is Kind.WAIT or request.operation.waits
        return Parsed(whole and not waits, waits, request)

    def start(self, parsed: Parsed, exchange: Exchange) -> None:
        request = parsed.request
        if parsed.credential is not None:
            self._authenticate(parsed.credential, exchange)
        elif parsed.doubtful is not None:
            assert self._slow is not None
            self._slow.start_soon(self._refuse_slowly, parsed.doubtful, exchange)
        elif request is None:
            assert parsed.refusal is not None
            exchange.reply(parsed.refusal)
        elif request.operation.kind in _CLERKS:
            self._enqueue(request, exchange)
        else:
            self._begin(request, exchange)

    def _begin(self, request: Request, exchange: Exchange) -> None:
        """Begins what is no command; once more, where the gate was closed the first time."""
        kind = request.operation.kind
        begin = self._read
        if kind is not Kind.READ:
            begin = self._begin_wait if kind is Kind.WAIT else self._control
        self._guarded(exchange, partial(begin, request, exchange))

    def hurry(self, exchange: Exchange) -> None:
        waiter = self._waiting.get(id(exchange))
        if waiter is not None:
            self._waiters.finish(waiter)
        self._work.hurry(exchange)

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
        return _refused(
            invalid(
                f"the line is longer than {limits.REQUEST_BYTES_MAX} bytes, which is the most that a "
                f"request may be"
            )
        )

    def refuse_capacity(self, retry_after_seconds: int) -> bytes:
        return _refused(
            rate_limited(retry_after_seconds, "the daemon has as much to do as it takes; come again later")
        )

    def failed(self, _exchange: Exchange) -> bytes:
        return _refused(internal("the daemon failed on this request, which is a defect; its log says more"))

    def _authenticate(self, credential: Credential, exchange: Exchange) -> None:
        found = self._reader.try_read(lambda view: (self._credentials.actor(view, credential),))
        if found is None:
            self._kept_back.append(lambda: self._authenticate(credential, exchange))
        else:
            self._credentials.answer(exchange, credential, found[0])

    # --- commands -------------------------------------------------------------------------------------------
    def _enqueue(self, request: Request, exchange: Exchange) -> None:
        if self.stopping:
            exchange.reply(
                _refused(unavailable("the daemon is stopping; send it again to the next one", "not_applied"))
            )
            return
        command = Command(request, _speaker(exchange.channel))
        if request.operation.waits:
            self._work.begin(command, exchange)
        else:
            self._queue.append((command, exchange))

    def submit(self, member: Command | Errand, replied: Replied) -> None:
        """What goes on inside the daemon, also while it stops: a second transaction, an errand."""
        self._queue.append((member, replied))
        self._wake()

    def collect(self) -> None:
        """The clerk has finished a batch: its answers go out, and then the waiters of what it touched are
        looked after.
        """
        busy = self._driver.untidy
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
            assert isinstance(replied, Sleeper)
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
    def _guarded(self, exchange: Exchange, begin: Callable[[], None]) -> None:
        try:
            begin()
        except Refusal as refusal:
            exchange.reply(encode_problem(refusal.problem))

    def _read(self, request: Request, exchange: Exchange) -> None:
        operation = request.operation
        if operation.name == "tallystick_status":
            self._serve(request, exchange, lambda: Served(canonical(self._status())))
        elif operation.name == "diagnose" or _is_filtered_list(request):
            assert self._slow is not None
            self._slow.start_soon(self._read_slowly, request, exchange)
        else:
            self._turns.begin(request, exchange)

    def _read_in_turn(self, request: Request, exchange: Exchange) -> None:
        self._guarded(exchange, partial(self._read_at_once, request, exchange))

    def _busy(self) -> bool:
        """Whether commands wait, or are in the clerk's hands."""
        return bool(self._queue) or not self._driver.idle

    def _read_at_once(
        self, request: Request, exchange: Exchange, recorded: frozenset[str] = frozenset()
    ) -> None:
        """One read transaction on the loop. What is sensitive is put on record first, and then read again."""
        handler = self._reads[request.operation.socket, request.operation.name]
        speaker = _speaker(exchange.channel)
        refused: Refusal | None = None
        served: Served | Later | None = None
        try:
            served = self._reader.try_read(lambda view: handler(view, request, admit(view, request, speaker)))
        except Refusal as refusal:
            refused = refusal
        if served is None and refused is None:
            self._deferred.append((request, exchange))
            return
        noted = self._reader.noted
        if not noted <= recorded:
            reading = Reading(request, speaker, tuple(noted), denied=refused is not None)
            again = partial(self._read_at_once, request, exchange, recorded | noted)
            self._record(reading, exchange, lambda: self._guarded(exchange, again))
        elif refused is not None:
            exchange.reply(encode_problem(refused.problem))
        else:
            assert served is not None
            self._finish(served, exchange)

    def _finish(self, served: Served | Later, exchange: Exchange) -> None:
        """Answers, or does what is left of a read on a thread, its transaction over."""
        if isinstance(served, Served):
            exchange.reply(_served(served))
        else:
            assert self._slow is not None
            self._slow.start_soon(self._finish_outside, served, exchange)

    async def _finish_outside(self, later: Later, exchange: Exchange) -> None:
        exchange.reply(await trio.to_thread.run_sync(partial(_done, later), limiter=self._bytes_limit))

    def _record(self, reading: Reading, exchange: Exchange, then: Callable[[], None]) -> None:
        """Has a reading made durable by the clerk, and goes on; without a record nothing is served."""
        if self.stopping:
            exchange.reply(_refused(unavailable("the daemon is stopping, and keeps no record of a read")))
        else:
            self._queue.append((reading, _Recorded(exchange, then)))

    def _serve(self, request: Request, exchange: Exchange, serve: Callable[[], Served]) -> None:
        """What needs admission, and no look at the store beside it."""
        speaker = _speaker(exchange.channel)
        if self._reader.try_read(lambda view: admit(view, request, speaker)) is None:
            self._deferred.append((request, exchange))
        else:
            exchange.reply(_served(serve()))

    async def _read_slowly(self, request: Request, exchange: Exchange) -> None:
        """A list that looks at more than it shows, or a diagnosis: on a thread, so that the loop goes on."""
        speaker = _speaker(exchange.channel)
        recorded: frozenset[str] = frozenset()
        while True:
            reply, noted = await trio.to_thread.run_sync(
                partial(self._on_a_thread, request, speaker), limiter=self._slow_limit
            )
            if noted <= recorded:
                exchange.reply(reply)
                return
            durable = trio.Event()
            self._record(Reading(request, speaker, tuple(noted)), exchange, durable.set)
            if exchange.answer is not None:
                return
            self._wake()
            await durable.wait()
            recorded |= noted

    def _on_a_thread(self, request: Request, speaker: Speaker) -> tuple[bytes, frozenset[str]]:
        reader = self.slow_reader()
        try:
            return _served(self._slow_result(request, speaker, reader)), reader.noted
        except Refusal as refusal:
            return encode_problem(refusal.problem), reader.noted
        except Exception:
            logger.exception("%s failed, which is a defect", request.operation.name)
            reply = _refused(internal(f"{request.operation.name} failed; the daemon's log says why"))
            return reply, frozenset()
        finally:
            reader.close()

    def _slow_result(self, request: Request, speaker: Speaker, reader: Reader) -> Served:
        if request.operation.name != "diagnose":
            handler = self._reads[request.operation.socket, request.operation.name]
            served = reader.read(lambda view: handler(view, request, admit(view, request, speaker)))
            return served if isinstance(served, Served) else served()
        admission = reader.read(lambda view: admit(view, request, speaker))
        return diagnose.diagnose(
            reader.view, request, admission, self._place, lambda piece: reader.read(lambda _: piece())
        )

    def reopened(self) -> None:
        """The gate is open again: what it kept back is done now."""
        kept_back, self._kept_back = self._kept_back, []
        for go_on in kept_back:
            go_on()
        deferred, self._deferred = self._deferred, []
        for request, exchange in deferred:
            if not exchange.abandoned:
                self._begin(request, exchange)
        self._waiters.reopened()

    # --- waits ----------------------------------------------------------------------------------------------
    def _begin_wait(self, request: Request, exchange: Exchange) -> None:
        speaker = _speaker(exchange.channel)
        following = self._reader.try_read(
            lambda view: events.Following(view, request, admit(view, request, speaker))
        )
        if following is None:
            self._deferred.append((request, exchange))
            return
        args = request.args
        assert isinstance(args, arguments.EventsWaitArgs)
        wait_ms = min(args.timeout_ms, limits.WAIT_MS_MAX)
        waiter = Waiter(
            project=following.project,
            look=lambda view: following.look(view, admit(view, request, speaker)),
            answer=lambda result: self._end_wait(exchange, _served(Served(result))),
            refuse=lambda refusal: self._end_wait(exchange, encode_problem(refusal.problem)),
            record=lambda objects: self._record_wait(request, exchange, objects),
            last=self.stopping or wait_ms == 0 or exchange.hurried,
        )
        self._waiting[id(exchange)] = waiter
        self._waiters.add(waiter)
        if id(exchange) in self._waiting:
            deadline = trio.current_time() + wait_ms / 1000
            waiter.timer = self._door.call_at(deadline, partial(self._waiters.finish, waiter))

    def _record_wait(self, request: Request, exchange: Exchange, objects: tuple[str, ...]) -> None:
        """A wait found something sensitive: its reading is put on record, and then it looks again."""

        def looked() -> None:
            waiter = self._waiting.get(id(exchange))
            if waiter is not None:
                self._waiters.recorded(waiter, objects)

        self._record(Reading(request, _speaker(exchange.channel), objects), exchange, looked)
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
    def _control(self, request: Request, exchange: Exchange) -> None:
        if request.operation.name == "tallystick_artifact_put":
            self._put(request, exchange)
            return
        speaker = _speaker(exchange.channel)
        if self._reader.try_read(lambda view: admit(view, request, speaker)) is None:
            self._deferred.append((request, exchange))
            return
        exchange.reply(encode_ok(b'{"stopping":true}', None, None))
        self._shut_down()

    def _put(self, request: Request, exchange: Exchange) -> None:
        """A chunk of an upload: judged here, written on a thread."""
        speaker = _speaker(exchange.channel)
        later = self._reader.try_read(
            lambda view: artifact_bytes.put(self._vault, view, request, admit(view, request, speaker))
        )
        if later is None:
            self._deferred.append((request, exchange))
        else:
            self._finish(later, exchange)


def _speaker(channel: Channel) -> Speaker:
    return Speaker(channel.actor, channel.strength, channel.socket)


def _served(served: Served) -> bytes:
    reply = encode_ok(served.result, served.revision, None)
    if len(reply) > limits.REPLY_BYTES_MAX:
        logger.error("a read of %d bytes does not fit a reply, which is a defect", len(reply))
        return _refused(
            internal("the result does not fit a reply, which is a defect; ask for a smaller page")
        )
    return reply


def _done(later: Later) -> bytes:
    """On a thread: the reply of what is left of a read."""
    try:
        return _served(later())
    except Refusal as refusal:
        return encode_problem(refusal.problem)
    except Exception:
        logger.exception("reading or writing an artifact's file failed, which is a defect")
        return _refused(internal("an artifact's file could not be used; the daemon's log says why"))


def _refused(refusal: Refusal) -> bytes:
    return encode_problem(refusal.problem)


def _is_filtered_list(request: Request) -> bool:
    """Whether a list may look at more than it shows: what is left out is not known before it is read."""
    args = request.args
    if isinstance(args, _SIEVES):
        return True
    if not isinstance(args, _LISTS):
        return False
    names = (
        ("kind",)
        if isinstance(args, arguments.ContributionListArgs)
        else ("assistant_deployment_id", "space_id", "state")
    )
    return any(getattr(args, name) is not msgspec.UNSET for name in names)
