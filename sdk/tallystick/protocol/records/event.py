"""Records of events, of what follows them, and of snapshots."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.problems import Ext
from tallystick.protocol.shapes import (
    AnyJson,
    Cursor,
    DigestHex,
    EventType,
    Identifier,
    JsonObject,
    SafeInt,
    Timestamp,
    convert,
    member_fault,
)

from ._base import Page, Record


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


class EmittedEvent(Record, frozen=True, kw_only=True):
    """The result of `application_event_emit`: where the event stands. The event travels with the others."""

    event_id: Identifier
    stream_id: Identifier
    stream_sequence: SafeInt
    project_sequence: SafeInt | UnsetType = UNSET
    occurred_at: Timestamp


class SnapshotPage(Page, frozen=True, kw_only=True):
    """The result of `snapshot_read`. KCP leaves the items open; those of a project are its `Space`s."""

    items: Annotated[tuple[JsonObject, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


def decode_event(value: object, at: str = "$") -> Event:
    """`value`, parsed JSON at the path `at`, as an event. Raises `Misshapen`."""
    return convert(value, Event, at)
