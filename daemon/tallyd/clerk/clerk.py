"""The only writer: takes commands in order, makes each one transaction, and groups what arrives together.

The clerk is synchronous and knows no thread: ``begin``, ``execute`` (once a command), ``commit``; ``run``
does the three for a batch and handles what may go wrong inside. Its driver decides who calls it, and from
where.

All of a command is kept or dropped together: look-up of its key, state, events with their sequences, outbox,
the stored result judged against the reply limit, the audit row. The writer's connection buffers its rows, or
has a savepoint for it (``store.writer``). A refused command leaves one audit row and nothing else, but where
its handler says that the refusal itself has changed something (``Refused``); a replay writes nothing. One
COMMIT with a full flush serves the batch, and only then is anything answered.

What goes wrong (SQLite's own rules decide what is left of the transaction, so the clerk asks it):

* an error inside a command that rolled back everything, or rows that were refused when their commands were
  complete: the batch's commands run again, each alone, and written row by row;
* a COMMIT that failed on a write has rolled back: its commands are answered ``unavailable``, outcome unknown,
  because their frames may have reached the disk; the clerk goes on;
* a COMMIT that failed on a sync: ``SyncFailed``. Nobody may be answered, and the process must end: what the
  disk holds is known only after the next start.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import apsw
import msgspec

from tallyd.admission import UNKNOWN, Admission, Speaker, admit
from tallyd.admission.replays import authorize_replay
from tallyd.clerk import idempotency
from tallyd.clerk.bounds import judge_reply
from tallyd.clerk.hooks import AFTER_COMMIT, BEFORE_COMMIT, Hooks, NoHooks
from tallyd.clerk.idempotency import Intent
from tallyd.clerk.refusals import SUPPRESSED, SUPPRESSED_BEGIN, RefusalMeter
from tallyd.ledger import attempts, ids, log, skeleton
from tallyd.ledger.log import LogRow
from tallyd.ledger.transaction import Applied, Idle, Refused, Transaction
from tallyd.store.ambient import Ambient
from tallyd.store.bodies import mac
from tallystick.protocol import limits
from tallystick.protocol.envelope import Request, encode_ok, encode_problem
from tallystick.protocol.problems import Problem, Refusal, internal, unavailable
from tallystick.protocol.registry import Kind, Socket

logger = logging.getLogger("tallyd.clerk")

_SYNC_FAILURES: Final = frozenset(
    {
        apsw.SQLITE_IOERR_FSYNC,
        apsw.SQLITE_IOERR_DIR_FSYNC,
        apsw.SQLITE_IOERR_CLOSE,
        apsw.SQLITE_IOERR_DIR_CLOSE,
    }
)

Handler = Callable[[Transaction, Request, Admission], Applied | Refused | Idle]
FirstStep = Callable[[Transaction, Request, Admission], object]
"""The first of a command's two transactions: what it returns is to be done outside, and its outcome goes into
the second (``Command.outside``)."""
FencedRead = Callable[[Transaction, Request, Admission], bytes]


class SyncFailed(Exception):
    """COMMIT failed in a sync: the outcome of the batch is known to the disk alone. The process must end
    unanswered.
    """


class _BatchLost(Exception):
    """SQLite rolled back the whole transaction under a command."""


class Command(msgspec.Struct, frozen=True, eq=False):
    """A well-formed command and whoever sent it."""

    request: Request
    speaker: Speaker
    outside: object | None = None
    """What was done between its two transactions, where it has two and this is the second."""


class SystemCommand(msgspec.Struct, frozen=True, eq=False):
    """A step of what the daemon does of itself, with a row of its own in the log, under ``name``."""

    name: str
    do: Callable[[Transaction], bool]
    """Whether there was anything to do: otherwise nothing is written."""


class AccessRecord(msgspec.Struct, frozen=True, eq=False):
    """A read that leaves a record before it is served: who looked at which sensitive objects, and whether it
    was refused.
    """

    request: Request
    speaker: Speaker
    objects: tuple[str, ...]
    denied: bool = False


Member = Command | AccessRecord | SystemCommand
"""What a batch is made of."""


class Answer(msgspec.Struct, frozen=True, eq=False):
    """A reply line, and the projects whose events it added (0: the realm), for the waiters."""

    reply: bytes
    sources: tuple[int, ...] = ()
    after: object | None = None
    """What is to be done outside, now that it is durable. An empty reply with it answers nobody yet; with
    ``Idle`` the reply is for who waits no longer."""
    wakes: frozenset[str] = frozenset()
    """Deployments and actors: who waits for work under one of these names may find some now."""


class Clerk:
    """Owns the writing connection. One caller at a time."""

    def __init__(
        self,
        tx: Transaction,
        ambient: Ambient,
        writes: Mapping[tuple[Socket, str], Handler],
        fenced_reads: Mapping[tuple[Socket, str], FencedRead],
        hooks: Hooks | None = None,
        refusals: RefusalMeter | None = None,
        first_steps: Mapping[tuple[Socket, str], FirstStep] | None = None,
    ) -> None:
        self._tx = tx
        self._ambient = ambient
        self._writes = writes
        self._fenced_reads = fenced_reads
        self._hooks = hooks or NoHooks()
        self._refusals = refusals or RefusalMeter()
        self._first_steps = first_steps or {}
        self._answers: list[Answer] = []
        self._durable = tx.log.tail[0]
        self._restore_leases()

    # --- the three calls ------------------------------------------------------------------------------------
    def begin(self) -> None:
        """Opens the transaction and reads again what the log will extend. Raises log.LogBroken."""
        self._answers = []
        self._tx.trim()
        self._tx.db.execute("BEGIN IMMEDIATE")
        self._tx.log.begin()

    def execute(self, command: Member) -> None:
        """Runs one command inside the transaction; its answer is given by ``commit``."""
        if isinstance(command, AccessRecord):
            self._write_access(command)
            self._answers.append(_RECORDED)
        elif isinstance(command, SystemCommand):
            self._answers.append(self._run_system_command(command))
        else:
            self._answers.append(self._answer(command))

    def commit(self) -> list[Answer]:
        """Makes the batch durable, and only then gives the answers, in order. Raises SyncFailed,
        apsw.Error.
        """
        if self._tx.log.tail[0] > self._durable:
            self._tx.log.drain_outbox(self._durable, limits.OUTBOX_DRAIN_ROWS_MAX)
        self._hooks.reached(BEFORE_COMMIT)
        try:
            self._tx.db.execute("COMMIT")
        except apsw.Error as failure:
            if getattr(failure, "extendedresult", 0) in _SYNC_FAILURES:
                raise SyncFailed(str(failure)) from failure
            raise
        self._durable = self._tx.log.tail[0]
        self._refusals.kept()
        self._hooks.reached(AFTER_COMMIT)
        return self._answers

    # --- a batch --------------------------------------------------------------------------------------------
    def run(self, batch: Sequence[Member]) -> list[Answer]:
        """One transaction for the batch, or, where something took it away, one for each command. Raises
        SyncFailed.
        """
        self._tx.db.buffering = True
        try:
            return self._attempt(batch)
        except _BatchLost as lost:
            logger.warning("the transaction was lost and its commands run again, each alone: %s", lost)
        finally:
            self._tx.db.buffering = False
        return [self._alone(command) for command in batch]

    def _attempt(self, batch: Sequence[Member]) -> list[Answer]:
        """Raises _BatchLost where nothing was committed and each may be tried alone."""
        try:
            self.begin()
            for command in batch:
                self.execute(command)
            self._tx.db.flush()
        except apsw.Error as failure:
            self._abandon()
            raise _BatchLost(type(failure).__name__) from failure
        except log.LogBroken as broken:
            self._abandon()
            logger.critical("%s", broken)
            return [_problem(unavailable(str(broken), outcome="not_applied").problem)] * len(batch)
        except BaseException:
            self._abandon()
            raise
        try:
            return self.commit()
        except apsw.Error as failure:
            self._abandon()
            logger.error("COMMIT failed: %s (%s)", type(failure).__name__, failure)
            unknown = unavailable(
                f"the disk refused the transaction ({type(failure).__name__}); make room and send the same "
                f"key again",
                outcome="unknown",
            )
            return [_problem(unknown.problem)] * len(batch)

    def _alone(self, command: Member) -> Answer:
        try:
            return self._attempt([command])[0]
        except _BatchLost as lost:
            reason = unavailable(
                f"the store refused to write ({lost}); nothing was applied", outcome="not_applied"
            )
            return _problem(reason.problem)

    def _abandon(self) -> None:
        """Rolls back what is left of the transaction, and forgets what was read in it."""
        self._tx.db.forget()
        if self._tx.db.in_transaction:
            try:
                self._tx.db.execute("ROLLBACK")
            except apsw.Error as failure:
                logger.error("ROLLBACK failed: %s", failure)
        self._tx.undo_all()
        self._refusals.lost()
        self._restore_leases()

    def _restore_leases(self) -> None:
        """At start, and after a lost transaction: a running attempt without a lease gets its full term
        anew.
        """
        for attempt in attempts.running(self._tx):
            if not self._tx.leases.known(attempt.invocation):
                self._tx.leases.renew(attempt.invocation, attempt.term_seconds)

    # --- one command ----------------------------------------------------------------------------------------
    def _answer(self, command: Command) -> Answer:
        """The answer to a command, its rows written. Raises apsw.Error where the transaction is gone."""
        request, tx = command.request, self._tx
        tx.begin_command(command.speaker.actor, command.speaker.actor, _causation(request))
        admission = None
        try:
            admission = admit(tx, request, command.speaker)
            tx.author = admission.author
            if request.operation.kind is Kind.FENCED_READ:
                result = self._fenced_reads[_handler_key(request)](tx, request, admission)
                return Answer(encode_ok(result, None, None))
            return self._write(command, admission)
        except Refusal as refusal:
            if request.operation.kind is Kind.WRITE and command.speaker.actor != UNKNOWN:
                self._write_refusal(command, admission, refusal.problem)
            return _problem(refusal.problem)

    def _write(self, command: Command, admission: Admission) -> Answer:
        request = command.request
        assert request.meta is not None
        wanted = idempotency.intent(request, request.meta, admission.scope)
        first = idempotency.find(self._tx, wanted)
        if first is not None:
            renewed = authorize_replay(self._tx, first, request, admission)
            if renewed is not None:
                self._tx.leases.renew(renewed.invocation, renewed.term_seconds)
            return Answer(self._reply(first))
        first_step, name = self._first_steps.get(_handler_key(request)), request.operation.name
        if first_step is not None and command.outside is None:
            return self._guarded(name, lambda: self._begin(request, admission, wanted, first_step))
        self._tx.outside = command.outside
        answer = self._guarded(name, lambda: self._execute(request, admission, wanted))
        if not isinstance(answer.after, Idle):
            self._hooks.executed(request.operation.name, request.operation.socket)
        return answer

    def _begin(self, request: Request, admission: Admission, wanted: Intent, first_step: FirstStep) -> Answer:
        """The first of two transactions: a row for what it changed, and nobody is answered. The key stays
        free: sent again before the second, the command begins anew.
        """
        tx = self._tx
        work = first_step(tx, request, admission)
        assert not tx.events, "an event belongs to the transaction that ends the command"
        if tx.state_rows:
            salt = tx.random(log.SALT_BYTES)
            row = _audit_row(tx, request, admission, log.APPLIED, salt, wanted.key)
            state = log.state_commitment(salt, tx.state_rows)
            name = f"{request.operation.name}#begin"
            tx.log.append(msgspec.structs.replace(row, operation=name, state_commitment=state))
        return Answer(b"", after=work)

    def _execute(self, request: Request, admission: Admission, wanted: Intent) -> Answer:
        done = self._writes[_handler_key(request)](self._tx, request, admission)
        if isinstance(done, Refused):
            return self._keep_refusal(request, admission, wanted, done)
        if isinstance(done, Idle):
            assert not self._tx.state_rows, "what found nothing to do has done something"
            return Answer(encode_ok(done.result, None, None), after=done)
        return self._keep(request, admission, wanted, done)

    def _guarded(self, name: str, run: Callable[[], Answer]) -> Answer:
        """Runs a handler as one thing: a refusal or a fault of it leaves nothing behind."""
        db = self._tx.db
        self._note_due()
        db.open_command()
        try:
            answer = run()
        except apsw.ConstraintError as broken:
            self._undo()
            logger.critical("a constraint stopped %s: %s", name, broken)
            raise internal(f"{name} would have broken the store's rules, and was undone") from broken
        except apsw.Error:
            if db.in_transaction:
                self._undo()
            raise
        except Refusal:
            self._undo()
            raise
        except Exception as fault:
            self._undo()
            logger.exception("%s failed", name)
            raise internal(f"{name} failed inside the daemon and was undone; its log says why") from fault
        db.keep_command()
        self._tx.apply_lease_changes()
        return answer

    def _undo(self) -> None:
        self._tx.db.drop_command()
        self._tx.undo_command()

    # --- rows -----------------------------------------------------------------------------------------------
    def _keep(self, request: Request, admission: Admission, wanted: Intent, applied: Applied) -> Answer:
        """Writes down a command that was applied, with the result that its key leads to."""
        rows = self._append(request, admission, wanted, applied)
        reply = self._reply(rows[0])
        judge_reply(reply)
        sources = {row.project or log.REALM_STREAM for row in rows if row.stream is not None}
        return Answer(reply, tuple(sources), applied.after, frozenset(self._tx.wakes))

    def _keep_refusal(
        self, request: Request, admission: Admission, wanted: Intent, refused: Refused
    ) -> Answer:
        """Writes down a refusal that changed the state: one row, never suppressed, that commits to the
        change.
        """
        tx = self._tx
        assert request.operation.refusal_rows, "an operation says in the registry that its refusal may change"
        assert tx.state_rows, "a refusal that changes nothing is raised"
        assert not tx.events, "a refused command has no event"
        assert tx.content_commitment() is None, "a refused command brings no content"
        salt = tx.random(log.SALT_BYTES)
        row = _audit_row(tx, request, admission, str(refused.problem.kind), salt, wanted.key)
        tx.log.append(
            msgspec.structs.replace(row, state_commitment=log.state_commitment(salt, tx.state_rows))
        )
        return _problem(refused.problem)

    def _append(
        self, request: Request, admission: Admission, wanted: Intent, applied: Applied
    ) -> list[LogRow]:
        """Writes the command's row, a further one for each further event, and what finds them again."""
        tx = self._tx
        position = tx.position
        salt = tx.random(log.SALT_BYTES)
        reply_sequence = _reply_sequence(tx, applied)
        row = _audit_row(tx, request, admission, log.APPLIED, salt, wanted.key)
        row = _with_event(tx, row, 0)
        row = msgspec.structs.replace(
            row,
            idempotency_key=wanted.key,
            key_hash=wanted.key_hash,
            request_digest=wanted.request_digest,
            request_mac=wanted.request_mac(tx.request_key),
            result=applied.result,
            reply_revision=applied.revision,
            reply_sequence=reply_sequence,
            content_commitment=tx.content_commitment(),
            state_commitment=log.state_commitment(salt, tx.state_rows),
        )
        rows = [tx.log.append(msgspec.structs.replace(row, result_commitment=log.result_commitment(row)))]
        for index in range(1, len(tx.events)):
            further = _audit_row(tx, request, admission, log.APPLIED, tx.random(log.SALT_BYTES), None)
            further = _with_event(tx, msgspec.structs.replace(further, command=position), index)
            rows.append(
                tx.log.append(
                    msgspec.structs.replace(further, result_commitment=log.result_commitment(further))
                )
            )
        tx.index_command(wanted.lookup, position)
        return rows

    def _write_refusal(self, command: Command, admission: Admission | None, problem: Problem) -> None:
        """A refused command's one row: nothing else of it is left."""
        tx = self._tx
        self._note_due()
        written = self._refusals.refused(command.speaker.actor, self._ambient.monotonic())
        if written == "suppress":
            return
        meta = command.request.meta
        tx.begin_command(command.speaker.actor, command.speaker.actor, None)
        outcome = str(problem.kind) if written == "write" else SUPPRESSED_BEGIN
        admitted = admission or _unadmitted(command)
        key = meta.idempotency_key if meta is not None and written == "write" else None
        tx.log.append(_audit_row(tx, command.request, admitted, outcome, tx.random(log.SALT_BYTES), key))

    def _write_access(self, record: AccessRecord) -> None:
        """The record of a read of sensitive content: durable before any of it is served."""
        tx, speaker = self._tx, record.speaker
        tx.begin_command(speaker.actor, speaker.actor, None)
        row = LogRow(
            position=tx.position,
            leaf=b"",
            epoch=tx.epoch,
            recorded_ms=tx.now_ms,
            actor=speaker.actor,
            strength=speaker.strength,
            operation=record.request.operation.name,
            mode=str(record.request.operation.mode),
            outcome="denied" if record.denied else "read",
            detail=skeleton.encode({"objects": sorted(set(record.objects))}).decode(),
            salt=tx.random(log.SALT_BYTES),
        )
        tx.log.append(row)

    def _run_system_command(self, command: SystemCommand) -> Answer:
        """A step of the daemon's own, kept or dropped as a command is; a fault of it is answered and leaves
        nothing.
        """
        self._tx.begin_command(ids.SYSTEM, ids.SYSTEM, None)
        try:
            return self._guarded(command.name, lambda: self._keep_system_command(command))
        except Refusal as fault:
            return _problem(fault.problem)

    def _keep_system_command(self, command: SystemCommand) -> Answer:
        tx = self._tx
        if not command.do(tx):
            return _RECORDED
        position, salt = tx.position, tx.random(log.SALT_BYTES)
        row = LogRow(
            position=position,
            leaf=b"",
            epoch=tx.epoch,
            recorded_ms=tx.now_ms,
            actor=ids.SYSTEM,
            strength="process",
            operation=command.name,
            mode="owner",
            outcome=log.APPLIED,
            detail="{}",
            correlation=f"{command.name}-{position}",
            salt=salt,
        )
        first = msgspec.structs.replace(
            _with_event(tx, row, 0), state_commitment=log.state_commitment(salt, tx.state_rows)
        )
        written = [self._append_own(first)]
        for index in range(1, len(tx.events)):
            further = msgspec.structs.replace(row, command=position, salt=tx.random(log.SALT_BYTES))
            written.append(self._append_own(_with_event(tx, further, index)))
        return Answer(
            b"", tuple({row.project or log.REALM_STREAM for row in written if row.stream is not None})
        )

    def _append_own(self, row: LogRow) -> LogRow:
        return self._tx.log.append(msgspec.structs.replace(row, result_commitment=log.result_commitment(row)))

    def _note_due(self) -> None:
        """An audited command first writes down what was suppressed before it."""
        for actor, count in self._refusals.due(self._ambient.monotonic()):
            self._note_suppressed(actor, count)

    def _note_suppressed(self, actor: str, count: int) -> None:
        tx = self._tx
        tx.log.append(
            LogRow(
                position=tx.position,
                leaf=b"",
                epoch=tx.epoch,
                recorded_ms=tx.now_ms,
                actor=actor,
                strength="",
                operation=SUPPRESSED,
                mode="",
                outcome=SUPPRESSED,
                detail=skeleton.encode({"count": count}).decode(),
                salt=tx.random(log.SALT_BYTES),
            )
        )

    def _reply(self, row: LogRow) -> bytes:
        """The reply of a command from its row: the same function serves the first time and each replay."""
        cursor = None
        if row.reply_sequence is not None and row.project is not None:
            cursor = self._tx.project_cursor(row.project, row.reply_sequence)
        return encode_ok(self._tx.render(row.reply), row.reply_revision, cursor)

    # --- between batches ------------------------------------------------------------------------------------
    @property
    def durable(self) -> tuple[int, bytes]:
        """Position and leaf of the last durable row: what the marker may say."""
        return self._tx.log.tail

    def tidy(self, *, drain: bool = False) -> bool:
        """When idle, or at the drain: empties the outbox a step, and writes down what was suppressed.

        Returns whether something is left to do: more rows than a step, or a disk that did not take it. Raises
        SyncFailed.
        """
        due = self._refusals.due(self._ambient.monotonic(), drain=drain)
        if not due and self._tx.one("SELECT 1 FROM outbox LIMIT 1") is None:
            return False
        try:
            return self._tidy(due, drain=drain)
        except apsw.Error as failure:
            self._abandon()
            logger.error("tidying up failed: %s (%s)", type(failure).__name__, failure)
            return True

    def _tidy(self, due: Sequence[tuple[str, int]], *, drain: bool) -> bool:
        self.begin()
        for actor, count in due:
            self._note_suppressed(actor, count)
        deleted = self._tx.log.drain_outbox(self._durable, limits.OUTBOX_DRAIN_ROWS_MAX)
        while deleted and drain:
            deleted = self._tx.log.drain_outbox(self._durable, limits.OUTBOX_DRAIN_ROWS_MAX)
        self.commit()
        return deleted == limits.OUTBOX_DRAIN_ROWS_MAX


_RECORDED: Final = Answer(b"")
"""The answer to an access record that is durable, and to a system command that found nothing to do."""


# --- helpers ------------------------------------------------------------------------------------------------
def _handler_key(request: Request) -> tuple[Socket, str]:
    return request.operation.socket, request.operation.name


def _causation(request: Request) -> str | None:
    """The event that the client says caused this, where it says so."""
    said = request.meta.causation_event_ref if request.meta is not None else None
    return said if isinstance(said, str) else None


def _unadmitted(command: Command) -> Admission:
    """What is known of a command that admission refused."""
    speaker = command.speaker
    mode = str(command.request.operation.mode)
    return Admission(
        actor=speaker.actor, strength=speaker.strength, mode=mode, scope="", author=speaker.actor
    )


def _audit_row(
    tx: Transaction, request: Request, admission: Admission, outcome: str, salt: bytes, key: str | None
) -> LogRow:
    """The audit part of a row. Its detail holds a keyed digest of the client's key, and nothing else of the
    client's.
    """
    detail: dict[str, object] = {} if key is None else {"idem": mac(tx.keys.audit, key.encode()).hex()}
    if tx.sensitive:
        detail["objects"] = sorted(set(tx.sensitive))
    return LogRow(
        position=tx.position,
        leaf=b"",
        epoch=tx.epoch,
        recorded_ms=tx.now_ms,
        actor=admission.actor,
        strength=admission.strength,
        operation=request.operation.name,
        mode=admission.mode,
        outcome=outcome,
        detail=skeleton.encode(detail).decode(),
        correlation=request.meta.request_id if request.meta is not None and outcome == log.APPLIED else None,
        salt=salt,
    )


def _with_event(tx: Transaction, row: LogRow, index: int) -> LogRow:
    """The row with the command's event of that index, its sequences the next of its stream and project."""
    if index >= len(tx.events):
        return row
    event = tx.events[index]
    sequence = None if event.project is None else tx.log.project_sequence(event.project) + 1
    return msgspec.structs.replace(
        row,
        position=tx.position,
        event_id=event.event_id,
        type=event.type,
        schema_ref=event.schema_ref,
        resource=event.resource,
        resource_revision=event.resource_revision,
        author=tx.author,
        causation=tx.causation,
        classification=event.classification,
        stream=event.stream,
        stream_sequence=tx.log.stream_sequence(event.stream) + 1,
        project=event.project,
        project_sequence=sequence,
        payload=event.payload,
    )


def _reply_sequence(tx: Transaction, applied: Applied) -> int | None:
    """The project sequence that the reply's cursor stands after: of the command's last event."""
    if not applied.cursor or not tx.events or tx.events[0].project is None:
        return None
    return tx.log.project_sequence(tx.events[0].project) + len(tx.events)


def _problem(problem: Problem) -> Answer:
    return Answer(encode_problem(problem))
