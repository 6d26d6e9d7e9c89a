"""Homes with daemons that are ended, and a daemon with agents of every role, shared by a module's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from scene import Scene
from service.process import NewHome, Place, Tallyd, homes


@pytest.fixture
def new_home() -> Iterator[NewHome]:
    """Makes homes; their daemons are ended and their directories removed afterwards."""
    with homes() as make:
        yield make


@pytest.fixture
def home(new_home: NewHome) -> Place:
    """One home, empty."""
    return new_home()


@pytest.fixture
def daemon(home: Place) -> Iterator[Tallyd]:
    """A daemon on it, running; it must end well."""
    with Tallyd(home) as running:
        yield running


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    """A daemon with a project and an agent of every role, for all tests of a module."""
    with homes() as new_home, Tallyd(new_home()) as running:
        yield Scene(running.paths)
