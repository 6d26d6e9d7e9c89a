"""What is expected of the events of a project: read, waited for, and their payloads."""

from __future__ import annotations

from typing import Final

from entries import MEMBERS, Entry, Example, JsonObject, Page
from scene import Scene
from world import CLIENT


def _source(scene: Scene) -> JsonObject:
    return {"source": scene.project, "limit": 9}


def _wait(scene: Scene) -> JsonObject:
    """There are more events than a page holds: it is answered at once."""
    read = scene.owner.done("events_read", _source(scene))
    return {"source": scene.project, "after_cursor": read["next_cursor"], "timeout_ms": 0}


ENTRIES: Final = (
    Entry(
        CLIENT,
        "tallystick_events_read",
        "read read_project R F -",
        callers="ok invalid",
        agents=MEMBERS,
        right=_source,
        examples=(
            Example(
                {
                    "source": "realm-personal",
                    "after_cursor": "kc1.61.62",
                    "type_prefixes": ["dev.tallystick.agent"],
                    "limit": 512,
                },
                optional="after_cursor type_prefixes",
                texts="after_cursor",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "events_read",
        "read read_project R O -",
        callers="ok invalid",
        agents=MEMBERS,
        right=_source,
        examples=(
            Example(
                {
                    "source": "proj-1",
                    "after_cursor": "kc1.61.62",
                    "project_id": "proj-1",
                    "type_prefixes": ["dev.kovee.space"],
                    "limit": 512,
                },
                optional="after_cursor project_id type_prefixes",
                texts="after_cursor",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "events_wait",
        "wait read_project R O -",
        callers="ok invalid",
        agents=MEMBERS,
        right=_wait,
        examples=(
            Example(
                {
                    "source": "proj-1",
                    "after_cursor": "kc1.61.62",
                    "filters": {"type_prefixes": ["dev.kovee"]},
                    "timeout_ms": 30000,
                },
                optional="filters filters.type_prefixes",
                texts="after_cursor",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "event_payload",
        "read read_project R O -",
        callers="ok invalid",
        agents=MEMBERS,
        right=lambda s: {"event_id": s.things.event_id},
        examples=(Example({"event_id": "evt-1"}),),
    ),
)


PAGE: Final = Page(ENTRIES)
