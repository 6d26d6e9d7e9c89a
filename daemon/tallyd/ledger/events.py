"""Events as clients read them: KCP's envelope, put together from log rows when it is served.

A read goes through a project's events by its dense sequence. A filtered one moves its cursor over what it
skips, so that nothing is looked at twice; it looks at no more than ``SCAN_ROWS_MAX`` rows at a time, and its
cursor says how far it came.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import apsw
import msgspec

from tallyd.ledger import ids, log, skeleton, times
from tallyd.ledger.log import LogRow
from tallyd.ledger.pages import Room
from tallyd.ledger.view import View
from tallyd.ledger.withheld import Range, Withheld

SCAN_ROWS_MAX: Final = 8_192
"""Rows that one filtered read looks at: bounds its read transaction."""

_PAYLOAD_HEAD: Final = (
    b'{"$domain":"dev.kovee.canonical-object-digest.v1","object_kind":"kcp-event-payload","projection":'
)


class Batch(msgspec.Struct, frozen=True):
    """Events found, each in canonical JSON, the sequence up to which the source was looked at, and what was
    withheld on the way.
    """

    events: list[bytes]
    seen: int
    withheld: list[Range]


Withholds = Callable[[LogRow], str | None]
"""Why a row is kept from a reader, or None where it is shown."""


def payload_digest(payload: bytes, schema_ref: str) -> str:
    """COD of a payload under its event's schema (KCP 3.4); computed on serving, and stored nowhere."""
    tail = b',"protocol_major":0,"schema_ref":' + skeleton.encode(schema_ref) + b"}"
    return hashlib.sha256(_PAYLOAD_HEAD + payload + tail).hexdigest()


def envelope(view: View, row: LogRow) -> bytes:
    """One event, whole. That of a sensitive object is noted."""
    assert row.event_id is not None
    assert row.payload is not None
    assert row.schema_ref is not None
    assert row.stream is not None
    said: dict[str, object] = {
        "event_id": ids.text("evt", row.event_id),
        "installation_id": view.identity.installation_id,
        "realm_id": ids.REALM_ID,
        "stream_id": view.resource_at(row.stream),
        "stream_sequence": row.stream_sequence,
        "type": row.type,
        "schema_ref": row.schema_ref,
        "resource_ref": row.resource,
        "actor_ref": row.author,
        "correlation_ref": row.correlation,
        "occurred_at": times.rfc3339(row.recorded_ms),
        "classification_ref": row.classification,
    }
    for name, value in (("causation_ref", row.causation), ("resource_revision", row.resource_revision)):
        if value is not None:
            said[name] = value
    if row.project is not None:
        said["project_id"] = view.resource_at(row.project)
        said["project_sequence"] = row.project_sequence
    note(view, row)
    payload = view.render_with_marks(row.payload)
    said["payload"] = skeleton.embedded(payload)
    said["payload_digest"] = payload_digest(payload, row.schema_ref)
    return skeleton.encode(said)


def note(view: View, row: LogRow) -> None:
    """Remembers a row whose content leaves a record."""
    if row.payload is not None and row.classification is not None and skeleton.bodies(row.payload):
        view.note(row.classification, str(row.resource))


def matches(type_: str, prefixes: Sequence[str]) -> bool:
    """A prefix is met by a type that equals it, or goes on from it with a dot; no prefixes are met by all."""
    return not prefixes or any(type_ == prefix or type_.startswith(prefix + ".") for prefix in prefixes)


def after(
    view: View,
    project: int,
    sequence: int,
    prefixes: Sequence[str],
    limit: int,
    withholds: Withholds | None = None,
) -> Batch:
    """Up to ``limit`` events of a project after a sequence, or as many as fit a reply, one at least.

    What is withheld is passed over as if it were not there, a gap in the sequence; it is counted before the
    filter.
    """
    cursor = view.db.execute(
        log.SELECT + "WHERE project = ? AND project_sequence > ? ORDER BY project_sequence LIMIT ?",
        (project, sequence, limit if not prefixes and withholds is None else SCAN_ROWS_MAX),
    )
    try:
        return _batch(view, _by_sequence(cursor), sequence, prefixes, limit, withholds)
    finally:
        cursor.close()


def of_realm_after(view: View, position: int, prefixes: Sequence[str], limit: int) -> Batch:
    """The same of the events that stand in no project, numbered by their positions in the log."""
    cursor = view.db.execute(
        log.SELECT + "INDEXED BY events_of_realm WHERE project IS NULL AND event_id IS NOT NULL "
        "AND position > ? ORDER BY position LIMIT ?",
        (position, limit if not prefixes else SCAN_ROWS_MAX),
    )
    try:
        return _batch(view, _by_position(cursor), position, prefixes, limit, None)
    finally:
        cursor.close()


def _by_sequence(cursor: apsw.Cursor) -> Iterator[tuple[int, LogRow]]:
    for values in cursor:
        row = LogRow(*values)
        assert row.project_sequence is not None
        yield row.project_sequence, row


def _by_position(cursor: apsw.Cursor) -> Iterator[tuple[int, LogRow]]:
    for values in cursor:
        row = LogRow(*values)
        yield row.position, row


def _batch(
    view: View,
    numbered: Iterator[tuple[int, LogRow]],
    seen: int,
    prefixes: Sequence[str],
    limit: int,
    withholds: Withholds | None,
) -> Batch:
    found: list[bytes] = []
    room, withheld = Room(telling=withholds is not None), Withheld()
    for number, row in numbered:
        assert row.type is not None
        reason = None if withholds is None else withholds(row)
        if reason is not None:
            withheld.add(number, reason)
        elif matches(row.type, prefixes):
            event = envelope(view, row)
            if len(found) == limit or not room.takes(event):
                break
            found.append(event)
            withheld.close_range()
        seen = number
    withheld.close_range()
    return Batch(found, seen, withheld.ranges)
