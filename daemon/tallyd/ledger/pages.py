"""Pages: a list read in parts, each showing the rows that its snapshot fixed.

The first page fixes a snapshot: the highest log position that the list shows, and the sequence of its
boundary cursor. For a list in a project that position is of the project's last event, for one of the realm's
lists it is of the list's last row: what happens elsewhere, or is refused, does not change the token. For a
later page the client sends the snapshot and the continuation; it may send the continuation alone while a new
first page would have the same snapshot. Rows made after the snapshot are on no page of it. A row is shown as
it is now, with its revision. Rows come in the order in which they were made. A page ends at its limit, or
where the next item would make the reply too large in bytes or in nodes; it holds at least one item.

The daemon stores nothing for a snapshot. The token says everything, so a list can be continued as long as the
epoch lasts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from tallyd.ledger import ids, skeleton
from tallyd.ledger.cursors import Expired
from tallyd.ledger.view import ProjectRow, View
from tallyd.ledger.withheld import RANGE_BYTES_MAX, RANGE_NODES, RANGES_MAX, Withheld
from tallystick.protocol import limits
from tallystick.protocol.problems import invalid, snapshot_expired

_ENVELOPE_BYTES: Final = 16_384
"""What a page needs beside its items: three tokens and the reply's envelope, generously."""
_ENVELOPE_NODES: Final = 64


class Room:
    """The room that is left in a reply while items are added to it; less where the reply also tells what is
    withheld.
    """

    def __init__(self, *, telling: bool = False) -> None:
        ranges = RANGES_MAX if telling else 0
        self._bytes = limits.REPLY_BYTES_MAX - _ENVELOPE_BYTES - ranges * RANGE_BYTES_MAX
        self._nodes = limits.NODES_MAX - _ENVELOPE_NODES - ranges * RANGE_NODES
        self._empty = True

    def takes(self, item: bytes) -> bool:
        """Whether the item still fits, in which case it is counted. The first item always fits."""
        nodes = nodes_at_most(item)
        fits = self._empty or (len(item) < self._bytes and nodes <= self._nodes)
        if fits:
            self._bytes -= len(item) + 1
            self._nodes -= nodes
            self._empty = False
        return fits


def nodes_at_most(text: bytes) -> int:
    """An upper bound of the JSON values in a text: each but the first follows a comma or an opening
    bracket.
    """
    return text.count(b",") + text.count(b"[") + text.count(b"{") + 1


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """A page that a client asks for. ``source`` names the list and its parent; ``filters`` narrow the list.
    """

    source: str
    limit: int
    after: str | None
    snapshot: str | None
    filters: tuple[str | None, ...] = ()


class Snapshot(msgspec.Struct, frozen=True):
    """Which rows a list shows."""

    source: str
    """The source of events that the boundary cursor belongs to."""
    bound: int
    boundary: int
    after: int
    f: str | None


def ask(source: str, args: object, filters: tuple[str | None, ...] = ()) -> Ask:
    """From the arguments that every list has."""
    return Ask(
        source=source,
        limit=int(getattr(args, "limit")),  # noqa: B009
        after=_text(getattr(args, "after", None)),
        snapshot=_text(getattr(args, "snapshot", None)),
        filters=filters,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def open_page(view: View, asked: Ask, of: ProjectRow | str) -> Snapshot:
    """The snapshot that a page belongs to. ``of`` is the list's project, or, for a list of the realm, the
    table of its rows. Raises Refusal ``invalid`` or ``snapshot-expired``.
    """
    f = _filter_digest(asked.filters)
    source = ids.REALM_EVENTS if isinstance(of, str) else of.project_id
    try:
        bound, boundary = _kept(view, asked, of)
        if asked.after is None:
            return Snapshot(source, bound, boundary, -1, f)
        going = view.cursors.read(asked.after, asked.source, "$.args.after")
    except Expired:
        raise snapshot_expired() from None
    if going.k is None:
        raise invalid("$.args.after is a snapshot, not a continuation; send what the page gave as `next`")
    if going.f != f:
        raise invalid("$.args.after was made under another filter; go on with the filter of the first page")
    if (going.seq, going.b) != (bound, boundary):
        raise snapshot_expired(
            "The continuation belongs to another snapshot of this list; send the `snapshot` that came with "
            "it, or begin at the first page."
        )
    return Snapshot(source, bound, boundary, going.k, f)


def _kept(view: View, asked: Ask, of: ProjectRow | str) -> tuple[int, int]:
    """Bound and boundary of the snapshot that was sent, or of the list as it is now. Raises Refusal
    ``invalid``, or Expired.
    """
    if asked.snapshot is None:
        return _present(view, of)
    kept = view.cursors.read(asked.snapshot, asked.source, "$.args.snapshot")
    if kept.b is None or kept.k is not None:
        raise invalid(
            "$.args.snapshot is a continuation, not a snapshot; send what the page gave as `snapshot`"
        )
    return kept.seq, kept.b


def _present(view: View, of: ProjectRow | str) -> tuple[int, int]:
    """Bound and boundary of the list as it is now. In a project the last event is enough: each row of a list
    came with an event of the project, at the row's position or later.
    """
    if isinstance(of, str):
        return view.number(f"SELECT max(position) FROM {of}"), view.realm_head()
    head = view.project_head(of.position)
    bound = view.number(
        "SELECT position FROM log WHERE project = ? AND project_sequence = ?", of.position, head
    )
    return bound, head


def _filter_digest(filters: tuple[str | None, ...]) -> str | None:
    if not any(filters):
        return None
    return hashlib.sha256(skeleton.encode(list(filters))).hexdigest()[:16]


def page(
    view: View,
    asked: Ask,
    snapshot: Snapshot,
    rows: Iterable[tuple[int, bytes]],
    withheld: Withheld | None = None,
    beside: Callable[[], Mapping[str, object]] | None = None,
) -> bytes:
    """The result of a list. ``rows`` yields position and rendered item, in order, from after the snapshot's
    place. It is left where it is at the first item that does not fit; the ranges of ``withheld`` that it has
    closed until then belong to the page, and so does what ``beside`` gives when it is left.
    """
    items: list[bytes] = []
    room, last, more = Room(telling=withheld is not None), snapshot.after, False
    for position, item in rows:
        if len(items) == asked.limit or not room.takes(item):
            more = True
            break
        items.append(item)
        last = position
    said: dict[str, object] = {
        "boundary_event_cursor": view.cursors.token(snapshot.source, snapshot.boundary),
        "items": skeleton.embedded(b"[" + b",".join(items) + b"]"),
        "snapshot": view.cursors.snapshot(asked.source, snapshot.bound, snapshot.boundary),
    }
    if beside is not None:
        said |= beside()
    if withheld is not None:
        said["withheld"] = withheld.ranges
    if more:
        said["next"] = view.cursors.continuation(
            asked.source, snapshot.bound, snapshot.boundary, last, f=snapshot.f
        )
    return skeleton.encode(said)
