"""The way of a command between the loop and the clerk: queued here, cut into batches, answered here.

A client's command is queued with its exchange, and a member of the daemon's own is run by whoever awaits its
answer (``run``): no task is made for a command that is done in one transaction. When a batch is durable its
replies go out in order, and then whoever waits for what it touched is told, once.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import trio

from tallyd.clerk import Answer, Command, Member
from tallyd.door import Exchange
from tallyd.service.driver import Driver, Pair, Promise
from tallystick.protocol import limits
from tallystick.protocol.operation import AnyOperation
from tallystick.protocol.problems import unavailable

logger = logging.getLogger("tallyd.commands")

_IDLE_SECONDS: Final = 1.0
"""Quiet for so long, the clerk cleans up: outbox rows that every consumer has passed, counts of suppressed
refusals.
"""


class Commands:
    """On the loop. ``wake`` has the loop go round; ``go_on`` takes a command of which something is left to be
    done after its commit, and what runs a further command for it.
    """

    def __init__(
        self,
        driver: Driver,
        wake: Callable[[], None],
        go_on: Callable[[Callable[[Command], Awaitable[Answer]], Command, Answer, Exchange], None],
        batch_hold: int = 0,
    ) -> None:
        self._driver = driver
        self._wake = wake
        self._go_on = go_on
        self._listeners: list[Callable[[Touched], None]] = []
        self._batch_hold = batch_hold
        self._queue: deque[Pair] = deque()
        self._last_batch = 0.0
        self._untidy = trio.Event()
        self.stopping = False
        """The daemon takes no command of a client any more."""

    def listen(self, listener: Callable[[Touched], None]) -> None:
        """``listener`` is told what each durable batch touched, after its replies were given."""
        self._listeners.append(listener)

    # --- in -------------------------------------------------------------------------------------------------
    def queue(self, command: Command, exchange: Exchange) -> None:
        """A client's command. Raises Refusal where the daemon is stopping."""
        if self.stopping:
            raise unavailable("the daemon is stopping; send it again to the next one", "not_applied")
        self._queue.append((command, exchange))

    def submit(self, member: Member, promise: Promise) -> None:
        """Queues what the daemon has to go on with, also while it stops."""
        self._queue.append((member, promise))
        self._wake()

    async def run(self, member: Member) -> Answer:
        """The answer to a member, when it is durable."""
        promise = Promise()
        self.submit(member, promise)
        return await promise.answer()

    # --- the loop's turns -----------------------------------------------------------------------------------
    def wants_drain(self) -> bool:
        """Whether there is something to hand over, and the clerk is free."""
        if not self._queue or not self._driver.idle:
            return False
        return len(self._queue) >= self._batch_hold

    def cut(self) -> None:
        """Hands what is queued to the clerk. A client that is gone loses its place in the queue, and nothing
        else does.
        """
        self._batch_hold = 0
        queue = self._queue
        self._driver.submit([queue.popleft() for _ in range(min(len(queue), limits.BATCH_COMMANDS_MAX))])

    def collect(self) -> None:
        """The clerk has finished a batch: its answers go out, and then the listeners are told."""
        busy = self._driver.more_work
        for done in self._driver.collect():
            busy = busy or bool(done.batch)
            touched = Touched()
            for (member, to), answer in zip(done.batch, done.answers, strict=True):
                _guarded(partial(touched.add, member, answer))
                _guarded(partial(self._deliver, member, to, answer))
            for listener in self._listeners:
                _guarded(partial(listener, touched))
        self._last_batch = trio.current_time()
        if busy:
            self._untidy.set()

    def _deliver(self, member: Member, to: Exchange | Promise, answer: Answer) -> None:
        if isinstance(to, Promise):
            to.keep(answer)
        elif answer.outside is None and answer.follow_up is None and answer.awaits is None:
            to.reply(answer.reply)
        else:
            assert isinstance(member, Command)
            self._go_on(self.run, member, answer, to)

    @property
    def busy(self) -> bool:
        """Whether commands wait, or are in the clerk's hands."""
        return bool(self._queue) or not self._driver.idle

    @property
    def queued(self) -> int:
        return len(self._queue)

    # --- between batches ------------------------------------------------------------------------------------
    async def clean_up_when_idle(self) -> None:
        """Until canceled: has the clerk clean up when nothing came for a while, and something is left."""
        while True:
            await self._untidy.wait()
            self._untidy = trio.Event()
            while trio.current_time() < self._last_batch + _IDLE_SECONDS or self.busy:
                await trio.sleep(max(self._last_batch + _IDLE_SECONDS - trio.current_time(), _IDLE_SECONDS))
            if not self.stopping:
                self._driver.tidy()


def _guarded(step: Callable[[], None]) -> None:
    """What one answer or listener raises keeps no other from its turn."""
    try:
        step()
    except Exception:
        logger.exception("the answers of a batch were not all told, which is a defect")


class Touched:
    """What a batch touched: projects (0 is the realm), names under which work waits, operations that told
    an event.
    """

    __slots__ = ("names", "operations", "sources")

    def __init__(self) -> None:
        self.sources: set[int] = set()
        self.names: set[str] = set()
        self.operations: list[AnyOperation] = []

    def add(self, member: Member, answer: Answer) -> None:
        """One member and its answer."""
        if answer.sources:
            self.sources.update(answer.sources)
            if isinstance(member, Command):
                self.operations.append(member.request.operation)
        if answer.wakes:
            self.names.update(answer.wakes)
