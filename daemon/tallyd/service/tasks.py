"""The one place that starts tasks: what waits for a request, and what the daemon does of itself.

A request's task returns its reply. One that raises is answered and logged, and ends nothing else; a task of
the daemon itself that raises is logged and begun again, later each time.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeVarTuple

import trio

from tallyd.door import Exchange
from tallyd.service.answers import failed, refused
from tallyd.store.lacks import lack_of
from tallystick.protocol.problems import Refusal, unavailable

logger = logging.getLogger("tallyd.tasks")

Ts = TypeVarTuple("Ts")

_AGAIN_SECONDS: Final = 1.0
_AGAIN_SECONDS_MAX: Final = 60.0
"""How long a failed task of the daemon's own waits before it is begun again: twice as long each time."""


def answer_to(error: Exception) -> bytes:
    """Logs what kept a request from being served, and returns the reply to it."""
    lack = lack_of(error)
    if lack is None:
        logger.error("a request failed, which is a defect", exc_info=error)
        return failed()
    logger.warning("a request was not served: %s", lack)
    return refused(unavailable(f"{lack}; send the same again later"))


class Tasks:
    """On the loop. Nothing may be started before ``run`` has begun."""

    def __init__(self) -> None:
        self._nursery: trio.Nursery | None = None

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Runs what is started, until canceled."""
        async with trio.open_nursery() as self._nursery:
            task_status.started()
            await trio.sleep_forever()

    def answer(self, exchange: Exchange, serve: Callable[[*Ts], Awaitable[bytes | None]], *args: *Ts) -> None:
        """Starts a request's task. What it returns is the reply, and so is the Refusal that it raises; it
        returns None where it has handed the request on.
        """
        assert self._nursery is not None, "a task was started before the loop"
        self._nursery.start_soon(self._answer, exchange, serve, args)

    async def _answer(
        self,
        exchange: Exchange,
        serve: Callable[[*Ts], Awaitable[bytes | None]],
        args: tuple[*Ts],
    ) -> None:
        try:
            line = await serve(*args)
        except Refusal as refusal:
            line = refused(refusal)
        except Exception as error:
            line = answer_to(error)
        if line is not None:
            exchange.reply(line)

    def keep_up(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        """Starts what the daemon does of itself for as long as it runs."""
        assert self._nursery is not None, "a task was started before the loop"
        self._nursery.start_soon(self._keep_up, name, run)

    async def _keep_up(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        pause = _AGAIN_SECONDS
        while True:
            began = trio.current_time()
            try:
                await run()
                return
            except Exception as error:
                lack = lack_of(error)
                if trio.current_time() - began > _AGAIN_SECONDS_MAX:
                    pause = _AGAIN_SECONDS  # it went well for a while
                said = "%s failed, and is tried again in %.0f s%s"
                why = "" if lack is None else f": {lack}"
                logger.error(said, name, pause, why, exc_info=error if lack is None else None)
            await trio.sleep(pause)
            pause = min(2 * pause, _AGAIN_SECONDS_MAX)
