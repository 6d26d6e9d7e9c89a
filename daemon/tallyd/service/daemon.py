"""The daemon's life: open the store, serve, drain, close.

Start: lock and open the store (its own room says in which order), read what the clerk needs, bind the sockets
under the runtime lock, and only then say READY. End, on SIGTERM, SIGINT or ``tallystick_shutdown``: accept
nothing new, refuse new commands, end the waits, answer what was taken, write down what the clerk still knows,
reset the write-ahead log, write the marker, close. Where a lock or the database was taken away from under it:
at once, and without a word to the disk.
"""

from __future__ import annotations

import logging
import os
import signal
from typing import Final

import apsw
import msgspec
import trio
from msgspec import UNSET

from tallyd.clerk import Clerk
from tallyd.clerk.hooks import AbortHook, Hooks, NoHooks
from tallyd.door import Door, ListenRefused, Wakers
from tallyd.families.artifacts import rows
from tallyd.families.service.about import implementation_version
from tallyd.ledger import times
from tallyd.ledger.leases import Leases
from tallyd.ledger.log import REALM_STREAM, Log
from tallyd.ledger.transaction import Transaction
from tallyd.ledger.view import View
from tallyd.readers.gate import Gate
from tallyd.readers.reads import LoopReader, Reader
from tallyd.readers.waiters import Waiters
from tallyd.service import logs
from tallyd.service.agent_sockets import AgentSockets
from tallyd.service.bootstrap import adoption, bootstrap
from tallyd.service.checkpointer import Checkpointer
from tallyd.service.commands import Commands, Touched
from tallyd.service.config import Settings
from tallyd.service.copies import remove_old_copies
from tallyd.service.credentials import Credentials, owner_channel
from tallyd.service.dispatcher import Dispatcher
from tallyd.service.driver import Driver
from tallyd.service.errands import ErrandRunner
from tallyd.service.follows import Follows
from tallyd.service.host import DaemonHost
from tallyd.service.lines import Lines, Parsed
from tallyd.service.outside import Outsides
from tallyd.service.pending_claims import PendingClaims
from tallyd.service.read_turns import ReadTurns
from tallyd.service.reads import Reads
from tallyd.service.ready import Readiness
from tallyd.service.records import AccessRecords
from tallyd.service.tasks import Tasks
from tallyd.service.wiring import WIRING
from tallyd.store.ambient import Ambient
from tallyd.store.opening import open_store
from tallyd.store.refusals import ExitCode, StartRefused
from tallyd.store.store import Store
from tallyd.vault import Vault
from tallystick.paths import Paths
from tallystick.protocol import limits
from tallystick.protocol.families.service import EpochStatus, FileSystemStatus, Status
from tallystick.protocol.operation import Socket

logger = logging.getLogger("tallyd")

_OURS_SECONDS: Final = 10.0
"""How often lock files and sockets are compared with what we hold: a tidied directory is noticed, and not
guessed at.
"""


_STOPPING: Final = (signal.SIGTERM, signal.SIGINT)
IGNORED_SIGNALS: Final = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
"""By default they would end the process in the middle of whatever it does. A terminal that closes sends the
first, and so does whoever believes that a daemon reads its settings again then.
"""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How the daemon was asked to run."""

    paths: Paths
    adopt: str | None = None
    hook: AbortHook | None = None
    batch_hold: int = 0
    vfs: str | None = None
    settings: Settings = msgspec.field(default_factory=Settings)


class Daemon:
    """One run. ``open`` may raise StartRefused; ``serve`` runs until it is told to stop."""

    def __init__(self, options: Options, ambient: Ambient, readiness: Readiness) -> None:
        self._options = options
        self._ambient = ambient
        self._readiness = readiness
        self._started_ms = ambient.wall_ms()
        self._stop = trio.Event()

    def open(self) -> None:
        """Opens the store and makes everything that runs. Raises StartRefused."""
        options, ambient = self._options, self._ambient
        self._store = store = self._open_store()
        if (note := store.filesystem.note) is not None:
            logger.warning("%s", note)
        self._gate = Gate()
        self._leases = Leases(ambient.monotonic)
        self._hooks: Hooks = options.hook or NoHooks()
        self._clerk = self._make_clerk()
        self._checkpointer = Checkpointer(store)
        self._driver = Driver(self._clerk, store, self._gate, self._checkpointer.committed)
        self._reader = LoopReader(self._new_reader())
        self._vault = self._open_vault()
        self._make_loop()
        self._listen()
        self._start_threads()

    def _start_threads(self) -> None:
        """Raises StartRefused where the system gives none."""
        self._gate.on_open(self._wakers.waker(self._reader.gate_opened))
        try:
            self._driver.start(self._wakers.waker(self._commands.collect))
            self._checkpointer.start(self._driver)
        except StartRefused:
            self._driver.stop()
            self._door.stop_accepting()
            self._let_go()
            raise

    def _make_clerk(self) -> Clerk:
        store, settings = self._store, self._options.settings
        self._log = Log(store.writer)
        tx = Transaction(store.writer, store.keys, store.identity, self._ambient, self._leases, self._log)
        self._tx = tx
        tx.secrets = settings.secrets.write
        tx.orders, tx.event_checks = settings.as_orders(), WIRING.event_checks
        return Clerk(
            tx,
            self._ambient,
            WIRING.writes,
            WIRING.fenced_reads,
            self._hooks,
            first_steps=WIRING.first_steps,
            unfinished=WIRING.unfinished,
        )

    def _make_loop(self) -> None:
        """What runs on the loop: nothing of it does anything before ``serve``."""
        self._wakers = Wakers()
        self._tasks = Tasks()
        running: dict[str, trio.Event] = {}
        self._host = DaemonHost(
            WIRING.families,
            self._store,
            self._vault,
            self._new_reader,
            self._status,
            self.stop,
            running,
        )
        self._outsides = Outsides(self._host, self._hooks, self._tasks, running, self._errand_done)
        self._commands = commands = Commands(
            self._driver, self._wakers.waker(lambda: None), self._outsides.go_on, self._options.batch_hold
        )
        records = AccessRecords(commands)
        self._claims = PendingClaims(commands)
        self._waiters = Waiters()
        turns = ReadTurns(lambda: commands.busy)
        self._follows = Follows(self._reader, self._waiters, records, turns)
        self._dispatcher = Dispatcher(
            Lines(WIRING.handlers),
            commands,
            self._claims,
            Reads(
                self._reader,
                self._new_reader,
                self._host,
                turns,
                records,
                self._tasks,
            ),
            self._follows,
            Credentials(self._options.settings.owner_credential_sha256),
            self._reader,
            self._tasks,
        )
        self._door: Door[Parsed] = Door(self._dispatcher, wakers=self._wakers)
        self._errands = [
            ErrandRunner(errand, self._reader, commands, self._driver, self._host)
            for family in WIRING.families
            for errand in family.errands
        ]
        self._agents = AgentSockets(self._door, self._reader, self._options.paths.runtime_dir)
        self._tx.no_room_for_agent = self._agents.no_room
        commands.listen(self._touched)

    def _touched(self, touched: Touched) -> None:
        """A batch is durable, and its replies are given: whoever waits for what it touched is told."""
        if REALM_STREAM in touched.sources:
            self._compare_agents()
        if touched.sources:
            self._waiters.committed(touched.sources)
        if touched.names:
            self._claims.woken(touched.names)
        for errand in self._errands:
            errand.touched(touched)

    def _open_store(self) -> Store:
        """Raises StartRefused."""
        options, ambient = self._options, self._ambient
        try:
            return open_store(
                options.paths,
                ambient=ambient,
                bootstrap=bootstrap(ambient),
                on_adopt=adoption(ambient),
                adopt=options.adopt,
                vfs=options.vfs,
                on_step=self._step,
                on_progress=self._readiness.progress,
            )
        except StartRefused:
            self._readiness.refused()
            raise

    def _step(self, name: str) -> None:
        """A step of the start is done: where the crash hooks may end the process."""
        if self._options.hook is not None:
            self._options.hook.step(name)

    def _listen(self) -> None:
        """Binds the owner's sockets; who connects waits until ``serve``. Raises StartRefused."""
        paths, uid = self._options.paths, os.geteuid()
        shown = self._options.settings.owner == "credential"
        try:
            for socket, path in (
                (Socket.CLIENT, paths.client_socket),
                (Socket.WORKER, paths.worker_socket),
            ):
                self._door.listen(owner_channel(socket, path, uid, by_credential=shown))
        except ListenRefused as refused:
            self._door.stop_accepting()
            self._let_go()
            raise StartRefused(ExitCode.BAD_DIRECTORY, str(refused)) from None

    def _open_vault(self) -> Vault:
        """The artifacts' files, tidied up after whatever ended the daemon before. Raises StartRefused."""
        vault = Vault(self._store.paths.data_dir, self._store.disk)
        try:
            vault.open()
        except StartRefused:
            self._let_go()
            raise
        reader = self._new_reader()
        known = reader.read(lambda view: (rows.open_uploads(view), rows.sealed_files(view)))
        reader.close()
        try:
            vault.sweep(*known)
        except OSError as failure:
            logger.error("artifacts' files could not be tidied up: %s; the next start tries again", failure)
        return vault

    def _let_go(self) -> None:
        """Of the store, where the start is refused."""
        self._checkpointer.close()
        self._reader.close()
        self._store.close()

    def _new_reader(self) -> Reader:
        store = self._store
        view = View(
            store.reader(),
            store.keys,
            store.identity,
            lambda: self._log.now_ms(self._ambient.wall_ms()),
        )
        view.orders, view.event_checks = self._options.settings.as_orders(), WIRING.event_checks
        return Reader(view, self._gate)

    def stop(self) -> None:
        """Begins the drain. On the loop."""
        self._stop.set()

    # --- serving --------------------------------------------------------------------------------------------
    async def serve(self) -> int:
        """Runs until stopped; returns the exit code, 0."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self._signals)  # before READY: who hears it may stop us at once
            await nursery.start(self._tasks.run)
            self._agents.compare()
            nursery.start_soon(self._door.run)
            self._keep_up()
            self._step("before_ready")
            self._readiness.ready()
            self._tasks.keep_up("cleaning up after this start", self._begin_errands)
            await self._stop.wait()
            await self._drain()
            nursery.cancel_scope.cancel()
        self._close()
        return 0

    def _keep_up(self) -> None:
        """Starts what the daemon does of itself."""
        self._tasks.keep_up("looking after locks and sockets", self._stay_ours)
        self._tasks.keep_up("cleaning up when idle", self._commands.clean_up_when_idle)
        self._tasks.keep_up("agents' sockets", self._agents.run)

    async def _begin_errands(self) -> None:
        """First the copies that this start has made superfluous go, and then the families' errands begin."""
        await trio.to_thread.run_sync(remove_old_copies, self._store)
        for errand in self._errands:
            self._tasks.keep_up(errand.name, errand.run)

    async def _errand_done(self, name: str) -> None:
        """Returns when the errand of that name has done all that is due now."""
        for errand in self._errands:
            if errand.name == name:
                await errand.done()

    def _compare_agents(self) -> None:
        """Agents' sockets appear and go with their agents."""
        if not self._commands.stopping:
            self._agents.compare()

    async def _signals(self, task_status: trio.TaskStatus[None]) -> None:
        with trio.open_signal_receiver(*_STOPPING, *IGNORED_SIGNALS) as received:
            task_status.started()
            async for number in received:
                name = signal.Signals(number).name
                if number in _STOPPING:
                    logger.info("stopping: %s", name)
                    self.stop()
                else:
                    logger.warning(
                        "%s is ignored: settings are read at the start. To have tallyd.toml read again, end "
                        "the daemon with SIGTERM or tally down, and start it anew",
                        name,
                    )

    async def _stay_ours(self) -> None:
        """A lock or database that was taken from under us ends the process; a socket that was tidied away is
        bound anew.

        Another daemon may own the place by then, so nothing more is written, not even by SQLite when it
        closes: no marker beside a database that is not ours, no log that is not ours unlinked. Who waits for
        a reply learns that the outcome is unknown, and sends the same key again.
        """
        while True:
            await trio.sleep(_OURS_SECONDS)
            lost = self._store.check_still_ours()
            if lost is not None:
                logger.critical("%s", lost)
                logs.exit_at_once(ExitCode.LOCK_LOST)
            self._compare_agents()
            for path in self._door.rebind_lost():
                logger.warning("the socket %s was taken away, and is bound anew", path)

    async def _drain(self) -> None:
        """Nothing new, no waits, and an answer for all that was taken."""
        self._readiness.stopping()
        self._commands.stopping = True
        self._follows.stopping = True
        self._door.stop_accepting()
        self._door.end_waits()
        with trio.move_on_after(limits.DRAIN_SECONDS_MAX) as scope:
            await self._door.drained()
        if scope.cancelled_caught:
            logger.warning(
                "the drain took longer than %d s; what was not answered is unknown to its client",
                limits.DRAIN_SECONDS_MAX,
            )
        await self._outsides.stop()
        await trio.to_thread.run_sync(self._driver.stop)

    def _close(self) -> None:
        """The clerk's thread has ended: what is left is done here."""
        self._checkpointer.stop()
        self._reader.close()
        try:
            self._clerk.tidy(drain=True)
            self._store.truncate(self._store.writer)
            self._store.write_marker(*self._clerk.durable)
        except (apsw.Error, OSError) as failure:
            logger.error(
                "closing: %s (%s); the next start goes on from the write-ahead log",
                type(failure).__name__,
                failure,
            )
        self._store.close()
        logger.info("stopped")

    @property
    def waiters(self) -> int:
        """Requests that wait for events or for work."""
        return len(self._follows) + len(self._claims)

    def _status(self) -> Status:
        store = self._store
        position, _ = self._driver.durable
        return Status(
            pid=os.getpid(),
            started_at=times.rfc3339(self._started_ms),
            store_id=store.store_id,
            installation_id=store.installation_id,
            epoch=EpochStatus(number=store.epoch.number),
            versions={
                "tallyd": implementation_version(),
                "protocol": "0.1",
                "sqlite": apsw.sqlite_lib_version(),
                "apsw": apsw.apsw_version(),
            },
            file_system=_file_system(store),
            wal_bytes=store.wal_bytes(),
            log_entries=position + 1,
            connections=self._door.connections,
            queued_commands=self._commands.queued,
            waiters=self.waiters,
            leases=len(self._leases),
            stopping=self._commands.stopping,
        )


def _file_system(store: Store) -> FileSystemStatus:
    found = store.filesystem
    return FileSystemStatus(name=found.type, container_layer=found.container_layer, note=found.note or UNSET)


async def serve(daemon: Daemon) -> int:
    """The one task of the process."""
    return await daemon.serve()
