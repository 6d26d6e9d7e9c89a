"""What the system would not give: a descriptor, a thread, memory, room on a disk. None of it is a defect of
the daemon, and all of it passes.
"""

from __future__ import annotations

import errno
from typing import Final

import apsw

_OF_SYSTEM: Final = {
    errno.EAGAIN: "the system gives the daemon no further process (TasksMax, ulimit -u)",
    errno.EMFILE: "the daemon has as many descriptors open as it may (LimitNOFILE, ulimit -n)",
    errno.ENFILE: "the system has no descriptor left",
    errno.ENOMEM: "the system has no memory left",
    errno.ENOBUFS: "the system has no memory left",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
}
_OF_SQLITE: Final[dict[type[apsw.Error], str]] = {
    apsw.CantOpenError: "the database could not be opened once more, as where no descriptor is left",
    apsw.NoMemError: "the system has no memory left",
    apsw.FullError: "the disk is full",
}
_NO_THREAD: Final = "the system gives the daemon no further thread (TasksMax, ulimit -u)"


def is_of_disk(error: BaseException) -> bool:
    """Whether what lacked is room on a disk."""
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    return full or isinstance(error, apsw.FullError)


def lack_of(error: BaseException) -> str | None:
    """What was lacking, in words; None for any other error."""
    if isinstance(error, OSError):
        return _OF_SYSTEM.get(error.errno or 0)
    if isinstance(error, apsw.Error):
        return _OF_SQLITE.get(type(error))
    if isinstance(error, MemoryError):
        return "the daemon has no memory left"
    # Python has no type of its own for it, in threading as in trio.
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return _NO_THREAD
    return None
