"""Erasing content for good: what a contribution says, or what another object or an event tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from tallystick.calls.contributions import contribution_show
from tallystick.calls.descriptors import write
from tallystick.calls.events import event_payload
from tallystick.calls.values import AnyProject, Named, WriteOptions, identifier, optional_project, project_id
from tallystick.core import Write

if TYPE_CHECKING:
    from tallystick.protocol.families.erasure import ContributionRedaction, Erasure


def contribution_redact(
    project: AnyProject, contribution: Named, reason_class: str, **options: Unpack[WriteOptions]
) -> Write[ContributionRedaction]:
    """Erase a contribution's body, and the artifacts that it carries: for good, in any status of the space.

    Once, by a steward or the owner (``Invalid`` where it is redacted already). Who said it and when stays,
    and so does ``reason_class``; the body is then one part of media type ``application/x.kovee.redacted``.
    """
    arguments = {"contribution_ref": identifier(contribution), "reason_class": reason_class}
    call: Write[ContributionRedaction] = Write(
        "contribution_redact",
        arguments,
        "erasure.ContributionRedaction",
        project_id=project_id(project),
        **options,
    )
    call.erases = contribution_show(project, identifier(contribution))
    return call


def erase(
    reason_class: str,
    *,
    object_ref: str | None = None,
    event_id: str | None = None,
    project: AnyProject | None = None,
    **options: Unpack[WriteOptions],
) -> Write[Erasure]:
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
    place = optional_project(project)
    call: Write[Erasure] = Write(
        "tallystick_erase", arguments, "erasure.Erasure", project_id=place, **options
    )
    if event_id is not None:
        call.erases = event_payload(event_id)
    return call


# --- methods ----------------------------------------------------------------------------------------------
class ErasureMethods:
    """The methods of the clients."""

    contribution_redact = write(contribution_redact)
    erase = write(erase)
