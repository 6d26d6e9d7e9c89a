"""Reactions: one actor's mark on an object of a space, under a key. For presentation, and never authority.

There is one for each object, actor and key: setting it again changes it, and setting it to what it is already
changes nothing, tells nobody, and is answered with it as it stands. One that is taken back before it was ever
set is made, as ``removed``. A space's revision is not moved by any of it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tallyd.admission import Admission
from tallyd.families.shared import objects
from tallyd.families.shared.family import Family, write
from tallyd.families.shared.objects import ContributionRow, RelationRow
from tallyd.families.shared.results import check_open, check_revision, space_in
from tallyd.ledger import ids, skeleton, times
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallyd.ledger.view import SpaceRow, View
from tallystick.protocol.envelope import Request
from tallystick.protocol.families.reactions import OPERATIONS, REACTION_SET, ReactionSetArgs
from tallystick.protocol.problems import stale_revision

REACTION_SCHEMA: Final = "schema:reaction-v1"


class ReactionRow(msgspec.Struct, frozen=True):
    """A row of ``reactions``, its fields in the table's order."""

    position: int
    id: bytes
    space: int
    target: int
    actor_ref: str
    key: str
    state: str
    revision: int
    updated_ms: int

    @property
    def reaction_id(self) -> str:
        return ids.text("react", self.id)


_SELECT: Final = (
    f"SELECT {', '.join(ReactionRow.__struct_fields__)} FROM reactions "
    "WHERE target = ? AND actor_ref = ? AND key = ?"
)


def record(space_id: str, target_ref: str, target: ContributionRow | RelationRow, row: ReactionRow) -> bytes:
    """A reaction's record; it holds no content."""
    return skeleton.encode(
        {
            "reaction_id": row.reaction_id,
            "space_id": space_id,
            "target_ref": target_ref,
            "target_revision": objects.REVISION,
            "target_digest": target.digest.hex(),
            "actor_ref": row.actor_ref,
            "key": row.key,
            "state": row.state,
            "revision": row.revision,
            "updated_at": times.rfc3339(row.updated_ms),
        }
    )


def set_(tx: Transaction, request: Request[ReactionSetArgs], admission: Admission) -> Applied:
    """``reaction_set``."""
    args = request.args
    space = space_in(tx, admission, args.space_id)
    check_open(space)
    check_revision(request, space.revision, f"space {space.space_id}")
    target = _target(tx, admission, space, args)
    row = _find(tx, target.position, admission.author, args.key)
    if row is not None and row.state == args.state:
        unchanged = record(space.space_id, args.target_ref, target, row)
        return Applied(result=unchanged, revision=row.revision, cursor=False)
    digits = tx.new_id()
    if row is None:
        row = _new(tx, args, space, target, admission.author, digits)
    else:
        row = _moved(tx, row, args.state)
    tx.emit(
        Event(
            event_id=digits,
            type="dev.kovee.space.reaction-set.v1",
            schema_ref=REACTION_SCHEMA,
            resource=row.reaction_id,
            resource_revision=row.revision,
            stream=space.position,
            project=space.project,
            classification=target.classification,
            payload=record(space.space_id, args.target_ref, target, row),
        )
    )
    return Applied(revision=row.revision)


def _target(
    tx: Transaction, admission: Admission, space: SpaceRow, args: ReactionSetArgs
) -> ContributionRow | RelationRow:
    """Raises Refusal ``not-found``, ``forbidden`` or ``stale-revision``."""
    target = objects.referable(tx, admission, space, args.target_ref)
    if args.target_revision != objects.REVISION or args.target_digest != target.digest.hex():
        raise stale_revision(
            objects.REVISION,
            f"$.args names a revision or digest that {args.target_ref} does not have; read it again",
        )
    return target


def _find(view: View, target: int, actor: str, key: str) -> ReactionRow | None:
    values = view.db.execute(_SELECT, (target, actor, key)).fetchone()
    return None if values is None else ReactionRow(*values)


def _new(
    tx: Transaction,
    args: ReactionSetArgs,
    space: SpaceRow,
    target: ContributionRow | RelationRow,
    actor: str,
    digits: bytes,
) -> ReactionRow:
    row = ReactionRow(
        position=tx.position,
        id=digits,
        space=space.position,
        target=target.position,
        actor_ref=actor,
        key=args.key,
        state=args.state,
        revision=1,
        updated_ms=tx.now_ms,
    )
    tx.insert("reactions", **{field: getattr(row, field) for field in row.__struct_fields__})
    return row


def _moved(tx: Transaction, row: ReactionRow, state: str) -> ReactionRow:
    row = msgspec.structs.replace(row, state=state, revision=row.revision + 1, updated_ms=tx.now_ms)
    tx.update(
        "reactions",
        {"position": row.position},
        state=row.state,
        revision=row.revision,
        updated_ms=row.updated_ms,
    )
    return row


FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(write(REACTION_SET, set_),),
)
