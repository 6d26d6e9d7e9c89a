"""What became of what was said: it is withdrawn, superseded or retracted. Nothing is erased here.

``disposition_list`` is ours, and says how many are withheld from whoever reads (``Withheld``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from tallystick.calls.descriptors import items, read, write
from tallystick.calls.values import (
    AnyProject,
    AnySpace,
    Named,
    ReadOptions,
    WriteOptions,
    identifier,
    page_arguments,
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


# --- methods ----------------------------------------------------------------------------------------------
class DispositionsMethods:
    """The methods of the clients."""

    contribution_withdraw = write(contribution_withdraw)
    contribution_supersede = write(contribution_supersede)
    relation_retract = write(relation_retract)
    disposition_list = read(disposition_list)
    dispositions = items(disposition_list)
