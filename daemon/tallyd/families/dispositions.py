"""Dispositions: what became of a contribution or a relation. The original stays as it was said.

============ ============== =========== =================================================================
kind         of             its event   what it says
============ ============== =========== =================================================================
withdraw     a contribution -withdrawn  nobody stands by it any longer
supersede    a contribution -superseded another contribution of the space stands in its place
redact       a contribution -redacted   its body is erased (the erasure itself is not done here)
retract      a relation     -retracted  it is no longer asserted
============ ============== =========== =================================================================

Each kind once of each object, for good; a contribution may have several kinds. Replacements never lead in a
circle. What has a disposition is there to be shown, read and referred to as before: whoever reads it is shown
the disposition beside it (``reading``).

An author may do this to their own, a steward and the owner to anything.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tallyd.admission import Admission, check_rights, may_write
from tallyd.families.shared import objects
from tallyd.families.shared.family import Family, read, write
from tallyd.families.shared.lists import Rows, page_of, withholder
from tallyd.families.shared.objects import ContributionRow, RelationRow, refuse_unreachable
from tallyd.families.shared.results import Served, check_open, check_revision, optional, space_in
from tallyd.ledger import events, ids, pages, skeleton, times
from tallyd.ledger.calls import Disposal
from tallyd.ledger.log import LogRow
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallyd.ledger.view import SpaceRow, View
from tallyd.ledger.withheld import ABOVE_CEILING, Withheld
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.families.dispositions import (
    CONTRIBUTION_SUPERSEDE,
    CONTRIBUTION_WITHDRAW,
    OPERATIONS,
    RELATION_RETRACT,
    TALLYSTICK_DISPOSITION_LIST,
    ContributionSupersedeArgs,
    ContributionWithdrawArgs,
    RelationRetractArgs,
    TallystickDispositionListArgs,
)
from tallystick.protocol.problems import cycle, forbidden, invalid, not_found

CONTRIBUTION_SCHEMA: Final = "schema:contribution-disposition-v1"
RELATION_SCHEMA: Final = "schema:relation-disposition-v1"


class Kind(msgspec.Struct, frozen=True):
    """A kind of disposition: how rows and events call it, and how records do."""

    done: str
    name: str


WITHDRAWN: Final = Kind("withdrawn", "withdraw")
SUPERSEDED: Final = Kind("superseded", "supersede")
REDACTED: Final = Kind("redacted", "redact")
RETRACTED: Final = Kind("retracted", "retract")

KINDS: Final[dict[str, Kind]] = {kind.done: kind for kind in (WITHDRAWN, SUPERSEDED, REDACTED, RETRACTED)}


class DispositionRow(msgspec.Struct, frozen=True):
    """A row of ``dispositions``, its fields in the table's order."""

    position: int
    id: bytes
    target: int
    space: int
    kind: str
    replacement: int | None
    reason_class: str
    authorized_by: str
    created_ms: int

    @property
    def of_relation(self) -> bool:
        return self.kind == RETRACTED.done

    @property
    def disposition_id(self) -> str:
        return ids.text("rdisp" if self.of_relation else "cdisp", self.id)


COLUMNS: Final = ", ".join(DispositionRow.__struct_fields__)


def record(view: View, row: DispositionRow, replacement_ref: str | None = None) -> bytes:
    """A disposition's record; it holds no content. ``replacement_ref`` is given where the replacement is made
    in the same command, and has no row in the log yet.
    """
    said: dict[str, object] = {
        "disposition_id": row.disposition_id,
        "relation_ref" if row.of_relation else "contribution_ref": objects.ref_at(view, row.target),
        "kind": KINDS[row.kind].name,
        "reason_class": row.reason_class,
        "authorized_by_ref": row.authorized_by,
        "created_at": times.rfc3339(row.created_ms),
    }
    if row.replacement is not None:
        said["replacement_ref"] = replacement_ref or objects.ref_at(view, row.replacement)
    if row.kind == REDACTED.done:
        said["payload_removed_at"] = times.rfc3339(row.created_ms)
    return skeleton.encode(said)


def of(view: View, target: int) -> list[bytes]:
    """The records of what became of an object, in the order in which it did."""
    rows = view.db.execute(
        f"SELECT {COLUMNS} FROM dispositions WHERE target = ? ORDER BY position", (target,)
    )
    return [record(view, DispositionRow(*values)) for values in rows]


# --- commands -----------------------------------------------------------------------------------------------
def withdraw(tx: Transaction, request: Request[ContributionWithdrawArgs], admission: Admission) -> Applied:
    """``contribution_withdraw``."""
    args = request.args
    target, space = _contribution(tx, request, admission, args.contribution_ref)
    check_disposable(request, space)
    return dispose(tx, admission, space, target, WITHDRAWN, args.reason_class)


def supersede(tx: Transaction, request: Request[ContributionSupersedeArgs], admission: Admission) -> Applied:
    """``contribution_supersede``: by another contribution of the space, whatever became of either."""
    args = request.args
    target, space = _contribution(tx, request, admission, args.contribution_ref)
    check_disposable(request, space)
    replacement = objects.contribution(tx, args.replacement_ref)
    if replacement is None or replacement.space != space.position:
        raise not_found("contribution in this space", args.replacement_ref)
    refuse_unreachable(tx, admission, space, replacement.classification, args.replacement_ref)
    refuse_second(tx, args.contribution_ref, target, SUPERSEDED)
    if replacement.position == target.position:
        raise invalid(f"$.args.replacement_ref: {args.contribution_ref} cannot stand in its own place")
    if _leads_to(tx, replacement.position, target.position):
        raise cycle(
            f"$.args.replacement_ref: {args.replacement_ref} is superseded by {args.contribution_ref}, "
            f"at once or in the end; choose one that stands"
        )
    return dispose(tx, admission, space, target, SUPERSEDED, args.reason_class, replacement.position)


def retract(tx: Transaction, request: Request[RelationRetractArgs], admission: Admission) -> Applied:
    """``relation_retract``."""
    args = request.args
    target = objects.relation(tx, args.relation_ref)
    space = _answered_for(tx, request, admission, "relation", args.relation_ref, target)
    assert target is not None
    check_disposable(request, space)
    return dispose(tx, admission, space, target, RETRACTED, args.reason_class)


_LEADS_TO: Final = (
    "WITH RECURSIVE later(position) AS (VALUES (?) UNION SELECT d.replacement FROM later "
    "JOIN dispositions AS d ON d.target = later.position AND d.kind = 'superseded') "
    "SELECT 1 FROM later WHERE position = ?"
)


def _leads_to(view: View, replacement: int, target: int) -> bool:
    """Whether whoever follows replacements from one contribution comes to another."""
    return view.one(_LEADS_TO, replacement, target) is not None


# --- what they share ----------------------------------------------------------------------------------------
def check_disposable(request: AnyRequest, space: SpaceRow) -> None:
    """Raises Refusal ``stale-revision`` where the space takes nothing new, or is at another revision."""
    check_open(space)
    check_revision(request, space.revision, f"space {space.space_id}")


def refuse_second(view: View, ref: str, target: ContributionRow | RelationRow, kind: Kind) -> None:
    """Raises Refusal ``invalid`` for what has a disposition of that kind."""
    there = view.one("SELECT 1 FROM dispositions WHERE target = ? AND kind = ?", target.position, kind.done)
    if there is not None:
        raise invalid(f"{ref} is {kind.done} already, and can be {kind.done} once")


def dispose(
    tx: Transaction,
    admission: Admission,
    space: SpaceRow,
    target: ContributionRow | RelationRow,
    kind: Kind,
    reason_class: str,
    replacement: int | None = None,
) -> Applied:
    """Writes the disposition, its event and the space's next revision, which is the reply's. Raises Refusal
    ``invalid`` where the target has one of that kind.
    """
    refuse_second(tx, objects.ref_at(tx, target.position), target, kind)
    return Applied(revision=note(tx, admission, space, target, kind, reason_class, replacement).revision)


def note(
    tx: Transaction,
    admission: Admission,
    space: SpaceRow,
    target: ContributionRow | RelationRow,
    kind: Kind,
    reason_class: str,
    replacement: int | None = None,
    replacement_ref: str | None = None,
) -> SpaceRow:
    """Writes a disposition that the target does not have yet, and tells the families whose object it may be.
    ``replacement_ref`` is as ``record`` takes it. Returns the space with its next revision.
    """
    row = DispositionRow(
        position=tx.event_position,
        id=tx.new_id(),
        target=target.position,
        space=space.position,
        kind=kind.done,
        replacement=replacement,
        reason_class=reason_class,
        authorized_by=admission.author,
        created_ms=tx.now_ms,
    )
    tx.insert("dispositions", **{field: getattr(row, field) for field in row.__struct_fields__})
    space = tx.update_space(space, revision=space.revision + 1)
    of_what = "relation" if row.of_relation else "contribution"
    tx.emit(
        Event(
            event_id=row.id,
            type=f"dev.kovee.space.{of_what}-{kind.done}.v1",
            schema_ref=RELATION_SCHEMA if row.of_relation else CONTRIBUTION_SCHEMA,
            resource=row.disposition_id,
            resource_revision=1,
            stream=space.position,
            project=space.project,
            classification=target.classification,
            payload=record(tx, row, replacement_ref),
        )
    )
    if not row.of_relation:
        assert tx.calls is not None, "whoever made this transaction did not set its calls"
        for disposed in tx.calls.disposed:
            disposed(tx, Disposal(space, target.position, kind.done, row.position))
    return space


def _contribution(
    tx: Transaction, request: AnyRequest, admission: Admission, ref: str
) -> tuple[ContributionRow, SpaceRow]:
    target = objects.contribution(tx, ref)
    space = _answered_for(tx, request, admission, "contribution", ref, target)
    assert target is not None
    return target, space


def _answered_for(
    tx: Transaction,
    request: AnyRequest,
    admission: Admission,
    what: str,
    ref: str,
    target: ContributionRow | RelationRow | None,
) -> SpaceRow:
    """The space of an object that the actor may dispose of. Raises Refusal ``not-found`` where it is not
    there, ``forbidden`` where it is another's.
    """
    space = None if target is None else tx.space_at(target.space)
    project = admission.project
    if target is None or space is None or project is None or space.project != project.position:
        raise not_found(what, ref)
    if not admission.sees(tx, space):
        raise not_found(what, ref)
    refuse_unreachable(tx, admission, space, target.classification, ref)
    name = request.operation.name
    otherwise = f"{name} is for active contributors of space {space.space_id}"
    check_rights(tx, admission, space, may_write(name), otherwise)
    if not admission.rights(tx, space).stewards and not _made_by(tx, admission, target.position):
        raise forbidden(f"{ref} is another's; its author, a steward of the space or the owner can do this")
    return space


def _made_by(view: View, admission: Admission, position: int) -> bool:
    """Whether the actor wrote it, as itself or through a worker on its own channel."""
    made = view.log_row(position)
    return admission.actor in (made.actor, made.author)


# --- reads --------------------------------------------------------------------------------------------------
def disposed_item(view: View, what: str, row: LogRow, record: bytes) -> bytes:
    """A contribution or relation, whose record was rendered from a row, and what became of it."""
    events.note(view, row)
    said = {
        what: skeleton.embedded(record),
        "dispositions": [skeleton.embedded(one) for one in of(view, row.position)],
    }
    return skeleton.encode(said)


def disposition_list(
    view: View, request: Request[TallystickDispositionListArgs], admission: Admission
) -> Served:
    """``tallystick_disposition_list``: each is classified as what it is about."""
    args = request.args
    space, kind = space_in(view, admission, args.space_id), optional(args.kind)
    asked = pages.ask(f"list:dispositions:{space.space_id}", args, (kind,))
    withheld = Withheld()

    def rows(snapshot: pages.Snapshot) -> Rows:
        return _disposition_rows(view, admission, space, snapshot, kind, withheld)

    return page_of(view, admission, asked, rows, withheld)


_DISPOSITIONS: Final = (
    f"SELECT log.stream_sequence, log.classification, "
    f"{', '.join('o.' + name for name in DispositionRow.__struct_fields__)} FROM dispositions AS o "
    "JOIN log ON log.position = o.position WHERE o.space = ? AND o.position > ? AND o.position <= ? "
    "ORDER BY o.position"
)


def _disposition_rows(
    view: View,
    admission: Admission,
    space: SpaceRow,
    snapshot: pages.Snapshot,
    kind: str | None,
    withheld: Withheld,
) -> Rows:
    withholds = withholder(view, admission, space)
    cursor = view.db.execute(_DISPOSITIONS, (space.position, snapshot.after, snapshot.bound))
    for sequence, classification, *values in cursor:
        row = DispositionRow(*values)
        if withholds(classification):
            withheld.add(sequence, ABOVE_CEILING)
        elif kind is None or KINDS[row.kind].name == kind:
            yield row.position, record(view, row)
            withheld.close_range()
    withheld.close_range()


FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        write(CONTRIBUTION_WITHDRAW, withdraw),
        write(CONTRIBUTION_SUPERSEDE, supersede),
        write(RELATION_RETRACT, retract),
        read(TALLYSTICK_DISPOSITION_LIST, disposition_list),
    ),
)
