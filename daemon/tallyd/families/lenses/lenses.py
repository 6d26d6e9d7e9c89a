"""Lenses: ways to look at a space, kept under a name. ``lens_query`` knows what is seen through one.

Two come with every space, ``lens-stream-<space>`` and ``lens-workbench-<space>``. They follow from the space:
nothing is stored for them until one is changed or taken away, and then a row that says what has become of it.
Further ones are made.

========== ============= ============
status     lens_update   lens_revoke
========== ============= ============
active     active        revoked
revoked    not found     not found
========== ============= ============

A lens's query, sort and presentation are content, each a body of its own. Any object is taken, as the
protocol has it; what cannot be evaluated is said where the lens is read. A lens of visibility ``project`` or
``shared`` is there for whoever reads its space; every other, ``private`` first of all, for whoever made it,
and for the owner of the realm. Its maker may change it, and a steward; an archived space keeps its lenses as
they are. A space's revision is not moved by any of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from tallyd.admission import Admission, check_rights, may_write
from tallyd.families.lenses import query as lens_query
from tallyd.families.shared import objects
from tallyd.families.shared.lists import withholder
from tallyd.families.shared.results import Served, check_revision, given, space_in
from tallyd.families.shared.servable import check_servable
from tallyd.ledger import ids, log, pages, skeleton, times
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallyd.ledger.view import SpaceRow, Value, View, Viewer
from tallystick.protocol.canonical import canonical
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.families.lenses import (
    LENS_REVOKE,
    LENS_UPDATE,
    LensCreateArgs,
    LensListArgs,
    LensReadArgs,
    LensRevokeArgs,
    LensShowArgs,
    LensUpdateArgs,
)
from tallystick.protocol.lens_grammar import read_query, read_sort
from tallystick.protocol.problems import forbidden, invalid, not_found
from tallystick.protocol.shapes import JsonObject, Misshapen

LENS_SCHEMA: Final = "schema:space-lens-v1"

LIFECYCLE: Final[dict[str, dict[str, str]]] = {
    "active": {LENS_UPDATE.name: "active", LENS_REVOKE.name: "revoked"},
    "revoked": {},
}
"""The status after each operation, by the status before. A lens that knows no operation is gone."""

SEEN_BY_READERS: Final = frozenset({"project", "shared"})
"""Visibilities of a lens that is there for whoever reads its space."""
BUILT_IN_SEEN_BY_READERS: Final = SEEN_BY_READERS | {"restricted"}
"""The same of a built-in lens, whose visibility is that of its space as it comes."""

_AROUND_OBJECTS: Final = 4
"""Reply, result, list and event stand around a lens where events are read."""


class BuiltIn(NamedTuple):
    """What a built-in lens says as it comes."""

    query: bytes
    sort: bytes
    presentation: bytes


_IN_ORDER: Final = b'{"order_by":"branch_sequence"}'
BUILT_IN: Final[dict[str, BuiltIn]] = {
    "stream": BuiltIn(b'{"select":"contributions"}', _IN_ORDER, b'{"render":"chronological"}'),
    "workbench": BuiltIn(b'{"select":"typed_cards"}', _IN_ORDER, b'{"render":"cards_with_relations"}'),
}
"""By kind, in the order in which they are listed."""


class LensRow(msgspec.Struct, frozen=True):
    """A row of ``lenses``, its fields in the table's order; without a position, a built-in lens that was
    never changed.
    """

    position: int | None
    id: bytes | None
    space: int
    built_in: str | None
    owner_ref: str
    revision: int
    kind: str
    query: int | None
    sort: int | None
    presentation: int | None
    visibility: str
    status: str
    created_ms: int

    def lens_id(self, space: SpaceRow) -> str:
        if self.id is None:
            return f"lens-{self.built_in}-{space.space_id}"
        return ids.text("lens", self.id)

    @property
    def says_something(self) -> bool:
        """Whether it has words of its own, and is not a built-in one as it comes."""
        return self.position is not None

    @property
    def there(self) -> bool:
        """Whether it was not taken away."""
        return bool(LIFECYCLE[self.status])


_COLUMNS: Final = ", ".join(LensRow.__struct_fields__)


def record(space: SpaceRow, row: LensRow) -> bytes:
    """Skeleton of a lens's record."""
    return skeleton.encode(
        {
            "lens_id": row.lens_id(space),
            "space_id": space.space_id,
            "owner_ref": row.owner_ref,
            "revision": row.revision,
            "kind": row.kind,
            "query_ast": _placed(row, "query"),
            "sort_spec": _placed(row, "sort"),
            "presentation_options": _placed(row, "presentation"),
            "visibility": row.visibility,
            "status": row.status,
            "created_at": times.rfc3339(row.created_ms),
        }
    )


def _placed(row: LensRow, part: str) -> msgspec.Raw:
    """A part of the record: the place of its body, or what a built-in lens says as it comes."""
    body: int | None = getattr(row, part)
    if body is not None:
        return skeleton.place(skeleton.OBJECT, body)
    assert row.built_in is not None
    return skeleton.embedded(getattr(BUILT_IN[row.built_in], part))


def _content(view: View, row: LensRow, part: str) -> bytes:
    """The same as canonical JSON; ``{}`` where it was erased."""
    return view.render(bytes(_placed(row, part)))


# --- finding ------------------------------------------------------------------------------------------------
def _made(view: View, lens_id: str) -> LensRow | None:
    """The lens of that id, where it was made by a command."""
    return _row(
        view, "position = ? AND id = ?", view.position_of("lens", lens_id), ids.digits("lens", lens_id)
    )


def _row(view: View, where: str, *values: Value) -> LensRow | None:
    found = view.db.execute(f"SELECT {_COLUMNS} FROM lenses WHERE {where}", values).fetchone()
    return None if found is None else LensRow(*found)


def _built_in(view: View, space: SpaceRow, kind: str) -> LensRow:
    """A space's built-in lens, as it has become or as it comes."""
    changed = _row(view, "space = ? AND built_in = ?", space.position, kind)
    if changed is not None:
        return changed
    return LensRow(
        position=None,
        id=None,
        space=space.position,
        built_in=kind,
        owner_ref=ids.OWNER,
        revision=1,
        kind=kind,
        query=None,
        sort=None,
        presentation=None,
        visibility=space.visibility,
        status="active",
        created_ms=space.created_ms,
    )


def _named(view: View, lens_id: str) -> tuple[LensRow, SpaceRow] | None:
    """The lens of that id with its space, whoever asks."""
    for kind in BUILT_IN:
        prefix = f"lens-{kind}-"
        space = view.space(lens_id.removeprefix(prefix)) if lens_id.startswith(prefix) else None
        if space is not None:
            return _built_in(view, space, kind), space
    row = _made(view, lens_id)
    space = None if row is None else view.space_at(row.space)
    return None if row is None or space is None else (row, space)


def _find(view: View, admission: Admission, lens_id: str) -> tuple[LensRow, SpaceRow]:
    """The lens and its space, where it is there for the actor. Raises Refusal ``not-found``."""
    found = _named(view, lens_id)
    if found is None:
        raise not_found("lens", lens_id)
    row, space = found
    assert admission.project is not None
    if space.project != admission.project.position or not row.there:
        raise not_found("lens", lens_id)
    if not admission.sees(view, space) or not _seen(admission, row):
        raise not_found("lens", lens_id)
    return row, space


def _find_words(view: View, admission: Admission, lens_id: str) -> tuple[LensRow, SpaceRow]:
    """The same for who is to see what the lens says. Raises Refusal ``forbidden`` too, where the space is
    above the actor's ceiling; a built-in lens as it comes says nothing that is secret.
    """
    row, space = _find(view, admission, lens_id)
    if row.says_something:
        objects.refuse_above(view, admission, space)
    return row, space


def _seen(admission: Viewer, row: LensRow) -> bool:
    """Whether a lens is there for an actor who reads its space."""
    if admission.agent is None or row.owner_ref == admission.actor:
        return True
    return row.visibility in _seen_by_readers(row)


def _seen_by_readers(row: LensRow) -> frozenset[str]:
    return SEEN_BY_READERS if row.built_in is None else BUILT_IN_SEEN_BY_READERS


def first_change(view: View, lens_id: str) -> int | None:
    """The position of the command that first changed a built-in lens; None of every other id."""
    found = _named(view, lens_id)
    return None if found is None or found[0].built_in is None else found[0].position


def event_shown(view: View, admission: Viewer, row: log.LogRow) -> bool:
    """Whether an event may be shown to an actor who sees its stream: one of a lens that is not there for
    them, or was not when it was written, is not.
    """
    if row.schema_ref != LENS_SCHEMA or admission.agent is None:
        return True
    found = _named(view, str(row.resource))
    assert found is not None, f"log row {row.position} tells of a lens that is not there"
    lens = found[0]
    if lens.owner_ref == admission.actor:
        return True
    then = [skeleton.encode({"visibility": name})[1:-1] for name in _seen_by_readers(lens)]
    return _seen(admission, lens) and any(said in (row.payload or b"") for said in then)


# --- commands -----------------------------------------------------------------------------------------------
def create(tx: Transaction, request: Request[LensCreateArgs], admission: Admission) -> Applied:
    """``lens_create``: whatever its query says; the expected revision is the space's."""
    args = request.args
    space = space_in(tx, admission, args.space_id)
    check_revision(request, space.revision, f"space {space.space_id}")
    _refuse_archived(space)
    contents = [canonical(part) for part in (args.query_ast, args.sort_spec, args.presentation_options)]
    _check_servable(contents)
    query, sort, presentation = (tx.seal(content)[0] for content in contents)
    digits = tx.new_id()
    row = LensRow(
        position=tx.position,
        id=digits,
        space=space.position,
        built_in=None,
        owner_ref=admission.author,
        revision=1,
        kind=args.kind,
        query=query,
        sort=sort,
        presentation=presentation,
        visibility=args.visibility,
        status="active",
        created_ms=tx.now_ms,
    )
    _insert(tx, row)
    return _told(tx, space, row, "created", digits)


def update(tx: Transaction, request: Request[LensUpdateArgs], admission: Admission) -> Applied:
    """``lens_update``: what is left out stays; with nothing named it is a revision all the same."""
    args = request.args
    row, space, _ = _changeable(tx, request, admission, args.lens_id)
    said: dict[str, JsonObject | UnsetType] = {
        "query": args.query_ast,
        "sort": args.sort_spec,
        "presentation": args.presentation_options,
    }
    new = {part: canonical(value) for part, value in said.items() if value is not UNSET}
    _check_servable([new[part] if part in new else _content(tx, row, part) for part in said])
    columns: dict[str, Value] = {part: tx.seal(content)[0] for part, content in new.items()}
    visibility = given(args.visibility, row.visibility)
    if visibility != row.visibility:
        columns["visibility"] = visibility
    return _told(tx, space, _changed(tx, row, **columns), "updated", tx.new_id())


def revoke(tx: Transaction, request: Request[LensRevokeArgs], admission: Admission) -> Applied:
    """``lens_revoke``: it is gone, and its events stay."""
    args = request.args
    row, space, status = _changeable(tx, request, admission, args.lens_id)
    return _told(tx, space, _changed(tx, row, status=status), "revoked", tx.new_id())


def _changeable(
    tx: Transaction, request: AnyRequest, admission: Admission, lens_id: str
) -> tuple[LensRow, SpaceRow, str]:
    """The lens that the command may change, its space, and the status after it. Raises Refusal."""
    row, space = _find_words(tx, admission, lens_id)
    name = request.operation.name
    otherwise = f"{name} is for active contributors of space {space.space_id}"
    check_rights(tx, admission, space, may_write(name), otherwise)
    if not admission.rights(tx, space).stewards and row.owner_ref != admission.actor:
        raise forbidden(f"lens {lens_id} is another's; who made it, a steward or the owner can change it")
    check_revision(request, row.revision, f"lens {lens_id}")
    _refuse_archived(space)
    return row, space, LIFECYCLE[row.status][name]


def _refuse_archived(space: SpaceRow) -> None:
    if space.status == "archived":
        raise invalid(f"space {space.space_id} is archived: its lenses stay as they are; make one elsewhere")


def _check_servable(contents: list[bytes]) -> None:
    """Raises Refusal ``invalid`` for a lens that could not be shown."""
    check_servable(b"[" + b",".join(contents) + b"]", _AROUND_OBJECTS, "$.args of this lens")


def _insert(tx: Transaction, row: LensRow) -> None:
    tx.insert("lenses", **{field: getattr(row, field) for field in row.__struct_fields__})


def _changed(tx: Transaction, row: LensRow, **columns: Value) -> LensRow:
    """The lens one revision on; a built-in one gets its row with its first change."""
    columns["revision"] = row.revision + 1
    changed = msgspec.structs.replace(row, **columns)
    if row.position is not None:
        tx.update("lenses", {"position": row.position}, **columns)
        return changed
    changed = msgspec.structs.replace(changed, position=tx.position)
    _insert(tx, changed)
    return changed


def _told(tx: Transaction, space: SpaceRow, row: LensRow, done: str, event_digits: bytes) -> Applied:
    """The lens's event, in its space's stream, with the whole record."""
    tx.emit(
        Event(
            event_id=event_digits,
            type=f"dev.kovee.space.lens-{done}.v1",
            schema_ref=LENS_SCHEMA,
            resource=row.lens_id(space),
            resource_revision=row.revision,
            stream=space.position,
            project=space.project,
            classification=space.default_classification_ref,
            payload=record(space, row),
        )
    )
    return Applied(revision=row.revision)


# --- reads --------------------------------------------------------------------------------------------------
def show(view: View, request: Request[LensShowArgs], admission: Admission) -> Served:
    """``lens_show``."""
    args = request.args
    row, space = _find_words(view, admission, args.lens_id)
    return Served(view.render(record(space, row)), row.revision)


def list_(view: View, request: Request[LensListArgs], admission: Admission) -> Served:
    """``lens_list``: the space's lenses that are there for the actor, the built-in ones first. Where the
    space is above the actor's ceiling, these are the built-in ones as they come.
    """
    args = request.args
    space, project = space_in(view, admission, args.space_id), admission.project
    assert project is not None
    above = withholder(view, admission, space)(space.default_classification_ref)
    asked = pages.ask(f"list:lenses:{space.space_id}", args)
    snapshot = pages.open_page(view, asked, project)
    rows = (
        (place, view.render_with_marks(record(space, row)))
        for place, row in _rows(view, space, snapshot)
        if row.there and _seen(admission, row) and not (above and row.says_something)
    )
    return Served(pages.page(view, asked, snapshot, rows))


def _rows(view: View, space: SpaceRow, snapshot: pages.Snapshot) -> Iterator[tuple[int, LensRow]]:
    """Each lens with its place in the list: 0 and 1 are the built-in ones', since no lens was made at the
    log's first positions.
    """
    for place, kind in enumerate(BUILT_IN):
        if place > snapshot.after:
            yield place, _built_in(view, space, kind)
    cursor = view.db.execute(
        f"SELECT {_COLUMNS} FROM lenses WHERE space = ? AND built_in IS NULL AND position > ? "
        "AND position <= ? ORDER BY position",
        (space.position, snapshot.after, snapshot.bound),
    )
    for values in cursor:
        yield values[0], LensRow(*values)


def read(view: View, request: Request[LensReadArgs], admission: Admission) -> Served:
    """``lens_read``: what is seen through a lens, a page at a time."""
    args = request.args
    row, space = _find(view, admission, args.lens_id)
    project = admission.project
    assert project is not None
    plan = _plan(view, row, args.lens_id)
    asked = pages.ask(f"list:lens:{args.lens_id}", args, plan.filters)
    snapshot = pages.open_page(view, asked, project)
    items = lens_query.items(view, admission, space, plan, snapshot)
    return Served(pages.page(view, asked, snapshot, items))


def _plan(view: View, row: LensRow, lens_id: str) -> lens_query.Plan:
    """What the lens asks for. Raises Refusal ``invalid`` where that cannot be evaluated: it is not passed
    over.
    """
    query: JsonObject = msgspec.json.decode(_content(view, row, "query"))
    sort: JsonObject = msgspec.json.decode(_content(view, row, "sort"))
    try:
        return lens_query.Plan(row.kind == lens_query.WORKBENCH, read_query(query), read_sort(sort))
    except Misshapen as fault:
        raise invalid(f"lens {lens_id} cannot be read: {fault}; change it with lens_update") from None
