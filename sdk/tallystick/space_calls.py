"""Who takes part in a space, what became of what was said there, and how all that is read: as calls.

``calls`` says what holds for these as well. The lists here are ours: beside each thing they give its
dispositions, and they say how many things are withheld from whoever reads (``records.Withheld``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

from tallystick.calls import (
    Linkable,
    Named,
    Project,
    ReadOptions,
    Space,
    WriteOptions,
    identifier,
    pinned,
    project_id,
)
from tallystick.calls import _page as page_arguments
from tallystick.core import REALM, Read, Write
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol import records
    from tallystick.protocol.ijson import JsonValue


# --- participants -----------------------------------------------------------------------------------------
def participant_digest(
    participant: records.SpaceParticipant | Mapping[str, JsonValue], *, role: str | None = None
) -> str:
    """What ``space_participant_activate`` wants: the digest of who is proposed, in which role (KCP 3.4).

    ``role`` is the one that is meant, where it is not left to the record which is.
    """
    from tallystick.protocol.digests import cod

    def said(member: str) -> object:
        return participant[member] if isinstance(participant, Mapping) else getattr(participant, member)

    subject = {member: said(member) for member in ("participant_id", "space_id", "subject_ref", "kind")}
    subject["role"] = said("role") if role is None else role
    return cod("kovee-participant-subject", "schema:space-participant-v1", subject)


def space_participant_add(
    space: Space,
    subject_ref: str,
    role: str,
    *,
    kind: str = "service",
    subject_revision: int | None = None,
    **options: Unpack[WriteOptions],
) -> Write[records.SpaceParticipant]:
    """Propose somebody: an agent (``service``), a ``principal``, an ``assistant_deployment`` or a
    ``peer_projection``, as ``steward``, ``contributor`` or ``observer``. A subject takes part once.

    ``expected_revision`` is the space's.
    """
    arguments = {
        "space_id": space.space_id,
        "subject_ref": subject_ref,
        "kind": kind,
        "role": role,
        "subject_revision": subject_revision,
    }
    return Write(
        "space_participant_add", arguments, "SpaceParticipant", project_id=space.project_id, **options
    )


def space_participant_activate(
    project: Project, participant_id: str, subject_digest: str, **options: Unpack[WriteOptions]
) -> Write[records.SpaceParticipant]:
    """Let in who is proposed; for the owner. ``subject_digest`` is ``participant_digest`` of the proposal
    that was looked at: ``StaleRevision`` where another role is proposed meanwhile.
    """
    return Write(
        "space_participant_activate",
        {"participant_id": participant_id, "subject_digest": subject_digest},
        "SpaceParticipant",
        project_id=project_id(project),
        **options,
    )


def space_participant_update(
    project: Project,
    participant_id: str,
    *,
    role: str | None = None,
    status: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[records.SpaceParticipant]:
    """Another role, or ``muted`` and ``active`` again; what is left out stays."""
    return Write(
        "space_participant_update",
        {"participant_id": participant_id, "role": role, "status": status},
        "SpaceParticipant",
        project_id=project_id(project),
        **options,
    )


def space_participant_remove(
    project: Project, participant_id: str, **options: Unpack[WriteOptions]
) -> Write[records.SpaceParticipant]:
    """For good: the subject cannot be proposed again in that space. What it wrote stands."""
    return Write(
        "space_participant_remove",
        {"participant_id": participant_id},
        "SpaceParticipant",
        project_id=project_id(project),
        **options,
    )


def space_participant_list(
    space: Space,
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[records.SpaceParticipantPage]:
    """A page of a space's participants, whatever became of them."""
    arguments = {"space_id": space.space_id, **page_arguments(limit, after, snapshot)}
    return Read(
        "space_participant_list", arguments, "SpaceParticipantPage", project_id=space.project_id, **options
    )


# --- grants -----------------------------------------------------------------------------------------------
def space_access_grant_create(
    space: Space,
    subject_ref: str,
    allowed_actions: Sequence[str],
    *,
    classification_ceiling_ref: str | None = None,
    expires_at: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[records.SpaceAccessGrant]:
    """Let somebody do things in a space without taking part in it; for the owner.

    ``allowed_actions`` are ``read``, ``contribute``, ``steward``, or names of operations, each of which
    implies reading. ``expires_at`` is an RFC 3339 timestamp. ``expected_revision`` is the space's.
    """
    arguments = {
        "space_id": space.space_id,
        "subject_ref": subject_ref,
        "allowed_actions": list(allowed_actions),
        "classification_ceiling_ref": classification_ceiling_ref,
        "expires_at": expires_at,
    }
    return Write(
        "space_access_grant_create", arguments, "SpaceAccessGrant", project_id=space.project_id, **options
    )


def space_access_grant_revoke(
    project: Project, space_access_id: str, **options: Unpack[WriteOptions]
) -> Write[records.SpaceAccessGrant]:
    """Take a grant back; for the owner. It works in an archived space as well."""
    return Write(
        "space_access_grant_revoke",
        {"space_access_id": space_access_id},
        "SpaceAccessGrant",
        project_id=project_id(project),
        **options,
    )


def space_access_grant_list(
    space: Space,
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[records.SpaceAccessGrantPage]:
    """A page of a space's grants, those that were taken back or expired among them."""
    arguments = {"space_id": space.space_id, **page_arguments(limit, after, snapshot)}
    return Read(
        "space_access_grant_list", arguments, "SpaceAccessGrantPage", project_id=space.project_id, **options
    )


# --- dispositions and reactions ---------------------------------------------------------------------------
def contribution_withdraw(
    project: Project, contribution: Named, reason_class: str, **options: Unpack[WriteOptions]
) -> Write[records.ContributionWithdrawal]:
    """Say that nobody stands by a contribution any longer; it is still shown. Once, by its author, a steward
    or the owner. ``reason_class`` is a token such as ``mistake``: a label, and never erased.

    The reply's revision, and ``expected_revision``, are the space's: of each of these three.
    """
    arguments = {"contribution_ref": identifier(contribution), "reason_class": reason_class}
    return Write(
        "contribution_withdraw",
        arguments,
        "ContributionWithdrawal",
        project_id=project_id(project),
        **options,
    )


def contribution_supersede(
    project: Project,
    contribution: Named,
    replacement: Named,
    reason_class: str,
    **options: Unpack[WriteOptions],
) -> Write[records.ContributionSupersession]:
    """Put another contribution of the same space in the place of one; ``Cycle`` where that leads back."""
    arguments = {
        "contribution_ref": identifier(contribution),
        "replacement_ref": identifier(replacement),
        "reason_class": reason_class,
    }
    return Write(
        "contribution_supersede",
        arguments,
        "ContributionSupersession",
        project_id=project_id(project),
        **options,
    )


def contribution_redact(
    project: Project, contribution: Named, reason_class: str, **options: Unpack[WriteOptions]
) -> Write[records.ContributionRedaction]:
    """Erase a contribution's body, and the artifacts that it carries: for good, in any status of the space.

    Once, by a steward or the owner (``Invalid`` where it is redacted already). Who said it and when stays,
    and so does ``reason_class``; the body is then one part of media type ``application/x.kovee.redacted``.
    """
    arguments = {"contribution_ref": identifier(contribution), "reason_class": reason_class}
    return Write(
        "contribution_redact",
        arguments,
        "ContributionRedaction",
        project_id=project_id(project),
        **options,
    )


def erase(
    reason_class: str,
    *,
    object_ref: str | None = None,
    event_id: str | None = None,
    project: Project | None = None,
    **options: Unpack[WriteOptions],
) -> Write[records.Erasure]:
    """Erase, for good, what ``contribution_redact`` does not reach: an object's names, titles and payloads in
    every event that it had (``object_ref``), or in one event (``event_id``); or an artifact's bytes.

    For stewards of the space that it stands in, for who uploaded an artifact, and for the owner. A name reads
    ``[erased]`` afterwards; the record of what happened and when stays. The reply's state is ``erasing``:
    nobody can read it any more; an event says ``erased`` once nothing is left in the files. ``Invalid`` for a
    contribution, and where no content is left. Raises ``TypeError`` unless one of the two is named.
    """
    if (object_ref is None) == (event_id is None):
        raise TypeError("give either object_ref or event_id: one thing is erased at a time")
    arguments = {"object_ref": object_ref, "event_id": event_id, "reason_class": reason_class}
    place = None if project is None else project_id(project)
    return Write("tallystick_erase", arguments, "Erasure", project_id=place, **options)


def relation_retract(
    project: Project, relation: Named, reason_class: str, **options: Unpack[WriteOptions]
) -> Write[records.RelationDisposition]:
    """Say that a relation is no longer asserted; it is still shown."""
    arguments = {"relation_ref": identifier(relation), "reason_class": reason_class}
    return Write(
        "relation_retract", arguments, "RelationDisposition", project_id=project_id(project), **options
    )


def reaction_set(
    space: Space, target: Linkable, mark: str, state: str = "present", **options: Unpack[WriteOptions]
) -> Write[records.Reaction]:
    """Put a mark on an object, pinned as it is, or take it back (``removed``). ``mark`` is the protocol's
    ``key``; the ``key`` in the options is the command's, as everywhere.

    Where it is so already nothing changes, and the reply has no ``event_cursor``. The reply's revision is the
    reaction's; ``expected_revision`` is the space's.
    """
    pin = pinned(target)
    arguments = {
        "space_id": space.space_id,
        "target_ref": pin["object_ref"],
        "target_revision": pin["revision"],
        "target_digest": pin["digest"],
        "key": mark,
        "state": state,
    }
    return Write("reaction_set", arguments, "Reaction", project_id=space.project_id, **options)


# --- reading with what became of things -------------------------------------------------------------------
def disposed_contribution_list(
    space: Space,
    *,
    branch_id: str | None = None,
    kind: str | None = None,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[records.DisposedContributionPage]:
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
        "DisposedContributionPage",
        project_id=space.project_id,
        **options,
    )


def relation_show(
    project: Project, relation_id: str, **options: Unpack[ReadOptions]
) -> Read[records.DisposedRelation]:
    """One relation, and whether it was retracted."""
    arguments = {"relation_id": relation_id}
    return Read(
        "tallystick_relation_show", arguments, "DisposedRelation", project_id=project_id(project), **options
    )


def relation_list(
    space: Space,
    *,
    kind: str | None = None,
    of: Named | None = None,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[records.DisposedRelationPage]:
    """A page of a space's relations, all or those from or to an object; each with its retraction."""
    arguments = {
        "space_id": space.space_id,
        "kind": kind,
        "object_ref": None if of is None else identifier(of),
        **page_arguments(limit, after, snapshot),
    }
    return Read(
        "tallystick_relation_list", arguments, "DisposedRelationPage", project_id=space.project_id, **options
    )


def disposition_list(
    space: Space,
    *,
    kind: str | None = None,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[records.DispositionPage]:
    """A page of what was done in a space: ``withdraw``, ``supersede``, ``redact`` and ``retract``, or one."""
    arguments = {"space_id": space.space_id, "kind": kind, **page_arguments(limit, after, snapshot)}
    return Read(
        "tallystick_disposition_list", arguments, "DispositionPage", project_id=space.project_id, **options
    )


def frontier_list(
    space: Space,
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[records.FrontierPage]:
    """A page of a space's frontiers, those that assemblies pinned among them."""
    arguments = {"space_id": space.space_id, **page_arguments(limit, after, snapshot)}
    return Read(
        "tallystick_frontier_list", arguments, "FrontierPage", project_id=space.project_id, **options
    )


def assembly_list(
    space: Space,
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[records.AssemblySummaryPage]:
    """A page of a space's context assemblies without their items, which ``context_assembly_show`` gives."""
    arguments = {"space_id": space.space_id, **page_arguments(limit, after, snapshot)}
    return Read(
        "tallystick_assembly_list", arguments, "AssemblySummaryPage", project_id=space.project_id, **options
    )


def branch_show(project: Project, branch_id: str, **options: Unpack[ReadOptions]) -> Read[records.Branch]:
    """A branch's head and last sequence: what ``expected_head_digest`` is compared with."""
    arguments = {"branch_id": branch_id}
    return Read("tallystick_branch_show", arguments, "Branch", project_id=project_id(project), **options)


def accounted_events_read(
    source: Project = REALM,
    *,
    after_cursor: str | None = None,
    type_prefixes: Sequence[str] = (),
    limit: int = limits.PAGE_ITEMS_MAX,
    **options: Unpack[ReadOptions],
) -> Read[records.EventsRead]:
    """A project's events, and how many are withheld where; or, for the owner, the realm's: those that stand
    in no project, such as what happens to agents, assistants and artifacts.
    """
    arguments = {
        "source": project_id(source),
        "after_cursor": after_cursor,
        "type_prefixes": list(type_prefixes) or None,
        "limit": limit,
    }
    return Read("tallystick_events_read", arguments, "EventsRead", **options)
