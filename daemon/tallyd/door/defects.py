"""How an unexpected exception is logged: by type and place, without its message, which may carry a client's
content. Reads no source file: there may be no descriptor left to open it with."""

from __future__ import annotations

import traceback

PLACES_MAX = 4
"""Innermost calls named: enough to find the defect, and still one line."""


def describe(error: BaseException) -> str:
    """``KeyError at clerk.py:120 run < driver.py:40 main``: the innermost call first."""
    calls = list(traceback.walk_tb(error.__traceback__))[-PLACES_MAX:]
    places = [
        f"{frame.f_code.co_filename.rpartition('/')[2]}:{line} {frame.f_code.co_name}"
        for frame, line in reversed(calls)
    ]
    return f"{type(error).__name__} at {' < '.join(places) or 'an unknown place'}"
