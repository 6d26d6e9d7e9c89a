"""Relations: semantic assertions between two exact objects of a space. They advance the branch as
contributions do.
"""

from __future__ import annotations

from typing import Final

from tallyd.admission import Admission
from tallyd.families.contributions.contributions import advance, compare_head, writable_space
from tallyd.families.shared import objects
from tallyd.families.shared.results import given, optional
from tallyd.ledger import ids, skeleton
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallyd.ledger.view import SpaceRow
from tallystick.protocol.digests import cod
from tallystick.protocol.envelope import Request
from tallystick.protocol.families.contributions import ObjectRef, RelationAssertArgs
from tallystick.protocol.problems import cycle, stale_revision

RELATION_SCHEMA: Final = "schema:space-relation-v1"
_DIGESTED: Final = (
    "space_id",
    "origin_branch_id",
    "branch_sequence",
    "kind",
    "from_ref",
    "to_ref",
    "rationale_ref",
)
"""The members of a relation's digest, as KCP's recordings have it; null for what is not there."""


def assert_(tx: Transaction, request: Request[RelationAssertArgs], admission: Admission) -> Applied:
    """``relation_assert``, on both sockets."""
    args = request.args
    space = writable_space(tx, request, admission, args.space_id, args.branch_id)
    compare_head(space, args.expected_head_digest)
    ends = (
        _check_endpoint(tx, admission, space, args.from_ref, "$.args.from_ref"),
        _check_endpoint(tx, admission, space, args.to_ref, "$.args.to_ref"),
    )
    if args.from_ref.object_ref == args.to_ref.object_ref:
        raise cycle(f"$.args.to_ref is {args.to_ref.object_ref} itself; a relation is between two objects")
    rationale = optional(args.rationale_ref)
    if rationale is not None:
        objects.referable(tx, admission, space, rationale)
    return _write(tx, admission, args, space, ends, rationale)


def _check_endpoint(tx: Transaction, admission: Admission, space: SpaceRow, ref: ObjectRef, at: str) -> int:
    """The position of the object that is meant."""
    found = objects.referable(tx, admission, space, ref.object_ref)
    if ref.revision != objects.REVISION or ref.digest != found.digest.hex():
        raise stale_revision(
            objects.REVISION,
            f"{at} names a revision or digest that {ref.object_ref} does not have; read it again",
        )
    return found.position


def _write(
    tx: Transaction,
    admission: Admission,
    args: RelationAssertArgs,
    space: SpaceRow,
    ends: tuple[int, int],
    rationale: str | None,
) -> Applied:
    digits, position = tx.new_id(), tx.position
    sequence = space.branch_sequence + 1
    schema_ref = given(args.schema_ref, RELATION_SCHEMA)
    classification = space.default_classification_ref
    said: dict[str, object] = {
        "relation_id": ids.text("rel", digits),
        "revision": objects.REVISION,
        "space_id": space.space_id,
        "origin_branch_id": space.branch_id,
        "branch_sequence": sequence,
        "author_actor_ref": admission.author,
        "kind": args.kind,
        "from_ref": _triple(args.from_ref),
        "to_ref": _triple(args.to_ref),
        "relation_class": "semantic_assertion",
        "classification_ref": classification,
        "schema_ref": schema_ref,
        "created_at": tx.now,
    }
    if rationale is not None:
        said["rationale_ref"] = rationale
    digest = bytes.fromhex(cod("kovee-relation", schema_ref, {name: said.get(name) for name in _DIGESTED}))
    said["digest"] = digest.hex()
    tx.insert(
        "relations",
        position=position,
        space=space.position,
        branch_sequence=sequence,
        kind=args.kind,
        classification=classification,
        digest=digest,
        from_object=ends[0],
        to_object=ends[1],
    )
    space = advance(tx, space, digest, contributions=0)
    tx.emit(
        Event(
            event_id=digits,
            type="dev.kovee.space.relation-asserted.v1",
            schema_ref=RELATION_SCHEMA,
            resource=str(said["relation_id"]),
            resource_revision=objects.REVISION,
            stream=space.position,
            project=space.project,
            classification=classification,
            payload=skeleton.encode(said),
        )
    )
    return Applied(revision=space.revision)


def _triple(ref: ObjectRef) -> dict[str, object]:
    return {"object_ref": ref.object_ref, "revision": ref.revision, "digest": ref.digest}
