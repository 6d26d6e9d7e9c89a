"""Decisions: recording them, letting proposals stand, and asking which is current.

Nothing is refused because it contradicts something: it is recorded, and contested until one of the two no
longer stands. ``decision_current`` says what holds for a key at a place, and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, Unpack

from tallystick.calls.attempts import as_worker, binding
from tallystick.calls.descriptors import items, read, write
from tallystick.calls.values import (
    AnyProject,
    AnySpace,
    Named,
    ReadOptions,
    WriteOptions,
    identifiers,
    page_arguments,
    project_id,
)
from tallystick.core import Read, Write
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol.families.decisions import CurrentDecision, Decision, DecisionPage
    from tallystick.protocol.families.work import InvocationClaim

# In quotes, since the records are not imported before they are needed.
AnyDecision: TypeAlias = "Decision | str"


def _refs(decisions: Sequence[AnyDecision] | None) -> list[str] | None:
    """Decisions by their ids."""
    if decisions is None:
        return None
    return [each if isinstance(each, str) else each.decision_id for each in decisions]


def decision_record(
    space: AnySpace,
    decision_key: str,
    value: str,
    reason: str,
    *,
    repository: str | None = None,
    paths: Sequence[str] | None = None,
    proposed: bool | None = None,
    origin: str | None = None,
    supersedes: Sequence[AnyDecision] | None = None,
    narrows: Sequence[AnyDecision] | None = None,
    depends_on: Sequence[AnyDecision] | None = None,
    excludes: Sequence[Mapping[str, str]] | None = None,
    tags: Sequence[str] | None = None,
    reversibility: str | None = None,
    review_after: str | None = None,
    source_refs: Sequence[Named] | None = None,
    artifact_refs: Sequence[str] | None = None,
    classification_ref: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[Decision]:
    """Record that ``decision_key`` is ``value``, and why; ``key`` is the idempotency key.

    It holds in ``paths`` of a ``repository``; everywhere, where neither is given. What it ``supersedes``
    falls when it stands; what it ``narrows`` holds on elsewhere. ``excludes`` are objects with a ``key`` and,
    where only one value is ruled out, a ``value``. The record says what contests it, or, of a proposal, what
    it would meet. ``origin`` is ``own`` or ``quoted``: what is quoted from somewhere is only proposed.
    """
    arguments = {
        "space_id": space.space_id,
        "key": decision_key,
        "value": value,
        "reason": reason,
        "repository": repository,
        "paths": None if paths is None else list(paths),
        "proposed": proposed,
        "origin": origin,
        "supersedes": _refs(supersedes),
        "narrows": _refs(narrows),
        "depends_on": _refs(depends_on),
        "excludes": None if excludes is None else [dict(each) for each in excludes],
        "tags": None if tags is None else list(tags),
        "reversibility": reversibility,
        "review_after": review_after,
        "source_refs": None if source_refs is None else identifiers(source_refs),
        "artifact_refs": None if artifact_refs is None else list(artifact_refs),
        "classification_ref": classification_ref,
    }
    return Write(
        "tallystick_decision_record",
        arguments,
        "decisions.Decision",
        project_id=space.project_id,
        **options,
    )


def decision_adopt(project: AnyProject, decision_id: str, **options: Unpack[WriteOptions]) -> Write[Decision]:
    """Let a proposal stand: for its author and for stewards; a quoted one for stewards alone."""
    return Write(
        "tallystick_decision_adopt",
        {"decision_id": decision_id},
        "decisions.Decision",
        project_id=project_id(project),
        **options,
    )


def decision_current(
    project: AnyProject,
    decision_key: str,
    *,
    path: str | None = None,
    repository: str | None = None,
    space_id: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[CurrentDecision]:
    """What holds for a key, at a path or anywhere, in one space or in all that the reader sees."""
    return Read(
        "tallystick_decision_current",
        {"key": decision_key, "path": path, "repository": repository, "space_id": space_id},
        "decisions.CurrentDecision",
        project_id=project_id(project),
        **options,
    )


def decision_show(project: AnyProject, decision_id: str, **options: Unpack[ReadOptions]) -> Read[Decision]:
    """One decision, whatever became of it."""
    return Read(
        "tallystick_decision_show",
        {"decision_id": decision_id},
        "decisions.Decision",
        project_id=project_id(project),
        **options,
    )


def decision_list(
    project: AnyProject,
    *,
    space_id: str | None = None,
    key_prefix: str | None = None,
    repository: str | None = None,
    paths: Sequence[str] | None = None,
    include: Sequence[str] | None = None,
    contested: bool | None = None,
    unratified: bool | None = None,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[DecisionPage]:
    """A page of decisions that stand; ``include`` names other states: proposed, superseded, withdrawn."""
    arguments = {
        "space_id": space_id,
        "key_prefix": key_prefix,
        "repository": repository,
        "paths": None if paths is None else list(paths),
        "include": None if include is None else list(include),
        "contested": contested,
        "unratified": unratified,
        **page_arguments(limit, after, snapshot),
    }
    return Read(
        "tallystick_decision_list",
        arguments,
        "decisions.DecisionPage",
        project_id=project_id(project),
        **options,
    )


# --- on the worker socket -----------------------------------------------------------------------------------
def worker_decision_show(
    claim: InvocationClaim, decision_id: str, **options: Unpack[ReadOptions]
) -> Read[Decision]:
    """A decision that the invocation recorded, as it is now."""
    return Read(
        "tallystick_decision_show",
        {"decision_id": decision_id, **binding(claim)},
        "decisions.Decision",
        project_id=claim.invocation.project_id,
        surface="worker",
        **options,
    )


# --- methods ----------------------------------------------------------------------------------------------
class DecisionsMethods:
    """The methods of the clients."""

    decision_record = write(decision_record)
    decision_adopt = write(decision_adopt)
    decision_current = read(decision_current)
    decision_show = read(decision_show)
    decision_list = read(decision_list)
    decisions = items(decision_list)


class DecisionsWorkerMethods:
    """The methods of the workers' clients."""

    decision_record = write(as_worker(decision_record))
    decision_show = read(worker_decision_show)
