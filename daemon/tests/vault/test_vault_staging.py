"""Chunks into staging: resumable, durable when answered, never past a hole, never through a link."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from tallyd.store.files import Disk
from tallyd.vault import Hole, NotOurs, Vault

from .vault_helpers import UPLOAD, FailingDisk, NotingDisk


def bytes_of(vault: Vault) -> bytes:
    """What lies in staging."""
    return Path(vault.staging.path(UPLOAD)).read_bytes()


def test_chunks_make_the_whole(vault: Vault) -> None:
    """Each answer says how many bytes are there."""
    assert vault.staging.receive(UPLOAD, 0, b"abc") == 3
    assert vault.staging.receive(UPLOAD, 3, b"defg") == 7
    assert bytes_of(vault) == b"abcdefg"


def test_a_chunk_may_come_again(vault: Vault) -> None:
    """A client whose reply was lost sends the same, and nothing is doubled."""
    vault.staging.receive(UPLOAD, 0, b"abc")
    vault.staging.receive(UPLOAD, 3, b"def")
    assert vault.staging.receive(UPLOAD, 0, b"abc") == 6
    assert vault.staging.receive(UPLOAD, 2, b"cdefg") == 7
    assert bytes_of(vault) == b"abcdefg"


def test_a_hole_is_refused_with_where_to_go_on(vault: Vault) -> None:
    """No byte is ever skipped."""
    vault.staging.receive(UPLOAD, 0, b"abc")
    with pytest.raises(Hole) as found:
        vault.staging.receive(UPLOAD, 4, b"e")
    assert found.value.received == 3
    with pytest.raises(Hole):
        vault.staging.receive("upl-other", 1, b"e")
    assert not os.path.exists(vault.staging.path("upl-other"))


def test_an_empty_chunk_asks_and_makes_nothing(vault: Vault) -> None:
    """A client that starts again asks where it stands; an upload that has no bytes stays without a file."""
    assert vault.staging.receive(UPLOAD, 0, b"") == 0
    assert not os.path.exists(vault.staging.path(UPLOAD))
    vault.staging.receive(UPLOAD, 0, b"abc")
    assert vault.staging.receive(UPLOAD, 0, b"") == 3
    assert vault.staging.received(UPLOAD) == 3


def test_an_empty_file_can_be_made(vault: Vault, data_dir: Path) -> None:
    """An upload that was declared empty has a file, private, and never one that is somebody else's."""
    vault.staging.make_empty(UPLOAD)
    vault.staging.make_empty(UPLOAD)
    assert bytes_of(vault) == b""
    assert stat.S_IMODE(os.stat(vault.staging.path(UPLOAD)).st_mode) == 0o600
    (data_dir / "other").write_bytes(b"precious")
    Path(vault.staging.path("upl-link")).symlink_to(data_dir / "other")
    with pytest.raises(NotOurs):
        vault.staging.make_empty("upl-link")
    assert (data_dir / "other").read_bytes() == b"precious"


def test_an_answered_chunk_is_on_the_disk(data_dir: Path) -> None:
    """The file is synced before the answer, and with the first chunk its name."""
    disk = NotingDisk()
    vault = Vault(str(data_dir), disk)
    vault.open()
    disk.done.clear()
    vault.staging.receive(UPLOAD, 0, b"abc")
    assert disk.done == [("sync", UPLOAD), ("sync directory", "staging")]
    disk.done.clear()
    vault.staging.receive(UPLOAD, 3, b"def")
    assert disk.done == [("sync", UPLOAD)]


def test_a_chunk_file_is_private(vault: Vault) -> None:
    """Nobody else reads what was not sealed yet."""
    vault.staging.receive(UPLOAD, 0, b"abc")
    assert stat.S_IMODE(os.stat(vault.staging.path(UPLOAD)).st_mode) == 0o600


@pytest.mark.parametrize("kind", ["symbolic", "hard", "directory", "fifo"])
def test_chunks_are_not_written_through_links(vault: Vault, data_dir: Path, kind: str) -> None:
    """What lies under the name and is no client's file is refused, and what it leads to untouched."""
    other, path = data_dir / "other", Path(vault.staging.path(UPLOAD))
    other.write_bytes(b"precious")
    if kind == "symbolic":
        path.symlink_to(other)
    elif kind == "hard":
        os.link(other, path)
    elif kind == "directory":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises(NotOurs):
        vault.staging.receive(UPLOAD, 0, b"abc")
    with pytest.raises(NotOurs):
        vault.staging.received(UPLOAD)
    assert other.read_bytes() == b"precious"


def test_every_failure_of_the_disk_can_be_tried_again(data_dir: Path) -> None:
    """The n-th call fails, n = 1, 2, 3 …; the same chunk sent again lands where it belongs."""
    Vault(str(data_dir), Disk()).open()
    fail_at, failures = 0, 0
    while True:
        fail_at += 1
        disk = FailingDisk(fail_at)
        vault = Vault(str(data_dir), disk)
        try:
            vault.staging.receive(UPLOAD, 0, b"abcdefgh")
        except OSError:
            failures += 1
            disk.fail_at = 0
            assert vault.staging.receive(UPLOAD, 0, b"abcdefgh") == 8
            assert bytes_of(vault) == b"abcdefgh"
            vault.staging.drop(UPLOAD)
            continue
        break
    assert failures >= 5


def test_dropping_is_durable_and_may_be_repeated(data_dir: Path) -> None:
    """Staging bytes are plain: when their upload has ended, their name is gone from the disk."""
    disk = NotingDisk()
    vault = Vault(str(data_dir), disk)
    vault.open()
    vault.staging.receive(UPLOAD, 0, b"abc")
    disk.done.clear()
    assert vault.staging.drop(UPLOAD)
    assert disk.done == [("unlink", UPLOAD), ("sync directory", "staging")]
    assert not vault.staging.drop(UPLOAD)


def test_what_ends_an_upload_waits_for_who_writes(vault: Vault) -> None:
    """Bytes are removed after the chunk that was let in before; another upload waits for neither."""
    said = []
    remover = threading.Thread(target=lambda: said.append(vault.staging.drop(UPLOAD)))
    with vault.staging.turn(UPLOAD):
        remover.start()
        with vault.staging.turn("upl-another"):
            vault.staging.receive(UPLOAD, 0, b"abc")
        assert said == []
    remover.join()
    assert said == [True]
    assert vault.staging.names() == []
