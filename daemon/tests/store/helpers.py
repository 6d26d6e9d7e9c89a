"""What the store's tests share: a small ledger, second processes, disks that fail or take notes."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

import apsw

from tallyd.store.ambient import SystemAmbient
from tallyd.store.files import Disk
from tallyd.store.identity import Epoch, Identity
from tallyd.store.keys import Keys
from tallyd.store.migrations import Migration
from tallyd.store.opening import Machine, OnAdopt, open_store
from tallyd.store.progress import OnProgress, unheard
from tallyd.store.refusals import StartRefused
from tallyd.store.store import Store
from tallyd.store.writer import Writer
from tallystick.paths import Paths, resolve

SMALL_SCHEMA: Final = (
    Migration(
        1,
        "small",
        (
            "CREATE TABLE store_meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID",
            "CREATE TABLE log (position INTEGER PRIMARY KEY, leaf BLOB NOT NULL) STRICT",
        ),
    ),
)


def leaf(position: int, branch: str = "") -> bytes:
    """The leaf that the tests' ledger has at a position, on one branch of history."""
    return f"{branch}{position}".encode().rjust(32, b".")


def append(connection: apsw.Connection, position: int, branch: str = "") -> None:
    """A row of the log, durable."""
    row = (position, leaf(position, branch))
    connection.execute("INSERT INTO log (position, leaf) VALUES (?, ?)", row).fetchall()


def begin_log(connection: apsw.Connection, _identity: Identity, _keys: Keys) -> None:
    """The tests' bootstrap: position 0."""
    append(connection, 0)


class Opener(Protocol):
    """``open_store`` on the test's own places, with the tests' small schema unless another is given."""

    def __call__(
        self,
        *,
        paths: Paths | None = None,
        schema: tuple[Migration, ...] = SMALL_SCHEMA,
        machine: Machine | None = None,
        adopt: str | None = None,
        on_adopt: OnAdopt | None = None,
        on_step: Callable[[str], None] | None = None,
        on_progress: OnProgress = unheard,
        bootstrap: Callable[[Writer, Identity, Keys], None] = begin_log,
        vfs: str | None = None,
    ) -> Store: ...


def _no_probe(_data_dir: str) -> None:
    """The probe has tests of its own and costs a process."""


UNPROBED: Final = Machine(probe=_no_probe)


class FailingDisk(Disk):
    """A disk whose n-th call that changes anything fails, n from 1; ``calls`` counts them."""

    def __init__(self, fail_at: int, error: BaseException | None = None) -> None:
        self.calls = 0
        self._fail_at = fail_at
        self._error = error or OSError(errno.EIO, os.strerror(errno.EIO))

    def _count(self) -> None:
        self.calls += 1
        if self.calls == self._fail_at:
            raise self._error

    def make_directory(self, path: str, mode: int) -> None:
        self._count()
        super().make_directory(path, mode)

    def create(self, path: str, mode: int) -> int:
        self._count()
        return super().create(path, mode)

    def write(self, descriptor: int, data: bytes) -> int:
        self._count()
        return super().write(descriptor, data[: (len(data) + 1) // 2])  # short writes are legal

    def sync(self, descriptor: int) -> None:
        self._count()
        super().sync(descriptor)

    def rename(self, source: str, target: str) -> None:
        self._count()
        super().rename(source, target)

    def sync_directory(self, path: str) -> None:
        self._count()
        super().sync_directory(path)


class RecordingDisk(Disk):
    """A disk that writes down what was done to it, in order: ``(call, name of the file)``."""

    def __init__(self) -> None:
        self.done: list[tuple[str, str]] = []
        self._names: dict[int, str] = {}

    def make_directory(self, path: str, mode: int) -> None:
        super().make_directory(path, mode)
        self.done.append(("mkdir", path))

    def create(self, path: str, mode: int) -> int:
        descriptor = super().create(path, mode)
        self._names[descriptor] = path
        self.done.append(("create", path))
        return descriptor

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        self.done.append(("sync", self._names.get(descriptor, "?")))

    def rename(self, source: str, target: str) -> None:
        super().rename(source, target)
        self.done.append(("rename", target))

    def sync_directory(self, path: str) -> None:
        super().sync_directory(path)
        self.done.append(("sync_directory", path))


@contextmanager
def process(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Another Python that runs ``code``, killed at the end of the block. It finds this module too."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", code, *arguments]
    found = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, found))}
    environment.pop("CREDENTIALS_DIRECTORY", None)
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment) as child:
        try:
            yield child
        finally:
            child.kill()


def run_daemon(data_dir: str, runtime_dir: str, state_dir: str, rows: str, abort_at: str = "") -> None:
    """For a second process: open a store, append rows up to a position, note all but the last, and wait.

    Prints the store's id, or the refusal, and ends when its input does. ``abort_at`` names a step to die at.
    """

    def on_step(step: str) -> None:
        if step == abort_at:
            os.abort()

    paths = resolve(data_dir, runtime_dir, {"HOME": "/", "TALLY_STATE_DIR": state_dir})
    try:
        store = open_store(
            paths,
            ambient=SystemAmbient(),
            bootstrap=begin_log,
            on_step=on_step,
            machine=UNPROBED,
            steps_of_schema=SMALL_SCHEMA,
        )
    except StartRefused as refused:
        sys.stdout.write(f"{refused.exit_code.name} {refused}\n")
        raise SystemExit(int(refused.exit_code)) from None
    for position in range(1, int(rows) + 1):
        append(store.writer, position)
    if int(rows):
        store.write_marker(int(rows), leaf(int(rows)))
    sys.stdout.write(f"{store.store_id}\n")
    sys.stdout.flush()
    sys.stdin.read()
    store.close()


_DAEMON: Final = "import sys; from store.helpers import run_daemon; run_daemon(*sys.argv[1:])"


@contextmanager
def daemon(paths: Paths, rows: int = 0, abort_at: str = "") -> Iterator[subprocess.Popen[str]]:
    """A second process that runs :func:`run_daemon`, killed at the end of the block."""
    with process(_DAEMON, paths.data_dir, paths.runtime_dir, paths.state_dir, str(rows), abort_at) as child:
        yield child


def said(child: subprocess.Popen[str]) -> str:
    """The next line of a second process; its last words where it has ended."""
    assert child.stdout is not None
    assert child.stderr is not None
    return child.stdout.readline().strip() or child.stderr.read()


def killed_with(paths: Paths, rows: int) -> str:
    """A store with that many rows beside its first, whose daemon was killed: its id."""
    with daemon(paths, rows) as child:
        store_id = said(child)
        assert store_id.startswith("store-"), store_id
    return store_id


def record_into(seen: list[tuple[Identity, Epoch]]) -> OnAdopt:
    """An ``on_adopt`` that writes the next row of the log and notes what it was given."""

    def on_adopt(connection: apsw.Connection, identity: Identity, epoch: Epoch) -> None:
        [(last,)] = connection.execute("SELECT max(position) FROM log").fetchall()
        assert isinstance(last, int)
        append(connection, last + 1, f"epoch{epoch.number}-")
        seen.append((identity, epoch))

    return on_adopt


def copied(source: str, target: str) -> str:
    """A copy of a directory. By another process: closing a database file here would drop SQLite's locks."""
    subprocess.run(["cp", "-a", source, target], check=True)
    return target


def contents(directory: str) -> dict[str, bytes]:
    """Every file below a directory, by its path there: to see that nothing was changed."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(Path(directory).rglob("*"))
        if path.is_file()
    }
