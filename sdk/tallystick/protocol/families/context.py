"""Context: frontiers, which pin a branch at a place, and assemblies, which pin what an assistant may read."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from tallystick.protocol import limits
from tallystick.protocol.arguments import Args, DualArgs, PageArgs
from tallystick.protocol.operation import (
    FENCED,
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
from tallystick.protocol.problems import Kind as ProblemKind
from tallystick.protocol.records import First, Page, Ranges, Record
from tallystick.protocol.shapes import (
    AnyJson,
    Cursor,
    DigestHex,
    FreeText,
    Identifier,
    Identifiers,
    SafeInt,
    StatusToken,
    Timestamp,
)


# --- records ------------------------------------------------------------------------------------------------
class Frontier(Record, frozen=True, kw_only=True):
    """A branch as it stood: its sequence, its head, and the project's cursor."""

    frontier_id: Identifier
    revision: First
    space_id: Identifier
    branch_id: Identifier
    branch_sequence: SafeInt
    branch_head_digest: DigestHex
    project_event_cursor: Cursor
    external_source_cursors: tuple[dict[str, AnyJson], ...]
    created_at: Timestamp
    digest: DigestHex


class AssemblyItem(Record, frozen=True, kw_only=True):
    """One contribution of an assembly; `size` is the bytes of its body parts as JSON."""

    object_ref: Identifier
    revision: SafeInt
    digest: DigestHex
    size: SafeInt
    classification_ref: Identifier
    role: StatusToken
    order: SafeInt
    inclusion_reason: StatusToken


class AssemblyRelation(Record, frozen=True, kw_only=True):
    """One relation of an assembly."""

    relation_ref: Identifier
    digest: DigestHex


class AssemblyTransformation(Record, frozen=True, kw_only=True):
    """What was done to an item before it was included."""

    kind: StatusToken
    instruction_ref: Identifier | UnsetType = UNSET
    version: Identifier
    source_digest: DigestHex
    result_digest: DigestHex


class AssemblyOmission(Record, frozen=True, kw_only=True):
    """What was left out, and why."""

    visible_candidate_ref: Identifier | UnsetType = UNSET
    reason: StatusToken


class AssemblyTotals(Record, frozen=True, kw_only=True):
    """How much an assembly holds."""

    items: SafeInt
    bytes: SafeInt
    estimated_tokens: SafeInt


class Assembly(Record, frozen=True, kw_only=True):
    """A context assembly: exactly what an invocation is given to read."""

    assembly_id: Identifier
    revision: First
    realm_id: Identifier
    project_id: Identifier
    space_id: Identifier
    branch_id: Identifier
    audience_ref: Identifier
    purpose: FreeText
    trigger_refs: tuple[Identifier, ...]
    frontier_ref: Identifier
    frontier_digest: DigestHex
    recipe_ref: Identifier | UnsetType = UNSET
    recipe_revision: SafeInt | UnsetType = UNSET
    recipe_digest: DigestHex | UnsetType = UNSET
    selection_policy_ref: Identifier
    selection_policy_digest: DigestHex
    items: tuple[AssemblyItem, ...]
    relations: tuple[AssemblyRelation, ...]
    transformations: tuple[AssemblyTransformation, ...]
    omissions: tuple[AssemblyOmission, ...]
    classification_join_ref: Identifier
    totals: AssemblyTotals
    selection_policy_version: Identifier
    assembler_version: Identifier
    authorization_dependency_set_ref: Identifier
    authority_digest: DigestHex
    created_at: Timestamp
    digest: DigestHex


class FrontierPage(Page, frozen=True, kw_only=True):
    """The result of `tallystick_frontier_list`: whoever reads a space sees all its frontiers."""

    items: Annotated[tuple[Frontier, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


class AssemblySummary(Record, frozen=True, kw_only=True):
    """A context assembly without its items and relations, which `context_assembly_show` shows."""

    assembly_id: Identifier
    space_id: Identifier
    branch_id: Identifier
    audience_ref: Identifier
    purpose: FreeText
    trigger_refs: tuple[Identifier, ...]
    frontier_ref: Identifier
    classification_join_ref: Identifier
    totals: AssemblyTotals
    revision: First
    created_at: Timestamp
    digest: DigestHex


class AssemblySummaryPage(Page, frozen=True, kw_only=True):
    """The result of `tallystick_assembly_list`."""

    items: Annotated[tuple[AssemblySummary, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]
    withheld: Ranges


class Branch(Record, frozen=True, kw_only=True):
    """A branch as it stands: the head that an append is compared with, and the last sequence given on it."""

    branch_id: Identifier
    space_id: Identifier
    branch_sequence: SafeInt
    branch_head_digest: DigestHex
    created_by: Identifier
    created_at: Timestamp


# --- arguments ----------------------------------------------------------------------------------------------
class FrontierPinArgs(Args, frozen=True, kw_only=True):
    """Which branch to pin as it stands."""

    space_id: Identifier
    branch_id: Identifier


class FrontierShowArgs(Args, frozen=True, kw_only=True):
    """Which frontier."""

    frontier_id: Identifier


class ContextAssemblyCreateArgs(DualArgs, frozen=True, kw_only=True):
    """What an audience is to read, named one by one; `purpose` is a label and is not erasable."""

    space_id: Identifier
    branch_id: Identifier
    audience_ref: Identifier
    purpose: FreeText
    selection_policy_ref: Identifier
    required_refs: Identifiers | UnsetType = UNSET
    trigger_refs: Identifiers | UnsetType = UNSET
    recipe_ref: Identifier | UnsetType = UNSET
    recipe_revision: SafeInt | UnsetType = UNSET


class ContextAssemblyShowArgs(Args, frozen=True, kw_only=True):
    """Which assembly."""

    assembly_id: Identifier


class TallystickFrontierListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of a space's frontiers."""

    space_id: Identifier


class TallystickAssemblyListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of a space's context assemblies."""

    space_id: Identifier


class TallystickBranchShowArgs(Args, frozen=True, kw_only=True):
    """Which branch."""

    branch_id: Identifier


# --- operations ---------------------------------------------------------------------------------------------
TALLYSTICK_FRONTIER_LIST: Final = TALLYSTICK_SPACE.read(
    "tallystick_frontier_list",
    TallystickFrontierListArgs,
    FrontierPage,
    "A space's frontiers, those of its assemblies too, in order of pinning.",
    mode=Mode.READ_SPACE,
    problems=LISTS,
)
TALLYSTICK_ASSEMBLY_LIST: Final = TALLYSTICK_SPACE.read(
    "tallystick_assembly_list",
    TallystickAssemblyListArgs,
    AssemblySummaryPage,
    "A space's context assemblies without their items, in order of making.",
    mode=Mode.READ_SPACE,
    problems=LISTS,
)
TALLYSTICK_BRANCH_SHOW: Final = TALLYSTICK_SPACE.read(
    "tallystick_branch_show",
    TallystickBranchShowArgs,
    Branch,
    "A branch's head, and its last sequence.",
    mode=Mode.READ_SPACE,
)
FRONTIER_PIN: Final = SHARED_SPACE.write(
    "frontier_pin",
    FrontierPinArgs,
    Frontier,
    "Pin a branch as it stands.",
    mode=Mode.WRITE_SPACE,
    event="dev.kovee.space.frontier-pinned.v1",
    rows=(RowEffect("frontiers", "insert"),),
)
FRONTIER_SHOW: Final = SHARED_SPACE.read(
    "frontier_show",
    FrontierShowArgs,
    Frontier,
    "One frontier.",
    mode=Mode.READ_SPACE,
)
CONTEXT_ASSEMBLY_CREATE: Final = SHARED_SPACE.write(
    "context_assembly_create",
    ContextAssemblyCreateArgs,
    Assembly,
    "Fix what an audience is given to read, with a frontier of its own.",
    mode=Mode.WRITE_SPACE,
    problems=(*GUARDED_WRITES, ProblemKind.FORBIDDEN_SURFACE),
    event="dev.kovee.space.context-assembly-created.v1",
    ids=2,
    rows=(
        RowEffect("frontiers", "insert"),
        RowEffect("assemblies", "insert"),
    ),
)
CONTEXT_ASSEMBLY_SHOW: Final = SHARED_SPACE.read(
    "context_assembly_show",
    ContextAssemblyShowArgs,
    Assembly,
    "One assembly; refused where an item is no longer what it was.",
    mode=Mode.READ_SPACE,
    problems=(*READS, ProblemKind.FORBIDDEN),
)
CONTEXT_ASSEMBLY_CREATE_BY_WORKER: Final = replace(
    CONTEXT_ASSEMBLY_CREATE,
    surface="worker",
    socket=Socket.WORKER,
    mode=Mode.WORKER_FENCED,
    problems=(*CONTEXT_ASSEMBLY_CREATE.problems, *FENCED),
    rows=(*CONTEXT_ASSEMBLY_CREATE.rows, STEP_ROW),
    summary="Fix what an audience is given to read, as the attempt that speaks.",
)

OPERATIONS: Final = (
    TALLYSTICK_FRONTIER_LIST,
    TALLYSTICK_ASSEMBLY_LIST,
    TALLYSTICK_BRANCH_SHOW,
    FRONTIER_PIN,
    FRONTIER_SHOW,
    CONTEXT_ASSEMBLY_CREATE,
    CONTEXT_ASSEMBLY_SHOW,
    CONTEXT_ASSEMBLY_CREATE_BY_WORKER,
)
