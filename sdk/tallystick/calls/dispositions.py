"""What becomes of what was said: it is withdrawn, superseded, redacted, erased, retracted or marked.

``disposition_list`` is ours, and says how many are withheld from whoever reads (``Withheld``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from tallystick.calls.values import (
    AnyProject,
    AnySpace,
    Linkable,
    Named,
    ReadOptions,
    WriteOptions,
    identifier,
    optional_project,
    page_arguments,
    pinned,
    project_id,
)
from tallystick.core import Read, Write
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol.families.dispositions import (
        ContributionSupersession,
        ContributionWithdrawal,
        DispositionPage,
        RelationDisposition,
    )
    from tallystick.protocol.families.erasure import ContributionRedaction, Erasure
    from tallystick.protocol.families.reactions import Reaction


def contribution_withdraw(
    project: AnyProject, contribution: Named, reason_class: str, **options: Unpack[WriteOptions]
) -> Write[ContributionWithdrawal]:
    """Say that nobody stands by a contribution any longer; it is still shown. Once, by its author, a steward
    or the owner. ``reason_class`` is a token such as ``mistake``: a label, and never erased.

    The reply's revision, and ``expected_revision``, are the space's: of each of these three.
    """
    arguments = {"contribution_ref": identifier(contribution), "reason_class": reason_class}
    return Write(
        "contribution_withdraw",
        arguments,
        "dispositions.ContributionWithdrawal",
        project_id=project_id(project),
        **options,
    )


def contribution_supersede(
    project: AnyProject,
    contribution: Named,
    replacement: Named,
    reason_class: str,
    **options: Unpack[WriteOptions],
) -> Write[ContributionSupersession]:
    """Put another contribution of the same space in the place of one; ``Cycle`` where that leads back."""
    arguments = {
        "contribution_ref": identifier(contribution),
        "replacement_ref": identifier(replacement),
        "reason_class": reason_class,
    }
    return Write(
        "contribution_supersede",
        arguments,
        "dispositions.ContributionSupersession",
        project_id=project_id(project),
        **options,
    )


def contribution_redact(
    project: AnyProject, contribution: Named, reason_class: str, **options: Unpack[WriteOptions]
) -> Write[ContributionRedaction]:
    """Erase a contribution's body, and the artifacts that it carries: for good, in any status of the space.

    Once, by a steward or the owner (``Invalid`` where it is redacted already). Who said it and when stays,
    and so does ``reason_class``; the body is then one part of media type ``application/x.kovee.redacted``.
    """
    arguments = {"contribution_ref": identifier(contribution), "reason_class": reason_class}
    return Write(
        "contribution_redact",
        arguments,
        "erasure.ContributionRedaction",
        project_id=project_id(project),
        **options,
    )


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
    return Write("tallystick_erase", arguments, "erasure.Erasure", project_id=place, **options)


def relation_retract(
    project: AnyProject, relation: Named, reason_class: str, **options: Unpack[WriteOptions]
) -> Write[RelationDisposition]:
    """Say that a relation is no longer asserted; it is still shown."""
    arguments = {"relation_ref": identifier(relation), "reason_class": reason_class}
    return Write(
        "relation_retract",
        arguments,
        "dispositions.RelationDisposition",
        project_id=project_id(project),
        **options,
    )


def reaction_set(
    space: AnySpace, target: Linkable, mark: str, state: str = "present", **options: Unpack[WriteOptions]
) -> Write[Reaction]:
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
    return Write("reaction_set", arguments, "reactions.Reaction", project_id=space.project_id, **options)


def disposition_list(
    space: AnySpace,
    *,
    kind: str | None = None,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[DispositionPage]:
    """A page of what was done in a space: ``withdraw``, ``supersede``, ``redact`` and ``retract``, or one."""
    arguments = {"space_id": space.space_id, "kind": kind, **page_arguments(limit, after, snapshot)}
    return Read(
        "tallystick_disposition_list",
        arguments,
        "dispositions.DispositionPage",
        project_id=space.project_id,
        **options,
    )
