"""One member's way through an open transaction: what becomes of a command, from admission to its answer.

A command is admitted, and its key is looked up. A key that was used leads to the stored reply, if that has
not expired and the actor may still have it, and nothing runs. Otherwise its handler runs, guarded: what it
wrote is kept as a whole or dropped as a whole. A command of two transactions runs its first step, is answered
nothing, and comes again with the outcome of the work outside. Secrets are taken out of what a command brings
before its handler sees it, and after its key was looked up: a replay is found by what came. What is refused
leaves one row in the log and nothing else, unless the handler says that the refusal itself changed something
(``Refused``). A replay writes nothing.

This module begins and ends no transaction (``batch`` does), makes no row itself (``entries`` does), and knows
no operation: the handlers are given to it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TypeVar

import apsw
import msgspec

from tallyd.admission import UNKNOWN, Admission, admit
from tallyd.admission.replays import authorize_replay
from tallyd.clerk import entries, idempotency
from tallyd.clerk.bounds import judge_reply
from tallyd.clerk.hooks import Hooks
from tallyd.clerk.idempotency import Intent
from tallyd.clerk.members import (
    RECORDED,
    AccessRecord,
    Answer,
    Command,
    Member,
    SystemCommand,
    problem_answer,
)
from tallyd.clerk.refusals import READS, REFUSALS, SUPPRESSED_BEGIN, RefusalMeter
from tallyd.ledger import ids, log
from tallyd.ledger.log import LogRow
from tallyd.ledger.transaction import Applied, Idle, Refused, Transaction
from tallyd.store.ambient import Ambient
from tallystick.protocol.envelope import AnyRequest, encode_ok, without_secrets
from tallystick.protocol.operation import Kind, Socket
from tallystick.protocol.problems import Problem, Refusal, internal

logger = logging.getLogger("tallyd.clerk")

T = TypeVar("T")

Handler = Callable[[Transaction, AnyRequest, Admission], Applied | Refused | Idle]
FirstStep = Callable[[Transaction, AnyRequest, Admission], object]
"""The first of a command's two transactions. What it returns is work to be done outside the store; the
outcome of that work goes into the second transaction (``Command.outside``)."""
Unfinished = Callable[[Transaction, int], str | None]
"""The errand that is not done yet for the command applied at a log position, whose reply says that it is."""
FencedRead = Callable[[Transaction, AnyRequest, Admission], bytes]


class Handlers(msgspec.Struct, frozen=True):
    """What runs a command, by socket and name of its operation."""

    writes: Mapping[tuple[Socket, str], Handler]
    fenced_reads: Mapping[tuple[Socket, str], FencedRead]
    first_steps: Mapping[tuple[Socket, str], FirstStep]
    unfinished: Mapping[tuple[Socket, str], Unfinished]


class CommandRunner:
    """Runs the members of a batch one after the other, in the transaction that the clerk has begun."""

    def __init__(
        self, tx: Transaction, ambient: Ambient, handlers: Handlers, hooks: Hooks, refusals: RefusalMeter
    ) -> None:
        self._tx = tx
        self._ambient = ambient
        self._handlers = handlers
        self._hooks = hooks
        self._refusals = refusals

    def run(self, member: Member) -> Answer:
        """The member's answer, with its rows written. Raises apsw.Error where the transaction is gone."""
        if isinstance(member, AccessRecord):
            return self._record_access(member)
        if isinstance(member, SystemCommand):
            return self._run_system_command(member)
        return self._run_command(member)

    def _record_access(self, record: AccessRecord) -> Answer:
        """Its row; beyond what is written of one actor's reads in a minute it is counted alone."""
        actor = record.speaker.actor
        self._tx.begin_command(actor, actor, None)
        self._write_due_counts()
        written = self._refusals.count(actor, READS, self._ambient.monotonic())
        if written != "suppress":
            entries.append_access(self._tx, record, SUPPRESSED_BEGIN if written == "begin" else None)
        return RECORDED

    # --- a command ------------------------------------------------------------------------------------------
    def _run_command(self, command: Command) -> Answer:
        request, tx = command.request, self._tx
        tx.begin_command(command.speaker.actor, command.speaker.actor, _causation(request))
        admission = None
        try:
            admission = _looked(request, lambda: admit(tx, request, command.speaker))
            tx.author = admission.author
            if request.operation.kind is Kind.FENCED_READ:
                return self._read(request, admission)
            return self._write(command, admission)
        except Refusal as refusal:
            if request.operation.kind is Kind.WRITE and command.speaker.actor != UNKNOWN:
                self._write_refusal(command, admission, refusal.problem)
            return problem_answer(refusal.problem)

    def _read(self, request: AnyRequest, admission: Admission) -> Answer:
        read = self._handlers.fenced_reads[_handler_key(request)]
        return Answer(encode_ok(_looked(request, lambda: read(self._tx, request, admission)), None, None))

    def _write(self, command: Command, admission: Admission) -> Answer:
        request, name = command.request, command.request.operation.name
        assert request.meta is not None
        wanted = idempotency.intent(request, request.meta, admission.scope)
        replayed = _looked(request, lambda: self._replay_of(wanted, request, admission))
        if replayed is not None:
            return replayed
        request = _looked(request, lambda: without_secrets(request, self._tx.secrets))
        first_step = self._handlers.first_steps.get(_handler_key(request))
        if first_step is not None and command.outside is None:
            return self._guarded(name, lambda: self._begin(request, admission, wanted, first_step))
        self._tx.outside = command.outside
        answer = self._guarded(name, lambda: self._execute(request, admission, wanted))
        if answer.idle is None:
            self._hooks.executed(name, request.operation.socket)
        return answer

    def _replay_of(self, wanted: Intent, request: AnyRequest, admission: Admission) -> Answer | None:
        """None where the key was not used yet."""
        first = idempotency.find(self._tx, wanted)
        return None if first is None else self._replay(first, request, admission)

    def _replay(self, first: LogRow, request: AnyRequest, admission: Admission) -> Answer:
        """The stored reply, unless it has expired. A worker whose attempt is current has shown that it is
        alive: its lease is renewed.
        """
        current = authorize_replay(self._tx, first, request, admission)
        idempotency.check_kept(self._tx, first, request, admission)
        if current is not None:
            self._tx.leases.renew(current.invocation, current.term_seconds)
        if request.operation.socket is Socket.WORKER and admission.attempt is None:
            self._tx.render(first.reply)  # a claim hands over what is worked with: never a mark instead
        unfinished = self._handlers.unfinished.get(_handler_key(request))
        awaits = None if unfinished is None else unfinished(self._tx, first.position)
        return Answer(self._reply(first), awaits=awaits)

    def _begin(
        self, request: AnyRequest, admission: Admission, wanted: Intent, first_step: FirstStep
    ) -> Answer:
        """The first of two transactions. Nobody is answered, and the key stays free: the command, sent again
        before the second transaction, begins anew.
        """
        work = first_step(self._tx, request, admission)
        entries.append_first_step(self._tx, request, admission, wanted.key)
        return Answer(b"", outside=work)

    def _execute(self, request: AnyRequest, admission: Admission, wanted: Intent) -> Answer:
        tx = self._tx
        done = self._handlers.writes[_handler_key(request)](tx, request, admission)
        if isinstance(done, Refused):
            outcome = str(done.problem.kind)
            entries.append_changing_refusal(tx, request, admission, outcome, wanted.key)
            return problem_answer(done.problem)
        if isinstance(done, Idle):
            assert not tx.state_rows, "what found nothing to do has done something"
            return Answer(encode_ok(done.result, None, None), idle=done)
        rows = entries.append_applied(tx, request, admission, wanted, done)
        reply = self._reply(rows[0])
        judge_reply(reply)
        return Answer(
            reply,
            _sources(rows),
            follow_up=done.follow_up,
            awaits=done.awaits,
            wakes=frozenset(tx.wakes),
        )

    def _reply(self, row: LogRow) -> bytes:
        """The reply of a command from its row: the first reply and each replay are made by this. Content that
        cannot be opened is marked: the command was applied, and what was made by it can be named.
        """
        cursor = None
        if row.reply_sequence is not None and row.project is not None:
            cursor = self._tx.project_cursor(row.project, row.reply_sequence)
        return encode_ok(self._tx.render_with_marks(row.reply), row.reply_revision, cursor)

    # --- a system command -----------------------------------------------------------------------------------
    def _run_system_command(self, command: SystemCommand) -> Answer:
        """Kept or dropped as a client's command is; a fault of it is answered and leaves nothing."""
        self._tx.begin_command(ids.SYSTEM, ids.SYSTEM, None)
        try:
            return self._guarded(command.name, lambda: self._do(command))
        except Refusal as fault:
            return problem_answer(fault.problem)

    def _do(self, command: SystemCommand) -> Answer:
        if not command.do(self._tx):
            return RECORDED
        return Answer(b"", _sources(entries.append_system_command(self._tx, command.name)))

    # --- kept or dropped as a whole -------------------------------------------------------------------------
    def _guarded(self, name: str, run: Callable[[], Answer]) -> Answer:
        """Runs a handler so that a refusal or a fault of it leaves nothing behind."""
        db = self._tx.db
        self._write_due_counts()
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

    # --- refusals -------------------------------------------------------------------------------------------
    def _write_refusal(self, command: Command, admission: Admission | None, problem: Problem) -> None:
        """Writes the one row that is left of a refused command, unless its actor has had too many lately."""
        self._write_due_counts()
        written = self._refusals.count(command.speaker.actor, REFUSALS, self._ambient.monotonic())
        if written == "suppress":
            return
        meta = command.request.meta
        outcome = str(problem.kind) if written == "write" else SUPPRESSED_BEGIN
        key = meta.idempotency_key if meta is not None and written == "write" else None
        self._tx.begin_command(command.speaker.actor, command.speaker.actor, None)
        entries.append_refusal(self._tx, command.request, admission or _unadmitted(command), outcome, key)

    def _write_due_counts(self) -> None:
        """Before an audited command's row come the counts of refusals that were suppressed until now."""
        for actor, what, count in self._refusals.due(self._ambient.monotonic()):
            entries.append_suppressed(self._tx, actor, what, count)


# --- helpers ------------------------------------------------------------------------------------------------
def _looked(request: AnyRequest, look: Callable[[], T]) -> T:
    """What a look at the store gives that is no handler's and writes nothing: a fault in it is that of one
    command, and its batch goes on. Raises Refusal, and apsw.Error where the transaction is gone.
    """
    try:
        return look()
    except (Refusal, apsw.Error):
        raise
    except Exception as fault:
        name = request.operation.name
        logger.exception("%s could not be judged", name)
        raise internal(f"{name} failed inside the daemon before it began; its log says why") from fault


def _handler_key(request: AnyRequest) -> tuple[Socket, str]:
    return request.operation.socket, request.operation.name


def _causation(request: AnyRequest) -> str | None:
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


def _sources(rows: list[LogRow]) -> tuple[int, ...]:
    """The projects that have a new event by these rows."""
    return tuple({row.project or log.REALM_STREAM for row in rows if row.stream is not None})
