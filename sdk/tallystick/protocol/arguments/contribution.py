"""Arguments of contributions and relations, and the extension that appends at the head."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.records import ContributionPart, ObjectRef
from tallystick.protocol.shapes import (
    ContributionKind,
    DigestHex,
    EpistemicPosture,
    Identifier,
    Identifiers,
    RelationKind,
    member_fault,
)

from ._base import Args, DualArgs, PageArgs

APPEND_EXTENSION = "dev.tallystick.append"


class AppendExtension(Args, frozen=True, kw_only=True):
    """`ext` ``dev.tallystick.append``: land at the head, wherever it is, in place of a compare-and-set."""

    at_head: bool

    def __post_init__(self) -> None:
        if not self.at_head:
            raise member_fault("at_head", "it must be true; to compare the head leave the extension out")


class HeadArgs(DualArgs, frozen=True, kw_only=True):
    """What appends to a branch: where, and the head that it expects there.

    `expected_head_digest` is required, unless the request carries `AppendExtension`, which forbids it.
    """

    space_id: Identifier
    branch_id: Identifier
    expected_head_digest: DigestHex | UnsetType = UNSET


class ContributionAppendArgs(HeadArgs, frozen=True, kw_only=True):
    """A new contribution, at a branch's expected head or, by the extension, at its head."""

    kind: ContributionKind
    body_parts: Annotated[tuple[ContributionPart, ...], Meta(min_length=1, max_length=limits.LIST_ITEMS_MAX)]
    schema_ref: Identifier | UnsetType = UNSET
    subject_refs: Identifiers | UnsetType = UNSET
    source_refs: Identifiers | UnsetType = UNSET
    epistemic_posture: EpistemicPosture | UnsetType = UNSET
    classification_ref: Identifier | UnsetType = UNSET
    retention_policy_ref: Identifier | UnsetType = UNSET


class ContributionShowArgs(Args, frozen=True, kw_only=True):
    """Which contribution."""

    contribution_id: Identifier


class ContributionListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of a space's contributions, of one branch or kind where they are named."""

    space_id: Identifier
    branch_id: Identifier | UnsetType = UNSET
    kind: ContributionKind | UnsetType = UNSET


class RelationAssertArgs(HeadArgs, frozen=True, kw_only=True):
    """A new relation between two objects of a space, each pinned by its revision and digest."""

    kind: RelationKind
    from_ref: ObjectRef
    to_ref: ObjectRef
    rationale_ref: Identifier | UnsetType = UNSET
    schema_ref: Identifier | UnsetType = UNSET
