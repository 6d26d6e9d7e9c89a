"""The only writer: makes one transaction of what arrives together, and answers when it is durable.

The clerk is synchronous and knows no thread. ``run`` takes a batch; its driver decides who calls it, and from
which thread. What becomes of one command is decided in ``command``; here is what concerns the batch.

All of a command is kept or dropped together: the look-up of its key, its state, its events with their
sequences, the outbox, the stored result and the audit row. The writer's connection buffers a command's rows,
or has a savepoint for it (``store.writer``). One COMMIT with a full flush serves the batch, and only then is
anything answered.

What may go wrong, and what the clerk does then. SQLite decides how much of a transaction is left after an
error, so the clerk asks it:

* An error inside a command rolled back everything, or SQLite refused rows of commands that were complete: the
  batch's commands run again, each alone, and written row by row.
* COMMIT failed since the disk is full: SQLite has rolled back, and the frame that would have made the pages
  before it count, which is the last thing that it writes, is not whole. The commands are answered
  ``unavailable``, not applied. The clerk goes on.
* COMMIT failed on another write: SQLite has rolled back. The commands are answered ``unavailable`` with an
  unknown outcome, because all of their pages may have reached the disk. The clerk goes on.
* COMMIT failed on a sync: ``SyncFailed``. Nobody may be answered and the process must end, since only the
  next start can tell what the disk holds.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import apsw

from tallyd.clerk import entries
from tallyd.clerk.command import CommandRunner, FencedRead, FirstStep, Handler, Handlers, Unfinished
from tallyd.clerk.hooks import AFTER_COMMIT, BEFORE_COMMIT, Hooks, NoHooks
from tallyd.clerk.members import Answer, Member, problem_answer
from tallyd.clerk.refusals import RefusalMeter
from tallyd.ledger import attempts, claims, log
from tallyd.ledger.transaction import Transaction
from tallyd.store.ambient import Ambient
from tallystick.protocol import limits
from tallystick.protocol.operation import Socket
from tallystick.protocol.problems import EXT_DISK, unavailable

Outcome = Literal["unknown", "not_applied"]

logger = logging.getLogger("tallyd.clerk")

_SYNC_FAILURES: Final = frozenset(
    {
        apsw.SQLITE_IOERR_FSYNC,
        apsw.SQLITE_IOERR_DIR_FSYNC,
        apsw.SQLITE_IOERR_CLOSE,
        apsw.SQLITE_IOERR_DIR_CLOSE,
    }
)


_DISK_WORDS: Final = {
    "FullError": ("full", "the disk is full; make room"),
    "IOError": ("failing", "the disk refused to write, and the daemon's log says how"),
}
"""By the name of SQLite's error: how the disk is, for programs and for people."""


class SyncFailed(Exception):
    """COMMIT failed in a sync: only the disk knows the outcome of the batch. The process must end without
    answering.
    """


class _BatchLost(Exception):
    """SQLite rolled back the whole transaction under a command."""


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
        unfinished: Mapping[tuple[Socket, str], Unfinished] | None = None,
    ) -> None:
        self._tx = tx
        self._ambient = ambient
        self._hooks = hooks or NoHooks()
        self._refusals = refusals or RefusalMeter()
        handlers = Handlers(writes, fenced_reads, first_steps or {}, unfinished or {})
        self._commands = CommandRunner(tx, ambient, handlers, self._hooks, self._refusals)
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

    def execute(self, member: Member) -> None:
        """Runs one member inside the transaction; its answer is given by ``commit``."""
        self._answers.append(self._commands.run(member))

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
        """One transaction for the batch; where that was lost, one for each member. Raises SyncFailed."""
        self._tx.db.buffering = True
        try:
            return self._attempt(batch)
        except _BatchLost as lost:
            logger.warning("the transaction was lost and its commands run again, each alone: %s", lost)
        finally:
            self._tx.db.buffering = False
        return [self._alone(member) for member in batch]

    def _attempt(self, batch: Sequence[Member]) -> list[Answer]:
        """Raises _BatchLost where nothing was committed and each may be tried alone."""
        try:
            self.begin()
            for member in batch:
                self.execute(member)
            self._tx.db.flush()
        except apsw.Error as failure:
            self._abandon()
            raise _BatchLost(type(failure).__name__) from failure
        except log.LogBroken as broken:
            self._abandon()
            logger.critical("%s", broken)
            return [problem_answer(unavailable(str(broken), outcome="not_applied").problem)] * len(batch)
        except BaseException:
            self._abandon()
            raise
        try:
            return self.commit()
        except apsw.Error as failure:
            self._abandon()
            logger.error("COMMIT failed: %s (%s)", type(failure).__name__, failure)
            outcome: Outcome = "not_applied" if isinstance(failure, apsw.FullError) else "unknown"
            return [_disk_refused(type(failure).__name__, outcome)] * len(batch)

    def _alone(self, member: Member) -> Answer:
        try:
            return self._attempt([member])[0]
        except _BatchLost as lost:
            return _disk_refused(str(lost), "not_applied")

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
        """At start, and after a lost transaction: a running attempt or claim without a lease gets its full
        term anew.
        """
        for attempt in attempts.running(self._tx):
            if not self._tx.leases.known(attempt.invocation):
                self._tx.leases.renew(attempt.invocation, attempt.term_seconds)
        for claim in claims.running(self._tx):
            if not self._tx.claim_leases.known(claim.task):
                self._tx.claim_leases.renew(claim.task, claim.term_seconds)

    # --- between batches ------------------------------------------------------------------------------------
    @property
    def durable(self) -> tuple[int, bytes]:
        """Position and leaf of the last durable row: what the marker may say."""
        return self._tx.log.tail

    def tidy(self, *, drain: bool = False) -> bool:
        """When idle, or at the drain: empties the outbox a step, and writes down what was suppressed.

        Returns whether work is left: more rows than a step takes, or a disk that refused it. Raises
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

    def _tidy(self, due: Sequence[tuple[str, str, int]], *, drain: bool) -> bool:
        self.begin()
        for actor, what, count in due:
            entries.append_suppressed(self._tx, actor, what, count)
        deleted = self._tx.log.drain_outbox(self._durable, limits.OUTBOX_DRAIN_ROWS_MAX)
        while deleted and drain:
            deleted = self._tx.log.drain_outbox(self._durable, limits.OUTBOX_DRAIN_ROWS_MAX)
        self.commit()
        return deleted == limits.OUTBOX_DRAIN_ROWS_MAX


def _disk_refused(failure: str, outcome: Outcome) -> Answer:
    """``unavailable``, for an error of SQLite by its name: is it the disk, and what became of the command."""
    state, words = _DISK_WORDS.get(failure, (None, f"the store refused to write ({failure})"))
    end = "nothing was applied" if outcome == "not_applied" else "send the same key again then"
    ext = {} if state is None else {EXT_DISK: {"state": state}}
    return problem_answer(unavailable(f"{words}; {end}", outcome=outcome, ext=ext).problem)
