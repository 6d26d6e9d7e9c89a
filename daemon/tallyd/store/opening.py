"""Opening a store: what is checked, in which order, and how a first start goes on after a crash.

The order never changes: SQLite's version, the file system, the data directory and its lock, the runtime
directory and its lock, and only then the database. Who loses a lock has opened nothing.

A **first start** is these steps. Each is on the disk before the next begins, so that a start that was
interrupted anywhere goes on from where it stands; while there is no marker, it does.

===========  ============================================================================================
directories  the data directory and its keys, the runtime directory, the state directory, with their
             parents
keys         one file a kind, written aside; those that an interrupted start left are used
database     migrations, identity, check values of the keys and the ledger's first rows, in one
             transaction
marker       ``store.json``, and its copy in the state directory: from now on the store exists
===========  ============================================================================================

What is found decides what happens. "Known" means that a marker, or a copy that names this directory, says so.

=========  ==============  =======================================================================
known      database        then
=========  ==============  =======================================================================
no         none, or blank  first start
no         of a store      the rest of the first start
yes        none, or blank  refused: it is never made anew, empty
yes        bears it out    opened
yes        does not        refused as put back, or adopted: a new epoch begins
=========  ==============  =======================================================================

A write-ahead log beside no database counts as known: it may be all that is left of a store.

A store whose schema is older than this program's is copied (``copies``), then migrated (``migrations``). A
start that is killed on the way leaves the store as it was, or migrated; the next start goes on. An ordinary
start writes nothing but what is missing.

What stands in the write-ahead log is synced into the database before anything is answered from it. Otherwise
a daemon that was killed between writing a commit and syncing it could, once started again, repeat the reply
of a command that a power cut then still takes away.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final, NamedTuple

import apsw
import msgspec

from tallyd.store import copies, filesystem, keys, marker, migrations, pragmas
from tallyd.store import identity as identities
from tallyd.store.ambient import Ambient
from tallyd.store.directories import Place, make_private, private_umask, sync_ancestors
from tallyd.store.failures import as_refusals
from tallyd.store.files import Disk
from tallyd.store.identity import Epoch, Identity
from tallyd.store.keys import KeyFiles, Keys
from tallyd.store.locks import KernelLock, keep_from_tidying, take
from tallyd.store.marker import Marker, Unreadable
from tallyd.store.migrations import Migration
from tallyd.store.probe import try_two_processes
from tallyd.store.progress import OnProgress, unheard
from tallyd.store.refusals import ExitCode, StartRefused
from tallyd.store.store import Store
from tallyd.store.writer import Writer
from tallystick.paths import Paths
from tallystick.protocol.limits import WAL_BYTES_MAX

Bootstrap = Callable[[Writer, Identity, Keys], None]
"""Writes the ledger's first rows, inside the transaction that makes the store."""
OnAdopt = Callable[[Writer, Identity, Epoch], None]
"""Records an adoption, inside the transaction that begins the epoch: the identity as it was, and the new
epoch."""
OnStep = Callable[[str], None]

STEPS: Final = ("directories", "keys", "database:before_commit", "database", "marker")
"""What ``on_step`` is called with at a first start, in this order: each when it is durable, but for
``database:before_commit``, which is the instant before that step's commit. The steps of an upgrade are those
of ``copies.make`` and ``migrations.upgrade``."""

_DATA: Final = "--data-dir or TALLY_DATA_DIR"
_RUNTIME: Final = "--runtime-dir or TALLY_RUNTIME_DIR"


class Machine(NamedTuple):
    """What opening takes from the machine that it runs on; tests put other things here."""

    disk: Disk = Disk()
    mounts: str | None = None
    """Table of mounts as text; None reads this machine's."""
    probe: Callable[[str], None] = try_two_processes
    credentials_dir: str | None = None
    """Where systemd passes key files; None takes ``CREDENTIALS_DIRECTORY``, where that is set."""
    sqlite_version: str | None = None
    """None asks SQLite."""


def open_store(
    paths: Paths,
    *,
    ambient: Ambient,
    bootstrap: Bootstrap,
    on_adopt: OnAdopt | None = None,
    adopt: str | None = None,
    vfs: str | None = None,
    on_step: OnStep | None = None,
    on_progress: OnProgress = unheard,
    machine: Machine | None = None,
    steps_of_schema: Sequence[Migration] | None = None,
) -> Store:
    """Open the store of ``paths``, making it where there is none, and own it until ``Store.close``.

    ``adopt`` is the id of a store that is known to have gone further than its database does: it goes on
    from there in a new epoch, which needs ``on_adopt``. ``vfs`` names the SQLite VFS to be used.
    ``on_step`` hears of the steps of a first start and of an upgrade, ``on_progress`` how far an upgrade is.
    ``steps_of_schema`` replaces the program's own migrations.

    Raises StartRefused; after it nothing is held, and what was there is as it was.
    """
    if adopt is not None and on_adopt is None:
        raise TypeError("an adoption must be recorded: give on_adopt")
    machine = machine or Machine()
    pragmas.check_sqlite_version(machine.sqlite_version or apsw.sqlite_lib_version())
    with private_umask(), ExitStack() as held, as_refusals(paths, vfs):
        opening = _Opening(
            paths=paths,
            ambient=ambient,
            vfs=vfs,
            machine=machine,
            on_step=on_step or _unheard,
            on_progress=on_progress,
            schema=migrations.load() if steps_of_schema is None else steps_of_schema,
            held=held,
        )
        return opening.run(bootstrap, adopt, on_adopt or _unrecorded)


class _Opening:
    """One attempt to open; ``held`` lets go of everything unless it succeeds."""

    def __init__(
        self,
        *,
        paths: Paths,
        ambient: Ambient,
        vfs: str | None,
        machine: Machine,
        on_step: OnStep,
        on_progress: OnProgress,
        schema: Sequence[Migration],
        held: ExitStack,
    ) -> None:
        self._paths = paths
        self._ambient = ambient
        self._vfs = vfs
        self._machine = machine
        self._disk = machine.disk
        self._on_step = on_step
        self._on_progress = on_progress
        self._upgraded = False
        self._schema = schema
        self._held = held
        credentials = machine.credentials_dir or os.environ.get("CREDENTIALS_DIRECTORY") or None
        self._key_files = KeyFiles(self._disk, paths.keys_dir, credentials, ambient.random)

    def run(self, bootstrap: Bootstrap, adopt: str | None, on_adopt: OnAdopt) -> Store:
        mounts = filesystem.mounts_text() if self._machine.mounts is None else self._machine.mounts
        found = filesystem.refuse_unsafe(self._paths.data_dir, mounts)
        locks = self._own_directories()
        known = marker.read(self._paths.marker)
        if known is None:
            for path in (self._paths.keys_dir, self._paths.runtime_dir, self._paths.state_dir):
                sync_ancestors(self._disk, path)
        step = self._on_step if known is None else _unheard
        step("directories")
        writer = self._existing_database()
        identity = None if writer is None else identities.read_identity(writer)
        if writer is None or identity is None:
            self._refuse_to_make_anew(known, adopt)
            writer, identity, secrets = self._make(writer, bootstrap, step)
        else:
            identity, secrets = self._go_on(writer, identity, known, adopt, on_adopt)
            step("keys")
        self._make_durable(writer)
        step("database")
        self._write_missing_markers(writer, identity)
        step("marker")
        pragmas.checkpoint_on_close(writer, True)
        return Store(
            self._paths,
            writer=writer,
            identity=identity,
            keys=secrets,
            filesystem=found,
            locks=locks,
            held=self._held.pop_all(),
            disk=self._disk,
            vfs=self._vfs,
            upgraded=self._upgraded,
        )

    # --- directories and locks ----------------------------------------------------------------------------

    def _own_directories(self) -> tuple[KernelLock, ...]:
        """Each directory made durable, and its lock taken before the next one is looked at."""
        paths, wall_ms = self._paths, self._ambient.wall_ms()
        make_private(self._disk, Place(paths.data_dir, "the data directory", _DATA))
        code = ExitCode.DATA_DIRECTORY_HELD
        data = take(paths.data_lock, "the data directory", _DATA, code, wall_ms=wall_ms)
        self._held.callback(data.release)
        make_private(self._disk, Place(paths.runtime_dir, "the runtime directory", _RUNTIME, passable=True))
        code = ExitCode.RUNTIME_DIRECTORY_HELD
        runtime = take(paths.runtime_lock, "the runtime directory", _RUNTIME, code, wall_ms=wall_ms)
        self._held.callback(runtime.release)
        self._held.callback(os.close, keep_from_tidying(paths.runtime_dir))
        make_private(self._disk, Place(paths.state_dir, "the state directory", "TALLY_STATE_DIR"))
        make_private(self._disk, Place(paths.keys_dir, "the directory of the keys", _DATA))
        return data, runtime

    # --- what is there ------------------------------------------------------------------------------------

    def _existing_database(self) -> Writer | None:
        """The database that is there, checked and with its settings made; None where there is none to
        open."""
        size, log_size = _size(self._paths.database), _size(self._paths.database + "-wal")
        if not size and log_size:
            # Opening it would delete the log, which may be all that is left.
            raise self._missing(f"its write-ahead log {self._paths.database}-wal has {log_size} bytes")
        if not size:
            return None
        writer = self._connect(create=False)
        migrations.check_schema(writer, self._schema)
        pragmas.apply(writer, pragmas.WRITER)
        return writer

    def _connect(self, *, create: bool) -> Writer:
        writer = pragmas.connect_writer(self._paths.database, create=create, vfs=self._vfs)
        self._held.callback(writer.close)
        return writer

    def _refuse_to_make_anew(self, known: Marker | Unreadable | None, adopt: str | None) -> None:
        """There is no store: raise StartRefused if there was one."""
        if known is not None:
            raise self._missing(f"its marker {self._paths.marker} is there")
        copies = marker.stores_known_at(self._paths.state_dir, self._paths.data_dir)
        if copies:
            path, copy = copies[0]
            raise self._missing(
                f"{path} says that store {copy.store_id} is here, with its log at position {copy.position};"
                " if that store is kept elsewhere, keep that file with it",
                f". Where it was given up on purpose, `tally anew {copy.store_id}` says so, and the next"
                " start makes a new one here",
            )
        if adopt is not None:
            raise StartRefused(
                ExitCode.ADOPTION_REFUSED,
                f"there is no store in {self._paths.data_dir} that could be adopted. Name the data"
                f" directory of store {adopt} with {_DATA}, or start without --adopt to make a new store",
            )

    def _missing(self, evidence: str, way: str = "") -> StartRefused:
        return StartRefused(
            ExitCode.MISSING_DATABASE,
            f"the database {self._paths.database} is missing or empty, and there was one: {evidence}. It"
            " is not made anew. Mount the disk it is on, or restore a backup; a new store needs another"
            f" directory ({_DATA}){way}",
        )

    # --- first start --------------------------------------------------------------------------------------

    def _make(
        self, writer: Writer | None, bootstrap: Bootstrap, step: OnStep
    ) -> tuple[Writer, Identity, Keys]:
        """The steps ``keys`` and ``database`` of a first start."""
        if writer is None:
            self._machine.probe(self._paths.data_dir)
        secrets = self._key_files.mint()
        step("keys")
        if writer is None:
            writer = self._connect(create=True)
            pragmas.apply(writer, pragmas.WRITER)
        new = identities.new_identity(self._ambient.random)
        with _transaction(writer):
            migrations.create(writer, self._schema)
            identities.write_identity(writer, new)
            _write_checks(writer, new, secrets, keys.KINDS)
            bootstrap(writer, new, secrets)
            step("database:before_commit")
        return writer, new, secrets

    # --- a store that is there ----------------------------------------------------------------------------

    def _go_on(
        self,
        writer: Writer,
        identity: Identity,
        known: Marker | Unreadable | None,
        adopt: str | None,
        on_adopt: OnAdopt,
    ) -> tuple[Identity, Keys]:
        """Compare with what is known, load the keys, bring the schema up to date; adopt where it was asked
        for."""
        evidence = {
            self._paths.marker: known,
            self._paths.marker_copy(identity.store_id): marker.read(
                self._paths.marker_copy(identity.store_id)
            ),
        }
        against = _contradictions(writer, identity, evidence)
        self._judge(identity, against, adopt)
        checks = identities.read_checks(writer)
        secrets = self._key_files.load(identity.store_id, checks)
        self._upgrade(writer)
        unchecked = [kind for kind in keys.KINDS if kind not in checks]
        if unchecked:
            with _transaction(writer):
                _write_checks(writer, identity, secrets, unchecked)
        if against:
            readable = [found for found in evidence.values() if isinstance(found, Marker)]
            identity = self._begin_epoch(writer, identity, readable, on_adopt)
        return identity, secrets

    def _upgrade(self, writer: Writer) -> None:
        """Copy and migrate a store whose schema is older than the program's."""
        lacking = migrations.pending(writer, self._schema)
        if lacking:
            steps = self._on_step, self._on_progress
            copies.make(writer, lacking[0].number, self._disk, self._vfs, *steps)
            migrations.upgrade(writer, lacking, *steps)
            self._upgraded = True
        copies.sweep(self._paths.database, self._disk)

    def _judge(self, identity: Identity, against: dict[str, str], adopt: str | None) -> None:
        """Raise StartRefused unless the store is borne out and no adoption asked for, or both the other
        way."""
        if adopt is not None and adopt != identity.store_id:
            raise StartRefused(
                ExitCode.ADOPTION_REFUSED,
                f"--adopt names {adopt}, and the store in {self._paths.data_dir} is {identity.store_id}."
                " Start without --adopt, or name the right data directory",
            )
        if adopt is not None and not against:
            raise StartRefused(
                ExitCode.ADOPTION_REFUSED,
                f"store {identity.store_id} goes on from what was last known of it, so it needs no adoption."
                " Start without --adopt",
            )
        if against and adopt is None:
            raise _put_back(self._paths, identity, against)

    def _begin_epoch(
        self, writer: Writer, identity: Identity, readable: list[Marker], on_adopt: OnAdopt
    ) -> Identity:
        """Go on from what is here, in an epoch after all that are known of."""
        same = [found for found in readable if found.store_id == identity.store_id]
        number = max([identity.epoch.number, *(found.epoch for found in same)]) + 1
        epoch = Epoch(number, self._ambient.random(identities.EPOCH_NONCE_BYTES))
        with _transaction(writer):
            identities.write_epoch(writer, epoch)
            if same:
                furthest = max(same, key=lambda found: (found.epoch, found.position))
                identities.write_abandoned(writer, epoch, marker.encode(furthest))
            on_adopt(writer, identity, epoch)
        return msgspec.structs.replace(identity, epoch=epoch)

    # --- durability ---------------------------------------------------------------------------------------

    def _make_durable(self, writer: apsw.Connection) -> None:
        """Sync the log that was found, copy it into the database, sync that, and begin the log anew."""
        found = _size(self._paths.database + "-wal") or 0
        if found > WAL_BYTES_MAX:  # a migration's: a daemon that serves cuts it sooner
            self._on_progress("writing the changes into the database", None)
        writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        self._disk.sync_directory(self._paths.data_dir)

    def _write_missing_markers(self, writer: apsw.Connection, identity: Identity) -> None:
        """Write a marker, the copy first, where it is not there or does not name this epoch and place."""
        new = marker.make(identity, self._paths.data_dir, *marker.end_of_log(writer))
        for path in (self._paths.marker_copy(identity.store_id), self._paths.marker):
            if not _is_current(marker.read(path), new):
                marker.write(self._disk, path, new)


def _contradictions(
    writer: apsw.Connection, identity: Identity, evidence: dict[str, Marker | Unreadable | None]
) -> dict[str, str]:
    """By path, what each marker knows that the database does not bear out, or why it cannot be read."""
    against: dict[str, str] = {}
    for path, found in evidence.items():
        if isinstance(found, Unreadable):
            against[path] = f"cannot be read: {found.reason}"
        elif found is not None:
            problem = marker.contradiction(writer, identity, found)
            if problem is not None:
                against[path] = problem
    return against


def _put_back(paths: Paths, identity: Identity, against: dict[str, str]) -> StartRefused:
    reasons = "; ".join(f"{path} {reason}" for path, reason in against.items())
    if all(reason.startswith("cannot be read") for reason in against.values()):
        return StartRefused(
            ExitCode.UNREADABLE_MARKER,
            f"whether store {identity.store_id} in {paths.data_dir} is whole cannot be told: {reasons}."
            f" Put the file back from the other of {paths.marker} and"
            f" {paths.marker_copy(identity.store_id)}; or, to go on from what is here in a new epoch, run:"
            f" tallyd --adopt {identity.store_id}",
        )
    return StartRefused(
        ExitCode.STORE_PUT_BACK,
        f"store {identity.store_id} in {paths.data_dir} was put back to an older state, or its write-ahead"
        f" log was lost: {reasons}. What was acknowledged since is not here. Put the newer files back; or,"
        f" to go on from what is here in a new epoch, run: tallyd --adopt {identity.store_id}",
    )


def _is_current(found: Marker | Unreadable | None, new: Marker) -> bool:
    """Whether a marker names this store, epoch and place; that it is behind the log is as it should be."""
    return isinstance(found, Marker) and (
        msgspec.structs.replace(found, position=new.position, leaf=new.leaf) == new
    )


def _write_checks(writer: apsw.Connection, identity: Identity, secrets: Keys, kinds: Sequence[str]) -> None:
    checks = {kind: keys.check_value(getattr(secrets, kind), kind, identity.store_id) for kind in kinds}
    identities.write_checks(writer, checks)


def _size(path: str) -> int | None:
    """Bytes of a regular file, None where there is none. Raises StartRefused for anything else of that
    name."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        raise StartRefused(
            ExitCode.BAD_DIRECTORY,
            f"{path} must be a regular file that belongs to uid {os.geteuid()}. Put the file itself there,"
            f" or name another data directory with {_DATA}",
        )
    return status.st_size


@contextmanager
def _transaction(connection: apsw.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE").fetchall()
    try:
        yield
        connection.execute("COMMIT").fetchall()
    except BaseException:
        if connection.in_transaction:  # some errors have rolled back already
            connection.execute("ROLLBACK").fetchall()
        raise


def _unheard(_step: str) -> None:
    """For a start that nobody watches, or that is no first start."""


def _unrecorded(_connection: apsw.Connection, _identity: Identity, _epoch: Epoch) -> None:
    raise AssertionError("an adoption without on_adopt was refused at the beginning")
