"""Who takes part in a space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Unpack

from tallystick.calls.descriptors import items, read, write
from tallystick.calls.values import (
    AnyProject,
    AnySpace,
    ReadOptions,
    WriteOptions,
    page_arguments,
    project_id,
)
from tallystick.core import Read, Write
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol.families.participants import SpaceParticipant, SpaceParticipantPage
    from tallystick.protocol.ijson import JsonValue


def participant_digest(
    participant: SpaceParticipant | Mapping[str, JsonValue], *, role: str | None = None
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
    space: AnySpace,
    subject_ref: str,
    role: str,
    *,
    kind: str = "service",
    subject_revision: int | None = None,
    **options: Unpack[WriteOptions],
) -> Write[SpaceParticipant]:
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
        "space_participant_add",
        arguments,
        "participants.SpaceParticipant",
        project_id=space.project_id,
        **options,
    )


def space_participant_activate(
    project: AnyProject, participant_id: str, subject_digest: str, **options: Unpack[WriteOptions]
) -> Write[SpaceParticipant]:
    """Let in who is proposed; for the owner. ``subject_digest`` is ``participant_digest`` of the proposal
    that was looked at: ``StaleRevision`` where another role is proposed meanwhile.
    """
    return Write(
        "space_participant_activate",
        {"participant_id": participant_id, "subject_digest": subject_digest},
        "participants.SpaceParticipant",
        project_id=project_id(project),
        **options,
    )


def space_participant_update(
    project: AnyProject,
    participant_id: str,
    *,
    role: str | None = None,
    status: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[SpaceParticipant]:
    """Another role, or ``muted`` and ``active`` again; what is left out stays."""
    return Write(
        "space_participant_update",
        {"participant_id": participant_id, "role": role, "status": status},
        "participants.SpaceParticipant",
        project_id=project_id(project),
        **options,
    )


def space_participant_remove(
    project: AnyProject, participant_id: str, **options: Unpack[WriteOptions]
) -> Write[SpaceParticipant]:
    """For good: the subject cannot be proposed again in that space. What it wrote stands."""
    return Write(
        "space_participant_remove",
        {"participant_id": participant_id},
        "participants.SpaceParticipant",
        project_id=project_id(project),
        **options,
    )


def space_participant_list(
    space: AnySpace,
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[SpaceParticipantPage]:
    """A page of a space's participants, whatever became of them."""
    arguments = {"space_id": space.space_id, **page_arguments(limit, after, snapshot)}
    return Read(
        "space_participant_list",
        arguments,
        "participants.SpaceParticipantPage",
        project_id=space.project_id,
        **options,
    )


# --- methods ----------------------------------------------------------------------------------------------
class ParticipantsMethods:
    """The methods of the clients."""

    space_participant_add = write(space_participant_add)
    space_participant_activate = write(space_participant_activate)
    space_participant_update = write(space_participant_update)
    space_participant_remove = write(space_participant_remove)
    space_participant_list = read(space_participant_list)
    space_participants = items(space_participant_list)
