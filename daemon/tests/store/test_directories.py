"""Private directories and durable files."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from store.helpers import FailingDisk, RecordingDisk
from tallyd.store.directories import Place, check_private, make_private, private_umask, sync_ancestors
from tallyd.store.files import Disk, read_regular, write_durable
from tallyd.store.refusals import ExitCode, StartRefused

ROOT = os.geteuid() == 0


def place(path: Path) -> Place:
    return Place(str(path), "the test directory", "--test-dir")


def refusal(path: Path) -> str:
    with pytest.raises(StartRefused) as refused:
        check_private(place(path))
    assert refused.value.exit_code is ExitCode.BAD_DIRECTORY
    return refused.value.sentence


def test_missing_parents_are_made_private_and_durable(tmp_path: Path) -> None:
    """Each directory made is 0700 whatever the umask, and its parent is synced before the next is made."""
    disk, before = RecordingDisk(), os.umask(0o002)
    try:
        with private_umask():
            make_private(disk, place(tmp_path / "a" / "b"))
    finally:
        assert os.umask(before) == 0o002, "the umask is given back"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a", tmp_path / "a/b")] == [
        0o700,
        0o700,
    ]
    assert disk.done == [
        ("mkdir", str(tmp_path / "a")),
        ("sync_directory", str(tmp_path)),
        ("mkdir", str(tmp_path / "a/b")),
        ("sync_directory", str(tmp_path / "a")),
    ]


def test_a_directory_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    """A good directory is taken without a change."""
    (tmp_path / "d").mkdir(mode=0o700)
    disk = RecordingDisk()
    make_private(disk, place(tmp_path / "d"))
    assert disk.done == []


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o701, 0o777, 0o500])
def test_another_mode_is_refused_with_the_chmod(tmp_path: Path, mode: int) -> None:
    """The sentence is the command to run, and the directory stays as it was."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d").chmod(mode)
    assert f"chmod 700 {tmp_path / 'd'}" in refusal(tmp_path / "d")
    assert stat.S_IMODE((tmp_path / "d").stat().st_mode) == mode


@pytest.mark.skipif(not ROOT, reason="only root can give a directory to a second uid")
def test_another_owner_is_refused_with_the_chown(tmp_path: Path) -> None:
    """Not even root uses a directory that somebody else could change."""
    (tmp_path / "d").mkdir(mode=0o700)
    os.chown(tmp_path / "d", 12_345, -1)
    sentence = refusal(tmp_path / "d")
    assert "uid 12345" in sentence
    assert f"chown 0 {tmp_path / 'd'}" in sentence


@pytest.mark.parametrize("target", ["real", "nowhere"])
def test_a_symbolic_link_is_refused(tmp_path: Path, target: str) -> None:
    """A link could be turned elsewhere after the check; a dangling one is not followed either."""
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(target)
    assert "symbolic link" in refusal(tmp_path / "link")
    with pytest.raises(StartRefused, match="symbolic link"):
        make_private(Disk(), place(tmp_path / "link"))
    assert not (tmp_path / "nowhere").exists()


def test_a_link_above_it_is_followed(tmp_path: Path) -> None:
    """A home directory on another disk is ordinary."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "home").symlink_to("disk")
    make_private(Disk(), place(tmp_path / "home" / "d"))
    assert (tmp_path / "disk" / "d").is_dir()


def test_a_file_in_its_place_is_refused(tmp_path: Path) -> None:
    """A file, in its place or above it, is named as what it is."""
    (tmp_path / "d").write_text("")
    assert "not a directory" in refusal(tmp_path / "d")
    with pytest.raises(StartRefused) as refused:
        make_private(Disk(), place(tmp_path / "d" / "below"))
    assert refused.value.exit_code is ExitCode.BAD_DIRECTORY


def test_a_parent_open_to_everybody_is_refused_unless_sticky(tmp_path: Path) -> None:
    """In /tmp the sticky bit keeps others from renaming what is ours; without it anybody could."""
    make_private(Disk(), place(tmp_path / "open" / "d"))
    (tmp_path / "open").chmod(0o777)
    assert f"chmod o-w {tmp_path / 'open'}" in refusal(tmp_path / "open" / "d")
    (tmp_path / "open").chmod(0o1777)
    check_private(place(tmp_path / "open" / "d"))


def test_ancestors_are_synced_up_to_their_file_system(tmp_path: Path) -> None:
    """What an interrupted start made and did not sync is synced by the next, as far as it can be its own."""
    disk = RecordingDisk()
    (tmp_path / "a").mkdir()
    sync_ancestors(disk, str(tmp_path / "a"))
    synced = [path for _, path in disk.done]
    assert synced[0] == str(tmp_path)
    device = tmp_path.stat().st_dev
    assert all(os.stat(path).st_dev == device for path in synced)
    assert synced == sorted(synced, key=len, reverse=True)


# --- durable files ------------------------------------------------------------------------------------------


def test_a_durable_file_is_synced_before_it_has_its_name(tmp_path: Path) -> None:
    """Written aside, synced, renamed, and only then is the directory synced: in this order and no other."""
    disk, path = RecordingDisk(), str(tmp_path / "f")
    write_durable(disk, path, b"content")
    assert Path(path).read_bytes() == b"content"
    assert disk.done == [
        ("create", path + ".new"),
        ("sync", path + ".new"),
        ("rename", path),
        ("sync_directory", str(tmp_path)),
    ]


def test_a_durable_file_survives_short_writes(tmp_path: Path) -> None:
    """write(2) may take less than it is given."""
    write_durable(FailingDisk(0), str(tmp_path / "f"), bytes(range(256)))
    assert (tmp_path / "f").read_bytes() == bytes(range(256))


def test_a_durable_file_is_old_or_new_wherever_it_fails(tmp_path: Path) -> None:
    """Each call fails once: the content is the old or the new one, and no descriptor stays open."""
    path, fail_at = tmp_path / "f", 1
    while True:
        write_durable(Disk(), str(path), b"old")
        descriptors = len(os.listdir("/dev/fd"))
        try:
            write_durable(FailingDisk(fail_at), str(path), b"new!")
        except OSError:
            assert path.read_bytes() in (b"old", b"new!")
            assert len(os.listdir("/dev/fd")) == descriptors
            fail_at += 1
            continue
        break
    assert fail_at > 5
    assert path.read_bytes() == b"new!"


def test_an_aside_file_of_a_dead_writer_is_written_over(tmp_path: Path) -> None:
    """What a killed writer left aside is no obstacle."""
    (tmp_path / "f.new").write_bytes(b"half of something longer")
    write_durable(Disk(), str(tmp_path / "f"), b"whole")
    assert (tmp_path / "f").read_bytes() == b"whole"
    assert not (tmp_path / "f.new").exists()


def test_a_symbolic_link_is_never_written_through(tmp_path: Path) -> None:
    """A link planted under the aside name does not lead the content elsewhere."""
    (tmp_path / "f.new").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"f\.new"):
        write_durable(Disk(), str(tmp_path / "f"), b"secret")
    assert not (tmp_path / "elsewhere").exists()


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    """Nothing, a link, a FIFO, a directory and a file that is too long are each told apart from content."""
    assert read_regular(str(tmp_path / "f"), 10) is None
    (tmp_path / "f").write_bytes(b"0123456789")
    found = read_regular(str(tmp_path / "f"), 10)
    assert found is not None
    assert found[0] == b"0123456789"
    (tmp_path / "link").symlink_to("f")
    os.mkfifo(tmp_path / "fifo")
    for name, limit in (("f", 9), ("link", 10), ("fifo", 10), (".", 10)):
        with pytest.raises(OSError):  # noqa: PT011 - which errno is the system's choice
            read_regular(str(tmp_path / name), limit)
