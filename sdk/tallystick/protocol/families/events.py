"""Events: read from a cursor, waited for, and one event's payload."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.arguments import Args
from tallystick.protocol.operation import (
    GUARDED_READS,
    READS,
    SHARED_SPACE,
    TALLYSTICK_SPACE,
    Kind,
    Mode,
    Placement,
)
from tallystick.protocol.problems import Ext
from tallystick.protocol.problems import Kind as ProblemKind
from tallystick.protocol.records import Ranges, Record
from tallystick.protocol.shapes import (
    AnyJson,
    Cursor,
    DigestHex,
    EventType,
    EventTypePrefixes,
    Identifier,
    PageLimit,
    SafeInt,
    Timestamp,
    convert,
    member_fault,
)


# --- records ------------------------------------------------------------------------------------------------
class Event(Record, frozen=True, kw_only=True):
    """KCP's event envelope (section 6): exactly one of `payload` and `payload_ref`."""

    event_id: Identifier
    installation_id: Identifier
    realm_id: Identifier
    project_id: Identifier | UnsetType = UNSET
    stream_id: Identifier
    stream_sequence: SafeInt
    project_sequence: SafeInt | UnsetType = UNSET
    type: EventType
    schema_ref: Identifier
    resource_ref: Identifier
    resource_revision: SafeInt | UnsetType = UNSET
    actor_ref: Identifier
    causation_ref: Identifier | UnsetType = UNSET
    correlation_ref: Identifier
    occurred_at: Timestamp
    classification_ref: Identifier
    payload_digest: DigestHex
    payload: AnyJson = UNSET
    payload_ref: Identifier | UnsetType = UNSET
    ext: Ext | UnsetType = UNSET

    def __post_init__(self) -> None:
        if (self.payload is UNSET) == (self.payload_ref is UNSET):
            raise member_fault("payload", "an event has exactly one of the members payload and payload_ref")


Events = Annotated[tuple[Event, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


class EventPage(Record, frozen=True, kw_only=True):
    """The result of `events_read`; `next_cursor` is where to go on, past what a filter left out."""

    events: Events
    next_cursor: Cursor
    snapshot_epoch: Cursor


class EventBatch(Record, frozen=True, kw_only=True):
    """The result of `events_wait`; no events where nothing came in time."""

    events: Events
    next_cursor: Cursor


class EventPayload(Record, frozen=True, kw_only=True):
    """The result of `event_payload`."""

    event_id: Identifier
    schema_ref: Identifier
    payload_digest: DigestHex
    payload: AnyJson


def decode_event(value: object, at: str = "$") -> Event:
    """`value`, parsed JSON at the path `at`, as an event. Raises `Misshapen`."""
    return convert(value, Event, at)


class EventsRead(Record, frozen=True, kw_only=True):
    """The result of `tallystick_events_read`: go on after `next_cursor`. An empty page is the end only where
    the cursor did not move.
    """

    events: Annotated[tuple[Event, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]
    withheld: Ranges
    next_cursor: Cursor
    snapshot_epoch: Cursor


# --- arguments ----------------------------------------------------------------------------------------------
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


class TallystickEventsReadArgs(Args, frozen=True, kw_only=True):
    """Whose events, a project's or the realm's, after which cursor, of which types."""

    source: Identifier
    after_cursor: Cursor | UnsetType = UNSET
    type_prefixes: EventTypePrefixes | UnsetType = UNSET
    limit: PageLimit


# --- operations ---------------------------------------------------------------------------------------------
_FOLLOWING: Final = (*READS, ProblemKind.FORBIDDEN, ProblemKind.CURSOR_EXPIRED)

TALLYSTICK_EVENTS_READ: Final = TALLYSTICK_SPACE.read(
    "tallystick_events_read",
    TallystickEventsReadArgs,
    EventsRead,
    "A project's events and how many are withheld where; or the realm's, which stand in none.",
    mode=Mode.READ_PROJECT,
    project=Placement.FORBIDDEN,
    problems=(*GUARDED_READS, ProblemKind.CURSOR_EXPIRED),
)
EVENTS_READ: Final = SHARED_SPACE.read(
    "events_read",
    EventsReadArgs,
    EventPage,
    "A project's events after a cursor.",
    mode=Mode.READ_PROJECT,
    project=Placement.OPTIONAL,
    problems=_FOLLOWING,
)
EVENTS_WAIT: Final = SHARED_SPACE.read(
    "events_wait",
    EventsWaitArgs,
    EventBatch,
    "A project's events after a cursor, waiting for the first of them.",
    kind=Kind.WAIT,
    mode=Mode.READ_PROJECT,
    project=Placement.OPTIONAL,
    problems=_FOLLOWING,
)
EVENT_PAYLOAD: Final = SHARED_SPACE.read(
    "event_payload",
    EventPayloadArgs,
    EventPayload,
    "One event's payload.",
    mode=Mode.READ_PROJECT,
    project=Placement.OPTIONAL,
    problems=(*READS, ProblemKind.FORBIDDEN),
)

OPERATIONS: Final = (
    TALLYSTICK_EVENTS_READ,
    EVENTS_READ,
    EVENTS_WAIT,
    EVENT_PAYLOAD,
)
