"""What is expected of the daemon itself: who it is, how it is, its limits, and its end."""

from __future__ import annotations

from typing import Final

from entries import EVERYBODY, OWNER, Entry, Example, Page
from world import CLIENT, WORKER

_HELLO: Final = Example(
    {
        "supported_versions": ["0.1", "1.0"],
        "implementation": "a client",
        "implementation_version": "1.2.3",
        "requested_features": ["core_v1"],
    },
    texts="implementation",
    sets="supported_versions requested_features",
)
HELLO: Final = {
    "supported_versions": ["0.1"],
    "implementation": "table",
    "implementation_version": "1",
    "requested_features": [],
}


ENTRIES: Final = (
    Entry(
        CLIENT,
        "hello",
        "read public F F -",
        callers="ok invalid",
        agents=EVERYBODY,
        right=lambda _: HELLO,
        examples=(_HELLO,),
    ),
    Entry(
        WORKER,
        "hello",
        "read public F F -",
        callers="invalid invalid invalid ok",
        agents=EVERYBODY,
        right=lambda _: HELLO,
        examples=(_HELLO,),
    ),
    Entry(
        CLIENT,
        "protocol_info",
        "read public F F -",
        callers="ok invalid",
        agents=EVERYBODY,
        right=lambda _: {},
        examples=(Example({}),),
    ),
    Entry(
        CLIENT,
        "diagnose",
        "read operator R O -",
        callers="ok invalid",
        agents=OWNER,
        right=lambda _: {"checks": ["journal_mode"]},
        examples=(Example({"checks": ["audit_chain", "store"]}, optional="checks", sets="checks"),),
    ),
    Entry(
        CLIENT,
        "tallystick_limits",
        "read public F F -",
        callers="ok invalid",
        agents=EVERYBODY,
        right=lambda _: {},
        examples=(Example({}),),
    ),
    Entry(
        CLIENT,
        "tallystick_status",
        "read owner R F -",
        callers="ok invalid",
        agents=OWNER,
        right=lambda _: {},
        examples=(Example({}),),
    ),
    Entry(
        CLIENT,
        "tallystick_shutdown",
        "control owner R F -",
        callers="ok invalid",
        agents=OWNER,
        right=lambda _: {},
        examples=(Example({}),),
    ),
)


PAGE: Final = Page(ENTRIES)
