"""A run of the whole suite must have run every test that the page of promises names."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent / "sdk" / "tests"))

from promises import Keeper, is_whole


def pytest_configure(config: pytest.Config) -> None:
    """Watches a whole run, and no other."""
    if is_whole(config):
        config.pluginmanager.register(Keeper(), "keeper-of-promises")
