"""What stands in the files of a home, while a daemon may be at work on them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def contents(*roots: str) -> Iterator[tuple[str, bytes]]:
    """Path, relative to its root, and content of each regular file below the roots. One that was moved to
    another name since it was listed, as the marker's is, is not there.
    """
    for root in map(Path, roots):
        for path in root.rglob("*"):
            try:
                if path.is_file() and not path.is_symlink():
                    yield path.relative_to(root).as_posix(), path.read_bytes()
            except FileNotFoundError:
                continue
