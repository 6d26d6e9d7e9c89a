"""Telling how far a start is, while it copies, verifies or migrates a large store.

Whoever opens a store gives ``open_store`` a function (:data:`OnProgress`). It is called many times a second
from wherever the work is: between two steps of SQLite's backup, and from SQLite's progress handler during a
long statement. What is done with it (a supervisor's deadline, a file for whoever waits) is the service's
matter; so is calling nobody too often.

While SQLite commits, checkpoints or syncs nothing can be told: each of these is announced just before it
begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import apsw

OnProgress = Callable[[str, int | None], None]
"""The step under way, in words, and how much of it is done in per cent; None where that is not known."""

OPERATIONS_PER_REPORT: Final = 100_000
"""Of SQLite's virtual machine: some milliseconds, up to a tenth of a second where each reads from the
disk."""


def unheard(_step: str, _percent: int | None) -> None:
    """For a start that nobody wants to follow."""


@contextmanager
def reported(connection: apsw.Connection, step: str, on_progress: OnProgress) -> Iterator[None]:
    """Inside, long statements of the connection are reported as ``step``; once at least, at the beginning."""

    def report() -> bool:
        on_progress(step, None)
        return False  # true would interrupt the statement

    report()
    connection.set_progress_handler(report, OPERATIONS_PER_REPORT)
    try:
        yield
    finally:
        connection.set_progress_handler(None)
