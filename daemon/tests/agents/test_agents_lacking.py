"""Each operation of the registry once while the daemon lacks descriptors, threads or room on a disk: it
answers, says why, and works afterwards.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

import apsw
import pytest
from harness.wire import Reply, Wire, ask, request
from scene import Scene
from service.lacks import full, limited, lowest_free, small_disk, speaking_as
from service.process import Place, Tallyd, command_of, give_to_a_user
from world import CLIENT

from tallystick.paths import Paths

from .lacking import try_each

on_linux: Final = pytest.mark.skipif(sys.platform != "linux", reason="limits are set from outside here")
as_root: Final = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0,
    reason="root alone mounts, and runs a daemon as another user",
)
FORGETFUL: Final = (
    "import trio._core._thread_cache as cache\n"
    "cache.IDLE_TIMEOUT = 0.001\n"
    "from tallyd.service.main import main\n"
    "main()\n"
)
"""The daemon, whose threads that have nothing to do end at once instead of after ten seconds."""


def lacked(replies: dict[str, Reply]) -> dict[str, str]:
    """Of the operations that were refused for it, what the refusal says."""
    return {name: reply.problem["detail"] for name, reply in replies.items() if reply.kind == "unavailable"}


CLEANING: Final = "the files are still being cleaned"
"""Of a redaction that is applied: its answer waits for its files, and those for what lacks."""


@on_linux
def test_each_operation_without_descriptors(home: Place) -> None:
    """Each is answered, or `unavailable`, and none is a defect; the same works when files may be opened."""
    with Tallyd(home) as daemon:
        told = lacked(
            try_each(daemon, lambda: limited(daemon.pid, resource.RLIMIT_NOFILE, lowest_free(daemon.pid)))
        )
    assert "diagnose@client" in told
    for name, detail in told.items():
        assert any(words in detail for words in ("descriptor", "open files", CLEANING)), (name, detail)


@on_linux
def test_a_diagnosis_that_lacks_descriptors_finds_no_damage(home: Place) -> None:
    """However many descriptors it finds, none at all or too few for the last of its files: it passes, or is
    `unavailable`, and never says that the store is broken.
    """
    asked = request(CLIENT, "diagnose", {})
    with Tallyd(home) as daemon, Wire(daemon.paths) as wire:
        Scene(daemon.paths)
        assert wire.ask(asked).result["status"] == "pass"
        lowest, spare, replies = lowest_free(daemon.pid), 0, list[Reply]()
        while not replies or not replies[-1].ok:
            with limited(daemon.pid, resource.RLIMIT_NOFILE, lowest + spare):
                replies.append(wire.ask(asked))
            spare += 1
        assert replies[-1].result["status"] == "pass", replies[-1].value
        assert len(replies) > 2
        for refused in replies[:-1]:
            assert refused.kind == "unavailable", refused.value
            assert "descriptor" in refused.problem["detail"], refused.value
        assert "defect" not in daemon.log(), daemon.log()


@contextmanager
def _threadless(daemon: Tallyd) -> Iterator[None]:
    """Its user may have no further thread, and it has none that waits for work."""
    first = request(CLIENT, "hello", {"protocol_versions": ["0.1"]})
    while any("Trio thread" in name for name in _threads(daemon)):
        ask(daemon.paths, first)
    with limited(daemon.pid, resource.RLIMIT_NPROC, 1):
        yield


def _threads(daemon: Tallyd) -> list[str]:
    names = []
    for task in Path(f"/proc/{daemon.pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended in this moment
            names.append(Path(task, "comm").read_text())
    return names


@as_root
def test_each_operation_without_threads(home: Place) -> None:
    """Where its user may have no further thread, what needs one is `unavailable` and says what to raise; all
    else is done, and the same works when there are threads again.
    """
    uid, prefix = give_to_a_user(home)
    program = [*prefix, sys.executable, "-c", FORGETFUL, *command_of(home.paths)[3:]]
    with Tallyd(home, command=program) as daemon, speaking_as(uid):
        told = lacked(try_each(daemon, lambda: _threadless(daemon)))
    assert "diagnose@client" in told
    for name, detail in told.items():
        assert "no further thread" in detail or CLEANING in detail, (name, detail)


def _begin_log_again(paths: Paths) -> None:
    """The write-ahead log is empty: whatever is written needs room."""
    with closing(apsw.Connection(paths.database)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


@as_root
def test_each_operation_on_a_full_data_directory(home: Place) -> None:
    """Reads go on; a command is `unavailable`, and says that the disk is full. The same is done when there is
    room.
    """

    @contextmanager
    def no_room() -> Iterator[None]:
        _begin_log_again(home.paths)
        with full(home.paths.data_dir):
            yield

    with small_disk(home.paths.data_dir), Tallyd(home) as daemon:
        told = lacked(try_each(daemon, no_room))
    assert "contribution_append@client" in told
    for name, detail in told.items():
        assert "the disk is full" in detail, (name, detail)


@as_root
@pytest.mark.parametrize("which", ["runtime_dir", "state_dir"])
def test_each_operation_on_another_full_directory(home: Place, which: str) -> None:
    """Nothing is kept from being done by a runtime directory or a state directory that is full."""
    directory = getattr(home.paths, which)
    with small_disk(directory), Tallyd(home) as daemon:
        assert lacked(try_each(daemon, lambda: full(directory))) == {}
