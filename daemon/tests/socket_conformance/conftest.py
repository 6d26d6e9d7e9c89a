"""A daemon for each test process, and the counts of what was sent and validated, printed at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from harness.home import Home
from harness.wire import VALIDATES

from tallystick.paths import Paths

from .talk import EVENTS, REPLIES, SENT, STEPS, STEPS_ALIKE


@pytest.fixture(scope="session")
def paths() -> Iterator[Paths]:
    """Of a running daemon with an empty store, which ends well when the tests are through."""
    home = Home()
    try:
        with home.start() as daemon:
            yield daemon.paths
    finally:
        home.close()


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What passed over the socket, over all test processes: a test notes its counts as properties."""
    counted = Counter[str]()
    for group in terminalreporter.stats.values():
        for report in group:
            if isinstance(report, pytest.TestReport) and report.when == "call":
                for name, number in report.user_properties:
                    if isinstance(number, int):
                        counted[name] += number
    write = terminalreporter.write_line
    if counted[SENT]:
        write(f"{counted[SENT]} requests sent over the socket")
        by = "KCP's schemas and our own decoder" if VALIDATES else "our own decoder (KCP's schemas: not here)"
        write(f"{counted[REPLIES]} replies and {counted[EVENTS]} events validated by {by}")
    if counted[STEPS]:
        write(f"{counted[STEPS_ALIKE]} of {counted[STEPS]} steps of the transcripts alike")
