"""Reading and following events. Waiting is the readers' part: here is what one look finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from tallyd.admission import Admission
from tallyd.admission.visibility import event_visibility
from tallyd.families.shared.family import Family, read, wait
from tallyd.families.shared.results import Further, Served, optional
from tallyd.ledger import events, ids, log, skeleton
from tallyd.ledger.cursors import Expired, filter_digest
from tallyd.ledger.view import ProjectRow, View
from tallyd.ledger.withheld import NOT_VISIBLE
from tallystick.protocol import limits
from tallystick.protocol.envelope import Request
from tallystick.protocol.families.events import (
    EVENT_PAYLOAD,
    EVENTS_READ,
    EVENTS_WAIT,
    OPERATIONS,
    TALLYSTICK_EVENTS_READ,
    EventPayloadArgs,
    EventsReadArgs,
    EventsWaitArgs,
    TallystickEventsReadArgs,
)
from tallystick.protocol.problems import cursor_expired, forbidden, invalid, not_found


class Follow(msgspec.Struct, frozen=True):
    """Where a reader of a project's events stands, and what it wants to hear of."""

    source: str
    project: int
    after: int
    prefixes: tuple[str, ...]

    @property
    def f(self) -> str | None:
        return filter_digest(self.prefixes)

    def begin(self, limit: int) -> events.Look:
        """A look for events behind where it stands."""
        return events.Look(self.project, self.after, self.prefixes, limit)


def source_of(view: View, admission: Admission, source: str, narrowed: str | None) -> ProjectRow:
    """The project that is the source. Narrowing to another project finds nothing there: ``not-found``."""
    project = view.project(source)
    if project is None or not admission.member(view, project.position):
        raise not_found("source of events", source)
    if admission.project is not None and admission.project.position != project.position:
        raise not_found("source of events in that project", source)
    if narrowed is not None and narrowed != project.project_id:
        raise not_found("project", narrowed)
    return project


def follow_project(view: View, project: ProjectRow, cursor: str | None, prefixes: Sequence[str]) -> Follow:
    """Raises Refusal ``invalid`` or ``cursor-expired``."""
    follow = Follow(project.project_id, project.position, 0, tuple(prefixes))
    if cursor is None:
        return follow
    return _placed(view, follow, cursor, view.project_head(project.position))


def follow_realm(view: View, cursor: str | None, prefixes: Sequence[str]) -> Follow:
    """The same of the events that stand in no project, whose places are positions in the log."""
    follow = Follow(ids.REALM_EVENTS, log.REALM_STREAM, 0, tuple(prefixes))
    return follow if cursor is None else _placed(view, follow, cursor, view.realm_head())


def _placed(view: View, follow: Follow, cursor: str, head: int) -> Follow:
    source = follow.source
    try:
        at = view.cursors.read(cursor, source, "$.args.after_cursor")
    except Expired:
        raise expired(view, source, head) from None
    if at.b is not None or at.k is not None:
        raise invalid("$.args.after_cursor is a token of a list; send a cursor of events")
    if at.f is not None and at.f != follow.f:
        raise invalid(
            "$.args.after_cursor was made under another filter; go on with that filter, or from a reply's "
            "cursor"
        )
    if at.seq > head:
        raise expired(view, source, head)
    return msgspec.structs.replace(follow, after=at.seq)


def expired(view: View, source: str, head: int) -> Exception:
    """``cursor-expired`` with where to go on."""
    return cursor_expired(
        view.cursors.token(source, 0), view.cursors.token(source, head), {"number": view.epoch}
    )


def read_events(view: View, request: Request[EventsReadArgs], admission: Admission) -> Served | Further:
    """``events_read``."""
    args = request.args
    project = source_of(view, admission, args.source, optional(args.project_id))
    follow = follow_project(view, project, optional(args.after_cursor), optional(args.type_prefixes) or ())
    return _look_on(follow, follow.begin(args.limit), _read_result, view, admission)


Result = Callable[[View, Follow, events.Look], dict[str, object]]


def _look_on(
    follow: Follow, look: events.Look, result: Result, view: View, admission: Admission
) -> Served | Further:
    """The next slice of a read, and its result where that was the last."""
    _check_source(view, admission, follow)
    if look.go_on(view, event_visibility(view, admission)):
        return Served(skeleton.encode(result(view, follow, look)))
    return Further(partial(_look_on, follow, look, result))


def _check_source(view: View, admission: Admission, follow: Follow) -> None:
    """Authority may be lost while a look goes on. Raises Refusal ``not-found``."""
    if follow.project != log.REALM_STREAM and not admission.member(view, follow.project):
        raise not_found("source of events", follow.source)


def _read_result(view: View, follow: Follow, look: events.Look) -> dict[str, object]:
    return {
        "events": _listed(look.found),
        "next_cursor": view.cursors.token(follow.source, look.seen, f=follow.f),
        "snapshot_epoch": f"epoch-{view.epoch}",
    }


def _listed(found: list[bytes]) -> msgspec.Raw:
    return skeleton.embedded(b"[" + b",".join(found) + b"]")


WAIT_EVENTS_MAX: Final = limits.PAGE_ITEMS_MAX
"""events_wait names no limit of its own."""


class Following:
    """An ``events_wait``: where it stands. It holds no transaction between two looks."""

    def __init__(self, view: View, request: Request[EventsWaitArgs], admission: Admission) -> None:
        """Raises Refusal as ``events_read`` does."""
        args = request.args
        project = source_of(view, admission, args.source, None)
        filters = optional(args.filters)
        prefixes = None if filters is None else optional(filters.type_prefixes)
        self._follow = follow_project(view, project, args.after_cursor, prefixes or ())
        self._at_head = False
        self._wait_ms = min(args.timeout_ms, limits.WAIT_MS_MAX)

    @property
    def project(self) -> int:
        """Whose commits concern it."""
        return self._follow.project

    @property
    def wait_ms(self) -> int:
        """How long it may sleep."""
        return self._wait_ms

    @property
    def at_head(self) -> bool:
        """Whether the last look came to the end of what there is."""
        return self._at_head

    def look(self, view: View, admission: Admission) -> tuple[bool, bytes]:
        """Whether there is anything, and the result as it would be now; what the filter skipped is passed."""
        _check_source(view, admission, self._follow)
        look = self._follow.begin(WAIT_EVENTS_MAX)
        self._at_head = look.go_on(view, event_visibility(view, admission))
        if not look.found:
            self._follow = msgspec.structs.replace(self._follow, after=look.seen)
        cursor = view.cursors.token(self._follow.source, look.seen, f=self._follow.f)
        said = {"events": _listed(look.found), "next_cursor": cursor}
        return bool(look.found), skeleton.encode(said)


def payload(view: View, request: Request[EventPayloadArgs], admission: Admission) -> Served:
    """``event_payload``."""
    args = request.args
    position = view.position_of("evt", args.event_id)
    row = None if position is None else log.read(view.db, position)
    if row is None or row.event_id != ids.digits("evt", args.event_id):
        raise not_found("event", args.event_id)
    if admission.project is not None and admission.project.position != row.project:
        raise not_found("event", args.event_id)
    assert row.payload is not None
    assert row.schema_ref is not None
    assert row.classification is not None
    visibility = event_visibility(view, admission)
    reason = None if visibility is None else visibility(row)
    if reason != NOT_VISIBLE:
        events.note(view, row)  # also what is withheld for its classification alone: a refused look is one
    if reason is not None:
        raise not_found("event", args.event_id)
    rendered = view.render(row.payload)
    said = {
        "event_id": args.event_id,
        "schema_ref": row.schema_ref,
        "payload_digest": events.payload_digest(rendered, row.schema_ref),
        "payload": skeleton.embedded(rendered),
    }
    return Served(skeleton.encode(said))


def read_accounted(
    view: View, request: Request[TallystickEventsReadArgs], admission: Admission
) -> Served | Further:
    """``tallystick_events_read``: of a project, or of the realm, whose events are the owner's."""
    args = request.args
    cursor, prefixes = optional(args.after_cursor), optional(args.type_prefixes) or ()
    if args.source == ids.REALM_ID:
        if admission.agent is not None:
            raise forbidden("the realm's events are the owner's; name a project as the source")
        follow = follow_realm(view, cursor, prefixes)
    else:
        project = source_of(view, admission, args.source, None)
        follow = follow_project(view, project, cursor, prefixes)
    return _look_on(follow, follow.begin(args.limit), _accounted_result, view, admission)


def _accounted_result(view: View, follow: Follow, look: events.Look) -> dict[str, object]:
    return {**_read_result(view, follow, look), "withheld": look.withheld}


FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        read(EVENTS_READ, read_events),
        wait(EVENTS_WAIT, Following),
        read(EVENT_PAYLOAD, payload),
        read(TALLYSTICK_EVENTS_READ, read_accounted),
    ),
)
