"""Kernel locks, with real second processes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from store.helpers import process, said
from tallyd.store.locks import Held, KernelLock, keep_from_tidying, take
from tallyd.store.refusals import ExitCode, StartRefused

HOLD = """
import sys
from tallyd.store.locks import KernelLock
lock = KernelLock(sys.argv[1], wall_ms=0)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def lock_path(tmp_path: Path) -> str:
    return str(tmp_path / "lock")


def test_case_005_the_loser_hears_who_holds_it(lock_path: str) -> None:
    """Two processes race for one path: one wins, the other gets the code, the winner's pid and what to do."""
    with process(HOLD, lock_path) as child:
        assert said(child) == "held"
        with pytest.raises(StartRefused) as refused:
            take(lock_path, "the data directory", "--data-dir", ExitCode.DATA_DIRECTORY_HELD, wall_ms=0)
    assert refused.value.exit_code is ExitCode.DATA_DIRECTORY_HELD
    assert f"pid {child.pid} since 1970-01-01T00:00:00" in refused.value.sentence
    assert "--data-dir" in refused.value.sentence


def test_case_001_a_file_without_a_holder_stops_nobody(lock_path: str) -> None:
    """A holder that was killed leaves a file with its pid, and the next takes the lock at once."""
    with process(HOLD, lock_path) as child:
        assert said(child) == "held"
        child.send_signal(signal.SIGKILL)
        child.wait()
        lock = KernelLock(lock_path, wall_ms=0)
    assert f"pid {os.getpid()} " in Path(lock_path).read_text()
    lock.release()


def test_case_004_the_file_is_never_unlinked(lock_path: str) -> None:
    """Letting go leaves the file: were it removed, two could hold two locks of one name."""
    lock = KernelLock(lock_path, wall_ms=0)
    inode = os.stat(lock_path).st_ino
    lock.release()
    lock.release()
    assert os.stat(lock_path).st_ino == inode
    assert Path(lock_path).read_bytes() == b""


def test_a_loser_changes_nothing(lock_path: str) -> None:
    """What the winner wrote into the file stands."""
    winner = KernelLock(lock_path, wall_ms=0)
    before = Path(lock_path).read_bytes()
    with pytest.raises(Held):
        KernelLock(lock_path, wall_ms=10**12)
    assert Path(lock_path).read_bytes() == before
    winner.release()


@pytest.mark.parametrize("content", [b"", b"\x1b[31mpid 1", b"\xff\xfe", b"a\nb"])
def test_what_the_file_says_decides_nothing(lock_path: str, content: bytes) -> None:
    """An empty or prepared file is neither believed nor shown raw on a terminal."""
    winner = KernelLock(lock_path, wall_ms=0)
    Path(lock_path).write_bytes(content)
    with pytest.raises(Held) as held:
        KernelLock(lock_path, wall_ms=0)
    assert str(held.value).isprintable()
    winner.release()
    Path(lock_path).write_bytes(b"pid 1 since yesterday")
    KernelLock(lock_path, wall_ms=0).release()


@pytest.mark.parametrize("replaced", [False, True])
def test_case_002_a_lock_file_that_is_gone_or_another_is_noticed(lock_path: str, replaced: bool) -> None:
    """The holder finds out that a second owner could exist."""
    lock = KernelLock(lock_path, wall_ms=0)
    assert lock.still_ours()
    os.rename(lock_path, lock_path + ".away")
    if replaced:
        Path(lock_path).touch()
    assert not lock.still_ours()
    os.replace(lock_path + ".away", lock_path)
    assert lock.still_ours()
    lock.release()


def test_case_042_a_child_of_fork_cannot_release_it(lock_path: str) -> None:
    """A forked child that lets go closes its own descriptor: the lock and the note stay the parent's."""
    lock = KernelLock(lock_path, wall_ms=0)
    note = Path(lock_path).read_bytes()
    child = os.fork()
    if child == 0:
        lock.release()
        os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(Held):
        KernelLock(lock_path, wall_ms=0)
    assert Path(lock_path).read_bytes() == note
    lock.release()


def test_case_042_a_program_that_is_run_does_not_inherit_it(lock_path: str) -> None:
    """After the holder let go, a program that it had started does not keep the lock alive."""
    lock = KernelLock(lock_path, wall_ms=0)
    with process("import sys; print('up', flush=True); sys.stdin.read()") as child:
        assert said(child) == "up"
        lock.release()
        KernelLock(lock_path, wall_ms=0).release()


@pytest.mark.parametrize("kind", ["directory", "link", "fifo"])
def test_only_a_regular_file_is_locked(tmp_path: Path, kind: str) -> None:
    """Anything else under that name is refused by name, and nothing waits."""
    path = tmp_path / "lock"
    if kind == "directory":
        path.mkdir()
    elif kind == "link":
        path.symlink_to("elsewhere")
    else:
        os.mkfifo(path)
    with pytest.raises(StartRefused, match=str(path)) as refused:
        take(str(path), "the data directory", "--data-dir", ExitCode.DATA_DIRECTORY_HELD, wall_ms=0)
    assert refused.value.exit_code is ExitCode.BAD_DIRECTORY
    assert not (tmp_path / "elsewhere").exists()


def test_case_018_a_directory_of_sockets_is_kept_from_tidying(tmp_path: Path) -> None:
    """A tidier that asks for the directory's lock, as systemd-tmpfiles does, is told that it is in use."""
    ask = """
import fcntl, os, sys
descriptor = os.open(sys.argv[1], os.O_RDONLY)
try:
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("free")
except BlockingIOError:
    print("in use")
"""
    descriptor = keep_from_tidying(str(tmp_path))
    with process(ask, str(tmp_path)) as child:
        assert said(child) == "in use"
    os.close(descriptor)
    with process(ask, str(tmp_path)) as child:
        assert said(child) == "free"
