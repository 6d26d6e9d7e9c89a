"""Opening a store that is there: who owns it, whether it goes on from what is known, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from store.helpers import (
    UNPROBED,
    Opener,
    append,
    contents,
    copied,
    daemon,
    killed_with,
    leaf,
    process,
    record_into,
    said,
)
from tallyd.store import marker
from tallyd.store.identity import Epoch, Identity
from tallyd.store.marker import Marker
from tallyd.store.refusals import ExitCode, StartRefused
from tallystick.paths import Paths


def refusal(opened: Opener, paths: Paths | None = None, adopt: str | None = None) -> StartRefused:
    with pytest.raises(StartRefused) as refused:
        opened(paths=paths, adopt=adopt, on_adopt=record_into([]))
    return refused.value


def known(path: str) -> Marker:
    found = marker.read(path)
    assert isinstance(found, Marker)
    return found


# --- one owner ----------------------------------------------------------------------------------------------


def test_case_085_a_second_daemon_on_a_data_directory_changes_nothing(places: Paths, tmp_path: Path) -> None:
    """It ends with its own code and the winner's pid; no file is changed, no directory made."""
    other = places._replace(
        runtime_dir=str(tmp_path / "run2"),
        runtime_lock=str(tmp_path / "run2" / "lock"),
        state_dir=str(tmp_path / "state2"),
    )
    with daemon(places, rows=3) as winner:
        assert said(winner).startswith("store-")
        before = listing(tmp_path)
        with daemon(other) as loser:
            words = said(loser)
            assert loser.wait() == ExitCode.DATA_DIRECTORY_HELD
        assert f"pid {winner.pid} since" in words
        assert listing(tmp_path) == before


def test_a_second_daemon_on_one_runtime_directory_opens_no_database(places: Paths, tmp_path: Path) -> None:
    """Lock first, then open: who loses the second lock has made no key and no database."""
    data = tmp_path / "data2"
    other = places._replace(
        data_dir=str(data),
        database=str(data / "tally.db"),
        keys_dir=str(data / "keys"),
        data_lock=str(data / "lock"),
        marker=str(data / "store.json"),
    )
    with daemon(places) as winner:
        assert said(winner).startswith("store-")
        before = listing(Path(places.runtime_dir))
        with daemon(other) as loser:
            words = said(loser)
            assert loser.wait() == ExitCode.RUNTIME_DIRECTORY_HELD
        assert f"pid {winner.pid} since" in words
        assert listing(Path(places.runtime_dir)) == before
        assert os.listdir(data) == ["lock"]


def listing(directory: Path) -> dict[str, tuple[int, int, int]]:
    """Inode, size and time of change of everything below, without opening any of it."""
    return {
        str(path): (path.stat().st_ino, path.stat().st_size, path.stat().st_ctime_ns)
        for path in sorted(directory.rglob("*"))
    }


def test_case_010_after_a_kill_the_next_starts_without_help(opened: Opener, places: Paths) -> None:
    """A killed daemon leaves lock files, a log and shared memory: none of them is in the way."""
    store_id = killed_with(places, rows=5)
    store = opened()
    assert store.store_id == store_id
    assert store.writer.execute("SELECT max(position) FROM log").fetchall() == [(5,)]


def test_a_refusal_lets_go_of_everything(opened: Opener, places: Paths) -> None:
    """After a refused start, another may start at once; no descriptor stays open."""
    opened().close()
    os.rename(places.keys_dir + "/audit.key", places.data_dir + "/kept")
    before = sorted(os.listdir("/dev/fd"))
    refusal(opened)
    assert sorted(os.listdir("/dev/fd")) == before
    os.rename(places.data_dir + "/kept", places.keys_dir + "/audit.key")
    with daemon(places) as child:
        assert said(child).startswith("store-")


def test_case_002_a_lost_lock_or_database_is_noticed(opened: Opener, places: Paths) -> None:
    """Each file that ownership rests on is named when it is not the one that we hold."""
    store = opened()
    assert store.check_still_ours() is None
    for path in (places.data_lock, places.runtime_lock, places.database):
        os.rename(path, path + ".away")
        sentence = store.check_still_ours()
        assert sentence is not None
        assert path in sentence
        Path(path).touch()
        assert store.check_still_ours() is not None
        os.replace(path + ".away", path)
        assert store.check_still_ours() is None


def test_a_database_that_is_no_regular_file_of_ours_is_refused(opened: Opener, places: Paths) -> None:
    """A link could be turned to another store."""
    opened().close()
    os.rename(places.database, places.data_dir + "/elsewhere.db")
    os.symlink("elsewhere.db", places.database)
    refused = refusal(opened)
    assert refused.exit_code is ExitCode.BAD_DIRECTORY
    assert places.database in refused.sentence


# --- put back -----------------------------------------------------------------------------------------------


def put_back(opened: Opener, places: Paths) -> str:
    """A store whose directory is a copy from before its last five rows; its id."""
    store = opened()
    append(store.writer, 1)
    store.write_marker(1, leaf(1))
    store.close()
    copy = copied(places.data_dir, places.data_dir + "-copy")
    store = opened()
    for position in range(2, 7):
        append(store.writer, position)
    store.write_marker(6, leaf(6))
    store.close()
    os.rename(places.data_dir, places.data_dir + "-newer")
    os.rename(copy, places.data_dir)
    return store.store_id


def test_case_081_a_copy_put_back_is_refused_by_name(opened: Opener, places: Paths) -> None:
    """The copy of the marker knows more: the sentence says what, and how to go on, and nothing is changed."""
    store_id = put_back(opened, places)
    before = contents(places.data_dir)
    refused = refusal(opened)
    assert refused.exit_code is ExitCode.STORE_PUT_BACK
    for part in (places.marker_copy(store_id), "position 6", "ends at 1", f"tallyd --adopt {store_id}"):
        assert part in refused.sentence
    after = contents(places.data_dir)
    assert {name: after[name] for name in before} == before


def test_a_database_put_back_alone_is_found_by_the_marker_beside_it(opened: Opener, places: Paths) -> None:
    """Without any copy in the state directory the marker itself is enough."""
    put_back(opened, places)
    os.replace(places.data_dir + "-newer/store.json", places.marker)
    os.rename(places.state_dir, places.state_dir + "-away")
    refused = refusal(opened)
    assert refused.exit_code is ExitCode.STORE_PUT_BACK
    assert places.marker in refused.sentence


def test_a_lost_log_is_refused(opened: Opener, places: Paths) -> None:
    """Killed, and its write-ahead log gone: what was acknowledged is not in the database."""
    killed_with(places, rows=5)
    assert os.stat(places.database + "-wal").st_size > 0
    os.rename(places.database + "-wal", places.database + "-elsewhere")
    os.rename(places.database + "-shm", places.database + "-shm-elsewhere")
    assert refusal(opened).exit_code is ExitCode.STORE_PUT_BACK
    os.rename(places.database + "-elsewhere", places.database + "-wal")
    opened()


def test_another_entry_at_the_same_position_is_refused(opened: Opener, places: Paths) -> None:
    """A log of the same length with another history is not the same log."""
    put_back(opened, places)
    with closing(apsw.Connection(places.database)) as connection:
        for position in range(2, 10):
            append(connection, position, "other")
    refused = refusal(opened)
    assert refused.exit_code is ExitCode.STORE_PUT_BACK
    assert "another entry at position 6" in refused.sentence


def test_another_epoch_of_the_same_number_is_refused(opened: Opener, places: Paths) -> None:
    """Two epochs of one number are still two: each began with random bytes of its own."""
    store = opened()
    store.close()
    text = Path(places.marker).read_text()
    Path(places.marker).write_text(text.replace(store.epoch.nonce.hex(), "0" * 32))
    refused = refusal(opened)
    assert refused.exit_code is ExitCode.STORE_PUT_BACK
    assert "another epoch 1" in refused.sentence


def test_a_log_that_goes_on_from_the_marker_is_opened(opened: Opener, places: Paths) -> None:
    """A marker may be behind: a crash before it was written is no loss."""
    store = opened()
    for position in range(1, 4):
        append(store.writer, position)
    store.close()
    assert known(places.marker).position == 0
    opened()


def test_a_marker_of_another_store_is_refused(opened: Opener, places: Paths) -> None:
    """Files of two stores mixed up: named as such."""
    opened().close()
    text = Path(places.marker).read_text()
    Path(places.marker).write_text(text.replace("store-", "store-0"))
    refused = refusal(opened)
    assert refused.exit_code is ExitCode.STORE_PUT_BACK
    assert "is of store store-0" in refused.sentence


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"\xff", b"{}", b'{"version":1}', b'{"version":1,"store_id":3}', b"0" * 70_000],
)
@pytest.mark.parametrize("which", ["marker", "copy"])
def test_a_marker_that_says_nothing_is_refused_and_kept(
    opened: Opener, places: Paths, which: str, content: bytes
) -> None:
    """Damage is not absence: the sentence names the file and where its other copy is."""
    store = opened()
    store.close()
    both = (places.marker, places.marker_copy(store.store_id))
    path = both[which == "copy"]
    Path(path).write_bytes(content)
    refused = refusal(opened)
    assert refused.exit_code is ExitCode.UNREADABLE_MARKER
    assert all(name in refused.sentence for name in (*both, f"tallyd --adopt {store.store_id}"))
    assert Path(path).read_bytes() == content
    subprocess.run(["cp", both[which != "copy"], path], check=True)
    opened()


def test_a_marker_of_a_newer_program_is_left_alone(opened: Opener, places: Paths) -> None:
    """Its words may mean something else by then."""
    opened().close()
    Path(places.marker).write_text('{"version":2,"anything":[]}')
    refused = refusal(opened)
    assert refused.exit_code is ExitCode.NEWER_SCHEMA
    assert "newer" in refused.sentence


# --- adoption -----------------------------------------------------------------------------------------------


def test_an_adoption_begins_a_new_epoch(opened: Opener, places: Paths) -> None:
    """The next number, a fresh nonce, an audit row in the same transaction, markers that say so."""
    store_id = put_back(opened, places)
    seen: list[tuple[Identity, Epoch]] = []
    store = opened(adopt=store_id, on_adopt=record_into(seen))
    [(before, epoch)] = seen
    assert (before.epoch.number, epoch.number, store.epoch) == (1, 2, epoch)
    assert epoch.nonce != before.epoch.nonce
    assert len(epoch.nonce) == 16
    assert (store.store_id, store.installation_id) == (before.store_id, before.installation_id)
    for path in (places.marker, places.marker_copy(store_id)):
        assert (known(path).epoch, known(path).position) == (2, 2)
    assert store.writer.execute("SELECT leaf FROM log WHERE position = 2").fetchall() == [
        (leaf(2, "epoch2-"),)
    ]
    store.close()
    assert opened().epoch == epoch


def test_an_adoption_keeps_what_was_known_of_the_abandoned_log(opened: Opener, places: Paths) -> None:
    """Its last known position and leaf stand in the database: nothing else will know them."""
    store_id = put_back(opened, places)
    store = opened(adopt=store_id, on_adopt=record_into([]))
    [(kept,)] = store.writer.execute("SELECT value FROM store_meta WHERE name = 'abandoned_2'").fetchall()
    assert isinstance(kept, bytes)
    found = json.loads(kept)
    assert (found["epoch"], found["position"], found["leaf"]) == (1, 6, leaf(6).hex())


def test_after_an_adoption_the_abandoned_directory_is_refused(opened: Opener, places: Paths) -> None:
    """The newer files, put back after all, are of an epoch that is over."""
    store_id = put_back(opened, places)
    opened(adopt=store_id, on_adopt=record_into([])).close()
    os.rename(places.data_dir, places.data_dir + "-adopted")
    os.rename(places.data_dir + "-newer", places.data_dir)
    refused = refusal(opened)
    assert refused.exit_code is ExitCode.STORE_PUT_BACK
    assert "knows epoch 2" in refused.sentence


def test_a_second_adoption_takes_a_number_that_was_never_used(opened: Opener, places: Paths) -> None:
    """An epoch that the database does not know of is not begun a second time."""
    store_id = put_back(opened, places)
    copy = copied(places.data_dir, places.data_dir + "-again")
    opened(adopt=store_id, on_adopt=record_into([])).close()
    os.rename(places.data_dir, places.data_dir + "-adopted")
    os.rename(copy, places.data_dir)
    assert opened(adopt=store_id, on_adopt=record_into([])).epoch.number == 3


def test_an_adoption_that_fails_changes_nothing(opened: Opener, places: Paths) -> None:
    """Epoch and audit row are one transaction; markers come after it."""
    store_id = put_back(opened, places)

    def on_adopt(connection: apsw.Connection, _identity: Identity, _epoch: Epoch) -> None:
        append(connection, 2)
        raise LookupError("a mistake of the ledger")

    with pytest.raises(LookupError):
        opened(adopt=store_id, on_adopt=on_adopt)
    assert refusal(opened).exit_code is ExitCode.STORE_PUT_BACK
    assert opened(adopt=store_id, on_adopt=record_into([])).epoch.number == 2


def test_an_adoption_whose_markers_were_not_written_is_done(opened: Opener, places: Paths) -> None:
    """Died between the commit and the markers: the next start finds the newer epoch and writes them."""
    store_id = put_back(opened, places)
    old = {path: Path(path).read_bytes() for path in (places.marker, places.marker_copy(store_id))}
    opened(adopt=store_id, on_adopt=record_into([])).close()
    for path, data in old.items():
        Path(path).write_bytes(data)
    assert opened().epoch.number == 2
    assert [known(path).epoch for path in old] == [2, 2]


def test_an_unreadable_marker_can_be_adopted(opened: Opener, places: Paths) -> None:
    """Where the other copy is lost too, a person can still go on."""
    store = opened()
    store.close()
    Path(places.marker).write_bytes(b"")
    assert opened(adopt=store.store_id, on_adopt=record_into([])).epoch.number == 2


def test_an_adoption_that_is_not_needed_is_refused(opened: Opener) -> None:
    """--adopt left in a unit file would hide the next loss."""
    store = opened()
    store.close()
    assert refusal(opened, adopt=store.store_id).exit_code is ExitCode.ADOPTION_REFUSED
    assert opened().epoch.number == 1


def test_an_adoption_of_another_store_is_refused(opened: Opener, places: Paths) -> None:
    """The id is typed by a person, so that it is this store that is meant."""
    store_id = put_back(opened, places)
    refused = refusal(opened, adopt="store-" + "0" * 32)
    assert refused.exit_code is ExitCode.ADOPTION_REFUSED
    assert store_id in refused.sentence


def test_an_adoption_must_be_recorded(opened: Opener) -> None:
    """Without a ledger to write to, adopting is a mistake of the program."""
    with pytest.raises(TypeError):
        opened(adopt="store-1")


# --- errors -------------------------------------------------------------------------------------------------


def test_case_037_damage_is_called_so_by_the_integrity_check_alone(opened: Opener, places: Paths) -> None:
    """A damaged page is found, named, and left as it is."""
    store = opened()
    for position in range(1, 400):
        append(store.writer, position)
    store.close()
    size = os.stat(places.database).st_size
    with open(places.database, "r+b") as file:
        file.seek(4_096)
        file.write(os.urandom(size - 4_096))
    before = Path(places.database).read_bytes()
    refused = refusal(opened)
    assert refused.exit_code is ExitCode.CORRUPT
    assert "integrity check" in refused.sentence
    assert Path(places.database).read_bytes() == before


@pytest.mark.parametrize("content", [b"not a database" * 1_000, b"SQLite format 3\0" + b"\xff" * 8_000])
def test_case_037_a_file_that_is_no_database_is_not_replaced(
    opened: Opener, places: Paths, content: bytes
) -> None:
    """Whatever stands under the name stays."""
    opened().close()
    Path(places.database).write_bytes(content)
    assert refusal(opened).exit_code is ExitCode.CORRUPT
    assert Path(places.database).read_bytes() == content


HOLD = """
import apsw, sys
connection = apsw.Connection(sys.argv[1])
connection.execute("PRAGMA locking_mode=EXCLUSIVE").fetchall()
connection.execute("BEGIN EXCLUSIVE").fetchall()
connection.execute("SELECT count(*) FROM log").fetchall()
print("held", flush=True)
sys.stdin.read()
"""


def test_another_program_in_the_database_is_named_as_that(opened: Opener, places: Paths) -> None:
    """Busy is neither damage nor a disk that failed, and it passes."""
    opened().close()
    with process(HOLD, places.database) as child:
        assert said(child) == "held"
        assert refusal(opened).exit_code is ExitCode.DATABASE_BUSY
    opened()


@pytest.mark.parametrize("version", ["3.51.2"])
def test_case_038_an_old_sqlite_touches_nothing(opened: Opener, places: Paths, version: str) -> None:
    """The version is judged before anything is made."""
    with pytest.raises(StartRefused) as refused:
        opened(machine=UNPROBED._replace(sqlite_version=version))
    assert refused.value.exit_code is ExitCode.OLD_SQLITE
    assert not os.path.exists(places.data_dir)


def test_case_035_a_network_file_system_is_refused_before_anything_is_made(
    opened: Opener, places: Paths
) -> None:
    """Not even the data directory is."""
    mounts = f"1 1 0:1 / {os.path.dirname(places.data_dir)} rw - nfs4 nas:/ rw\n"
    with pytest.raises(StartRefused) as refused:
        opened(machine=UNPROBED._replace(mounts=mounts))
    assert refused.value.exit_code is ExitCode.NETWORK_FILE_SYSTEM
    assert not os.path.exists(places.data_dir)


def test_a_containers_layer_is_told(opened: Opener) -> None:
    """It is opened, and whoever asks for the status hears of it."""
    layer = UNPROBED._replace(mounts="1 1 0:1 / / rw - overlay overlay rw\n")
    assert opened(machine=layer).filesystem.container_layer


# --- a SQLite file system of our own ------------------------------------------------------------------------


class Recording(apsw.VFS):
    """Passes everything through, notes what is synced and truncated, and fails the n-th sync."""

    def __init__(self, name: str, fail_sync_at: int = 0) -> None:
        self.done: list[tuple[str, str]] = []
        self.fail_sync_at = fail_sync_at
        super().__init__(name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return RecordingFile(self, name, flags)


class RecordingFile(apsw.VFSFile):
    def __init__(self, vfs: Recording, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._vfs = vfs
        path = name if isinstance(name, str) else "" if name is None else name.filename()
        self._name = os.path.basename(path)
        super().__init__("", name, flags)

    def xSync(self, flags: int) -> None:
        self._vfs.done.append(("sync", self._name))
        if sum(call == "sync" for call, _ in self._vfs.done) == self._vfs.fail_sync_at:
            raise apsw.IOError("sync")
        super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:
        super().xTruncate(newsize)
        self._vfs.done.append(("truncate", self._name))


def test_what_is_found_in_the_log_is_synced_before_the_store_is_open(opened: Opener, places: Paths) -> None:
    """Log, then database, then a new log: no reply is repeated that a power cut could take away."""
    killed_with(places, rows=5)
    vfs = Recording("recording-found")
    try:
        store = opened(vfs="recording-found")
        assert vfs.done.index(("sync", "tally.db-wal")) < vfs.done.index(("sync", "tally.db"))
        assert vfs.done.index(("sync", "tally.db")) < vfs.done.index(("truncate", "tally.db-wal"))
        assert store.wal_bytes() == 0
        store.close()
    finally:
        vfs.unregister()


def test_a_commit_is_synced_on_the_writers_connection(opened: Opener) -> None:
    """Acknowledged means durable: one commit, one sync of the log."""
    vfs = Recording("recording-commit")
    try:
        store = opened(vfs="recording-commit")
        append(store.writer, 1)
        vfs.done.clear()
        append(store.writer, 2)
        assert vfs.done == [("sync", "tally.db-wal")]
        store.close()
    finally:
        vfs.unregister()


def test_each_sync_of_the_database_may_fail_once(opened: Opener, places: Paths, tmp_path: Path) -> None:
    """The n-th sync of a first start fails, n = 1, 2, 3 …: refused, and the next start succeeds."""
    fail_at = 0
    while True:
        fail_at += 1
        root = tmp_path / str(fail_at)
        here = places._replace(
            data_dir=str(root),
            database=str(root / "tally.db"),
            keys_dir=str(root / "keys"),
            data_lock=str(root / "lock"),
            marker=str(root / "store.json"),
        )
        vfs = Recording(f"recording-{fail_at}", fail_at)
        refused: StartRefused | None = None
        try:
            opened(paths=here, vfs=f"recording-{fail_at}").close()
        except StartRefused as failure:
            refused = failure
        vfs.unregister()
        if refused is None:
            break
        assert refused.exit_code is ExitCode.STORAGE_FAILED
        opened(paths=here).close()
    assert fail_at > 3


# --- size of the history ------------------------------------------------------------------------------------


def test_case_123_opening_does_not_depend_on_the_historys_size(opened: Opener, places: Paths) -> None:
    """A hundred thousand rows more, and opening reads not a page more than the tree is higher."""
    store = opened()
    store.close()
    small = pages_read_by_opening(opened)
    store = opened()
    store.writer.execute(
        "WITH RECURSIVE n (p) AS (VALUES (1) UNION ALL SELECT p + 1 FROM n WHERE p < 100000)"
        " INSERT INTO log SELECT p, randomblob(32) FROM n"
    ).fetchall()
    store.close()
    assert os.stat(places.database).st_size > 4_000_000
    assert pages_read_by_opening(opened) <= small + 6


def pages_read_by_opening(opened: Opener) -> int:
    store = opened()
    misses = store.writer.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)[0]
    store.close()
    return misses
