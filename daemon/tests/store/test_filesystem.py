"""Which file systems are refused, and the trial of the others."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import pytest

from tallyd.store import probe
from tallyd.store.filesystem import find, mounts_text, refuse_unsafe
from tallyd.store.refusals import ExitCode, StartRefused

ROOT = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"


def mount(point: str, kind: str) -> str:
    """A line of /proc/self/mountinfo, blanks escaped as the kernel escapes them."""
    escaped = "".join(f"\\{ord(c):03o}" if c in " \t\n\\" else c for c in point)
    return f"36 27 98:0 /share {escaped} rw,noatime shared:1 master:2 - {kind} server:/share rw\n"


@pytest.mark.parametrize(
    "kind",
    ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse", "fuse.sshfs", "fuseblk", "fuse.fuse-overlayfs", "virtiofs"],
)
def test_case_035_network_file_systems_are_refused_by_name(tmp_path: Path, kind: str) -> None:
    """The sentence names the type, where it is mounted, and how to choose another directory."""
    with pytest.raises(StartRefused) as refused:
        refuse_unsafe(str(tmp_path / "data"), ROOT + mount(str(tmp_path), kind))
    assert refused.value.exit_code is ExitCode.NETWORK_FILE_SYSTEM
    for part in (kind, str(tmp_path), "TALLY_DATA_DIR"):
        assert part in refused.value.sentence
    assert not (tmp_path / "data").exists(), "it is judged before anything is made"


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "apfs", "overlay", "tmpfs", "nfsd", "cifsx"])
def test_other_file_systems_are_taken(tmp_path: Path, kind: str) -> None:
    """Local ones, and what has no name here: the probe decides about those."""
    assert refuse_unsafe(str(tmp_path), ROOT + mount(str(tmp_path), kind)).type == kind


def test_the_longest_mount_point_above_it_counts(tmp_path: Path) -> None:
    """Not a shorter one, not one beside it whose name begins alike, not one below it."""
    (tmp_path / "share").mkdir()
    (tmp_path / "shared").mkdir()
    table = (
        mount(str(tmp_path / "share"), "xfs")
        + ROOT
        + mount(str(tmp_path / "sh"), "nfs")
        + mount(str(tmp_path / "share" / "below"), "nfs")
        + mount(str(tmp_path), "btrfs")
    )
    assert find(str(tmp_path / "share" / "data"), table).type == "xfs"
    assert find(str(tmp_path / "share"), table).type == "xfs"
    assert find(str(tmp_path / "shared"), table).type == "btrfs"


def test_of_two_mounts_on_one_point_the_later_is_seen(tmp_path: Path) -> None:
    """A mount over another hides it."""
    table = ROOT + mount(str(tmp_path), "ext4") + mount(str(tmp_path), "nfs4")
    assert find(str(tmp_path), table).type == "nfs4"


@pytest.mark.parametrize("name", ["a b", "tab\there", "line\nend", "back\\slash", "ü\u2028\x85"])
def test_octal_escapes_and_odd_names_are_read(tmp_path: Path, name: str) -> None:
    """The kernel escapes blanks and backslashes, and leaves other characters as they are."""
    (tmp_path / name).mkdir()
    assert find(str(tmp_path / name), ROOT + mount(str(tmp_path / name), "nfs")).type == "nfs"


def test_a_link_is_judged_by_what_it_leads_to(tmp_path: Path) -> None:
    """A home directory that is a link to a share is a share."""
    (tmp_path / "share").mkdir()
    (tmp_path / "home").symlink_to("share")
    table = ROOT + mount(str(tmp_path / "share"), "cifs")
    assert find(str(tmp_path / "home" / "tally"), table).type == "cifs"


def test_the_output_of_mount_on_macos_is_read(tmp_path: Path) -> None:
    """macOS has no mountinfo; its mount(8) says the same."""
    table = (
        "/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)\n"
        f"//ada@nas/share on {tmp_path} (smbfs, nodev, nosuid, mounted by ada)\n"
    )
    with pytest.raises(StartRefused, match="SMB"):
        refuse_unsafe(str(tmp_path), table)
    assert find("/", table).type == "apfs"


def test_a_containers_layer_and_memory_are_told(tmp_path: Path) -> None:
    """The operator has to hear that the store goes away with its container, or with the power."""
    layer, memory = (find(str(tmp_path), mount("/", name)) for name in ("overlay", "tmpfs"))
    assert (layer.container_layer, layer.in_memory) == (True, False)
    assert (memory.container_layer, memory.in_memory) == (False, True)
    for found, words in ((layer, "mount a volume"), (memory, "on a disk")):
        assert words in str(found.note)
    plain = find(str(tmp_path), ROOT)
    assert (plain.container_layer, plain.in_memory, plain.note) == (False, False, None)


@pytest.mark.parametrize("text", ["", "nonsense", "1 2 3 - nfs", "27 1 254:0 / relative rw - nfs x rw"])
def test_without_a_table_nothing_is_known(tmp_path: Path, text: str) -> None:
    """No table, or one that is none, refuses nobody: the probe decides."""
    assert refuse_unsafe(str(tmp_path), text).type == ""


def test_this_machines_table_is_read() -> None:
    """The real table names the real type of the root."""
    assert find("/", mounts_text()).type


# --- the probe ----------------------------------------------------------------------------------------------


def test_the_probe_passes_here_and_leaves_nothing(tmp_path: Path) -> None:
    """On a local disk two processes share a database, and afterwards nothing is left of it."""
    probe.try_two_processes(str(tmp_path))
    assert os.listdir(tmp_path) == []


def test_the_probe_goes_over_the_remains_of_an_interrupted_one(tmp_path: Path) -> None:
    """A start that was killed in the middle of a probe does not break the next."""
    (tmp_path / "probe").mkdir()
    for name in ("probe.db", "probe.db-wal", "probe.db-shm", "lock"):
        (tmp_path / "probe" / name).write_bytes(b"half")
    probe.try_two_processes(str(tmp_path))
    assert os.listdir(tmp_path) == []


def test_the_probe_leaves_what_is_not_its_own(tmp_path: Path) -> None:
    """A directory of that name with somebody's file in it is refused, and the file stays."""
    (tmp_path / "probe").mkdir()
    (tmp_path / "probe" / "diary").write_text("mine")
    with pytest.raises(StartRefused, match="probe") as refused:
        probe.try_two_processes(str(tmp_path))
    assert refused.value.exit_code is ExitCode.BAD_DIRECTORY
    assert (tmp_path / "probe" / "diary").read_text() == "mine"


BROKEN = {
    "sees-the-log": "connection.execute('UPDATE probe SET value = 7').fetchall()",
    "is-kept-from-the-lock": "connection = connection; fcntl.flock = lambda *_: None",
    "is-kept-from-writing": "connection = apsw.Connection(':memory:'); prepare(connection)",
    "no second process": "raise SystemExit('cannot start')",
}


@pytest.mark.parametrize("broken", BROKEN)
def test_what_two_processes_cannot_share_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """On a bad file system a second process sees less, or is kept from less, than it must."""
    with open(probe._CHILD, encoding="utf-8") as file:
        child = file.read()
    prepare = (
        "def prepare(c):\n"
        "    c.execute('CREATE TABLE probe (value)').fetchall()\n"
        "    c.execute('INSERT INTO probe VALUES (1)').fetchall()\n"
    )
    opening = "    steps: dict"
    assert opening in child
    damaged = child.replace(opening, f"    {BROKEN[broken]}\n{opening}").replace(
        "def main", prepare + "\n\ndef main"
    )
    (tmp_path / "child.py").write_text(damaged)
    monkeypatch.setattr(probe, "_CHILD", str(tmp_path / "child.py"))
    (tmp_path / "data").mkdir()
    with pytest.raises(StartRefused) as refused:
        probe.try_two_processes(str(tmp_path / "data"))
    assert refused.value.exit_code is ExitCode.PROBE_FAILED
    assert ("cannot start" if "process" in broken else broken) in refused.value.sentence
    assert os.listdir(tmp_path / "data") == []


def test_case_035_a_log_that_is_not_taken_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where SQLite cannot have a write-ahead log it stays silent about it; the probe does not."""

    real = apsw.Connection
    monkeypatch.setattr(apsw, "Connection", lambda _path: real(":memory:"))
    with pytest.raises(StartRefused) as refused:
        probe.try_two_processes(str(tmp_path))
    assert refused.value.exit_code is ExitCode.PROBE_FAILED
    assert "journal_mode" in refused.value.sentence
