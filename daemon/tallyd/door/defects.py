"""How an unexpected exception is logged: its type and where it was raised.

Promises: the exception's message is left out, since it may hold a client's content; no source file is read,
since there may be no descriptor left to open one. Does not: log; the caller does.
"""

from __future__ import annotations

import traceback

PLACES_MAX = 4
"""How many of the innermost calls are named: enough to find the defect, and few enough for one line."""


def describe(error: BaseException) -> str:
    """``KeyError at clerk.py:120 run < driver.py:40 main``: the innermost call first."""
    calls = list(traceback.walk_tb(error.__traceback__))[-PLACES_MAX:]
    places = [
        f"{frame.f_code.co_filename.rpartition('/')[2]}:{line} {frame.f_code.co_name}"
        for frame, line in reversed(calls)
    ]
    return f"{type(error).__name__} at {' < '.join(places) or 'an unknown place'}"
