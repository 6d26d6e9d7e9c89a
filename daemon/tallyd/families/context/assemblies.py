"""Context assemblies: exactly what an assistant is given, by reference and digest, with nothing left out in
silence.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tallyd.admission import Admission
from tallyd.families.context import frontiers
from tallyd.families.contributions.contributions import worker_space
from tallyd.families.shared import objects
from tallyd.families.shared.lists import Rows, page_of, rows_of_space, withholder
from tallyd.families.shared.objects import ContributionRow, RelationRow
from tallyd.families.shared.results import Served, branch_of, check_revision, given, space_in
from tallyd.ledger import events, ids, pages, skeleton
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallyd.ledger.view import SpaceRow, View
from tallyd.ledger.withheld import ABOVE_CEILING, Withheld
from tallystick.protocol import limits
from tallystick.protocol.digests import cod
from tallystick.protocol.envelope import Request
from tallystick.protocol.families.context import (
    ContextAssemblyCreateArgs,
    ContextAssemblyShowArgs,
    TallystickAssemblyListArgs,
)
from tallystick.protocol.problems import invalid, not_found, unavailable

ASSEMBLY_SCHEMA: Final = "schema:context-assembly-v1"
POLICY: Final = "explicit_refs_v1"
_CLAIM_OVERHEAD_BYTES: Final = 16_384
"""Invocation, frontier and envelope of a claim, beside its assembly and items."""


class AssemblyRow(msgspec.Struct, frozen=True):
    """A row of ``assemblies``, its fields in the table's order."""

    position: int
    space: int
    digest: bytes


_SELECT: Final = f"SELECT {', '.join(AssemblyRow.__struct_fields__)} FROM assemblies WHERE position = ?"


def create(tx: Transaction, request: Request[ContextAssemblyCreateArgs], admission: Admission) -> Applied:
    """``context_assembly_create``, on both sockets; in any status of the space, whose revision it leaves
    alone.
    """
    args = request.args
    space = worker_space(tx, request, admission, args.space_id)
    branch_of(space, args.branch_id)
    check_revision(request, space.revision, f"space {space.space_id}")
    _check_policy(args)
    what = "contribution or relation on this branch"
    required = given(args.required_refs, [])
    found = [(ref, objects.referable(tx, admission, space, ref, what)) for ref in required]
    for ref in given(args.trigger_refs, []):
        objects.referable(tx, admission, space, ref, what)
    contributions = [(ref, row) for ref, row in found if isinstance(row, ContributionRow)]
    relations = [(ref, row) for ref, row in found if isinstance(row, RelationRow)]
    for ref, row in contributions:
        refuse_erased(tx, ref, row)
    items_bytes = _items_bytes(tx, contributions)
    record = _record(tx, admission, args, space, contributions, relations)
    encoded = skeleton.encode(record)
    _check_claim_fits(items_bytes + len(encoded))
    digits = ids.digits("casm", str(record["assembly_id"]))
    assert digits is not None
    tx.insert(
        "assemblies", position=tx.position, space=space.position, digest=bytes.fromhex(str(record["digest"]))
    )
    tx.emit(
        Event(
            event_id=digits,
            type="dev.kovee.space.context-assembly-created.v1",
            schema_ref=ASSEMBLY_SCHEMA,
            resource=str(record["assembly_id"]),
            resource_revision=1,
            stream=space.position,
            project=space.project,
            classification=str(record["classification_join_ref"]),
            payload=skeleton.encode(
                {
                    name: record[name]
                    for name in ("assembly_id", "space_id", "frontier_ref", "digest", "totals")
                }
            ),
        )
    )
    return Applied(result=encoded, revision=1)


def _check_policy(args: ContextAssemblyCreateArgs) -> None:
    if args.selection_policy_ref != POLICY:
        raise invalid(
            f"$.args.selection_policy_ref: {POLICY} is the one selection policy; name the refs yourself"
        )
    for name in ("recipe_ref", "recipe_revision"):
        if getattr(args, name) is not msgspec.UNSET:
            raise invalid(f"$.args.{name}: there are no recipes; leave it out and name the refs yourself")


def refuse_erased(view: View, ref: str, row: ContributionRow) -> None:
    """Raises Refusal ``unavailable`` for an item that was erased: never a placeholder in its place."""
    if view.one("SELECT 1 FROM bodies WHERE body = ?", row.body) is None:
        raise unavailable(f"item {ref} was erased; assemble without it")


def _record(
    tx: Transaction,
    admission: Admission,
    args: ContextAssemblyCreateArgs,
    space: SpaceRow,
    contributions: list[tuple[str, ContributionRow]],
    relations: list[tuple[str, RelationRow]],
) -> dict[str, object]:
    frontier_digits = tx.new_id()
    tx.register(frontier_digits)
    frontier = frontiers.pin_row(tx, space, frontier_digits)
    joined = {row.classification for _, row in contributions}
    total = sum(row.size for _, row in contributions)
    said: dict[str, object] = {
        "assembly_id": ids.text("casm", tx.new_id()),
        "revision": 1,
        "realm_id": ids.REALM_ID,
        "project_id": tx.resource_at(space.project),
        "space_id": space.space_id,
        "branch_id": space.branch_id,
        "audience_ref": args.audience_ref,
        "purpose": args.purpose,
        "trigger_refs": given(args.trigger_refs, []),
        "frontier_ref": frontier.frontier_id,
        "frontier_digest": frontier.digest.hex(),
        "selection_policy_ref": POLICY,
        "selection_policy_digest": cod(
            "kovee-selection-policy", "schema:kovee-selection-policy-v1", {"policy": POLICY, "version": 1}
        ),
        "items": [_item(order, ref, row) for order, (ref, row) in enumerate(contributions)],
        "relations": [{"relation_ref": ref, "digest": row.digest.hex()} for ref, row in relations],
        "transformations": [],
        "omissions": [],
        "classification_join_ref": joined.pop() if len(joined) == 1 else space.default_classification_ref,
        "totals": {"items": len(contributions), "bytes": total, "estimated_tokens": total // 4},
        "selection_policy_version": "v1",
        "assembler_version": "tallystick-explicit-refs-v1",
        "authorization_dependency_set_ref": "authz-owner-local-v1",
        "authority_digest": cod(
            "kovee-authority",
            "schema:kovee-authority-v1",
            {"actor_ref": admission.author, "branch_id": space.branch_id, "space_id": space.space_id},
        ),
        "created_at": tx.now,
    }
    said["digest"] = cod("kovee-context-assembly", ASSEMBLY_SCHEMA, said)
    return said


def _item(order: int, ref: str, row: ContributionRow) -> dict[str, object]:
    return {
        "object_ref": ref,
        "revision": objects.REVISION,
        "digest": row.digest.hex(),
        "size": row.size,
        "classification_ref": row.classification,
        "role": "required",
        "order": order,
        "inclusion_reason": "explicit_ref",
    }


def _items_bytes(tx: Transaction, contributions: list[tuple[str, ContributionRow]]) -> int:
    """What the items take in a claim's reply. Raises Refusal ``invalid`` where they hold too many values."""
    needed = 0
    for _, row in contributions:
        payload = tx.log_row(row.position).payload
        assert payload is not None
        needed += len(payload) + row.size
    _check_claim_nodes(tx, contributions)
    return needed


def _check_claim_fits(said_bytes: int) -> None:
    """A claim hands over every item whole: an assembly whose claim would not fit a reply is refused now."""
    needed = _CLAIM_OVERHEAD_BYTES + said_bytes
    if needed > limits.REPLY_BYTES_MAX:
        raise invalid(
            f"$.args.required_refs: the items come to {needed} bytes, and a claim can hand over "
            f"{limits.REPLY_BYTES_MAX}; name fewer"
        )


def _check_claim_nodes(tx: Transaction, contributions: list[tuple[str, ContributionRow]]) -> None:
    nodes = 0
    for _, row in contributions:
        content = tx.content(row.body) or b""
        nodes += 40 + content.count(b",") + content.count(b"[") + content.count(b"{")
    if nodes > limits.NODES_MAX:
        raise invalid(
            f"$.args.required_refs: the items hold about {nodes} values, and a claim can hand over "
            f"{limits.NODES_MAX}; "
            "name fewer"
        )


# --- reads --------------------------------------------------------------------------------------------------
def find(view: View, assembly_id: str) -> AssemblyRow | None:
    """The assembly of that id, wherever it stands."""
    position = view.position_of("casm", assembly_id)
    if position is None or objects.ref_at(view, position) != assembly_id:
        return None
    return at(view, position)


def seen(view: View, admission: Admission, assembly_id: str) -> tuple[AssemblyRow, SpaceRow]:
    """The assembly of that id and its space, where the actor sees them. Raises Refusal ``not-found``."""
    row, project = find(view, assembly_id), admission.project
    space = None if row is None else view.space_at(row.space)
    if row is None or space is None or project is None or space.project != project.position:
        raise not_found("assembly", assembly_id)
    if not admission.sees(view, space):
        raise not_found("assembly", assembly_id)
    return row, space


class _Named(msgspec.Struct, frozen=True):
    object_ref: str = ""
    relation_ref: str = ""


class _Contents(msgspec.Struct, frozen=True):
    """What of an assembly's record says what it names with its digest."""

    items: list[_Named]
    relations: list[_Named]


def refuse_withheld(view: View, admission: Admission, assembly: AssemblyRow) -> None:
    """Raises Refusal ``unavailable``, by name, for an item or a relation above the actor's ceiling: the
    assembly's record has its digest.
    """
    space = view.space_at(assembly.space)
    assert space is not None
    if admission.agent is None:
        return
    held = admission.rights(view, space)
    named = msgspec.json.decode(record_at(view, assembly.position), type=_Contents)
    for one in (*named.items, *named.relations):
        ref = one.object_ref or one.relation_ref
        row = objects.in_space(view, space, ref)
        if row is not None and not held.reaches(view, row.classification):
            what = "item" if one.object_ref else "relation"
            raise unavailable(
                f"{what} {ref} is withheld from this actor; ask a steward, or assemble without it"
            )


def at(view: View, position: int) -> AssemblyRow | None:
    row = view.db.execute(_SELECT, (position,)).fetchone()
    return None if row is None else AssemblyRow(*row)


def record_at(view: View, position: int) -> bytes:
    """An assembly's record: what its command answered. It holds no content."""
    result = view.log_row(position).result
    assert result is not None
    return result


def items_at(view: View, admission: Admission, assembly: AssemblyRow) -> list[bytes]:
    """Skeletons of the contributions that the assembly names, in its order, each compared with what it names.

    Raises Refusal ``unavailable``, with the item, where one was erased or withheld since, cannot be opened,
    or is not what the assembly pinned.
    """
    refuse_withheld(view, admission, assembly)
    record = msgspec.json.decode(record_at(view, assembly.position))
    skeletons = []
    for item in record["items"]:
        ref = item["object_ref"]
        row = objects.contribution(view, ref)
        if row is None or row.digest.hex() != item["digest"]:
            raise unavailable(f"item {ref} is not what the assembly pinned; assemble again")
        refuse_erased(view, ref, row)
        view.content(row.body)
        skeletons.append(_item_skeleton(view, row))
    return skeletons


def _item_skeleton(view: View, row: ContributionRow) -> bytes:
    made = view.log_row(row.position)
    events.note(view, made)
    assert made.payload is not None
    return made.payload


def show(view: View, request: Request[ContextAssemblyShowArgs], admission: Admission) -> Served:
    """``context_assembly_show``: refused by name where an item can no longer be given."""
    args = request.args
    row, _ = seen(view, admission, args.assembly_id)
    items_at(view, admission, row)
    view.sensitive.clear()  # their content is compared here, and not served
    return Served(record_at(view, row.position), 1)


def assembly_list(view: View, request: Request[TallystickAssemblyListArgs], admission: Admission) -> Served:
    """``tallystick_assembly_list``: without their items, so that what was erased since is no obstacle."""
    args = request.args
    space = space_in(view, admission, args.space_id)
    asked = pages.ask(f"list:assemblies:{space.space_id}", args)
    withholds, withheld = withholder(view, admission, space), Withheld()

    def rows(snapshot: pages.Snapshot) -> Rows:
        columns = "log.position, log.stream_sequence, log.classification, log.result"
        cursor = rows_of_space(view, space, snapshot, "assemblies", columns)
        for position, sequence, classification, result in cursor:
            if withholds(classification):
                withheld.add(sequence, ABOVE_CEILING)
            else:
                yield position, skeleton.encode(msgspec.json.decode(result, type=_Summary))
                withheld.close_range()
        withheld.close_range()

    return page_of(view, admission, asked, rows, withheld)


class _Summary(msgspec.Struct, frozen=True):
    """What of an assembly's record stands in a list."""

    assembly_id: str
    space_id: str
    branch_id: str
    audience_ref: str
    purpose: str
    trigger_refs: list[str]
    frontier_ref: str
    classification_join_ref: str
    totals: dict[str, int]
    revision: int
    created_at: str
    digest: str
