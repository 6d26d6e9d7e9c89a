"""Pages: a list read in parts, each showing the rows that its snapshot fixed.

The first page fixes a snapshot: the highest log position that the list shows, and the sequence of its
boundary cursor. In a project that position is its last event's, of the realm's lists that of the last row: so
nothing that happens elsewhere, or is refused, makes another token. Later pages resend it with the
continuation; a continuation alone goes on while its snapshot is the present one. Rows made later are not
shown, in whatever page; a row is shown as it is now, with its revision. Order is the order of making. A page
ends with its limit, or where the next item would not fit a reply by bytes or by nodes; it holds one item at
least.

Nothing is kept for a snapshot: the token says it all, so it can be continued as long as its epoch lasts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
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
    """What is left of a reply while items are added to it; less where it also tells what is withheld."""

    def __init__(self, *, telling: bool = False) -> None:
        ranges = RANGES_MAX if telling else 0
        self._bytes = limits.REPLY_BYTES_MAX - _ENVELOPE_BYTES - ranges * RANGE_BYTES_MAX
        self._nodes = limits.NODES_MAX - _ENVELOPE_NODES - ranges * RANGE_NODES
        self._empty = True

    def takes(self, item: bytes) -> bool:
        """Whether the item still fits; the first one always does. Counts it where it does."""
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
    """A page as asked for. ``source`` names list and parent; ``filters`` are what it was narrowed by."""

    source: str
    limit: int
    after: str | None
    snapshot: str | None
    filters: tuple[str | None, ...] = ()


class Snapshot(msgspec.Struct, frozen=True):
    """Which rows a list shows."""

    source: str
    """Of the events that the boundary cursor is in."""
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
    """The snapshot that a page belongs to, of a list in a project, or of one of the realm: then the table of
    its rows is named. Raises Refusal ``invalid`` or ``snapshot-expired``.
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
    """The snapshot that was sent, or the list's present one. Raises Refusal ``invalid``, or Expired."""
    if asked.snapshot is None:
        return _present(view, of)
    kept = view.cursors.read(asked.snapshot, asked.source, "$.args.snapshot")
    if kept.b is None or kept.k is not None:
        raise invalid(
            "$.args.snapshot is a continuation, not a snapshot; send what the page gave as `snapshot`"
        )
    return kept.seq, kept.b


def _present(view: View, of: ProjectRow | str) -> tuple[int, int]:
    """Each row of a list in a project came with an event of the project, at its position or after it."""
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
) -> bytes:
    """The result of a list: ``rows`` yields position and rendered item, in order, beginning after the
    snapshot's place. It is not resumed after an item that the page does not take; what it has settled of
    ``withheld`` until then is told with the page.
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
    if withheld is not None:
        said["withheld"] = withheld.ranges
    if more:
        said["next"] = view.cursors.continuation(
            asked.source, snapshot.bound, snapshot.boundary, last, f=snapshot.f
        )
    return skeleton.encode(said)
