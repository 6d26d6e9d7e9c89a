"""The first start: a table of steps, each durable before the next, each safe to be interrupted."""

from __future__ import annotations

import errno
import os
import signal
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from store.helpers import (
    UNPROBED,
    FailingDisk,
    Opener,
    RecordingDisk,
    append,
    contents,
    copied,
    daemon,
    leaf,
    said,
)
from tallyd.store import marker
from tallyd.store.files import Disk
from tallyd.store.identity import Identity, read_identity
from tallyd.store.keys import KINDS, Keys
from tallyd.store.marker import Marker
from tallyd.store.opening import STEPS, Machine
from tallyd.store.refusals import ExitCode, StartRefused
from tallystick.paths import Paths


def test_the_steps_come_in_their_order_and_once(opened: Opener) -> None:
    """The table of steps, as crash hooks hear of it; a store that is there has no first start."""
    heard: list[str] = []
    opened(on_step=heard.append).close()
    assert tuple(heard) == STEPS == ("directories", "keys", "database:before_commit", "database", "marker")
    heard.clear()
    opened(on_step=heard.append)
    assert heard == []


def test_what_a_first_start_leaves(opened: Opener, places: Paths) -> None:
    """Private directories, four keys, a database, a marker and its copy, and the locks; nothing else."""
    store = opened()
    store.close()
    assert sorted(os.listdir(places.data_dir)) == ["keys", "lock", "store.json", "tally.db"]
    assert sorted(os.listdir(places.keys_dir)) == sorted(f"{kind}.key" for kind in KINDS)
    assert os.listdir(places.runtime_dir) == ["lock"]
    assert os.listdir(places.state_dir) == [f"{store.store_id}.json"]
    for directory in (places.data_dir, places.keys_dir, places.runtime_dir, places.state_dir):
        assert stat.S_IMODE(os.stat(directory).st_mode) == 0o700
        for path in Path(directory).iterdir():
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


def test_the_identity_is_random_and_stays(opened: Opener) -> None:
    """A store keeps its ids and its epoch over a restart; no two stores share any."""
    store = opened()
    store.close()
    assert opened().identity == store.identity
    assert store.epoch.number == 1
    assert len(store.epoch.nonce) == 16
    assert store.store_id.startswith("store-")
    assert store.installation_id.startswith("inst-")
    assert len({store.store_id[6:], store.installation_id[5:], store.epoch.nonce.hex()}) == 3


def test_bootstrap_is_given_what_is_in_the_same_transaction(opened: Opener) -> None:
    """The ledger's first rows, identity and keys' check values: in one transaction, and once."""
    seen: list[tuple[Identity, Keys, bool, Identity | None]] = []

    def bootstrap(connection: apsw.Connection, identity: Identity, keys: Keys) -> None:
        seen.append((identity, keys, connection.in_transaction, read_identity(connection)))
        append(connection, 0)

    store = opened(bootstrap=bootstrap)
    assert seen == [(store.identity, store.keys, True, store.identity)]
    store.close()
    opened(bootstrap=bootstrap)
    assert len(seen) == 1


def test_a_bootstrap_that_fails_leaves_no_store(opened: Opener, places: Paths) -> None:
    """Its error comes out as it is, the database stays blank, and the next start makes the store."""

    def bootstrap(_connection: apsw.Connection, _identity: Identity, _keys: Keys) -> None:
        raise LookupError("a mistake of the ledger")

    with pytest.raises(LookupError):
        opened(bootstrap=bootstrap)
    assert not os.path.exists(places.marker)
    store = opened()
    assert store.writer.execute("SELECT count(*) FROM log").fetchall() == [(1,)]


def test_the_marker_says_how_far_the_log_reaches(opened: Opener, places: Paths) -> None:
    """Marker and copy are alike, and name store, epoch, position and leaf."""
    store = opened()
    found = marker.read(places.marker)
    assert isinstance(found, Marker)
    assert found == marker.read(places.marker_copy(store.store_id))
    assert (found.version, found.store_id, found.epoch, found.epoch_nonce) == (
        1,
        store.store_id,
        1,
        store.epoch.nonce.hex(),
    )
    assert (found.position, found.leaf) == (0, leaf(0).hex())


def test_a_log_without_rows_has_a_marker_too(opened: Opener, places: Paths) -> None:
    """Position -1 and no leaf: the store can be opened again."""
    opened(bootstrap=lambda *_: None).close()
    found = marker.read(places.marker)
    assert isinstance(found, Marker)
    assert (found.position, found.leaf) == (-1, "")
    opened()


def test_the_probe_is_made_once_and_before_the_keys(opened: Opener, places: Paths) -> None:
    """A directory that fails it gets neither keys nor database; one that passed is not tried again."""
    tried: list[str] = []

    def refuse(data_dir: str) -> None:
        tried.append(data_dir)
        raise StartRefused(ExitCode.PROBE_FAILED, "no")

    with pytest.raises(StartRefused, match="no"):
        opened(machine=Machine(probe=refuse))
    assert tried == [places.data_dir]
    assert os.listdir(places.keys_dir) == []
    assert not os.path.exists(places.database)
    opened(machine=Machine(probe=tried.append)).close()
    opened(machine=Machine(probe=tried.append))
    assert len(tried) == 2


def test_the_real_probe_lets_this_machine_through(opened: Opener) -> None:
    """With nothing replaced, a store is made here."""
    assert opened(machine=Machine()).epoch.number == 1


# --- interrupted --------------------------------------------------------------------------------------------


def test_directories_of_an_interrupted_start_are_synced(opened: Opener, places: Paths) -> None:
    """Made, and the process died before it synced their names: the next start does, before the keys."""
    for directory in (places.data_dir, places.keys_dir, places.runtime_dir, places.state_dir):
        os.makedirs(directory, mode=0o700)
    disk = RecordingDisk()
    opened(machine=UNPROBED._replace(disk=disk))
    first_key = next(number for number, (call, _) in enumerate(disk.done) if call == "create")
    synced = {path for call, path in disk.done[:first_key] if call == "sync_directory"}
    wanted = {os.path.dirname(path) for path in (places.data_dir, places.keys_dir, places.state_dir)}
    assert wanted <= synced


@pytest.mark.parametrize("step", STEPS)
def test_a_start_that_was_aborted_goes_on(opened: Opener, places: Paths, step: str) -> None:
    """A process that dies by SIGABRT at a step leaves what came before it, and the next start keeps that."""
    with daemon(places, abort_at=step) as child:
        words = said(child)
        assert child.wait() == -signal.SIGABRT
        assert not words.startswith("store-")
    done = STEPS.index(step)
    keys = contents(places.keys_dir)
    assert len(keys) == (4 if done >= STEPS.index("keys") else 0)
    assert os.path.exists(places.marker) == (step == "marker")
    dead = identity_in(places)
    assert (dead is not None) == (done >= STEPS.index("database"))
    store = opened()
    assert not keys or contents(places.keys_dir) == keys
    assert dead is None or store.identity == dead
    assert store.writer.execute("SELECT position FROM log").fetchall() == [(0,)]
    assert isinstance(marker.read(places.marker), Marker)
    assert isinstance(marker.read(places.marker_copy(store.store_id)), Marker)


def identity_in(places: Paths) -> Identity | None:
    """What a copy of the database, with its log, says: the dead process's files stay untouched."""
    if not os.path.exists(places.database):
        return None
    copy = copied(places.data_dir, places.data_dir + "-copy")
    with closing(apsw.Connection(f"{copy}/tally.db")) as connection:
        return read_identity(connection)


class Killed(BaseException):
    """A process that ends there, as far as the disk can tell."""


@pytest.mark.parametrize(
    "fault",
    [
        OSError(errno.EIO, os.strerror(errno.EIO)),
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        Killed(),
    ],
    ids=["EIO", "ENOSPC", "killed"],
)
def test_each_call_to_the_disk_may_fail_once(
    opened: Opener, places: Paths, tmp_path: Path, fault: BaseException
) -> None:
    """The n-th call fails, n = 1, 2, 3 …: refused by name, and the next start goes on to a good store."""
    fail_at = 0
    while True:
        fail_at += 1
        disk = FailingDisk(fail_at, fault)
        here = at(places, tmp_path / str(fail_at))
        failure = outcome(opened, here, UNPROBED._replace(disk=disk))
        if failure is None:
            break
        if isinstance(failure, StartRefused):
            assert failure.exit_code in (ExitCode.STORAGE_FAILED, ExitCode.BAD_DIRECTORY)
            assert os.strerror(getattr(fault, "errno", 0)) in failure.sentence
        keys = contents(here.keys_dir) if os.path.exists(here.keys_dir) else {}
        store = opened(paths=here)
        kept = {name: key for name, key in keys.items() if name.endswith(".key")}
        assert kept.items() <= contents(here.keys_dir).items()
        store.close()
        again = opened(paths=here)
        again.close()
        assert again.identity == store.identity
    assert fail_at > 40, "all calls were tried"


def outcome(opened: Opener, paths: Paths, machine: Machine) -> BaseException | None:
    """What an attempt ended with; a store that was opened is closed."""
    try:
        opened(paths=paths, machine=machine).close()
    except (StartRefused, Killed) as failure:
        return failure
    return None


def at(places: Paths, root: Path) -> Paths:
    """The same places below another root, but for the runtime directory, which is one a test."""
    return places._replace(
        data_dir=str(root),
        database=str(root / "tally.db"),
        keys_dir=str(root / "keys"),
        data_lock=str(root / "lock"),
        marker=str(root / "store.json"),
    )


# --- nothing that once existed is made anew -----------------------------------------------------------------


def refusal(opened: Opener) -> StartRefused:
    with pytest.raises(StartRefused) as refused:
        opened()
    return refused.value


def lose(places: Paths, *names: str) -> None:
    for name in names:
        os.rename(os.path.join(places.data_dir, name), f"{places.data_dir}-{os.path.basename(name)}")


LOSSES: dict[str, Callable[[Paths], None]] = {
    "database": lambda places: lose(places, "tally.db"),
    "database and marker": lambda places: lose(places, "tally.db", "store.json"),
    "all": lambda places: os.rename(places.data_dir, places.data_dir + "-away"),
    "all but the directory": lambda places: lose(places, "tally.db", "store.json", "keys", "lock"),
    "content of the database": lambda places: os.truncate(places.database, 0),
    "database and copy": lambda places: lose(places, "tally.db", "../state"),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_case_083_a_missing_database_is_not_made_anew(opened: Opener, places: Paths, loss: str) -> None:
    """Marker or copy say that there was one: refused, with nothing written, until it is back."""
    opened().close()
    LOSSES[loss](places)
    refused = refusal(opened)
    assert refused.exit_code is ExitCode.MISSING_DATABASE
    assert places.database in refused.sentence
    assert not os.path.exists(places.database) or os.stat(places.database).st_size == 0
    assert not os.path.exists(places.keys_dir) or loss != "all" or os.listdir(places.keys_dir) == []


@pytest.mark.parametrize("empty", [False, True])
def test_case_083_a_log_without_its_database_is_kept(opened: Opener, places: Paths, empty: bool) -> None:
    """SQLite would delete a write-ahead log that has no database; it may be all that is left."""
    os.makedirs(places.data_dir, mode=0o700)
    Path(places.database + "-wal").write_bytes(b"x" * 4_096)
    if empty:
        Path(places.database).touch()
    assert refusal(opened).exit_code is ExitCode.MISSING_DATABASE
    assert Path(places.database + "-wal").read_bytes() == b"x" * 4_096


def test_a_copy_of_another_directorys_store_stops_nobody(
    opened: Opener, places: Paths, tmp_path: Path
) -> None:
    """Two stores may share a state directory."""
    first = opened()
    first.close()
    second = opened(paths=at(places, tmp_path / "second"))
    assert sorted(os.listdir(places.state_dir)) == sorted(
        f"{store.store_id}.json" for store in (first, second)
    )


def test_a_store_that_moved_is_known_at_its_new_place(opened: Opener, places: Paths, tmp_path: Path) -> None:
    """After a move and a start, the old place is free, and the new one is guarded."""
    opened().close()
    moved = at(places, tmp_path / "moved")
    os.rename(places.data_dir, moved.data_dir)
    opened(paths=moved).close()
    opened().close()
    os.rename(moved.data_dir, moved.data_dir + "-away")
    with pytest.raises(StartRefused) as refused:
        opened(paths=moved)
    assert refused.value.exit_code is ExitCode.MISSING_DATABASE


def test_an_adoption_of_nothing_is_refused(opened: Opener, places: Paths) -> None:
    """--adopt makes no store."""
    with pytest.raises(StartRefused) as refused:
        opened(adopt="store-1", on_adopt=lambda *_: None)
    assert refused.value.exit_code is ExitCode.ADOPTION_REFUSED
    assert not os.path.exists(places.database)


def test_a_missing_marker_is_written_again(opened: Opener, places: Paths) -> None:
    """Database and keys are a store; without its marker the last step is done again, and so with the copy."""
    store = opened()
    store.close()
    lose(places, "store.json")
    opened().close()
    assert isinstance(marker.read(places.marker), Marker)
    os.rename(places.state_dir, places.state_dir + "-away")
    opened().close()
    assert isinstance(marker.read(places.marker_copy(store.store_id)), Marker)


def test_an_ordinary_start_writes_nothing_beside_the_database(opened: Opener) -> None:
    """Markers that say the right thing stay as they are."""
    opened().close()

    class Untouched(Disk):
        def create(self, path: str, mode: int) -> int:
            raise AssertionError(path, mode)

        def rename(self, source: str, target: str) -> None:
            raise AssertionError(source, target)

    opened(machine=UNPROBED._replace(disk=Untouched()))
