"""Files that a verb reads whole, whatever kind they are of, and files that appear whole or not at all.

What only a pipe takes is imported where one is read: most calls read none.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, Final

_COPY_BYTES: Final = 1 << 20
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})


@contextmanager
def spooled(name: str) -> Iterator[BinaryIO]:
    """The file of that name, or stdin for `-`, at its beginning and to be sought in.

    A pipe is read to its end first, into a file without a name that nobody else can open; its size is bounded
    by the disk alone. Raises OSError, with the name of what failed.
    """
    import shutil
    import tempfile

    with open(0 if name == "-" else name, "rb", closefd=name != "-") as source:
        if name != "-" and source.seekable():
            yield source
            return
        with tempfile.TemporaryFile() as spool:
            with _named(f"{tempfile.gettempdir()} (where a pipe is kept meanwhile; TMPDIR names another)"):
                shutil.copyfileobj(source, spool, _COPY_BYTES)
                spool.seek(0)
            yield spool


@contextmanager
def written_aside(path: str) -> Iterator[BinaryIO]:
    """A file to write to, which becomes `path` when all is written and on the disk, and else goes.

    Raises ``FileExistsError`` where `path` is there, before or meanwhile: nothing is overwritten.
    """
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    aside = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{os.getpid()}.part")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with _named(path), open(descriptor, "wb") as target:
            yield target
            target.flush()
            os.fsync(descriptor)
        _move(aside, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(aside)


def _move(aside: str, path: str) -> None:
    """Give a file its name, unless something has it. A link fails where there is one; rename would not."""
    try:
        os.link(aside, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:  # a file system without links is renamed on
            raise FileExistsError(error.errno, error.strerror, path) from error
        os.rename(aside, path)


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Errors of writing, which come without a name, are given one."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, name) from error
