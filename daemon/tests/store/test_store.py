"""An open store: its log's size, checkpoints, the marker while it runs, and its end."""

from __future__ import annotations

import errno
import os
import threading
from contextlib import ExitStack, closing
from pathlib import Path

import apsw
import pytest

from store.helpers import UNPROBED, FailingDisk, Opener, append, daemon, leaf, said
from tallyd.store import marker
from tallyd.store.marker import Marker
from tallyd.store.pragmas import BUSY_MS_MAX
from tallystick.paths import Paths


def known(path: str) -> Marker:
    found = marker.read(path)
    assert isinstance(found, Marker)
    return found


def test_the_logs_size_comes_from_stat(opened: Opener) -> None:
    """It grows with commits, and its file is never opened for it: that would drop SQLite's locks."""
    store = opened()
    assert store.wal_bytes() == 0
    append(store.writer, 1)
    first = store.wal_bytes()
    append(store.writer, 2)
    assert 0 < first < store.wal_bytes()
    store.close()
    assert store.wal_bytes() == 0


def test_looking_at_a_store_drops_no_lock_of_an_open_transaction(opened: Opener, places: Paths) -> None:
    """While a transaction is open, all that looks at files leaves SQLite's POSIX locks where they are (case
    36).
    """
    store = opened()
    store.writer.execute("BEGIN IMMEDIATE").fetchall()
    append(store.writer, 1)
    assert store.wal_bytes() >= 0
    assert store.check_still_ours() is None
    assert store.migration_copies() == ([], [])
    store.write_marker(0, leaf(0))
    locks = Path("/proc/locks")
    if not locks.exists():
        pytest.skip("this system does not show its locks")
    inode = os.stat(places.database + "-shm").st_ino
    held = [
        line for line in locks.read_text().splitlines() if f":{inode} " in line and f" {os.getpid()} " in line
    ]
    assert any("WRITE" in line for line in held), held
    store.writer.execute("COMMIT").fetchall()


def test_case_030_a_passive_checkpoint_copies_and_truncate_resets(opened: Opener) -> None:
    """The passive pass leaves the log as long as it is; the clerk's own call brings it to nothing."""
    store = opened()
    append(store.writer, 1)
    size = store.wal_bytes()
    with closing(store.reader()) as other:
        done = store.checkpoint_passive(other)
    assert done.frames == done.copied > 0
    assert store.wal_bytes() == size
    assert store.truncate(store.writer)
    assert store.wal_bytes() == 0


def test_case_030_a_reset_log_is_filled_again_from_its_beginning(opened: Opener) -> None:
    """After a reset commits fill the file from its start, and it does not grow; one too long is cut."""
    store = opened()
    append(store.writer, 1)
    append(store.writer, 2)
    filled, size = store.log_bytes_used, store.wal_bytes()
    assert 0 < filled < size
    assert store.reset_log(kept_bytes_max=size)
    assert store.log_bytes_used == 0
    append(store.writer, 3)
    assert 0 < store.log_bytes_used < filled
    assert store.wal_bytes() == size
    assert store.reset_log(kept_bytes_max=size - 1)
    assert store.log_bytes_used == store.wal_bytes() == 0


def test_case_028_a_reader_in_the_way_is_told_and_not_waited_for_long(opened: Opener) -> None:
    """With a read transaction open the log is not reset, and the clerk hears so; afterwards it is."""
    store = opened()
    append(store.writer, 1)
    with closing(store.reader()) as reader:
        reader.execute("BEGIN").fetchall()
        reader.execute("SELECT count(*) FROM log").fetchall()
        append(store.writer, 2)
        filled = store.log_bytes_used
        assert not store.truncate(store.writer)
        assert not store.reset_log(kept_bytes_max=0)
        assert store.log_bytes_used == filled > 0
        assert store.writer.execute("PRAGMA busy_timeout").fetchall() == [(BUSY_MS_MAX,)]
        reader.execute("COMMIT").fetchall()
        assert store.truncate(store.writer)


def test_readers_see_commits_and_not_what_is_open(opened: Opener) -> None:
    """A reader sees a transaction when it is committed, and not before."""
    store = opened()
    with closing(store.reader()) as reader:
        store.writer.execute("BEGIN IMMEDIATE").fetchall()
        append(store.writer, 1)
        assert reader.execute("SELECT max(position) FROM log").fetchall() == [(0,)]
        store.writer.execute("COMMIT").fetchall()
        assert reader.execute("SELECT max(position) FROM log").fetchall() == [(1,)]


def test_a_reader_works_on_another_thread_than_the_writer(opened: Opener) -> None:
    """Connections are made here and used wherever their owner is."""
    store = opened()
    found: list[object] = []

    def read() -> None:
        with closing(store.reader()) as reader:
            found.extend(reader.execute("SELECT position FROM log").fetchall())

    def write() -> None:
        append(store.writer, 1)

    for work in (write, read):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found == [(0,), (1,)]


def test_the_marker_follows_the_log_in_both_places(opened: Opener, places: Paths) -> None:
    """What is written while the store runs is what the next start compares with."""
    store = opened()
    append(store.writer, 1)
    store.write_marker(1, leaf(1))
    for path in (places.marker, places.marker_copy(store.store_id)):
        assert (known(path).position, known(path).leaf, known(path).epoch) == (1, leaf(1).hex(), 1)
    store.close()
    opened()


def test_a_marker_that_cannot_be_written_in_one_place_is_written_in_the_other(
    opened: Opener, places: Paths
) -> None:
    """A full or missing state directory is reported and keeps no one from going on."""
    store = opened()
    append(store.writer, 1)
    os.rename(places.state_dir, places.state_dir + "-away")
    with pytest.raises(FileNotFoundError):
        store.write_marker(1, leaf(1))
    assert known(places.marker).position == 1
    os.rename(places.state_dir + "-away", places.state_dir)
    append(store.writer, 2)
    store.disk = FailingDisk(1, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        store.write_marker(2, leaf(2))
    assert known(places.marker_copy(store.store_id)).position == 2
    assert known(places.marker).position == 1


def test_case_027_closing_leaves_one_file_and_no_lock(opened: Opener, places: Paths) -> None:
    """The log is written into the database, and another may start at once."""
    store = opened()
    append(store.writer, 1)
    store.close()
    assert sorted(os.listdir(places.data_dir)) == ["keys", "lock", "store.json", "tally.db"]
    with pytest.raises(apsw.ConnectionClosedError):
        append(store.writer, 2)
    with daemon(places) as child:
        assert said(child) == store.store_id


def test_case_005_of_many_starters_one_wins(places: Paths) -> None:
    """Eight processes race for a store that is not there yet: one makes it, and seven are told who did."""
    with ExitStack() as stack:
        children = [stack.enter_context(daemon(places)) for _ in range(8)]
        words = [said(child) for child in children]
        winners = [child for child, word in zip(children, words, strict=True) if word.startswith("store-")]
        assert len(winners) == 1, words
        losers = [word for word in words if not word.startswith("store-")]
        assert all(word.startswith("DATA_DIRECTORY_HELD") for word in losers), losers


def test_a_store_shows_no_key(opened: Opener) -> None:
    """Neither the store nor what hangs on it prints one."""
    store = opened(machine=UNPROBED)
    shown = f"{store!r} {store.keys!r} {store.identity!r} {vars(store)!r}"
    for key in (store.keys.cursor, store.keys.objects, store.keys.attempts, store.keys.audit):
        assert repr(key)[2:-1] not in shown
        assert key.hex() not in shown
