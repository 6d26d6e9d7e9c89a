"""What the process switches off at its start, so that nobody else gets at its memory.

Keys and content are in the daemon's memory. A core dump would write them to a disk that nothing erases, and a
debugger of the same user would read them while it runs.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from typing import Final

_PR_SET_DUMPABLE: Final = 4  # prctl(2)


def harden() -> list[str]:
    """No core dumps, not ptraceable by processes of the same user, and a umask of 077 for the whole process.

    Returns a sentence for each of these that the system did not grant, to be logged: a daemon that says so is
    better than none. A signal still ends the process as that signal; only the dump is left out.
    """
    os.umask(0o077)
    missing: list[str] = []
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (OSError, ValueError) as error:
        missing.append(f"core dumps could not be switched off ({error}): a crash may write keys to the disk")
    if sys.platform == "linux":
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        if prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
            reason = os.strerror(ctypes.get_errno())
            missing.append(
                f"the process could not be closed to debuggers ({reason}): its user can read its memory"
            )
    else:
        missing.append("this system cannot close a process to debuggers of its own user")
    return missing
