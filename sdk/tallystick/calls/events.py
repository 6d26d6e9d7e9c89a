"""Events: read, waited for, and their payloads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from tallystick.calls.descriptors import Arguments, pages, read
from tallystick.calls.values import AnyProject, ReadOptions, project_id
from tallystick.core import REALM, Read
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol.families.events import Event, EventBatch, EventPage, EventPayload, EventsRead


def events_read(
    source: AnyProject,
    *,
    after_cursor: str | None = None,
    type_prefixes: Sequence[str] = (),
    limit: int = limits.PAGE_ITEMS_MAX,
    **options: Unpack[ReadOptions],
) -> Read[EventPage]:
    """Events of a project after a cursor, from the first one where none is given. Never waits."""
    arguments = {
        "source": project_id(source),
        "after_cursor": after_cursor,
        "type_prefixes": list(type_prefixes) or None,
        "limit": limit,
    }
    return Read("events_read", arguments, "events.EventPage", **options)


def accounted_events_read(
    source: AnyProject = REALM,
    *,
    after_cursor: str | None = None,
    type_prefixes: Sequence[str] = (),
    limit: int = limits.PAGE_ITEMS_MAX,
    **options: Unpack[ReadOptions],
) -> Read[EventsRead]:
    """A project's events, and how many are withheld where; or, for the owner, the realm's: those that stand
    in no project, such as what happens to agents, assistants and artifacts.
    """
    arguments = {
        "source": project_id(source),
        "after_cursor": after_cursor,
        "type_prefixes": list(type_prefixes) or None,
        "limit": limit,
    }
    return Read("tallystick_events_read", arguments, "events.EventsRead", **options)


def events_wait(
    source: AnyProject,
    after_cursor: str,
    *,
    type_prefixes: Sequence[str] = (),
    timeout_ms: int = limits.WAIT_MS_MAX,
    **options: Unpack[ReadOptions],
) -> Read[EventBatch]:
    """Events of a project after a cursor; waits for the first of them up to ``timeout_ms`` (at most
    30,000)."""
    arguments = {
        "source": project_id(source),
        "after_cursor": after_cursor,
        "filters": {"type_prefixes": list(type_prefixes)} if type_prefixes else None,
        "timeout_ms": timeout_ms,
    }
    return Read("events_wait", arguments, "events.EventBatch", wait_seconds=timeout_ms / 1000, **options)


def event_payload(event_id: str, **options: Unpack[ReadOptions]) -> Read[EventPayload]:
    """The payload of one event."""
    return Read("event_payload", {"event_id": event_id}, "events.EventPayload", **options)


# --- all of them ------------------------------------------------------------------------------------------
def events(
    source: AnyProject, *, after_cursor: str | None = None, type_prefixes: Sequence[str] = ()
) -> Read[EventPage]:
    """All events of a project up to its head, from the first or after a cursor."""
    return events_read(source, after_cursor=after_cursor, type_prefixes=type_prefixes)


def _turn(page: EventPage, asked: Arguments) -> tuple[Sequence[Event], Arguments | None]:
    """A page may be empty before the end: a filter left out all that was looked through."""
    if page.next_cursor == asked["after_cursor"]:
        return page.events, None
    return page.events, {**asked, "after_cursor": page.next_cursor}


# --- methods ----------------------------------------------------------------------------------------------
class EventsMethods:
    """The methods of the clients."""

    events_read = read(events_read)
    accounted_events_read = read(accounted_events_read)
    events_wait = read(events_wait)
    event_payload = read(event_payload)
    events = pages(events, _turn)
