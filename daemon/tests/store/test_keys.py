"""The secrets of a store: minted once, checked always, shown never."""

from __future__ import annotations

import hashlib
import hmac
import os
import pickle
import stat
from pathlib import Path

import pytest

from store.helpers import UNPROBED, Opener, RecordingDisk
from tallyd.store.files import Disk
from tallyd.store.identity import read_checks
from tallyd.store.keys import KINDS, KeyFiles, Keys, check_value
from tallyd.store.refusals import ExitCode, StartRefused
from tallystick.paths import Paths


def key_file(places: Paths, kind: str) -> Path:
    return Path(places.keys_dir, f"{kind}.key")


def held(keys: Keys) -> dict[str, bytes]:
    return {kind: getattr(keys, kind) for kind in KINDS}


def refusal(opened: Opener) -> StartRefused:
    with pytest.raises(StartRefused) as refused:
        opened()
    return refused.value


def test_each_kind_is_a_private_file_of_32_random_bytes(opened: Opener, places: Paths) -> None:
    """Four kinds, each its own, outside the database, mode 0600, and the same at the next start."""
    store = opened()
    found = held(store.keys)
    assert set(found) == {"cursor", "objects", "attempts", "audit"}
    assert len(set(found.values())) == 4
    for kind, key in found.items():
        assert key_file(places, kind).read_bytes() == key
        assert len(key) == 32
        assert stat.S_IMODE(key_file(places, kind).stat().st_mode) == 0o600
    store.close()
    assert held(opened().keys) == found
    database = Path(places.database).read_bytes()
    assert all(key not in database for key in found.values())


def test_the_check_value_is_as_documented(opened: Opener) -> None:
    """HMAC-SHA-256(key, "tallystick key check v1" ‖ kind ‖ store id), for each kind, in the database."""
    store = opened()
    for kind, key in held(store.keys).items():
        message = b"tallystick key check v1" + kind.encode() + store.store_id.encode()
        expected = hmac.new(key, message, hashlib.sha256).digest()
        assert check_value(key, kind, store.store_id) == expected
        assert read_checks(store.writer)[kind] == expected


def test_case_086_neither_repr_nor_pickle_shows_a_key() -> None:
    """A key in a log line or a crash report is a key lost."""
    keys = Keys(cursor=b"c" * 32, objects=b"o" * 32, attempts=b"a" * 32, audit=b"u" * 32)
    assert repr(keys) == str(keys) == f"{keys}" == "Keys(redacted)"
    with pytest.raises(TypeError):
        pickle.dumps(keys)


@pytest.mark.parametrize("kind", KINDS)
def test_a_lost_key_is_refused_by_name_and_not_minted(opened: Opener, places: Paths, kind: str) -> None:
    """A new key in the place of a lost one would look like success and make content unreadable."""
    opened().close()
    os.rename(key_file(places, kind), places.data_dir + "/kept")
    refused = refusal(opened)
    assert refused.exit_code is ExitCode.LOST_KEY
    assert str(key_file(places, kind)) in refused.sentence
    assert not key_file(places, kind).exists()
    os.rename(places.data_dir + "/kept", key_file(places, kind))
    opened()


@pytest.mark.parametrize("content", [b"\0" * 32, b"", b"\1" * 31, b"\1" * 33, b"\1" * 5_000])
def test_another_key_is_refused_and_left(opened: Opener, places: Paths, content: bytes) -> None:
    """Other bytes, too few or too many: refused, and the file stays as it is."""
    opened().close()
    key_file(places, "objects").write_bytes(content)
    refused = refusal(opened)
    expected = ExitCode.WRONG_KEY if len(content) < 4_096 else ExitCode.BAD_DIRECTORY
    assert refused.exit_code is expected
    assert "objects.key" in refused.sentence
    assert key_file(places, "objects").read_bytes() == content


def test_two_keys_in_each_others_place_are_refused(opened: Opener, places: Paths) -> None:
    """The check value knows the kind."""
    opened().close()
    one, two = key_file(places, "cursor"), key_file(places, "audit")
    one.rename(places.data_dir + "/aside")
    two.rename(one)
    Path(places.data_dir, "aside").rename(two)
    assert refusal(opened).exit_code is ExitCode.WRONG_KEY


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o606])
def test_a_key_that_others_can_read_is_refused(opened: Opener, places: Paths, mode: int) -> None:
    """It is not made private in silence: somebody may have read it, and a person has to know."""
    opened().close()
    key_file(places, "cursor").chmod(mode)
    refused = refusal(opened)
    assert refused.exit_code is ExitCode.BAD_DIRECTORY
    assert f"chmod 600 {key_file(places, 'cursor')}" in refused.sentence


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to a second uid")
def test_a_key_of_another_user_is_refused_with_the_chown(opened: Opener, places: Paths) -> None:
    """Its owner could change it at any time."""
    opened().close()
    os.chown(key_file(places, "cursor"), 12_345, -1)
    assert "chown 0" in refusal(opened).sentence


@pytest.mark.parametrize("kind", ["link", "directory", "fifo"])
def test_a_key_that_is_no_regular_file_is_refused(opened: Opener, places: Paths, kind: str) -> None:
    """Nothing is followed, and a start never waits for a FIFO's writer."""
    opened().close()
    path = key_file(places, "cursor")
    path.rename(places.data_dir + "/kept")
    if kind == "link":
        path.symlink_to("../kept")
    elif kind == "directory":
        path.mkdir()
    else:
        os.mkfifo(path)
    refused = refusal(opened)
    assert refused.exit_code is ExitCode.BAD_DIRECTORY
    assert "cursor.key" in refused.sentence


# --- kinds without a check value ----------------------------------------------------------------------------


def forget_check(opened: Opener, kind: str) -> None:
    """As if the store had been made by a version that did not know the kind."""
    store = opened()
    store.writer.execute("DELETE FROM store_meta WHERE name = ?", (f"key_check_{kind}",)).fetchall()
    store.close()


def test_a_kind_without_check_value_is_minted_once(opened: Opener, places: Paths) -> None:
    """How a later version's new kinds come to an old store."""
    forget_check(opened, "audit")
    key_file(places, "audit").unlink()
    before = {kind: key_file(places, kind).read_bytes() for kind in KINDS if kind != "audit"}
    store = opened()
    assert key_file(places, "audit").read_bytes() == store.keys.audit
    assert {kind: key for kind, key in held(store.keys).items() if kind != "audit"} == before
    store.close()
    key_file(places, "audit").unlink()
    assert refusal(opened).exit_code is ExitCode.LOST_KEY


def test_a_minted_key_of_an_interrupted_start_is_used(opened: Opener, places: Paths) -> None:
    """Minted, and the process died before its check value was there: the file is taken, not replaced."""
    forget_check(opened, "audit")
    before = key_file(places, "audit").read_bytes()
    disk = RecordingDisk()
    store = opened(machine=UNPROBED._replace(disk=disk))
    assert store.keys.audit == before
    assert ("sync_directory", places.keys_dir) in disk.done, "it may have been renamed and not synced"
    assert "audit" in read_checks(store.writer)


def test_a_minted_key_is_on_the_disk_before_it_is_used(tmp_path: Path) -> None:
    """Each is synced under its name, and the directory once more, for one that was only renamed."""
    disk = RecordingDisk()
    (tmp_path / "cursor.key").write_bytes(b"c" * 32)
    (tmp_path / "cursor.key").chmod(0o600)
    KeyFiles(disk, str(tmp_path), None, os.urandom).mint()
    names = [os.path.basename(path) for call, path in disk.done if call == "rename"]
    assert names == ["objects.key", "attempts.key", "audit.key"]
    disk.done.clear()
    KeyFiles(disk, str(tmp_path), None, os.urandom).mint()
    assert disk.done == [("sync_directory", str(tmp_path))]


# --- credentials --------------------------------------------------------------------------------------------


def credentials(tmp_path: Path, *kinds: str) -> str:
    directory = tmp_path / "credentials"
    directory.mkdir(mode=0o700)
    for kind in kinds:
        (directory / f"tally-{kind}.key").write_bytes(kind[0].encode() * 32)
        (directory / f"tally-{kind}.key").chmod(0o440)  # as systemd does
    return str(directory)


def test_a_credential_is_used_and_nothing_is_minted_in_its_place(
    opened: Opener, places: Paths, tmp_path: Path
) -> None:
    """What systemd passes is the key; the kinds that it does not pass are files as ever."""
    passed = credentials(tmp_path, "objects", "cursor")
    store = opened(machine=UNPROBED._replace(credentials_dir=passed))
    assert (store.keys.objects, store.keys.cursor) == (b"o" * 32, b"c" * 32)
    assert sorted(os.listdir(places.keys_dir)) == ["attempts.key", "audit.key"]
    assert sorted(os.listdir(passed)) == ["tally-cursor.key", "tally-objects.key"]


def test_the_variable_names_the_credentials(
    opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """systemd says in CREDENTIALS_DIRECTORY where they are."""
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", credentials(tmp_path, "audit"))
    assert opened().keys.audit == b"a" * 32


def test_a_credential_that_is_not_passed_any_more_is_a_lost_key(opened: Opener, tmp_path: Path) -> None:
    """A unit without its credential does not get a new key."""
    opened(machine=UNPROBED._replace(credentials_dir=credentials(tmp_path, "objects"))).close()
    assert refusal(opened).exit_code is ExitCode.LOST_KEY


def test_a_wrong_credential_is_refused_by_its_own_name(opened: Opener, tmp_path: Path) -> None:
    """The sentence names the file that was read, and not the good one below it."""
    opened().close()
    passed = credentials(tmp_path, "objects")
    with pytest.raises(StartRefused) as refused:
        opened(machine=UNPROBED._replace(credentials_dir=passed))
    assert refused.value.exit_code is ExitCode.WRONG_KEY
    assert f"{passed}/tally-objects.key" in refused.value.sentence


def test_keys_are_read_from_where_they_are(tmp_path: Path) -> None:
    """Without a store there is no check value: what is there is used as it is."""
    (tmp_path / "cursor.key").write_bytes(b"c" * 32)
    (tmp_path / "cursor.key").chmod(0o600)
    assert KeyFiles(Disk(), str(tmp_path), None, os.urandom).mint().cursor == b"c" * 32
