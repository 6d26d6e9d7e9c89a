"""Prepared changes: what is confirmed is exactly what was prepared.

Two things are not done at once but prepared, looked at, and then confirmed by somebody: another access policy
for a project, and the widening of who may see a space. Preparing makes an object that binds what it is about,
its *subject*: the project's or the space's revision and, by one digest, every contribution in it. It changes
nothing else, and is shown and listed. Confirming puts it into force if nothing that it binds has moved;
canceling drops it. Each state but the first is final:

=========== =========== ============ ==============================================
state       confirming  canceling    confirming finds that the subject has moved
=========== =========== ============ ==============================================
prepared    confirmed   canceled     stale
confirmed   refused     refused      refused
canceled    refused     refused      refused
stale       refused     refused      refused
=========== =========== ============ ==============================================

Whoever finds a change stale is refused, and the change is stale from then on: a refusal that changes the
state. It writes no event, since the protocol knows none for it, and leaves the revision where the last event
has it; the log's row of the refusal commits to it.

The item set is read anew, and hashed, at each preparing and confirming: some 3 µs a contribution of the
clerk's time (20,000 of them: 60 ms), for what nobody does often.

This module knows what the two have in common. ``policies`` and ``widenings`` know whose they are, what
they propose, and what confirming them does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from tallyd.families.shared.results import check_revision
from tallyd.ledger import ids, pages, skeleton, times
from tallyd.ledger.transaction import Applied, Event, Refused, Transaction
from tallyd.ledger.view import ProjectRow, Value, View
from tallystick.protocol import limits
from tallystick.protocol.digests import cod
from tallystick.protocol.envelope import AnyRequest
from tallystick.protocol.problems import Refusal, invalid, stale_revision

PREPARED: Final = "prepared"
CONFIRM: Final = "confirm"
CANCEL: Final = "cancel"
FIND_STALE: Final = "find stale"

LIFECYCLE: Final[dict[str, dict[str, str]]] = {
    PREPARED: {CONFIRM: "confirmed", CANCEL: "canceled", FIND_STALE: "stale"},
    "confirmed": {},
    "canceled": {},
    "stale": {},
}
"""The state after each thing that may be done, by the state before. What is not named is refused."""


class ChangeKind(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two kinds of prepared change, and what it is called where."""

    kind: str
    what: str
    prefix: str
    id_member: str
    schema_ref: str
    events: str
    """What the types of its events begin with."""


class ChangeRow(msgspec.Struct, frozen=True):
    """A row of ``prepared_changes``, its fields in the table's order."""

    position: int
    id: bytes
    kind: str
    project: int
    subject: int
    expected_revision: int
    item_set_digest: bytes
    state: str
    revision: int
    decision_receipt_ref: str | None
    terminal_ms: int | None
    record: bytes


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What a change is about: where it stands, and which spaces it reaches, in the order of their making."""

    project: int
    subject: int
    revision: int
    classification: str
    """By default, of what is in it: a change is told to whoever may read that."""
    spaces: tuple[int, ...]


_COLUMNS: Final = ", ".join(ChangeRow.__struct_fields__)


# --- records ------------------------------------------------------------------------------------------------
def record(change: ChangeKind, row: ChangeRow) -> bytes:
    """A change's record as it is now; it holds no content."""
    said: dict[str, object] = msgspec.json.decode(row.record)
    said[change.id_member] = ids.text(change.prefix, row.id)
    said["state"] = row.state
    said["revision"] = row.revision
    if row.decision_receipt_ref is not None:
        said["decision_receipt_ref"] = row.decision_receipt_ref
    if row.terminal_ms is not None:
        said["terminal_at"] = times.rfc3339(row.terminal_ms)
    return skeleton.encode(said)


def find(view: View, change: ChangeKind, change_id: str) -> ChangeRow | None:
    """The change of that kind and id, wherever it stands."""
    position = view.position_of(change.prefix, change_id)
    if position is None:
        return None
    values = view.db.execute(
        f"SELECT {_COLUMNS} FROM prepared_changes WHERE position = ? AND kind = ?", (position, change.kind)
    ).fetchone()
    return None if values is None else ChangeRow(*values)


def page(
    view: View,
    change: ChangeKind,
    project: ProjectRow,
    asked: pages.Ask,
    shown: Callable[[ChangeRow], bool],
) -> bytes:
    """A page of the project's changes, of those that are ``shown``, in the order of their making."""
    snapshot = pages.open_page(view, asked, project)
    rows = (
        (row.position, record(change, row)) for row in _rows(view, change, project, snapshot) if shown(row)
    )
    return pages.page(view, asked, snapshot, rows)


def _rows(
    view: View, change: ChangeKind, project: ProjectRow, snapshot: pages.Snapshot
) -> Iterator[ChangeRow]:
    cursor = view.db.execute(
        f"SELECT {_COLUMNS} FROM prepared_changes WHERE project = ? AND kind = ? AND position > ? AND "
        "position <= ? ORDER BY position",
        (project.position, change.kind, snapshot.after, snapshot.bound),
    )
    for values in cursor:
        yield ChangeRow(*values)


# --- preparing ----------------------------------------------------------------------------------------------
def prepare(
    tx: Transaction,
    change: ChangeKind,
    author: str,
    scope: Scope,
    subject: dict[str, object],
    beside: dict[str, object],
    frontiers_member: str,
) -> Applied:
    """Makes a change: ``subject`` is what its subject digest is of, besides frontiers and items; ``beside``
    are the further members of its record.

    Raises Refusal ``invalid`` where the scope has more frontiers than a record may list.
    """
    digits = tx.new_id()
    items = item_set_digest(tx, scope.spaces)
    subject = {
        **subject,
        frontiers_member: _frontiers(tx, scope),
        "affected_item_set_digest": items.hex(),
    }
    said = {
        **subject,
        **beside,
        "subject_digest": cod("kovee-prepared-subject", "schema:kovee-prepared-subject-v1", subject),
        "prepared_by_principal": author,
        "created_at": tx.now,
    }
    row = ChangeRow(
        position=tx.position,
        id=digits,
        kind=change.kind,
        project=scope.project,
        subject=scope.subject,
        expected_revision=scope.revision,
        item_set_digest=items,
        state=PREPARED,
        revision=1,
        decision_receipt_ref=None,
        terminal_ms=None,
        record=skeleton.encode(said),
    )
    tx.insert("prepared_changes", **{field: getattr(row, field) for field in row.__struct_fields__})
    return _told(tx, change, scope, row, digits)


def audience_digest(audience: dict[str, object]) -> str:
    """The digest of who will see what a change reaches (KCP 3.4)."""
    return cod("kovee-destination-audience", "schema:kovee-audience-v1", audience)


_FRONTIERS: Final = (
    "SELECT id FROM frontiers WHERE space IN (SELECT value FROM json_each(?)) ORDER BY position LIMIT ?"
)


def _frontiers(view: View, scope: Scope) -> list[str]:
    most = limits.LIST_ITEMS_MAX
    spaces = skeleton.encode(scope.spaces).decode()
    found = [ids.text("front", row[0]) for row in view.db.execute(_FRONTIERS, (spaces, most + 1))]
    if len(found) > most:
        raise invalid(
            f"a prepared change lists each frontier that was pinned in what it reaches, and here there are "
            f"more than {most}, which is the most that a record may list; nothing was applied"
        )
    return found


# The item set is hashed while it is read, and never held: COD of {"items": [{"digest", "ref"}, …]}.
_ITEMS_HEAD: Final = (
    b'{"$domain":"dev.kovee.canonical-object-digest.v1","object_kind":"kovee-item-set",'
    b'"projection":{"items":['
)
_ITEMS_TAIL: Final = b']},"protocol_major":0,"schema_ref":"schema:kovee-item-set-v1"}'
_ITEMS: Final = (
    "SELECT log.event_id, c.digest FROM log JOIN contributions AS c ON c.position = log.position "
    "WHERE log.stream = ? ORDER BY log.stream_sequence"
)


def item_set_digest(view: View, spaces: Iterable[int]) -> bytes:
    """The digest over id and content digest of every contribution of the spaces, space by space, in order."""
    said, between = hashlib.sha256(_ITEMS_HEAD), b""
    for space in spaces:
        for digits, digest in view.db.execute(_ITEMS, (space,)):
            item = f'{{"digest":"{digest.hex()}","ref":"{ids.text("contrib", digits)}"}}'
            said.update(between + item.encode())
            between = b","
    said.update(_ITEMS_TAIL)
    return said.digest()


# --- ending -------------------------------------------------------------------------------------------------
def check_prepared(request: AnyRequest, change: ChangeKind, row: ChangeRow, done: str) -> None:
    """Raises Refusal ``stale-revision`` for what may not be done to a change in its state, and then where
    the command expects another revision of it: the state is looked at first (KCP 16.1).
    """
    if done not in LIFECYCLE[row.state]:
        raise _ended(change, row)
    check_revision(request, row.revision, f"{change.what} {ids.text(change.prefix, row.id)}")


def _ended(change: ChangeKind, row: ChangeRow) -> Refusal:
    why = ": what it binds moved after it was prepared" if row.state == "stale" else ""
    which = f"{change.what} {ids.text(change.prefix, row.id)}"
    return stale_revision(
        row.revision,
        f"{which} is {row.state}{why}; read it, and prepare a new one if it is still wanted",
    )


def has_moved(view: View, row: ChangeRow, scope: Scope) -> bool:
    """Whether the subject's revision or its item set is another than when the change was prepared."""
    if scope.revision != row.expected_revision:
        return True
    return item_set_digest(view, scope.spaces) != row.item_set_digest


def find_stale(tx: Transaction, change: ChangeKind, row: ChangeRow) -> Refused:
    """The change is stale from now on, and the command that found it so is refused, as each later one is."""
    return Refused(_ended(change, _moved(tx, row, FIND_STALE)).problem)


def end(
    tx: Transaction, change: ChangeKind, scope: Scope, row: ChangeRow, done: str, receipt: str | None = None
) -> Applied:
    """Confirms or cancels a change: in its one event, whatever else the command has changed. ``scope`` is as
    it was before that.
    """
    row = _moved(tx, row, done, revision=row.revision + 1, decision_receipt_ref=receipt)
    return _told(tx, change, scope, row, tx.new_id())


def _moved(tx: Transaction, row: ChangeRow, done: str, **more: Value) -> ChangeRow:
    columns: dict[str, Value] = {"state": LIFECYCLE[row.state][done], "terminal_ms": tx.now_ms, **more}
    tx.update("prepared_changes", {"position": row.position}, **columns)
    return msgspec.structs.replace(row, **columns)


def _told(tx: Transaction, change: ChangeKind, scope: Scope, row: ChangeRow, event_digits: bytes) -> Applied:
    """The change's event, in its subject's stream, classified as what else is told of the subject."""
    tx.emit(
        Event(
            event_id=event_digits,
            type=f"{change.events}-{row.state}.v1",
            schema_ref=change.schema_ref,
            resource=ids.text(change.prefix, row.id),
            resource_revision=row.revision,
            stream=row.subject,
            project=row.project,
            classification=scope.classification,
            payload=record(change, row),
        )
    )
    return Applied(revision=row.revision)
