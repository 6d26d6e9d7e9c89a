"""What is said in a space, how one thing said relates to another, and the reading of both.

An append and a relation land at the branch's head wherever that is when they arrive (the extension
``dev.tallystick.append``), so that a person and an assistant do not stand in each other's way; who wants a
compare-and-set instead gives ``expected_head_digest``.

``disposed_contribution_list`` and the reads of relations are ours: beside each thing they give its
dispositions, and the lists say how many things are withheld from whoever reads (``Withheld``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias, Unpack

from tallystick.calls.attempts import as_worker
from tallystick.calls.descriptors import items, read, write
from tallystick.calls.values import (
    AnyProject,
    AnySpace,
    Linkable,
    Named,
    ReadOptions,
    WriteOptions,
    identifier,
    identifiers,
    page_arguments,
    pinned,
    project_id,
)
from tallystick.core import Read, Write
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol.families.contributions import (
        Contribution,
        ContributionPage,
        DisposedContributionPage,
        DisposedRelation,
        DisposedRelationPage,
        Relation,
    )
    from tallystick.protocol.ijson import JsonValue
    from tallystick.protocol.parts import ContributionPart

# In quotes, since the records are not imported before they are needed.
Part: TypeAlias = "ContributionPart | Mapping[str, JsonValue]"

AT_HEAD: Final = {"dev.tallystick.append": {"at_head": True}}
"""The extension of a write that lands at the head of its branch."""


def append(
    space: AnySpace,
    kind: str,
    text: str | None = None,
    *,
    parts: Sequence[Part] | None = None,
    media_type: str = "text/plain",
    language: str | None = None,
    branch_id: str | None = None,
    expected_head_digest: str | None = None,
    schema_ref: str | None = None,
    subject_refs: Sequence[Named] | None = None,
    source_refs: Sequence[Named] | None = None,
    epistemic_posture: str | None = None,
    classification_ref: str | None = None,
    retention_policy_ref: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[Contribution]:
    """A new contribution at the head of the branch, the main one where none is named.

    Its body is ``text`` (of ``media_type``, at most 65,536 characters), or ``parts``. ``kind`` is one of
    utterance, goal, question, claim, observation, evidence, proposal, critique, synthesis, result and
    decision_reference. With ``expected_head_digest`` it lands only where the head is that one
    (``StaleRevision`` otherwise). The reply's revision is the space's.
    """
    arguments = {
        "space_id": space.space_id,
        "branch_id": branch_id or space.main_branch_id,
        "expected_head_digest": expected_head_digest,
        "kind": kind,
        "body_parts": body(text, parts, media_type, language),
        "schema_ref": schema_ref,
        "subject_refs": None if subject_refs is None else identifiers(subject_refs),
        "source_refs": None if source_refs is None else identifiers(source_refs),
        "epistemic_posture": epistemic_posture,
        "classification_ref": classification_ref,
        "retention_policy_ref": retention_policy_ref,
    }
    return Write(
        "contribution_append",
        arguments,
        "contributions.Contribution",
        project_id=space.project_id,
        **at_head(options, expected_head_digest),
    )


def contribution_show(
    project: AnyProject, contribution_id: str, **options: Unpack[ReadOptions]
) -> Read[Contribution]:
    """One contribution."""
    return Read(
        "contribution_show",
        {"contribution_id": contribution_id},
        "contributions.Contribution",
        project_id=project_id(project),
        **options,
    )


def contribution_list(
    space: AnySpace,
    *,
    branch_id: str | None = None,
    kind: str | None = None,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[ContributionPage]:
    """A page of a space's contributions in the order of their sequence."""
    arguments = {
        "space_id": space.space_id,
        "branch_id": branch_id,
        "kind": kind,
        **page_arguments(limit, after, snapshot),
    }
    return Read(
        "contribution_list",
        arguments,
        "contributions.ContributionPage",
        project_id=space.project_id,
        **options,
    )


def disposed_contribution_list(
    space: AnySpace,
    *,
    branch_id: str | None = None,
    kind: str | None = None,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[DisposedContributionPage]:
    """``contribution_list``, each contribution with what became of it."""
    arguments = {
        "space_id": space.space_id,
        "branch_id": branch_id,
        "kind": kind,
        **page_arguments(limit, after, snapshot),
    }
    return Read(
        "tallystick_contribution_list",
        arguments,
        "contributions.DisposedContributionPage",
        project_id=space.project_id,
        **options,
    )


# --- relations --------------------------------------------------------------------------------------------
def relation_assert(
    space: AnySpace,
    kind: str,
    from_: Linkable,
    to: Linkable,
    *,
    branch_id: str | None = None,
    expected_head_digest: str | None = None,
    rationale_ref: str | None = None,
    schema_ref: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[Relation]:
    """A new relation between two objects of the space, each pinned at its revision and digest.

    ``kind`` is one of addresses, supports, challenges, refines, qualifies, supersedes, depends_on,
    derived_from, produced_by, quotes and evaluates.
    """
    arguments = {
        "space_id": space.space_id,
        "branch_id": branch_id or space.main_branch_id,
        "expected_head_digest": expected_head_digest,
        "kind": kind,
        "from_ref": pinned(from_),
        "to_ref": pinned(to),
        "rationale_ref": rationale_ref,
        "schema_ref": schema_ref,
    }
    return Write(
        "relation_assert",
        arguments,
        "contributions.Relation",
        project_id=space.project_id,
        **at_head(options, expected_head_digest),
    )


def relation_show(
    project: AnyProject, relation_id: str, **options: Unpack[ReadOptions]
) -> Read[DisposedRelation]:
    """One relation, and whether it was retracted."""
    arguments = {"relation_id": relation_id}
    return Read(
        "tallystick_relation_show",
        arguments,
        "contributions.DisposedRelation",
        project_id=project_id(project),
        **options,
    )


def relation_list(
    space: AnySpace,
    *,
    kind: str | None = None,
    of: Named | None = None,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[DisposedRelationPage]:
    """A page of a space's relations, all or those from or to an object; each with its retraction."""
    arguments = {
        "space_id": space.space_id,
        "kind": kind,
        "object_ref": None if of is None else identifier(of),
        **page_arguments(limit, after, snapshot),
    }
    return Read(
        "tallystick_relation_list",
        arguments,
        "contributions.DisposedRelationPage",
        project_id=space.project_id,
        **options,
    )


# --- bodies, and where they land --------------------------------------------------------------------------
def body(
    text: str | None, parts: Sequence[Part] | None, media_type: str, language: str | None
) -> list[object]:
    """A body from a text or from parts; exactly one of them is given."""
    if (text is None) == (parts is None):
        raise TypeError("give either text or parts: a contribution has one body")
    if parts is not None:
        return list(parts)
    part = {"media_type": media_type, "text": text}
    return [part if language is None else {**part, "language": language}]


def at_head(options: WriteOptions, expected_head_digest: str | None) -> WriteOptions:
    """The options with the extension that lands a write at the head, unless a head is demanded."""
    if expected_head_digest is not None:
        return options
    return {**options, "ext": {**AT_HEAD, **options.get("ext", {})}}


# --- methods ----------------------------------------------------------------------------------------------
class ContributionsMethods:
    """The methods of the clients."""

    append = write(append)
    contribution_show = read(contribution_show)
    contribution_list = read(contribution_list)
    contributions = items(contribution_list)
    disposed_contribution_list = read(disposed_contribution_list)
    disposed_contributions = items(disposed_contribution_list)
    relation_assert = write(relation_assert)
    relation_show = read(relation_show)
    relation_list = read(relation_list)
    relations = items(relation_list)


class ContributionsWorkerMethods:
    """The methods of the workers' clients."""

    append = write(as_worker(append))
    relation_assert = write(as_worker(relation_assert))
