"""Decisions: what was decided, where it holds, what it replaces and what contradicts it."""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from tallystick.protocol import limits
from tallystick.protocol.arguments import Args, Content, DualArgs, PageArgs
from tallystick.protocol.operation import (
    CONTENT_ROWS,
    FALLEN_DECISION,
    FENCED,
    GUARDED_READS,
    GUARDED_WRITES,
    LISTS,
    STEP_ROW,
    TALLYSTICK_COORDINATION,
    Emission,
    Mode,
    RowEffect,
    Socket,
)
from tallystick.protocol.problems import Kind as ProblemKind
from tallystick.protocol.records import Page, Ranges, Record
from tallystick.protocol.shapes import (
    DecisionKey,
    DisplayName,
    Identifier,
    Identifiers,
    LongText,
    PlacePath,
    Repository,
    SafeInt,
    ShortText,
    Timestamp,
)

State = Literal["proposed", "standing", "superseded", "withdrawn"]
Origin = Literal["own", "quoted"]
Reversibility = Literal["easy", "medium", "hard"]
Because = Literal["asked", "gate", "quoted", "ratified"]
Fallen = Literal["proposed", "superseded", "withdrawn"]
Cause = Literal["same_key", "excluded"]
Status = Literal["none", "current", "contested"]
NoneBecause = Literal["never_decided", "only_proposed", "withdrawn", "superseded", "erased", "elsewhere"]
Paths = Annotated[tuple[PlacePath, ...], Meta(min_length=1, max_length=limits.PLACE_PATH_ITEMS_MAX)]
Named = Annotated[tuple[Identifier, ...], Meta(max_length=limits.DECISION_LINK_ITEMS_MAX)]
Foundations = Annotated[tuple[Identifier, ...], Meta(max_length=limits.DECISION_BASIS_ITEMS_MAX)]
Tags = Annotated[tuple[DisplayName, ...], Meta(max_length=limits.DECISION_LINK_ITEMS_MAX)]


# --- records ------------------------------------------------------------------------------------------------
class Exclusion(Record, frozen=True, kw_only=True):
    """A key that a decision rules out, with any value or with one."""

    key: DecisionKey
    value: Content[ShortText] | UnsetType = UNSET


class Ratified(Record, frozen=True, kw_only=True):
    """By which verdict a decision was ratified, how strongly, and by whom."""

    verdict_id: Identifier
    strength: Literal["peer", "credential", "ssh", "ssh-sk"]
    decider: Identifier
    at: Timestamp
    key_revoked: bool


class Decision(Record, frozen=True, kw_only=True):
    """A decision as it is now: what was said, its state, and all that bears on it.

    `value`, `reason`, the values of `excludes` and `tags` are content: erased, they read ``[erased]``, and
    `erased` is true. What bears on it is told as far as the reader sees it. `agreeing` counts others that
    stand for the same key and place with an equal value.
    """

    decision_id: Identifier
    contribution_ref: Identifier
    project_id: Identifier
    space_id: Identifier
    state: State
    revision: SafeInt
    key: DecisionKey
    value: str
    reason: str
    repository: Repository | UnsetType = UNSET
    paths: Paths | UnsetType = UNSET
    origin: Origin
    proposed_because: Because | UnsetType = UNSET
    supersedes: tuple[Identifier, ...]
    narrows: tuple[Identifier, ...]
    depends_on: tuple[Identifier, ...]
    excludes: tuple[Exclusion, ...]
    tags: tuple[str, ...]
    reversibility: Reversibility | UnsetType = UNSET
    review_after: Timestamp | UnsetType = UNSET
    classification_ref: Identifier
    by: Identifier
    at: Timestamp
    erased: bool
    superseded_by: Identifier | UnsetType = UNSET
    ratified: Ratified | UnsetType = UNSET
    contested_by: tuple[Identifier, ...]
    agreeing: SafeInt
    narrowed_by: tuple[Identifier, ...]
    challenged_by: tuple[Identifier, ...]
    basis_changed: bool
    review_due: bool
    would_meet: tuple[Identifier, ...] | UnsetType = UNSET


class DecisionPage(Page, frozen=True, kw_only=True):
    """The result of `tallystick_decision_list`; `left_out` counts, by state, what it was not asked for."""

    items: Annotated[tuple[Decision, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]
    left_out: dict[str, SafeInt]
    withheld: Ranges


class CurrentDecision(Record, frozen=True, kw_only=True):
    """What holds for a key at a place; the result of `tallystick_decision_current`.

    `current` are the decisions that hold, ratified ones first and then the newest; `contesting` the others
    where it is contested. `earlier` are the newest that no longer stand, and `earlier_more` how many more.
    """

    status: Status
    because: NoneBecause | UnsetType = UNSET
    current: tuple[Decision, ...]
    contesting: tuple[Decision, ...]
    earlier: tuple[Decision, ...]
    earlier_more: SafeInt


Exclusions = Annotated[tuple[Exclusion, ...], Meta(max_length=limits.DECISION_LINK_ITEMS_MAX)]


# --- arguments ----------------------------------------------------------------------------------------------
class TallystickDecisionRecordArgs(DualArgs, frozen=True, kw_only=True):
    """A decision: its key and value, why, where it holds, and what it refers to."""

    space_id: Identifier
    key: DecisionKey
    value: Content[ShortText]
    reason: Content[LongText]
    repository: Repository | UnsetType = UNSET
    paths: Paths | UnsetType = UNSET
    proposed: bool | UnsetType = UNSET
    origin: Origin | UnsetType = UNSET
    supersedes: Named | UnsetType = UNSET
    narrows: Named | UnsetType = UNSET
    depends_on: Foundations | UnsetType = UNSET
    excludes: Exclusions | UnsetType = UNSET
    tags: Content[Tags] | UnsetType = UNSET
    reversibility: Reversibility | UnsetType = UNSET
    review_after: Timestamp | UnsetType = UNSET
    source_refs: Identifiers | UnsetType = UNSET
    artifact_refs: Identifiers | UnsetType = UNSET
    classification_ref: Identifier | UnsetType = UNSET


class TallystickDecisionAdoptArgs(Args, frozen=True, kw_only=True):
    """Which proposal is to stand."""

    decision_id: Identifier


class TallystickDecisionShowArgs(DualArgs, frozen=True, kw_only=True):
    """Which decision."""

    decision_id: Identifier


class TallystickDecisionCurrentArgs(Args, frozen=True, kw_only=True):
    """A key, and where: without a path everywhere, without a space in all spaces that the reader sees."""

    key: DecisionKey
    path: PlacePath | UnsetType = UNSET
    repository: Repository | UnsetType = UNSET
    space_id: Identifier | UnsetType = UNSET


class TallystickDecisionListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of a project's decisions: those that stand, and of the others what `include` names.

    `key_prefix` is whole segments of a key; a place narrows the list to what overlaps it.
    """

    space_id: Identifier | UnsetType = UNSET
    key_prefix: DecisionKey | UnsetType = UNSET
    repository: Repository | UnsetType = UNSET
    paths: Paths | UnsetType = UNSET
    include: Annotated[tuple[Fallen, ...], Meta(min_length=1, max_length=3)] | UnsetType = UNSET
    contested: bool | UnsetType = UNSET
    unratified: bool | UnsetType = UNSET


# --- operations ---------------------------------------------------------------------------------------------
APPENDED: Final = "dev.kovee.space.contribution-appended.v1"
SUPERSEDED: Final = "dev.kovee.space.contribution-superseded.v1"
RECORDED: Final = "dev.tallystick.decision.recorded.v1"
ADOPTED: Final = "dev.tallystick.decision.adopted.v1"
CONTESTED: Final = "dev.tallystick.decision.contested.v1"

_STANDING: Final = (
    RowEffect("decision_places", "insert", None),
    RowEffect("decision_exclusions", "insert", None),
    RowEffect("decision_conflicts", "insert", None),
)
_EVENT_ROWS: Final = (
    RowEffect("log", "insert", None),
    RowEffect("idempotency", "insert"),
    RowEffect("outbox", "insert", None),
    RowEffect("ids", "insert", None),
)

TALLYSTICK_DECISION_RECORD: Final = TALLYSTICK_COORDINATION.write(
    "tallystick_decision_record",
    TallystickDecisionRecordArgs,
    Decision,
    "Record a decision; what contradicts it is told.",
    mode=Mode.WRITE_SPACE,
    problems=(*GUARDED_WRITES, ProblemKind.FORBIDDEN_SURFACE),
    events=(APPENDED, RECORDED, SUPERSEDED, CONTESTED),
    emission=Emission.SOME,
    all_rows=(
        *_EVENT_ROWS,
        *CONTENT_ROWS,
        RowEffect("contributions", "insert"),
        RowEffect("artifact_references", "insert", None),
        RowEffect(
            "spaces", "update", 1, ("revision", "next_space_sequence", "branch_sequence", "branch_head")
        ),
        RowEffect("decisions", "insert"),
        RowEffect("decision_links", "insert", None),
        *_STANDING,
        RowEffect("dispositions", "insert", None),
        *FALLEN_DECISION,
    ),
)
TALLYSTICK_DECISION_ADOPT: Final = TALLYSTICK_COORDINATION.write(
    "tallystick_decision_adopt",
    TallystickDecisionAdoptArgs,
    Decision,
    "Let a proposal stand; what it names falls.",
    mode=Mode.WRITE_SPACE,
    events=(ADOPTED, SUPERSEDED, CONTESTED),
    emission=Emission.SOME,
    all_rows=(
        *_EVENT_ROWS,
        RowEffect("spaces", "update", None, ("revision",)),
        *_STANDING,
        RowEffect("dispositions", "insert", None),
        *FALLEN_DECISION,
    ),
)
TALLYSTICK_DECISION_SHOW: Final = TALLYSTICK_COORDINATION.read(
    "tallystick_decision_show",
    TallystickDecisionShowArgs,
    Decision,
    "One decision, whatever became of it.",
    mode=Mode.READ_SPACE,
    problems=(*GUARDED_READS, ProblemKind.FORBIDDEN_SURFACE),
)
TALLYSTICK_DECISION_CURRENT: Final = TALLYSTICK_COORDINATION.read(
    "tallystick_decision_current",
    TallystickDecisionCurrentArgs,
    CurrentDecision,
    "What holds for a key at a place, and why.",
    mode=Mode.READ_PROJECT,
)
TALLYSTICK_DECISION_LIST: Final = TALLYSTICK_COORDINATION.read(
    "tallystick_decision_list",
    TallystickDecisionListArgs,
    DecisionPage,
    "A project's decisions that stand, in the order in which they were recorded.",
    mode=Mode.READ_PROJECT,
    problems=LISTS,
)
TALLYSTICK_DECISION_RECORD_BY_WORKER: Final = replace(
    TALLYSTICK_DECISION_RECORD,
    surface="worker",
    socket=Socket.WORKER,
    mode=Mode.WORKER_FENCED,
    problems=(*TALLYSTICK_DECISION_RECORD.problems, *FENCED),
    rows=(*TALLYSTICK_DECISION_RECORD.rows, STEP_ROW),
    summary="Record a decision, as the attempt that speaks; it may only be proposed.",
)
TALLYSTICK_DECISION_SHOW_BY_WORKER: Final = replace(
    TALLYSTICK_DECISION_SHOW,
    surface="worker",
    socket=Socket.WORKER,
    mode=Mode.WORKER_FENCED,
    problems=(*TALLYSTICK_DECISION_SHOW.problems, *FENCED),
    summary="A decision that the invocation recorded, as it is now.",
)

OPERATIONS: Final = (
    TALLYSTICK_DECISION_RECORD,
    TALLYSTICK_DECISION_ADOPT,
    TALLYSTICK_DECISION_CURRENT,
    TALLYSTICK_DECISION_SHOW,
    TALLYSTICK_DECISION_LIST,
    TALLYSTICK_DECISION_RECORD_BY_WORKER,
    TALLYSTICK_DECISION_SHOW_BY_WORKER,
)
