"""Which label the repository around the working directory has: what is decided in it is given that label.

All worktrees of a repository have one label. It is, in this order: ``tallystick.repository`` of the
repository's own git configuration, TALLY_REPOSITORY, the host and path of the remote ``origin``, or the name
of the directory. git is asked for nothing but that; where it is not installed, there is no repository.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

VARIABLE: Final = "TALLY_REPOSITORY"
SETTING: Final = "tallystick.repository"
_SECONDS_MAX: Final = 5.0
_SCP: Final = re.compile(r"(?:[^@/]+@)?(?P<host>[^:/]+):(?P<path>[^/].*)\Z")
"""git's short form of an address: user@host:path."""


class Label(NamedTuple):
    """A repository's label, and where it was taken from, in words."""

    label: str
    source: str


def repository() -> Label | None:
    """The label of the repository around the working directory; None outside of one."""
    shared = _git("rev-parse", "--path-format=absolute", "--git-common-dir")
    if shared is None:
        return None
    configured = _git("config", "--file", os.path.join(shared, "config"), "--get", SETTING)
    if configured:
        return Label(configured, f"{SETTING} of its git configuration")
    if named := os.environ.get(VARIABLE):
        return Label(named, VARIABLE)
    origin = _git("remote", "get-url", "origin")
    if origin and (told := _of_address(origin)):
        return Label(told, "its remote origin")
    place = Path(shared)
    name = place.parent.name if place.name == ".git" else place.name.removesuffix(".git")
    return Label(f"local:{name}", "its directory's name")


def _of_address(address: str) -> str | None:
    """Host and path of a remote's address, without scheme, user, password and ``.git``."""
    found = _SCP.match(address)
    if "://" in address:
        parts = urlsplit(address)
        host, path = parts.hostname or "", parts.path
    elif found is not None:
        host, path = found["host"], found["path"]
    else:
        return None  # a path of this machine
    path = path.strip("/").removesuffix(".git")
    return f"{host}/{path}" if host and path else None


def _git(*arguments: str) -> str | None:
    """What git says, without its newline; None where it refuses or is not there."""
    try:
        done = subprocess.run(
            ["git", *arguments], capture_output=True, text=True, timeout=_SECONDS_MAX, check=False
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
