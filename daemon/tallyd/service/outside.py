"""What is done outside the store for a command: between its two transactions, or after its commit.

::

    clerk: first transaction -> Outside.run, on a thread -> clerk: second transaction -> settle -> reply
    clerk: one transaction ----------------------------------> follow_up, on a thread ----------> reply
    clerk: one transaction -> the errand that it awaits -----> clerk: the reply, made anew -----> reply

Commands of others go on meanwhile. Under one key one run goes on at a time: a second command waits for it to
end, and then goes through the clerk like any other. A client that goes away ends nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import trio

from tallyd.clerk import Answer, Command
from tallyd.clerk.hooks import Hooks
from tallyd.door import Exchange
from tallyd.families.shared.family import Outside
from tallyd.families.shared.host import Host
from tallyd.service.tasks import Tasks
from tallyd.store.lacks import lack_of
from tallystick.protocol import limits
from tallystick.protocol.envelope import encode_problem
from tallystick.protocol.problems import unavailable

logger = logging.getLogger("tallyd.outside")

_RUNS_MAX: Final = 2
"""Runs at a time: each keeps a core busy with hashing and sealing, and lets go of the interpreter for it."""


class Outsides:
    """On the loop. ``running`` is kept here: for each key under which a run goes on, what tells its end.
    ``errand_done`` returns when an errand has done all that is due now.
    """

    def __init__(
        self,
        host: Host,
        hooks: Hooks,
        tasks: Tasks,
        running: dict[str, trio.Event],
        errand_done: Callable[[str], Awaitable[None]],
    ) -> None:
        self._host = host
        self._errand_done = errand_done
        self._hooks = hooks
        self._tasks = tasks
        self._running = running
        self._threads = trio.CapacityLimiter(_RUNS_MAX)
        self._stopping = False

    def go_on(
        self,
        run: Callable[[Command], Awaitable[Answer]],
        command: Command,
        answer: Answer,
        exchange: Exchange,
    ) -> None:
        """A command is durable, and something is left to be done before it is answered."""
        self._tasks.answer(exchange, self._serve, run, command, answer)

    async def _serve(
        self, run: Callable[[Command], Awaitable[Answer]], command: Command, answer: Answer
    ) -> bytes:
        while answer.outside is not None:
            work: Outside = answer.outside
            ended = self._running.get(work.key)
            if ended is None:
                return await self._between(run, command, work)
            await ended.wait()
            answer = await run(command)
        if answer.follow_up is not None:
            await self._on_a_thread(partial(answer.follow_up, self._host))
        if answer.awaits is not None:
            return await self._after_errand(run, command, answer, answer.awaits)
        return answer.reply

    async def _after_errand(
        self, run: Callable[[Command], Awaitable[Answer]], command: Command, answer: Answer, errand: str
    ) -> bytes:
        """The reply as it is when the errand is done, or when that takes too long: sent again, the command is
        a replay. What was applied stays applied, also where its actor may not have the reply any more. Raises
        Refusal ``unavailable`` where work goes on and the reply cannot say so.
        """
        with trio.move_on_after(limits.ANSWER_AFTER_ERRAND_SECONDS_MAX) as scope:
            await self._errand_done(errand)
        if scope.cancelled_caught:
            name = command.request.operation.name
            logger.warning("%s is answered while %s goes on, which takes long", name, errand)
        again = await run(command)
        if again.awaits is not None:
            raise unavailable(
                "it is applied, and nobody is shown it any more; but the files are still being cleaned: a "
                "disk, or another program that reads the database, stands in the way. Send the same key "
                "again, and it is answered when nothing is left",
                outcome="unknown",
            )
        return answer.reply if again.problem is not None else again.reply

    async def _between(
        self, run: Callable[[Command], Awaitable[Answer]], command: Command, work: Outside
    ) -> bytes:
        """Between the two transactions, and after the second."""
        ended = self._running[work.key] = trio.Event()
        try:
            operation = command.request.operation
            before, after = work.phases
            self._hooks.passed(before, operation.name, operation.socket)
            try:
                outcome = await trio.to_thread.run_sync(
                    partial(work.run, self._host, lambda: self._stopping), limiter=self._threads
                )
            except Exception as failure:
                return encode_problem(work.gave_up(failure))
            self._hooks.passed(after, operation.name, operation.socket)
            answer = await run(Command(command.request, command.speaker, outcome))
            await self._on_a_thread(partial(work.settle, self._host, outcome))
            return answer.reply
        finally:
            del self._running[work.key]
            ended.set()

    async def _on_a_thread(self, work: Callable[[], object]) -> None:
        """Files that could not be settled are settled at the next start: what is answered stays true."""
        try:
            await trio.to_thread.run_sync(work, limiter=self._threads)
        except Exception as error:
            lack = lack_of(error)
            if lack is None:
                logger.exception("files could not be settled; the next start tries again")
            else:
                logger.warning("files could not be settled: %s; the next start tries again", lack)

    async def stop(self) -> None:
        """Ends the runs that still go on, and waits for them. Their commands can be sent again."""
        self._stopping = True
        for ended in list(self._running.values()):
            await ended.wait()
