"""Lists of what stands in a space, in the order of making, over a snapshot.

What stands in the space and is classified above what the reader may read there is left out, and counted by
sequence range (``ledger.withheld``), whatever the list is narrowed to: for contributions and relations by
their branch's sequence, for all else by their event's in the space's stream. The owner is withheld nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import apsw
import msgspec

from tallyd.admission import Admission
from tallyd.families.shared.results import Served
from tallyd.ledger import pages
from tallyd.ledger.view import SpaceRow, Value, View
from tallyd.ledger.withheld import Withheld

Rows = Iterator[tuple[int, bytes]]
Withholds = Callable[[str], bool]
"""Whether something of a classification is kept from the reader."""


def page_of(
    view: View,
    admission: Admission,
    asked: pages.Ask,
    rows: Callable[[pages.Snapshot], Rows],
    withheld: Withheld | None,
) -> Served:
    project = admission.project
    assert project is not None
    snapshot = pages.open_page(view, asked, project)
    return Served(pages.page(view, asked, snapshot, rows(snapshot), withheld))


def withholder(view: View, admission: Admission, space: SpaceRow) -> Withholds:
    if admission.agent is None:
        return lambda _: False
    held = admission.rights(view, space)
    return lambda classification: not held.reaches(view, classification)


class Narrowed(msgspec.Struct, frozen=True):
    """A condition on the rows ``o`` of a table, and the values that it names."""

    sql: str
    values: dict[str, Value]


_ALL: Final = Narrowed("TRUE", {})


def rows_of_space(
    view: View,
    space: SpaceRow,
    snapshot: pages.Snapshot,
    table: str,
    columns: str,
    narrowed: Narrowed = _ALL,
) -> apsw.Cursor:
    """Rows of a table whose commands told an event in the space's stream, found by stream and sequence."""
    after = 0
    if snapshot.after >= 0:
        after = view.number("SELECT stream_sequence FROM log WHERE position = ?", snapshot.after)
    place = {"stream": space.position, "after": after, "bound": snapshot.bound}
    return view.db.execute(
        f"SELECT {columns} FROM log JOIN {table} AS o ON o.position = log.position "
        "WHERE log.stream = :stream AND log.stream_sequence > :after AND log.position <= :bound "
        f"AND {narrowed.sql} ORDER BY log.stream_sequence",
        {**place, **narrowed.values},
    )
