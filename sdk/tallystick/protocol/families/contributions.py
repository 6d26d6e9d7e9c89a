"""Contributions, which are appended to a space, and relations, which are asserted between them."""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from tallystick.protocol import limits
from tallystick.protocol.arguments import APPEND_EXTENSION, AppendExtension, Args, Content, HeadArgs, PageArgs
from tallystick.protocol.families.dispositions import Disposition
from tallystick.protocol.operation import (
    CONTENT_ROWS,
    FENCED,
    GUARDED_READS,
    GUARDED_WRITES,
    LISTS,
    READS,
    SHARED_SPACE,
    STEP_ROW,
    TALLYSTICK_SPACE,
    Mode,
    RowEffect,
    Socket,
)
from tallystick.protocol.parts import ContributionPart
from tallystick.protocol.problems import Kind as ProblemKind
from tallystick.protocol.records import First, Page, Ranges, Record
from tallystick.protocol.shapes import (
    ContributionKind,
    DigestHex,
    EpistemicPosture,
    Identifier,
    Identifiers,
    RelationKind,
    SafeInt,
    Timestamp,
)


# --- records ------------------------------------------------------------------------------------------------
class Contribution(Record, frozen=True, kw_only=True):
    """An immutable contribution to a space; a client cannot recompute `content_digest`, which is keyed."""

    contribution_id: Identifier
    revision: First
    realm_id: Identifier
    project_id: Identifier
    space_id: Identifier
    origin_branch_id: Identifier
    origin_branch_sequence: SafeInt
    space_sequence: SafeInt
    author_actor_ref: Identifier
    kind: ContributionKind
    schema_ref: Identifier
    body_parts: Annotated[tuple[ContributionPart, ...], Meta(min_length=1)]
    subject_refs: tuple[Identifier, ...]
    source_refs: tuple[Identifier, ...]
    epistemic_posture: EpistemicPosture | UnsetType = UNSET
    invocation_ref: Identifier | UnsetType = UNSET
    context_assembly_ref: Identifier | UnsetType = UNSET
    causation_ref: Identifier | UnsetType = UNSET
    classification_ref: Identifier
    retention_policy_ref: Identifier
    content_digest: DigestHex
    created_at: Timestamp


class ContributionPage(Page, frozen=True, kw_only=True):
    """The result of `contribution_list`."""

    items: Annotated[tuple[Contribution, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


class ObjectRef(Record, frozen=True, kw_only=True):
    """An object at one revision, pinned by its digest: an endpoint of a relation."""

    object_ref: Identifier
    revision: SafeInt
    digest: DigestHex


class Relation(Record, frozen=True, kw_only=True):
    """An immutable relation between two objects of a space."""

    relation_id: Identifier
    revision: First
    space_id: Identifier
    origin_branch_id: Identifier
    branch_sequence: SafeInt
    author_actor_ref: Identifier
    kind: RelationKind
    from_ref: ObjectRef
    to_ref: ObjectRef
    rationale_ref: Identifier | UnsetType = UNSET
    relation_class: Literal["semantic_assertion"]
    classification_ref: Identifier
    schema_ref: Identifier
    digest: DigestHex
    created_at: Timestamp


class DisposedContribution(Record, frozen=True, kw_only=True):
    """A contribution, and what became of it: each kind once, in the order in which it did."""

    contribution: Contribution
    dispositions: tuple[Disposition, ...]


class DisposedContributionPage(Page, frozen=True, kw_only=True):
    """The result of `tallystick_contribution_list`."""

    items: Annotated[tuple[DisposedContribution, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]
    withheld: Ranges


class DisposedRelation(Record, frozen=True, kw_only=True):
    """A relation, and whether it was retracted; the result of `tallystick_relation_show`."""

    relation: Relation
    dispositions: tuple[Disposition, ...]


class DisposedRelationPage(Page, frozen=True, kw_only=True):
    """The result of `tallystick_relation_list`."""

    items: Annotated[tuple[DisposedRelation, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]
    withheld: Ranges


# --- arguments ----------------------------------------------------------------------------------------------
class ContributionAppendArgs(HeadArgs, frozen=True, kw_only=True):
    """A new contribution, at a branch's expected head or, by the extension, at its head."""

    kind: ContributionKind
    body_parts: Content[
        Annotated[tuple[ContributionPart, ...], Meta(min_length=1, max_length=limits.LIST_ITEMS_MAX)]
    ]
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


class TallystickContributionListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of a space's contributions, narrowed as `contribution_list` is."""

    space_id: Identifier
    branch_id: Identifier | UnsetType = UNSET
    kind: ContributionKind | UnsetType = UNSET


class TallystickRelationShowArgs(Args, frozen=True, kw_only=True):
    """Which relation."""

    relation_id: Identifier


class TallystickRelationListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of a space's relations: all, those of a kind, or those that lead from or to an object."""

    space_id: Identifier
    kind: RelationKind | UnsetType = UNSET
    object_ref: Identifier | UnsetType = UNSET


# --- operations ---------------------------------------------------------------------------------------------
CONTRIBUTION_APPEND: Final = SHARED_SPACE.write(
    "contribution_append",
    ContributionAppendArgs,
    Contribution,
    "Append an immutable contribution to a branch.",
    mode=Mode.WRITE_SPACE,
    problems=(*GUARDED_WRITES, ProblemKind.FORBIDDEN_SURFACE),
    event="dev.kovee.space.contribution-appended.v1",
    rows=(
        *CONTENT_ROWS,
        RowEffect("contributions", "insert"),
        RowEffect("artifact_references", "insert", None),
        RowEffect(
            "spaces", "update", 1, ("revision", "next_space_sequence", "branch_sequence", "branch_head")
        ),
    ),
    extensions={APPEND_EXTENSION: AppendExtension},
)
CONTRIBUTION_SHOW: Final = SHARED_SPACE.read(
    "contribution_show",
    ContributionShowArgs,
    Contribution,
    "One contribution.",
    mode=Mode.READ_SPACE,
    problems=(*READS, ProblemKind.FORBIDDEN),
)
CONTRIBUTION_LIST: Final = SHARED_SPACE.read(
    "contribution_list",
    ContributionListArgs,
    ContributionPage,
    "A space's contributions, a page at a time, in their order.",
    mode=Mode.READ_SPACE,
    problems=(*LISTS, ProblemKind.FORBIDDEN),
)
RELATION_ASSERT: Final = SHARED_SPACE.write(
    "relation_assert",
    RelationAssertArgs,
    Relation,
    "Relate two objects of a space, each as it is pinned.",
    mode=Mode.WRITE_SPACE,
    problems=(*GUARDED_WRITES, ProblemKind.CYCLE, ProblemKind.FORBIDDEN_SURFACE),
    event="dev.kovee.space.relation-asserted.v1",
    rows=(
        RowEffect("relations", "insert"),
        RowEffect("spaces", "update", 1, ("revision", "branch_sequence", "branch_head")),
    ),
    extensions={APPEND_EXTENSION: AppendExtension},
)
CONTRIBUTION_APPEND_BY_WORKER: Final = replace(
    CONTRIBUTION_APPEND,
    surface="worker",
    socket=Socket.WORKER,
    mode=Mode.WORKER_FENCED,
    problems=(*CONTRIBUTION_APPEND.problems, *FENCED),
    rows=(*CONTRIBUTION_APPEND.rows, STEP_ROW),
    summary="Append an immutable contribution, as the attempt that speaks.",
)
RELATION_ASSERT_BY_WORKER: Final = replace(
    RELATION_ASSERT,
    surface="worker",
    socket=Socket.WORKER,
    mode=Mode.WORKER_FENCED,
    problems=(*RELATION_ASSERT.problems, *FENCED),
    rows=(*RELATION_ASSERT.rows, STEP_ROW),
    summary="Relate two objects of a space, as the attempt that speaks.",
)
TALLYSTICK_CONTRIBUTION_LIST: Final = TALLYSTICK_SPACE.read(
    "tallystick_contribution_list",
    TallystickContributionListArgs,
    DisposedContributionPage,
    "A space's contributions, each with what became of it; and how many are withheld where.",
    mode=Mode.READ_SPACE,
    problems=LISTS,
)
TALLYSTICK_RELATION_SHOW: Final = TALLYSTICK_SPACE.read(
    "tallystick_relation_show",
    TallystickRelationShowArgs,
    DisposedRelation,
    "One relation, and whether it was retracted.",
    mode=Mode.READ_SPACE,
    problems=GUARDED_READS,
)
TALLYSTICK_RELATION_LIST: Final = TALLYSTICK_SPACE.read(
    "tallystick_relation_list",
    TallystickRelationListArgs,
    DisposedRelationPage,
    "A space's relations, all or those at an object, each with whether it was retracted.",
    mode=Mode.READ_SPACE,
    problems=LISTS,
)

OPERATIONS: Final = (
    CONTRIBUTION_APPEND,
    CONTRIBUTION_SHOW,
    CONTRIBUTION_LIST,
    RELATION_ASSERT,
    CONTRIBUTION_APPEND_BY_WORKER,
    RELATION_ASSERT_BY_WORKER,
    TALLYSTICK_CONTRIBUTION_LIST,
    TALLYSTICK_RELATION_SHOW,
    TALLYSTICK_RELATION_LIST,
)
