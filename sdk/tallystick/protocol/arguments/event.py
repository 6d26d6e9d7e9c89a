"""Arguments of reading and following events."""

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import Cursor, EventTypePrefixes, Identifier, PageLimit, SafeInt

from ._base import Args


class EventsReadArgs(Args, frozen=True, kw_only=True):
    """Which source, from where on, of which types, and how many."""

    source: Identifier
    after_cursor: Cursor | UnsetType = UNSET
    project_id: Identifier | UnsetType = UNSET
    type_prefixes: EventTypePrefixes | UnsetType = UNSET
    limit: PageLimit


class EventsWaitFilters(Args, frozen=True, kw_only=True):
    """What a waiter wants to hear of; no other filter exists."""

    type_prefixes: EventTypePrefixes | UnsetType = UNSET


class EventsWaitArgs(Args, frozen=True, kw_only=True):
    """Which source, from where on, of which types, and how long to wait (cut to the longest wait)."""

    source: Identifier
    after_cursor: Cursor
    filters: EventsWaitFilters | UnsetType = UNSET
    timeout_ms: SafeInt


class EventPayloadArgs(Args, frozen=True, kw_only=True):
    """Which event."""

    event_id: Identifier
