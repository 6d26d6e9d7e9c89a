"""Which file system the data directory is on, and whether a write-ahead log is safe there.

SQLite's write-ahead log needs memory that two processes share through a file, locks that the kernel keeps,
and a sync that reaches the disk. Network and user-space file systems promise these and break them, often
only under load or after a while, so they are refused by name and not by trial. What has no name here is
tried once, at the first start (``probe``).

A container's own layer (overlayfs) is no such file system: the probe decides. But it goes away with its
container, which the operator has to hear, so it is named: ``FileSystem.container_layer``.

The table of mounts is /proc/self/mountinfo (proc(5)) on Linux and the output of mount(8) on macOS. Both are
read as text, so that tests can give any.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Final, NamedTuple

from tallyd.store.refusals import ExitCode, StartRefused

REFUSED_TYPES: Final[dict[str, str]] = {
    "nfs": "NFS",
    "nfs4": "NFS",
    "cifs": "SMB",
    "smb": "SMB",
    "smb2": "SMB",
    "smb3": "SMB",
    "smbfs": "SMB",
    "afpfs": "AFP",
    "afs": "AFS",
    "9p": "9P, a directory shared by a virtual machine's host (on WSL 2: a Windows drive)",
    "drvfs": "DrvFs, a Windows drive under WSL",
    "virtiofs": "virtiofs, a directory shared by a virtual machine's host",
    "vboxsf": "a directory shared by VirtualBox",
    "prl_fs": "a directory shared by Parallels",
    "fuse": "FUSE, a file system served by a program",
    "fuseblk": "FUSE, a file system served by a program",
    "macfuse": "FUSE, a file system served by a program",
    "osxfuse": "FUSE, a file system served by a program",
    "webdav": "WebDAV",
    "ceph": "Ceph, shared between machines",
    "lustre": "Lustre, shared between machines",
    "gpfs": "GPFS, shared between machines",
    "beegfs": "BeeGFS, shared between machines",
    "ocfs2": "OCFS2, shared between machines",
    "gfs2": "GFS2, shared between machines",
    "coda": "Coda",
    "ncpfs": "NCP",
}
"""Types of mounts, as the kernel names them, and what to call them. Each ``fuse.…`` is refused as ``fuse``
is."""

_MEMORY_TYPES: Final = frozenset({"tmpfs", "ramfs"})
_CONTAINER_TYPES: Final = frozenset({"overlay", "aufs"})
_OCTAL: Final = re.compile(r"\\([0-7]{3})")
_MACOS_MOUNT: Final = re.compile(r".* on (?P<point>/.*) \((?P<type>[^,)]+)[^)]*\)\Z")


class FileSystem(NamedTuple):
    """The file system that holds the data directory."""

    type: str
    """As the kernel names it; empty where it cannot be told."""
    mount_point: str

    @property
    def container_layer(self) -> bool:
        """The store goes away with its container: a volume should be mounted for it."""
        return self.type in _CONTAINER_TYPES

    @property
    def in_memory(self) -> bool:
        """The store goes away with the machine's memory: nothing there survives a power cut."""
        return self.type in _MEMORY_TYPES

    @property
    def note(self) -> str | None:
        """What an operator has to hear of a place that a store does not outlive; None of any other."""
        if self.container_layer:
            return (
                f"the store lies on a container's own layer ({self.type}) and goes with it; mount a volume "
                "and point TALLY_DATA_DIR at it"
            )
        if self.in_memory:
            return (
                f"the store lies in the machine's memory ({self.type}) and goes with the next restart; point "
                "TALLY_DATA_DIR at a directory on a disk"
            )
        return None


def mounts_text() -> str:
    """This machine's table of mounts, for :func:`find`; empty where it cannot be read."""
    if sys.platform == "darwin":
        ran = subprocess.run(["/sbin/mount"], capture_output=True, text=True, errors="replace", check=False)
        return ran.stdout
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def find(path: str, mounts: str) -> FileSystem:
    """The file system of ``path``, or of its nearest ancestor that exists, by the longest mount point above
    it.

    Of two mounts on one point the later one is seen, as the kernel shows it.
    """
    real = _nearest_existing(path)
    best = FileSystem("", "")
    for mount in _mounts(mounts):
        if _is_at_or_above(mount.mount_point, real) and len(mount.mount_point) >= len(best.mount_point):
            best = mount
    return best


def refuse_unsafe(path: str, mounts: str) -> FileSystem:
    """The data directory's file system. Raises StartRefused where its type is one that cannot be trusted."""
    found = find(path, mounts)
    base = found.type.partition(".")[0]
    name = REFUSED_TYPES.get(found.type) or REFUSED_TYPES.get(base)
    if name is not None:
        raise StartRefused(
            ExitCode.NETWORK_FILE_SYSTEM,
            f"the data directory {path} is on {name} ({found.type}, mounted at {found.mount_point}), where"
            " SQLite's write-ahead log is not safe: locks or shared memory fail there, sooner or later."
            " Choose a directory on a local disk with --data-dir or TALLY_DATA_DIR; in a container, mount a"
            " volume for it",
        )
    return found


def _nearest_existing(path: str) -> str:
    real = os.path.realpath(path)
    while not os.path.lexists(real):
        real = os.path.dirname(real)
    return real


def _is_at_or_above(mount_point: str, path: str) -> bool:
    return mount_point == "/" or path == mount_point or path.startswith(mount_point + "/")


def _mounts(text: str) -> Iterator[FileSystem]:
    for line in text.split("\n"):  # not splitlines: a mount point may hold other line ends
        mount = _linux_mount(line) or _macos_mount(line)
        if mount is not None:
            yield mount


def _linux_mount(line: str) -> FileSystem | None:
    """``36 35 98:0 /root /mount/point options [optional …] - type source options``, blanks as octal
    escapes."""
    before, separator, after = line.partition(" - ")
    fields = before.split(" ")
    if not separator or len(fields) < 6 or not fields[4].startswith("/"):
        return None
    point = _OCTAL.sub(lambda escape: chr(int(escape[1], 8)), fields[4])
    return FileSystem(after.split(" ")[0], point)


def _macos_mount(line: str) -> FileSystem | None:
    """``device on /mount/point (type, options)``."""
    match = _MACOS_MOUNT.match(line)
    return None if match is None else FileSystem(match["type"], match["point"])
