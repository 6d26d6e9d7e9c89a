"""Events as clients read them: KCP's envelope, made from log rows at the time when it is served.

A read goes through a project's events by its dense sequence. A filtered one moves its cursor over what it
skips, so that nothing is looked at twice. However far apart the events are that it wants, it fills its page
or ends at the head; it gets there in slices (``Look``), between which others are served.

There is no index by type. Measured over 300,000 events: SQLite passes over one that is not wanted in 1.1 µs,
so that a million cost about a second in a thousand slices; an index would cost every event 56 bytes and
1.7 µs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Final

import apsw
import msgspec

from tallyd.ledger import ids, log, skeleton, times
from tallyd.ledger.log import LogRow
from tallyd.ledger.pages import Room
from tallyd.ledger.view import View
from tallyd.ledger.withheld import Range, Withheld

SLICE_ROWS_MAX: Final = 1_024
"""Rows that SQLite filters in one slice of a look: about a millisecond."""
JUDGED_ROWS_MAX: Final = 128
"""Rows of a slice where each is read and judged by what its reader may see: one to three milliseconds."""

_PAYLOAD_HEAD: Final = (
    b'{"$domain":"dev.kovee.canonical-object-digest.v1","object_kind":"kcp-event-payload","projection":'
)


Withholds = Callable[[LogRow], str | None]
"""Why a row is kept from a reader, or None where it is shown."""


def payload_digest(payload: bytes, schema_ref: str) -> str:
    """COD of a payload under its event's schema (KCP 3.4); computed on serving, and stored nowhere."""
    tail = b',"protocol_major":0,"schema_ref":' + skeleton.encode(schema_ref) + b"}"
    return hashlib.sha256(_PAYLOAD_HEAD + payload + tail).hexdigest()


def envelope(view: View, row: LogRow) -> bytes:
    """One whole event. If its object is sensitive, the view remembers that it was accessed."""
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
    """The event's content is about to be served, or refused: if it is sensitive, the view remembers its
    object.
    """
    if row.payload is not None and row.classification is not None and skeleton.bodies(row.payload):
        view.note(row.classification, str(row.resource))


def matches(type_: str, prefixes: Sequence[str]) -> bool:
    """Whether a type equals one of the prefixes, or goes on from it with a dot. Without prefixes every type
    does.
    """
    return not prefixes or any(type_ == prefix or type_.startswith(prefix + ".") for prefix in prefixes)


class Look:
    """A look through the events of a project after a sequence, or of the realm after a position, in slices.

    Each slice is a short read transaction of its own, and others are served between two. The look is at its
    end when it has found ``limit`` events, or as many as fit a reply, or stands at the head of its source.
    """

    def __init__(self, project: int, after: int, prefixes: Sequence[str], limit: int) -> None:
        """``project`` is the project's position, or ``log.REALM_STREAM``."""
        self._project = project
        self._prefixes = tuple(prefixes)
        self._limit = limit
        self._room: Room | None = None
        self._withheld = Withheld()
        self.seen = after
        """The number up to which the source was looked at."""
        self.found: list[bytes] = []
        """Events, each in canonical JSON."""

    @property
    def withheld(self) -> list[Range]:
        """What was passed over."""
        return self._withheld.ranges

    def go_on(self, view: View, withholds: Withholds | None) -> bool:
        """Looks at the next slice; whether that was the end.

        What is withheld is passed over as if it were not there, a gap in the sequence; it is counted before
        the filter. So the filter is SQLite's where nothing can be withheld.
        """
        if self._room is None:
            self._room = Room(telling=withholds is not None)
        slice_ = self._slice(view, withholds is not None)
        rows = view.db.execute(*slice_.query(() if withholds is not None else self._prefixes))
        try:
            is_full = self._take(view, rows, withholds, self._room)
        finally:
            rows.close()
        if not is_full:
            self.seen = slice_.until
        at_end = is_full or slice_.until >= slice_.head
        if at_end:
            self._withheld.close_range()
        return at_end

    def _take(self, view: View, rows: apsw.Cursor, withholds: Withholds | None, room: Room) -> bool:
        """Whether the page is full."""
        for values in rows:
            row = LogRow(*values)
            number = row.position if row.project is None else row.project_sequence
            assert number is not None
            assert row.type is not None
            reason = None if withholds is None else withholds(row)
            if reason is not None:
                self._withheld.add(number, reason)
            elif matches(row.type, self._prefixes):
                event = envelope(view, row)
                if not room.takes(event):
                    self.seen = number - 1
                    return True
                self.found.append(event)
                self._withheld.close_range()
                if len(self.found) == self._limit:
                    self.seen = number
                    return True
        return False

    def _slice(self, view: View, judged: bool) -> _Slice:
        """As many rows as fill the page where each is taken; otherwise a bounded number."""
        rows = SLICE_ROWS_MAX
        if judged:
            rows = JUDGED_ROWS_MAX
        elif not self._prefixes:
            rows = self._limit
        if self._project == log.REALM_STREAM:
            until = view.number(_REALM_SLICE, self.seen, rows)
            head = view.realm_head()
            return _Slice(_OF_REALM, (), self.seen, until if until else max(head, self.seen), head)
        head = view.project_head(self._project)
        until = min(self.seen + rows, max(head, self.seen))
        return _Slice(_OF_PROJECT, (self._project,), self.seen, until, head)


class _Slice(msgspec.Struct, frozen=True):
    """Which rows a look goes through next: those behind ``after``, up to ``until``."""

    sql: str
    values: tuple[int, ...]
    after: int
    until: int
    head: int

    def query(self, prefixes: Sequence[str]) -> tuple[str, tuple[int | str, ...]]:
        """The rows in order, of the types that a filter lets through."""
        bounds: list[int | str] = [*self.values, self.after, self.until]
        conditions = []
        for prefix in prefixes:
            conditions.append("type = ? OR (type >= ? AND type < ?)")
            bounds += [prefix, prefix + ".", prefix + _AFTER_DOT]
        types = f"AND ({' OR '.join(conditions)}) " if conditions else ""
        return self.sql.format(types=types), tuple(bounds)


_AFTER_DOT: Final = chr(ord(".") + 1)
_OF_PROJECT: Final = (
    log.SELECT + "WHERE project = ? AND project_sequence > ? AND project_sequence <= ? {types}"
    "ORDER BY project_sequence"
)
_OF_REALM: Final = (
    log.SELECT + "INDEXED BY events_of_realm WHERE project IS NULL AND event_id IS NOT NULL "
    "AND position > ? AND position <= ? {types}ORDER BY position"
)
_REALM_SLICE: Final = (
    "SELECT max(position) FROM (SELECT position FROM log INDEXED BY events_of_realm "
    "WHERE project IS NULL AND event_id IS NOT NULL AND position > ? ORDER BY position LIMIT ?)"
)
