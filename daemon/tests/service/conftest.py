"""Homes with daemons that are ended, and the prepared store that tests copy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from harness.home import Home
from hypothesis import settings
from world import World, build

from .process import NewHome, Place, Tallyd, homes, running_on

settings.register_profile("house", derandomize=True, deadline=None, database=None)
settings.load_profile("house")


@pytest.fixture
def new_home() -> Iterator[NewHome]:
    """Makes homes; their daemons are ended and their directories removed afterwards."""
    with homes() as make:
        yield make


@pytest.fixture
def home(new_home: NewHome) -> Place:
    """One home, empty."""
    return new_home()


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    """A store with a project, a space, invocations and attempts, made once in each test process."""
    home = Home()
    try:
        yield build(home)
    finally:
        home.close()


@pytest.fixture
def world_home(world: World, home: Place) -> Place:
    """A home with a copy of that store; no daemon runs."""
    home.copy_of(world.home)
    return home


@pytest.fixture(scope="session")
def shared(world: World) -> Iterator[Tallyd]:
    """A daemon on a copy of that store for tests that leave no trace for others; it must end well."""
    with running_on(world.home) as daemon:
        yield daemon
