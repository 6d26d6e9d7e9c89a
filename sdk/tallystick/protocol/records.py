"""The records of the wire: what results and event payloads hold, by KCP's names (KCP appendix A, section 6).

Each struct is closed, frozen and checked on decoding; an optional member is `UNSET` where it is left out, and
null is taken for none of them. `InvocationClaim` alone has members that are null on the wire, as KCP has it.
Constructing one in Python checks nothing: msgspec checks what it decodes.
"""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from . import limits
from .problems import Ext
from .shapes import (
    AnyJson,
    CheckStatus,
    ContributionKind,
    Cursor,
    DigestHex,
    DisplayName,
    EpistemicPosture,
    EventType,
    FeatureId,
    FreeText,
    Identifier,
    InlineText,
    InvocationState,
    LanguageTag,
    MediaType,
    MentionTarget,
    PositiveInt,
    ProjectStatus,
    ProtocolVersion,
    RelationKind,
    SafeInt,
    SecurityProfile,
    SpaceStatus,
    SpaceVisibility,
    StatusToken,
    Timestamp,
    convert,
    member_fault,
    refuse_repeats,
)


class Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What all records share: closed, immutable, members by name, what is left out stays left out."""


First = Literal[1]
"""The revision of an immutable record."""


# --- negotiation and service ------------------------------------------------------------------------------
Versions = Annotated[tuple[ProtocolVersion, ...], Meta(min_length=1, max_length=limits.LIST_ITEMS_MAX)]
Features = Annotated[tuple[FeatureId, ...], Meta(max_length=limits.LIST_ITEMS_MAX)]


class HelloResult(Record, frozen=True, kw_only=True):
    """What `hello` settles (KCP 1.7)."""

    selected_version: ProtocolVersion
    implementation: DisplayName
    implementation_version: Identifier
    features: Features
    limits_digest: DigestHex
    server_time: Timestamp
    installation_id: Identifier

    def __post_init__(self) -> None:
        refuse_repeats("features", self.features)


class ProtocolInfo(Record, frozen=True, kw_only=True):
    """What the daemon speaks and serves, without settling anything (KCP 1.7)."""

    supported_versions: Versions
    implementation: DisplayName
    implementation_version: Identifier
    features: Features
    limits_digest: DigestHex
    server_time: Timestamp
    installation_id: Identifier

    def __post_init__(self) -> None:
        refuse_repeats("supported_versions", self.supported_versions)
        refuse_repeats("features", self.features)


class DiagnosticCheck(Record, frozen=True, kw_only=True):
    """One check and how it ended."""

    check: Identifier
    status: CheckStatus
    detail: FreeText | UnsetType = UNSET


class Diagnosis(Record, frozen=True, kw_only=True):
    """The result of `diagnose`: the worst status of its checks, and each of them."""

    status: CheckStatus
    checks: Annotated[tuple[DiagnosticCheck, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]
    generated_at: Timestamp


class ServedLimits(Record, frozen=True, kw_only=True):
    """The result of `tallystick_limits`: every limit a client can meet, by its name, and our own bundles."""

    limits: dict[str, SafeInt]
    bundles: Features


class EpochStatus(Record, frozen=True, kw_only=True):
    """The store's epoch; a restored or adopted store begins a new one."""

    number: PositiveInt


class FileSystemStatus(Record, frozen=True, kw_only=True):
    """Where the database lies; a container's layer goes with its container."""

    name: str
    container_layer: bool


class Status(Record, frozen=True, kw_only=True):
    """The result of `tallystick_status`: the daemon as it stands, for its owner."""

    pid: PositiveInt
    started_at: Timestamp
    store_id: Identifier
    installation_id: Identifier
    epoch: EpochStatus
    versions: dict[str, str]
    file_system: FileSystemStatus
    wal_bytes: SafeInt
    log_entries: SafeInt
    connections: SafeInt
    queued_commands: SafeInt
    waiters: SafeInt
    leases: SafeInt
    stopping: bool


class Stopping(Record, frozen=True, kw_only=True):
    """The result of `tallystick_shutdown`: the drain has begun."""

    stopping: bool


# --- realm, project, space --------------------------------------------------------------------------------
class Realm(Record, frozen=True, kw_only=True):
    """The one realm of an installation."""

    realm_id: Identifier
    installation_id: Identifier
    revision: SafeInt
    name: DisplayName
    status: StatusToken
    home_region: Identifier
    auth_policy_ref: Identifier
    retention_policy_ref: Identifier
    encryption_key_ref: Identifier
    created_at: Timestamp


class Project(Record, frozen=True, kw_only=True):
    """A project: what spaces, events and invocations belong to."""

    project_id: Identifier
    realm_id: Identifier
    revision: SafeInt
    name: DisplayName
    status: ProjectStatus
    default_classification_ref: Identifier
    policy_set_ref: Identifier
    created_by: Identifier
    created_at: Timestamp


class Space(Record, frozen=True, kw_only=True):
    """A space: one conversation with one main branch."""

    space_id: Identifier
    realm_id: Identifier
    project_id: Identifier
    revision: SafeInt
    title: DisplayName
    purpose_contribution_ref: Identifier | UnsetType = UNSET
    visibility: SpaceVisibility
    status: SpaceStatus
    main_branch_id: Identifier
    next_space_sequence: SafeInt
    default_classification_ref: Identifier
    policy_set_ref: Identifier
    created_by: Identifier
    created_at: Timestamp


# --- contributions and relations --------------------------------------------------------------------------
_PART_SHAPES: Final[tuple[tuple[str, frozenset[str], frozenset[str]], ...]] = (
    ("text", frozenset({"media_type", "text"}), frozenset({"language"})),
    ("data", frozenset({"schema_ref", "value"}), frozenset()),
    ("artifact", frozenset({"artifact_ref"}), frozenset({"title"})),
    ("reference", frozenset({"object_ref"}), frozenset({"object_revision", "digest"})),
    (
        "mention",
        frozenset({"target_kind", "target_ref", "target_revision", "display_text"}),
        frozenset(),
    ),
)
"""Name, required and optional members of the five parts. No member stands in two of them."""

_SHAPE_OF: Final = {member: shape for shape in _PART_SHAPES for member in shape[1] | shape[2]}
PartShape = Literal["text", "data", "artifact", "reference", "mention"]


class ContributionPart(Record, frozen=True, kw_only=True):
    """One part of a body: a text, data, artifact, reference or mention, told apart by its members."""

    media_type: MediaType | UnsetType = UNSET
    text: InlineText | UnsetType = UNSET
    language: LanguageTag | UnsetType = UNSET
    schema_ref: Identifier | UnsetType = UNSET
    value: AnyJson = UNSET
    artifact_ref: Identifier | UnsetType = UNSET
    title: DisplayName | UnsetType = UNSET
    object_ref: Identifier | UnsetType = UNSET
    object_revision: SafeInt | UnsetType = UNSET
    digest: DigestHex | UnsetType = UNSET
    target_kind: MentionTarget | UnsetType = UNSET
    target_ref: Identifier | UnsetType = UNSET
    target_revision: SafeInt | UnsetType = UNSET
    display_text: DisplayName | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.text is not UNSET and self.media_type is not UNSET and self._alone():
            return  # nearly every part: a text
        present = {member for member in _SHAPE_OF if getattr(self, member) is not UNSET}
        if not present:
            raise ValueError(f"a part must be one of {_part_words()}, and has no member")
        name, required, optional = _SHAPE_OF[min(present, key=_rank)]
        if foreign := present - required - optional:
            raise ValueError(
                f"a part is one of {_part_words()}; the members {', '.join(sorted(foreign))} do not stand in "
                f"a {name} part"
            )
        if missing := required - present:
            raise ValueError(f"a {name} part needs the members {', '.join(sorted(missing))}")

    def _alone(self) -> bool:
        return (
            self.schema_ref is UNSET
            and self.value is UNSET
            and self.artifact_ref is UNSET
            and self.title is UNSET
            and self.object_ref is UNSET
            and self.object_revision is UNSET
            and self.digest is UNSET
            and self.target_kind is UNSET
            and self.target_ref is UNSET
            and self.target_revision is UNSET
            and self.display_text is UNSET
        )

    @property
    def shape(self) -> PartShape:
        """Which of the five it is."""
        if self.text is not UNSET:
            return "text"
        if self.schema_ref is not UNSET:
            return "data"
        if self.artifact_ref is not UNSET:
            return "artifact"
        return "reference" if self.object_ref is not UNSET else "mention"


def _rank(member: str) -> int:
    return next(i for i, (_, required, optional) in enumerate(_PART_SHAPES) if member in required | optional)


def _part_words() -> str:
    return "; ".join(
        f"{name} {{{', '.join([*sorted(required), *(f'{o}?' for o in sorted(optional))])}}}"
        for name, required, optional in _PART_SHAPES
    )


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


# --- frontiers and assemblies -----------------------------------------------------------------------------
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


# --- invocations ------------------------------------------------------------------------------------------
class Invocation(Record, frozen=True, kw_only=True):
    """A request to an assistant's deployment, and how far it is."""

    invocation_id: Identifier
    realm_id: Identifier
    project_id: Identifier
    space_id: Identifier | UnsetType = UNSET
    branch_id: Identifier | UnsetType = UNSET
    assistant_deployment_id: Identifier
    assistant_deployment_revision: SafeInt
    assistant_revision_id: Identifier
    effective_config_ref: Identifier
    effective_config_digest: DigestHex
    secret_binding_set_ref: Identifier
    secret_binding_set_digest: DigestHex
    effective_policy_digest: DigestHex
    effective_security_profile: SecurityProfile
    rollout_decision_ref: Identifier
    trigger_ref: Identifier
    trigger_digest: DigestHex
    context_assembly_ref: Identifier | UnsetType = UNSET
    context_assembly_digest: DigestHex | UnsetType = UNSET
    input_manifest_ref: Identifier
    input_digest: DigestHex
    correlation_ref: Identifier
    causation_ref: Identifier | UnsetType = UNSET
    commitment_ref: Identifier | UnsetType = UNSET
    work_realization_ref: Identifier | UnsetType = UNSET
    state: InvocationState
    revision: SafeInt
    priority: SafeInt
    not_before: Timestamp
    deadline: Timestamp
    max_attempts: SafeInt
    budget_reservation_set_ref: Identifier | UnsetType = UNSET
    created_at: Timestamp
    terminal_at: Timestamp | UnsetType = UNSET


class InvocationClaim(Record, frozen=True, kw_only=True):
    """The result of `invocation_claim`: the invocation, the attempt's binding, and what it may read.

    `assembly` and `frontier` are null where the invocation has no assembly; `items` are the whole
    contributions that the assembly names, in its order.
    """

    invocation: Invocation
    attempt_id: Identifier
    fence_epoch: SafeInt
    assembly: Assembly | None
    frontier: Frontier | None
    items: tuple[Contribution, ...]


class StepReply(Record, frozen=True, kw_only=True):
    """What a step of an invocation was answered, as its reply has it."""

    result: AnyJson
    revision: SafeInt | UnsetType = UNSET
    event_cursor: Cursor | UnsetType = UNSET


class Step(Record, frozen=True, kw_only=True):
    """One command done under an invocation: its operation, its idempotency key, and its reply."""

    operation: Identifier
    operation_key: Identifier
    reply: StepReply


class InvocationProgress(Record, frozen=True, kw_only=True):
    """The result of `tallystick_invocation_progress`: what was done so far, in the order of doing."""

    invocation_id: Identifier
    steps: tuple[Step, ...]


class LeaseTerm(Record, frozen=True, kw_only=True):
    """The result of `tallystick_invocation_renew`: the lease's term and what is left of it, in seconds."""

    term_seconds: SafeInt
    remaining_seconds: SafeInt


# --- events -----------------------------------------------------------------------------------------------
class Event(Record, frozen=True, kw_only=True):
    """KCP's event envelope (section 6): exactly one of `payload` and `payload_ref`."""

    event_id: Identifier
    installation_id: Identifier
    realm_id: Identifier
    project_id: Identifier | UnsetType = UNSET
    stream_id: Identifier
    stream_sequence: SafeInt
    project_sequence: SafeInt | UnsetType = UNSET
    type: EventType
    schema_ref: Identifier
    resource_ref: Identifier
    resource_revision: SafeInt | UnsetType = UNSET
    actor_ref: Identifier
    causation_ref: Identifier | UnsetType = UNSET
    correlation_ref: Identifier
    occurred_at: Timestamp
    classification_ref: Identifier
    payload_digest: DigestHex
    payload: AnyJson = UNSET
    payload_ref: Identifier | UnsetType = UNSET
    ext: Ext | UnsetType = UNSET

    def __post_init__(self) -> None:
        if (self.payload is UNSET) == (self.payload_ref is UNSET):
            raise member_fault("payload", "an event has exactly one of the members payload and payload_ref")


Events = Annotated[tuple[Event, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


class EventPage(Record, frozen=True, kw_only=True):
    """The result of `events_read`; `next_cursor` is where to go on, past what a filter left out."""

    events: Events
    next_cursor: Cursor
    snapshot_epoch: Cursor


class EventBatch(Record, frozen=True, kw_only=True):
    """The result of `events_wait`; no events where nothing came in time."""

    events: Events
    next_cursor: Cursor


class EventPayload(Record, frozen=True, kw_only=True):
    """The result of `event_payload`."""

    event_id: Identifier
    schema_ref: Identifier
    payload_digest: DigestHex
    payload: AnyJson


# --- pages ------------------------------------------------------------------------------------------------
class Page(Record, frozen=True, kw_only=True):
    """What every list's result shares: send `next` as `after` and `snapshot` again for the following page."""

    next: Cursor | UnsetType = UNSET
    snapshot: Cursor
    boundary_event_cursor: Cursor


class ProjectPage(Page, frozen=True, kw_only=True):
    """The result of `project_list`."""

    items: Annotated[tuple[Project, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


class SpacePage(Page, frozen=True, kw_only=True):
    """The result of `space_list`."""

    items: Annotated[tuple[Space, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


class ContributionPage(Page, frozen=True, kw_only=True):
    """The result of `contribution_list`."""

    items: Annotated[tuple[Contribution, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


class InvocationPage(Page, frozen=True, kw_only=True):
    """The result of `invocation_list`."""

    items: Annotated[tuple[Invocation, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


# --- from parsed JSON -------------------------------------------------------------------------------------
def decode_event(value: object, at: str = "$") -> Event:
    """`value`, parsed JSON at the path `at`, as an event. Raises `Misshapen`."""
    return convert(value, Event, at)
