"""A vault in a directory of its own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallyd.store.files import Disk
from tallyd.vault import Vault


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A private data directory."""
    path = tmp_path / "data"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def vault(data_dir: Path) -> Vault:
    """An open vault, empty."""
    made = Vault(str(data_dir), Disk())
    made.open()
    return made
