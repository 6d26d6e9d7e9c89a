"""A kernel in a directory of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .kernel import Kernel, TestAmbient


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    """An open kernel on a fresh store."""
    made = Kernel(tmp_path, TestAmbient())
    yield made
    made.close()
