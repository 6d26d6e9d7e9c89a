"""The clerk's thread: runs batches handed over by the loop, and resets the write-ahead log between two of
them.

The clerk knows no thread; this is the one that it lives on, for the life of the process. Batches are cut on
the loop and come one at a time: a thread that helped itself would cut them at half the size. While the disk
works, SQLite has let go of the interpreter, and the loop reads, answers and accepts.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Final

import apsw
import trio

from tallyd.clerk import Answer, Clerk, Member, SyncFailed
from tallyd.clerk.members import problem_answer
from tallyd.door import Exchange
from tallyd.readers.gate import Gate
from tallyd.service import logs, threads
from tallyd.store.refusals import ExitCode
from tallyd.store.store import Store
from tallystick.protocol import limits
from tallystick.protocol.problems import unavailable

logger = logging.getLogger("tallyd.driver")


class Promise:
    """The answer to a member of a batch, for the task that waits for it. On the loop."""

    __slots__ = ("_answer", "_given")

    def __init__(self) -> None:
        self._given = trio.Event()
        self._answer: Answer | None = None

    def keep(self, answer: Answer) -> None:
        """Gives the answer."""
        self._answer = answer
        self._given.set()

    def renew(self) -> None:
        """Another answer is to come."""
        self._given = trio.Event()

    async def answer(self) -> Answer:
        """Waits for the answer."""
        await self._given.wait()
        assert self._answer is not None
        return self._answer


Pair = tuple[Member, Exchange | Promise]
"""A member of a batch, and whoever is told its answer: a client's command by its exchange, as a rule."""


class Done:
    """A batch and its answers, on the way back to the loop."""

    __slots__ = ("answers", "batch")

    def __init__(self, batch: Sequence[Pair], answers: list[Answer]) -> None:
        self.batch = batch
        self.answers = answers


_STOP: Final = None
_TIDY: Final[list[Pair]] = []
_LOG_BYTES_KEPT_MAX: Final = 2 * limits.WAL_GATE_BYTES
"""A longer write-ahead log is cut when it is reset: it grew while a reader or the disk stood in the way."""


class _Cut:
    """Somebody waits for the write-ahead log to be cut."""

    __slots__ = ("cut", "done")

    def __init__(self) -> None:
        self.cut = False
        self.done = trio.Event()

    def take(self, cut: bool) -> None:
        self.cut = cut


class Driver:
    """Owns the clerk's thread. ``submit`` and ``collect`` are the loop's."""

    def __init__(self, clerk: Clerk, store: Store, gate: Gate, committed: Callable[[], None]) -> None:
        self._clerk = clerk
        self._store = store
        self._gate = gate
        self._committed = committed
        self._queue: SimpleQueue[Sequence[Pair] | None] = SimpleQueue()
        self._done: deque[Done] = deque()
        self._wake: Callable[[], None] = lambda: None
        self._idle = True
        self._checkpoint_lock = threading.Lock()
        self._cut: _Cut | None = None
        self._cuts: deque[_Cut] = deque()
        self.durable = clerk.durable
        self.largest_batch = 0
        self.more_work = False
        """The last cleanup left work."""
        self._thread: threading.Thread | None = None

    def start(self, wake: Callable[[], None]) -> None:
        """``wake`` tells the loop that there is something to collect. Raises StartRefused where no thread
        can be had.
        """
        self._wake = wake
        self._thread = threads.start("clerk", self._run)

    @property
    def idle(self) -> bool:
        """Whether a batch handed over now would be begun at once. On the loop."""
        return self._idle

    @property
    def checkpoint_lock(self) -> threading.Lock:
        """Held by whoever runs a checkpoint: two at a time would only refuse each other."""
        return self._checkpoint_lock

    def submit(self, batch: Sequence[Pair]) -> None:
        """Hands a batch over; only while ``idle``. On the loop."""
        assert self._idle, "a batch was cut while the clerk was at work"
        self._idle = False
        self.largest_batch = max(self.largest_batch, len(batch))
        self._queue.put(batch)

    def tidy(self) -> None:
        """Asks for what can be done when there is nothing else to do; only while ``idle``. On the loop."""
        self._idle = False
        self._queue.put(_TIDY)

    def collect(self) -> list[Done]:
        """What was finished since the last call. On the loop, when woken."""
        done = []
        while self._done:
            done.append(self._done.popleft())
            self._idle = True
        while self._cuts:
            self._cuts.popleft().done.set()
        if self._idle and self._cut is not None:
            self.tidy()
        return done

    async def cut_log(self) -> bool:
        """Cuts the write-ahead log to nothing, between two batches; whether it was. On the loop."""
        wanted = self._cut = _Cut()
        if self._idle:
            self.tidy()
        await wanted.done.wait()
        return wanted.cut

    def stop(self) -> None:
        """Ends the thread after what it was given. Blocks for it: not on the loop."""
        self._queue.put(_STOP)
        if self._thread is not None:
            self._thread.join()

    # --- on the clerk's thread ------------------------------------------------------------------------------
    def _run(self) -> None:
        while (batch := self._queue.get()) is not _STOP:
            answers = self._answers(batch)
            self._done.append(Done(batch, answers))
            self._wake()
            try:
                self._keep_log_short()
            except Exception:
                logger.exception("the length of the write-ahead log could not be looked at")
            if self._cut is not None:
                self._cut_now(self._cut)

    def _answers(self, batch: Sequence[Pair]) -> list[Answer]:
        try:
            if batch is _TIDY:
                self.more_work = self._clerk.tidy()
                answers: list[Answer] = []
            else:
                answers = self._clerk.run([command for command, _ in batch])
        except SyncFailed as failure:
            logger.critical(
                "a sync failed, and what the disk holds is unknown until the next start: %s", failure
            )
            logs.exit_at_once(ExitCode.STORAGE_FAILED)
        except Exception:
            logger.exception("a batch failed, which is a defect")
            unknown = unavailable(
                "the daemon failed on this batch; send the same key again", outcome="unknown"
            ).problem
            return [problem_answer(unknown) for _ in batch]
        self.durable = self._clerk.durable
        self._committed()
        return answers

    def _cut_now(self, wanted: _Cut) -> None:
        self._cut = None
        with self._checkpoint_lock:
            try:
                quiet = self._gate.shut(lambda: wanted.take(self._store.truncate(self._store.writer)))
            except Exception as failure:  # whoever waits for the cut is told in any case
                logger.error("the write-ahead log could not be cut: %s (%s)", type(failure).__name__, failure)
                quiet = False
        wanted.cut = wanted.cut and quiet
        self._cuts.append(wanted)
        self._wake()

    def _keep_log_short(self) -> None:
        """Above its gate size the write-ahead log is reset here, between two batches, while no reader
        runs.
        """
        if self._store.log_bytes_used <= limits.WAL_GATE_BYTES:
            return
        with self._checkpoint_lock:
            try:
                quiet = self._gate.shut(lambda: self._store.reset_log(_LOG_BYTES_KEPT_MAX))
            except apsw.Error as failure:
                # All of it is in the log still: nothing is lost, and the log is long until the disk works.
                logger.error(
                    "the write-ahead log could not be reset, and is tried after the next batch: %s (%s)",
                    type(failure).__name__,
                    failure,
                )
                return
        if not quiet:
            logger.warning("a read did not end; the write-ahead log is reset after the next batch")
