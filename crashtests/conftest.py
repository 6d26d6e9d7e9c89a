"""Homes that are cleaned up, the prepared store that the cells copy, and figures at the end of a run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from harness.home import Home, NewHome
from world import Prepared, prepare

FIGURE = "figure"
"""The property under which a test records a line to be printed, passed or not."""


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The figures that tests recorded, whichever worker ran them."""
    for group in terminalreporter.stats.values():
        for report in group:
            if isinstance(report, pytest.TestReport) and report.when == "call":
                for name, line in report.user_properties:
                    if name == FIGURE:
                        terminalreporter.write_line(str(line))


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
