"""Homes that are cleaned up, and the prepared store that the cells copy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from harness.home import Home, NewHome
from world import Prepared, prepare


@pytest.fixture
def new_home() -> Iterator[NewHome]:
    """Makes homes; their daemons are ended and their directories removed afterwards."""
    made: list[Home] = []

    def make(data_dir: str | None = None, runtime_dir: str | None = None) -> Home:
        made.append(Home(data_dir, runtime_dir))
        return made[-1]

    yield make
    for home in made:
        home.close()


@pytest.fixture
def home(new_home: NewHome) -> Home:
    """One home, empty."""
    return new_home()


@pytest.fixture(scope="session")
def prepared() -> Iterator[Prepared]:
    """The world, made once in each test process."""
    home = Home()
    try:
        yield prepare(home)
    finally:
        home.close()


@pytest.fixture
def world_home(prepared: Prepared, home: Home) -> Home:
    """A home with a copy of the world."""
    return home.copy_of(prepared.home)
