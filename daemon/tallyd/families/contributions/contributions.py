"""Contributions: what is said in a space. Append-only; the record never changes but by erasure."""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from tallyd.admission import Admission, check_rights, may_write
from tallyd.families import aliases
from tallyd.families.artifacts import uploads as artifacts
from tallyd.families.participants import refuse_silenced
from tallyd.families.shared import objects
from tallyd.families.shared.objects import refuse_unreachable
from tallyd.families.shared.results import (
    Served,
    branch_of,
    check_open,
    check_revision,
    given,
    optional,
    space_in,
)
from tallyd.families.shared.servable import check_servable
from tallyd.ledger import events, ids, log, pages, skeleton
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallyd.ledger.view import SpaceRow, View
from tallyd.store.bodies import mac
from tallystick.protocol.canonical import canonical
from tallystick.protocol.digests import branch_next
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.families.contributions import (
    ContributionAppendArgs,
    ContributionListArgs,
    ContributionShowArgs,
)
from tallystick.protocol.parts import ContributionPart
from tallystick.protocol.problems import forbidden, not_found, stale_revision

APPENDED: Final = "dev.kovee.space.contribution-appended.v1"
BODY_SCHEMA: Final = "schema:contribution-body-v1"
RETENTION_DEFAULT: Final = "ret-default"

AROUND_PARTS: Final = 6
"""The deepest read that shows a body is a worker's progress: six containers stand around its parts."""


def append(tx: Transaction, request: Request[ContributionAppendArgs], admission: Admission) -> Applied:
    """``contribution_append``, on both sockets.

    Order of checks: space, status, branch, revision, head, kind, parts, references (KCP 16.1).
    """
    args = request.args
    space = writable_space(tx, request, admission, args.space_id, args.branch_id)
    compare_head(space, args.expected_head_digest)
    if args.kind == "system_notice":
        raise forbidden("a system_notice is written by services alone; choose another kind")
    carried = []
    for index, part in enumerate(args.body_parts):
        at = f"$.args.body_parts[{index}]"
        _check_part(tx, admission, space, part, at)
        if part.artifact_ref is not UNSET:
            carried.append(artifacts.referable(tx, admission, space, part.artifact_ref, at))
    for ref in (*given(args.subject_refs, []), *given(args.source_refs, [])):
        objects.referable(tx, admission, space, ref)
    parts = canonical(args.body_parts)
    check_servable(parts, AROUND_PARTS, "$.args.body_parts")
    artifacts.refer(tx, carried, tx.position)
    said = Said(
        kind=args.kind,
        parts=parts,
        schema_ref=given(args.schema_ref, BODY_SCHEMA),
        subjects=given(args.subject_refs, []),
        sources=given(args.source_refs, []),
        posture=optional(args.epistemic_posture),
        classification=optional(args.classification_ref),
        retention=given(args.retention_policy_ref, RETENTION_DEFAULT),
    )
    return Applied(revision=say(tx, admission, space, said).space.revision)


def writable_space(
    tx: Transaction, request: AnyRequest, admission: Admission, space_id: str, branch_id: str
) -> SpaceRow:
    """The open space that a command writes to, its branch and revision checked."""
    space = worker_space(tx, request, admission, space_id)
    check_open(space)
    branch_of(space, branch_id)
    check_revision(request, space.revision, f"space {space_id}")
    return space


def worker_space(tx: View, request: AnyRequest, admission: Admission, space_id: str) -> SpaceRow:
    """The space, where it is in the project and, for a worker whose invocation has one, the invocation's
    own; and where neither the worker's deployment nor its channel's actor has been silenced.
    """
    assert admission.project is not None
    space = space_in(tx, admission, space_id)
    invocation = admission.invocation
    if invocation is not None and invocation.space not in (None, space.position):
        raise not_found("space", space_id)
    if invocation is not None:
        otherwise = f"{request.operation.name} is for active contributors of space {space.space_id}"
        check_rights(tx, admission, space, may_write(request.operation.name), otherwise)
        refuse_silenced(tx, space, admission.author)
    return space


def compare_head(space: SpaceRow, expected: str | UnsetType) -> None:
    """The compare-and-set of the branch head; left out by who asked to land at the head."""
    head = space.branch_head.hex()
    if expected is not UNSET and not hmac.compare_digest(expected, head):
        raise stale_revision(
            space.revision,
            f"the head of branch {space.branch_id} has moved to sequence {space.branch_sequence}; read what "
            f"is new, "
            "and append to the head that is given here",
            {"digest": head, "branch_sequence": space.branch_sequence},
        )


def advance(tx: Transaction, space: SpaceRow, object_digest: bytes, *, contributions: int) -> SpaceRow:
    """Moves the head over an object with that digest, and the space's revision by one."""
    sequence = space.branch_sequence + 1
    return tx.update_space(
        space,
        revision=space.revision + 1,
        next_space_sequence=space.next_space_sequence + contributions,
        branch_sequence=sequence,
        branch_head=bytes.fromhex(branch_next(space.branch_head.hex(), sequence, object_digest.hex())),
    )


def _check_part(
    tx: Transaction, admission: Admission, space: SpaceRow, part: ContributionPart, at: str
) -> None:
    if part.target_ref is not UNSET:
        _check_mention(tx, space, part, at)
    elif part.object_ref is not UNSET:
        _check_reference(tx, admission, space, part, at)


def _check_mention(tx: Transaction, space: SpaceRow, part: ContributionPart, at: str) -> None:
    """A mention names the owner, or an active alias of the project at its exact revision; it wakes nobody."""
    assert part.target_ref is not UNSET
    if part.target_kind == "principal":
        if part.target_ref != ids.OWNER:
            raise not_found("principal", part.target_ref)
        return
    alias = aliases.find(tx, part.target_ref)
    if alias is None or alias.project != space.project or alias.status != "active":
        raise not_found("active alias", part.target_ref)
    if part.target_revision != alias.revision:
        raise stale_revision(
            alias.revision, f"{at} names a revision that the alias does not have; look at it again"
        )


def _check_reference(
    tx: Transaction, admission: Admission, space: SpaceRow, part: ContributionPart, at: str
) -> None:
    assert part.object_ref is not UNSET
    found = objects.referable(tx, admission, space, part.object_ref)
    revision, digest = part.object_revision, part.digest
    if (revision is not UNSET and revision != objects.REVISION) or (
        digest is not UNSET and digest != found.digest.hex()
    ):
        raise stale_revision(
            objects.REVISION,
            f"{at} names a revision or digest that {part.object_ref} does not have; read it again",
        )


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What a contribution is to say. ``parts`` are its body parts as canonical JSON, ``classification`` the
    space's default where it is None.
    """

    kind: str
    parts: bytes
    schema_ref: str = BODY_SCHEMA
    subjects: Sequence[str] = ()
    sources: Sequence[str] = ()
    posture: str | None = None
    classification: str | None = None
    retention: str = RETENTION_DEFAULT


class Saying(msgspec.Struct, frozen=True):
    """A contribution that was appended in this command: its id's digits, its row's position, its body, and
    the space as it is then.
    """

    digits: bytes
    position: int
    body: int
    classification: str
    space: SpaceRow

    @property
    def contribution_id(self) -> str:
        return ids.text("contrib", self.digits)


def say(tx: Transaction, admission: Admission, space: SpaceRow, said: Said) -> Saying:
    """Appends a contribution at the head of its space. Its event must be the command's first."""
    assert not tx.events, "a contribution's event is its command's first"
    digits, position = tx.new_id(), tx.position
    body, keys = tx.seal(said.parts)
    sequence = space.branch_sequence + 1
    digest = _content_digest(keys.digest, space, sequence, said)
    classification = said.classification or space.default_classification_ref
    record = _record(tx, admission, space, said, body, digits, digest)
    tx.insert(
        "contributions",
        position=position,
        space=space.position,
        branch_sequence=sequence,
        kind=said.kind,
        classification=classification,
        digest=digest,
        size=len(said.parts),
        body=body,
    )
    space = advance(tx, space, digest, contributions=1)
    tx.emit(
        Event(
            event_id=digits,
            type=APPENDED,
            schema_ref=BODY_SCHEMA,
            resource=ids.text("contrib", digits),
            resource_revision=objects.REVISION,
            stream=space.position,
            project=space.project,
            classification=classification,
            payload=record,
        )
    )
    return Saying(digits, position, body, classification, space)


def _record(
    tx: Transaction,
    admission: Admission,
    space: SpaceRow,
    said: Said,
    body: int,
    digits: bytes,
    digest: bytes,
) -> bytes:
    assert admission.project is not None
    record: dict[str, object] = {
        "contribution_id": ids.text("contrib", digits),
        "revision": objects.REVISION,
        "realm_id": ids.REALM_ID,
        "project_id": admission.project.project_id,
        "space_id": space.space_id,
        "origin_branch_id": space.branch_id,
        "origin_branch_sequence": space.branch_sequence + 1,
        "space_sequence": space.next_space_sequence,
        "author_actor_ref": admission.author,
        "kind": said.kind,
        "schema_ref": said.schema_ref,
        "body_parts": skeleton.place(skeleton.PARTS, body),
        "subject_refs": said.subjects,
        "source_refs": said.sources,
        "classification_ref": said.classification or space.default_classification_ref,
        "retention_policy_ref": said.retention,
        "content_digest": digest.hex(),
        "created_at": tx.now,
    }
    if said.posture is not None:
        record["epistemic_posture"] = said.posture
    if tx.causation is not None:
        record["causation_ref"] = tx.causation
    if admission.invocation is not None:
        record["invocation_ref"] = admission.invocation.invocation_id
        if admission.invocation.assembly is not None:
            record["context_assembly_ref"] = assembly_id(tx, admission.invocation.assembly)
    return skeleton.encode(record)


def assembly_id(view: View, position: int) -> str:
    """The id of the assembly made at a position: the resource of its event."""
    return view.resource_at(position)


def _content_digest(key: bytes, space: SpaceRow, sequence: int, said: Said) -> bytes:
    """HMAC of the tagged content under the object's own key (KCP section 9): nobody can test a guess after
    erasure.
    """
    tagged = skeleton.encode(
        {
            "$domain": "kovee-contribution-content",
            "space_id": space.space_id,
            "origin_branch_id": space.branch_id,
            "origin_branch_sequence": sequence,
            "kind": said.kind,
            "body_parts": skeleton.embedded(said.parts),
            "subject_refs": said.subjects,
            "source_refs": said.sources,
            "epistemic_posture": said.posture,
        }
    )
    return mac(key, tagged)


# --- reads --------------------------------------------------------------------------------------------------
def show(view: View, request: Request[ContributionShowArgs], admission: Admission) -> Served:
    """``contribution_show``."""
    args = request.args
    assert admission.project is not None
    row = objects.contribution(view, args.contribution_id)
    space = None if row is None else view.space_at(row.space)
    if row is None or space is None or space.project != admission.project.position:
        raise not_found("contribution", args.contribution_id)
    if not admission.sees(view, space):
        raise not_found("contribution", args.contribution_id)
    refuse_unreachable(view, admission, space, row.classification, args.contribution_id)
    return Served(objects.record(view, row.position), objects.REVISION)


def list_(view: View, request: Request[ContributionListArgs], admission: Admission) -> Served:
    """``contribution_list``: a space's contributions in their order, narrowed by branch and kind."""
    args = request.args
    assert admission.project is not None
    space = space_in(view, admission, args.space_id)
    branch, kind = optional(args.branch_id), optional(args.kind)
    if branch is not None:
        branch_of(space, branch)
    asked = pages.ask(f"list:contributions:{space.space_id}", args, (branch, kind))
    project = admission.project
    snapshot = pages.open_page(view, asked, project)
    rows = _rows(view, admission, space, snapshot, kind)
    return Served(pages.page(view, asked, snapshot, rows))


_ROWS: Final = (
    f"SELECT {', '.join('log.' + name for name in log.COLUMNS)} FROM log JOIN contributions AS c "
    "ON c.position = log.position WHERE log.stream = ? AND log.stream_sequence > ? AND log.position <= ? "
    "AND (? IS NULL OR c.kind = ?) ORDER BY log.stream_sequence"
)


def _rows(
    view: View, admission: Admission, space: SpaceRow, snapshot: pages.Snapshot, kind: str | None
) -> Iterator[tuple[int, bytes]]:
    """Found by the space's stream and sequence: contributions need no index of their own."""
    held = admission.rights(view, space)
    after = 0
    if snapshot.after >= 0:
        after = view.number("SELECT stream_sequence FROM log WHERE position = ?", snapshot.after)
    cursor = view.db.execute(_ROWS, (space.position, after, snapshot.bound, kind, kind))
    for values in cursor:
        row = log.LogRow(*values)
        assert row.payload is not None
        if admission.agent is None or held.reaches(view, str(row.classification)):
            events.note(view, row)
            yield row.position, view.render_with_marks(row.payload)
