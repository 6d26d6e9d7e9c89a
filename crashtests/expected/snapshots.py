"""What is expected of a project's snapshot."""

from __future__ import annotations

from typing import Final

from entries import MEMBERS, Entry, Page, listed
from world import CLIENT

ENTRIES: Final = (
    Entry(
        CLIENT,
        "snapshot_read",
        "read read_project R O -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: {"source": s.project, "limit": 9},
        examples=(listed({"source": "proj-1"}),),
    ),
)


PAGE: Final = Page(ENTRIES)
