"""What a worker reads while it works: whatever its invocation's assembly names, as it is now.

A claim hands over the contributions that the assembly names, whole, as they were then. Here a worker sees
what became of one since, reads a relation that the assembly names, and the bytes of files that its items
carry. It needs no other socket for that, and reads nothing else. A fenced attempt reads nothing any more; a
read does not renew the lease.
"""

from __future__ import annotations

from functools import partial

import msgspec

from tallyd.admission import Admission
from tallyd.families.artifacts import rows as artifact_rows
from tallyd.families.artifacts.rows import ArtifactRow
from tallyd.families.artifacts.transfer import range_of, read_range
from tallyd.families.context import assemblies
from tallyd.families.dispositions import disposed_item
from tallyd.families.shared import objects
from tallyd.families.shared.fence import check_fence
from tallyd.families.shared.host import Host
from tallyd.families.shared.results import FileIO, Served, optional
from tallyd.ledger.view import SpaceRow, View
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.families.work import TallystickInvocationArtifactArgs, TallystickInvocationItemArgs
from tallystick.protocol.problems import not_found, unavailable


class _Item(msgspec.Struct):
    object_ref: str


class _Related(msgspec.Struct):
    relation_ref: str


class _Assembly(msgspec.Struct):
    """What of an assembly's record says which objects it names."""

    items: list[_Item] = []
    relations: list[_Related] = []
    trigger_refs: list[str] = []

    def names(self, ref: str) -> bool:
        return (
            any(item.object_ref == ref for item in self.items)
            or any(related.relation_ref == ref for related in self.relations)
            or ref in self.trigger_refs
        )


def item(view: View, request: Request[TallystickInvocationItemArgs], admission: Admission) -> Served:
    """``tallystick_invocation_item``: one object that the assembly names, and what became of it."""
    args = request.args
    space, assembly = _work(view, request, admission)
    ref = args.object_ref
    row = objects.in_space(view, space, ref) if space is not None and assembly.names(ref) else None
    if row is None or space is None:
        raise not_found("object that this invocation's assembly names", ref)
    _refuse_withheld(view, admission, space, ref, row.classification)
    what = "contribution" if isinstance(row, objects.ContributionRow) else "relation"
    made = view.log_row(row.position)
    assert made.payload is not None
    return Served(disposed_item(view, what, made, view.render(made.payload)))


def artifact(
    host: Host, view: View, request: Request[TallystickInvocationArtifactArgs], admission: Admission
) -> FileIO:
    """``tallystick_invocation_artifact``: bytes of a file that an item of the assembly carries."""
    args = request.args
    space, assembly = _work(view, request, admission)
    row = artifact_rows.find_artifact(view, args.artifact_id)
    if row is None or space is None or not _carried(view, assembly, row):
        raise not_found("artifact that an item of this invocation's assembly carries", args.artifact_id)
    for classification in artifact_rows.classes_of(view, row):
        _refuse_withheld(view, admission, space, args.artifact_id, classification)
    asked = range_of(view, artifact_rows.as_it_is(view, row), args.offset, optional(args.length))
    return partial(read_range, host.vault, asked)


def _work(view: View, request: AnyRequest, admission: Admission) -> tuple[SpaceRow | None, _Assembly]:
    """The assembly of the attempt's invocation and its space; an empty one where it has none. Raises Refusal
    ``stale-lease``.
    """
    _, invocation = check_fence(view, request, admission)
    row = None if invocation.assembly is None else assemblies.at(view, invocation.assembly)
    if row is None:
        return None, _Assembly()
    record = assemblies.record_at(view, row.position)
    return view.space_at(row.space), msgspec.json.decode(record, type=_Assembly)


def _refuse_withheld(
    view: View, admission: Admission, space: SpaceRow, ref: str, classification: str
) -> None:
    if not admission.rights(view, space).reaches(view, classification):
        view.note(classification, ref)
        raise unavailable(f"{ref} is withheld from this actor; ask a steward, or go on without it")


def _carried(view: View, assembly: _Assembly, row: ArtifactRow) -> bool:
    carriers = view.all("SELECT contribution FROM artifact_references WHERE artifact = ?", row.position)
    refs = {objects.ref_at(view, int(str(position))) for (position,) in carriers}
    return any(item.object_ref in refs for item in assembly.items)
