"""Sealing beside the clerk: what stands between the two transactions of a finalize.

::

    clerk: first transaction ─► run on a thread ─► clerk: second transaction ─► files settled ─► reply
           (upload sealing)     (vault.seal)              (upload ended)

Commands of others go on meanwhile. One upload is sealed by one run at a time: a second finalize of it waits
for the first to end, and then goes through the clerk like any other, which answers it with the stored reply,
or refuses it. A client that goes away ends nothing; a drain ends the runs, whose uploads stay ``sealing`` and
can be gone on with.

When a finalize or an abort is answered, the plain bytes are gone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
import trio

from tallyd.clerk import Command
from tallyd.clerk.hooks import AFTER_SEAL, AFTER_SEAL_TXN, Hooks
from tallyd.operations import artifact_rows
from tallyd.operations.artifacts import Ended
from tallyd.readers.reads import Reader
from tallyd.service.driver import Replied
from tallyd.vault import Order, Sealing, Stopped, Vault
from tallystick.protocol.envelope import encode_problem
from tallystick.protocol.problems import internal, unavailable

logger = logging.getLogger("tallyd.sealing")

_RUNS_MAX: Final = 2
"""Runs at a time: each keeps a core busy with hashing and sealing, and lets go of the interpreter for it."""

Submit = Callable[[Command, Replied], None]


class _Waiting(msgspec.Struct, frozen=True, eq=False):
    """A finalize of an upload that is being sealed already."""

    command: Command
    replied: Replied


class _Last:
    """Takes the reply of the second transaction: the files are settled before the client has it."""

    __slots__ = ("_replied", "_sealer", "_sealing")

    def __init__(self, sealer: Sealer, sealing: Sealing, replied: Replied) -> None:
        self._sealer = sealer
        self._sealing = sealing
        self._replied = replied

    def reply(self, line: bytes) -> None:
        self._sealer.answered(self._sealing, self._replied, line)


class Sealer:
    """On the loop. ``attach`` gives it what it submits commands to."""

    def __init__(self, vault: Vault, new_reader: Callable[[], Reader], hooks: Hooks) -> None:
        self._vault = vault
        self._new_reader = new_reader
        self._hooks = hooks
        self._running: dict[str, list[_Waiting]] = {}
        self._threads = trio.CapacityLimiter(_RUNS_MAX)
        self._stopping = False
        self._idle = trio.Event()

    def attach(self, nursery: trio.Nursery, submit: Submit) -> None:
        """Before anything is taken."""
        self._nursery = nursery
        self._submit = submit

    def take(self, command: Command, after: object, replied: Replied, line: bytes) -> None:
        """A command is durable, and something is to be done outside before it is answered with ``line``."""
        if isinstance(after, Order):
            self._begin(command, after, replied)
        elif isinstance(after, Ended):
            self._nursery.start_soon(self._drop, after.upload_id, replied, line)
        else:
            name = command.request.operation.name
            logger.error("nobody knows what to do after %s, which is a defect", name)
            replied.reply(line)

    # --- runs -----------------------------------------------------------------------------------------------
    def _begin(self, command: Command, order: Order, replied: Replied) -> None:
        waiting = self._running.get(order.upload_id)
        if waiting is not None:
            waiting.append(_Waiting(command, replied))
            return
        self._running[order.upload_id] = []
        self._nursery.start_soon(self._run, command, order, replied)

    async def _run(self, command: Command, order: Order, replied: Replied) -> None:
        operation = command.request.operation
        self._hooks.passed(AFTER_SEAL_TXN, operation.name, operation.socket)
        try:
            sealing = await trio.to_thread.run_sync(
                partial(self._vault.seal, order, lambda: self._stopping), limiter=self._threads
            )
        except Exception as failure:
            replied.reply(_gave_up(order, failure))
            self._end(order.upload_id)
            return
        self._hooks.passed(AFTER_SEAL, operation.name, operation.socket)
        second = Command(command.request, command.speaker, sealing)
        self._submit(second, _Last(self, sealing, replied))

    def answered(self, sealing: Sealing, replied: Replied, line: bytes) -> None:
        """The second transaction has been answered, in whichever way."""
        self._nursery.start_soon(self._settle, sealing, replied, line)

    async def _settle(self, sealing: Sealing, replied: Replied, line: bytes) -> None:
        await self._outside(partial(self._settle_files, sealing))
        replied.reply(line)
        self._end(sealing.order.upload_id)

    def _settle_files(self, sealing: Sealing) -> None:
        reader = self._new_reader()
        try:
            settle_files(self._vault, reader, sealing)
        finally:
            reader.close()

    def _end(self, upload_id: str) -> None:
        for one in self._running.pop(upload_id):
            self._submit(one.command, one.replied)
        if self._stopping and not self._running:
            self._idle.set()

    # --- other ends of an upload ----------------------------------------------------------------------------
    async def _drop(self, upload_id: str, replied: Replied, line: bytes) -> None:
        await self._outside(partial(self._vault.staging.drop, upload_id))
        replied.reply(line)

    async def drop_ended(self) -> None:
        """Removes staging files whose uploads ended without an answer to wait for: those that expired."""
        await self._outside(self._drop_ended)

    def _drop_ended(self) -> None:
        names = self._vault.staging.names()
        if not names:
            return
        reader = self._new_reader()
        try:
            found = reader.read(lambda view: [artifact_rows.find_upload(view, name) for name in names])
        finally:
            reader.close()
        for row in found:
            if row is not None and row.terminal_ms is not None and row.upload_id not in self._running:
                self._vault.staging.drop(row.upload_id)

    async def _outside(self, work: Callable[[], object]) -> None:
        """Files that could not be settled are settled at the next start: what is answered stays true."""
        try:
            await trio.to_thread.run_sync(work, limiter=self._threads)
        except Exception:
            logger.exception("files of an upload could not be settled; the next start tries again")

    # --- the end --------------------------------------------------------------------------------------------
    async def stop(self) -> None:
        """Ends the runs that still go on, and waits for them. Their uploads can be finalized again."""
        self._stopping = True
        if self._running:
            await self._idle.wait()


def settle_files(vault: Vault, reader: Reader, sealing: Sealing) -> None:
    """After the second transaction: what the durable store says decides. A run that no row names is thrown
    away whole once its upload has ended, and kept while it is open, because a transaction whose outcome is
    unknown may yet be found on the disk. Raises OSError.
    """
    upload_id = sealing.order.upload_id
    row = reader.read(lambda view: artifact_rows.find_upload(view, upload_id))
    if row is None or row.terminal_ms is None:
        return
    if row.state != "completed" or row.sealed_storage_version != sealing.version:
        vault.discard(sealing)
    vault.staging.drop(upload_id)


def _gave_up(order: Order, failure: Exception) -> bytes:
    """The reply where a run did not end: nothing was applied, and the same command goes on with it."""
    if isinstance(failure, Stopped):
        detail = f"the daemon is stopping; send the same again, and upload {order.upload_id} is gone on with"
    elif isinstance(failure, OSError):
        why = f"upload {order.upload_id} could not be sealed ({failure.strerror})"
        detail = f"{why}; make room, and send the same again"
        logger.error("%s", detail)
    else:
        logger.error("sealing upload %s failed, which is a defect", order.upload_id, exc_info=failure)
        fault = internal(f"sealing upload {order.upload_id} failed; the daemon's log says why")
        return encode_problem(fault.problem)
    return encode_problem(unavailable(detail, "not_applied").problem)
