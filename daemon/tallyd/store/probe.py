"""A trial of the data directory, once, at the first start: can two processes share a database there?

A small database is made in a directory of its own below the data directory, with a write-ahead log. While
this process holds an open transaction, a lock, and a commit that is only in the log, a second one must see
the commit (shared memory), must be kept from writing and from the lock, and must then be able to write,
which this one must see. A file system that has no name in ``filesystem`` and breaks any of these is found
out here.

It does not show that a sync reaches the disk; nothing can, but a power cut.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from contextlib import closing, suppress
from typing import Final

import apsw

from tallyd.store.lacks import is_of_disk, lack_of
from tallyd.store.refusals import ExitCode, StartRefused

_SECONDS_MAX: Final = 30
"""A second process that does not end: locks on some file systems wait for ever."""
_CHILD: Final = os.path.join(os.path.dirname(__file__), "probe_child.py")
_FILES: Final = ("probe.db", "probe.db-wal", "probe.db-shm", "lock")


class _Failed(Exception):
    pass


def try_two_processes(data_dir: str) -> None:
    """Raises StartRefused with the first thing that did not work."""
    directory = os.path.join(data_dir, "probe")
    try:
        _remove(directory)  # of a start that was interrupted here
    except OSError as error:
        raise StartRefused(
            ExitCode.BAD_DIRECTORY,
            f"{directory} is where tallyd tries the disk at a first start, and something else is there"
            f" ({error.strerror}). Move it to another place",
        ) from error
    try:
        os.mkdir(directory, 0o700)
        _try(directory)
    except (_Failed, apsw.Error, OSError, RuntimeError, subprocess.SubprocessError) as error:
        lack = lack_of(error)
        if lack is not None:
            code = ExitCode.STORAGE_FAILED if is_of_disk(error) else ExitCode.RESOURCES_LACKING
            raise StartRefused(code, f"the disk in {data_dir} could not be tried: {lack}") from error
        raise StartRefused(
            ExitCode.PROBE_FAILED,
            f"two processes cannot share a database in {data_dir}: {error or type(error).__name__}. The"
            " file system there does not keep SQLite's write-ahead log safe. Choose a directory on a"
            " local disk with --data-dir or TALLY_DATA_DIR; in a container, mount a volume for it",
        ) from error
    finally:
        _remove(directory)


def _try(directory: str) -> None:
    lock = os.open(os.path.join(directory, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with closing(apsw.Connection(os.path.join(directory, "probe.db"))) as connection:
            _prepare(connection)
            _with_second_process(directory, connection)
    finally:
        os.close(lock)


def _prepare(connection: apsw.Connection) -> None:
    mode = connection.execute("PRAGMA journal_mode=WAL").fetchall()
    if mode != [("wal",)]:
        raise _Failed(f"journal_mode=WAL gave {mode}")
    connection.execute("PRAGMA wal_autocheckpoint=0").fetchall()
    connection.execute("CREATE TABLE probe (value INTEGER) STRICT").fetchall()
    connection.execute("INSERT INTO probe VALUES (1)").fetchall()


def _with_second_process(directory: str, connection: apsw.Connection) -> None:
    if not sys.executable:
        raise _Failed("this Python does not know its own path, so a second one cannot be started")
    # Isolated: neither the working directory nor a PYTHON… variable decides what is imported.
    command = [sys.executable, "-I", _CHILD, directory]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, bufsize=1) as child:
        timer = threading.Timer(_SECONDS_MAX, child.kill)
        timer.start()
        try:
            _converse(child, connection)
        finally:
            timer.cancel()
            child.kill()


def _converse(child: subprocess.Popen[str], connection: apsw.Connection) -> None:
    _ask(child, "sees-the-log")
    _ask(child, "is-kept-from-the-lock")
    connection.execute("BEGIN IMMEDIATE").fetchall()
    _ask(child, "is-kept-from-writing")
    connection.execute("COMMIT").fetchall()
    _ask(child, "writes")
    if connection.execute("SELECT value FROM probe").fetchall() != [(2,)]:
        raise _Failed("what the second process committed is not seen")


def _ask(child: subprocess.Popen[str], step: str) -> None:
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    with suppress(BrokenPipeError):  # it has ended already; its last words follow
        child.stdin.write(step + "\n")
    answer = child.stdout.readline().strip()
    if answer == "ok":
        return
    if not answer:
        child.kill()
        last_words = child.stderr.read().strip().splitlines()
        answer = last_words[-1] if last_words else f"no answer within {_SECONDS_MAX} s"
    raise _Failed(f"{step}: {answer}")


def _remove(directory: str) -> None:
    """Take away what the probe made, and only that: names that it does not know are left, with the
    directory."""
    for name in _FILES:
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(directory, name))
    with suppress(FileNotFoundError):
        os.rmdir(directory)
