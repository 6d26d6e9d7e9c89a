"""The program with places of its own, and a daemon that is stopped at the end."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tally_program import Tally


@pytest.fixture
def tally() -> Iterator[Tally]:
    """A program with places of its own; whatever daemon it started is stopped at the end."""
    root = Path(tempfile.mkdtemp(prefix="ty", dir="/tmp"))
    program = Tally(root)
    try:
        yield program
        stopped = program("down")
        assert stopped.code == 0, stopped
    finally:
        shutil.rmtree(root)


@pytest.fixture
def space(tally: Tally) -> str:
    """The id of a space in the only project of a running daemon."""
    tally.ok("init")
    return tally.id("space", "create", "why does the tap drip")
