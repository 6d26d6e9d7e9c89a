"""Assistants, and the revisions of their manifests."""

from typing import Annotated, Final, get_args

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.arguments import Args, Content, PageArgs
from tallystick.protocol.operation import DEVELOPER_ASSISTANT, LISTS, WRITES, Mode, Placement, RowEffect
from tallystick.protocol.problems import Kind as ProblemKind
from tallystick.protocol.records import Page, Record
from tallystick.protocol.shapes import (
    ConcurrencyPolicy,
    DigestHex,
    DisplayName,
    FreeText,
    Identifier,
    Identifiers,
    JsonObject,
    SafeInt,
    SecurityProfile,
    StatusToken,
    Timestamp,
    refuse_repeats,
)


# --- records ------------------------------------------------------------------------------------------------
class AssistantDefinition(Record, frozen=True, kw_only=True):
    """An assistant, whatever its revision."""

    definition_id: Identifier
    realm_id: Identifier
    owner_ref: Identifier
    revision: SafeInt
    name: DisplayName
    description: FreeText
    status: StatusToken
    created_at: Timestamp


class AssistantDefinitionPage(Page, frozen=True, kw_only=True):
    """The result of `assistant_list`."""

    items: Annotated[tuple[AssistantDefinition, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


class ResourceLimits(Record, frozen=True, kw_only=True):
    """What a worker of an assistant may use; of these only the output's unit is KCP's."""

    cpu: SafeInt
    memory: SafeInt
    disk: SafeInt
    output_bytes: SafeInt


_MANIFEST_SETS: Final = (
    "supported_worker_protocols",
    "skills",
    "requested_capabilities",
    "model_profiles",
    "tool_profiles",
    "security_profiles",
)


class Manifest(Record, frozen=True, kw_only=True):
    """What a revision of an assistant says about itself.

    `runtime`, `attention_proposals` and `network_policy` are free in form, and content; the rest is
    identifiers, numbers and words of closed sets.
    """

    schema_version: Identifier
    definition_id: Identifier
    version: Identifier
    entrypoint: Identifier
    package_digest: DigestHex
    runtime: Content[JsonObject]
    supported_worker_protocols: Identifiers
    input_schema_ref: Identifier
    output_schema_ref: Identifier
    skills: Identifiers
    attention_proposals: Content[Annotated[tuple[JsonObject, ...], Meta(max_length=limits.LIST_ITEMS_MAX)]]
    requested_capabilities: Identifiers
    model_profiles: Identifiers
    tool_profiles: Identifiers
    network_policy: Content[JsonObject]
    resource_limits: ResourceLimits
    default_timeout: SafeInt
    max_concurrency: SafeInt
    causal_concurrency_policy: ConcurrencyPolicy
    checkpoint_support: bool
    cancellation_support: bool
    security_profiles: Annotated[
        tuple[SecurityProfile, ...], Meta(min_length=1, max_length=len(get_args(SecurityProfile)))
    ]

    def __post_init__(self) -> None:
        for member in _MANIFEST_SETS:
            refuse_repeats(member, getattr(self, member))


class AssistantRevision(Record, frozen=True, kw_only=True):
    """An immutable revision of an assistant: its manifest, and the package that it names."""

    assistant_revision_id: Identifier
    definition_id: Identifier
    version: Identifier
    manifest: Manifest
    package_artifact_ref: Identifier
    package_digest: DigestHex
    config_schema_digest: DigestHex
    sdk_protocol_range: Identifier
    signature_refs: Identifiers
    created_by: Identifier
    created_at: Timestamp

    def __post_init__(self) -> None:
        refuse_repeats("signature_refs", self.signature_refs)


class AssistantRevisionPage(Page, frozen=True, kw_only=True):
    """The result of `assistant_revision_list`."""

    items: Annotated[tuple[AssistantRevision, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


# --- arguments ----------------------------------------------------------------------------------------------
class AssistantCreateArgs(Args, frozen=True, kw_only=True):
    """A new assistant's name, and what it is for."""

    name: Content[DisplayName]
    description: Content[FreeText]


class AssistantShowArgs(Args, frozen=True, kw_only=True):
    """Which assistant."""

    definition_id: Identifier


class AssistantListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of the realm's assistants."""


class AssistantRevisionRegisterArgs(Args, frozen=True, kw_only=True):
    """A new revision: its manifest, and the package that the manifest names."""

    definition_id: Identifier
    version: Identifier
    manifest: Manifest
    package_artifact_ref: Identifier
    package_digest: DigestHex
    config_schema_digest: DigestHex
    sdk_protocol_range: Identifier
    signature_refs: Identifiers | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.signature_refs is not UNSET:
            refuse_repeats("signature_refs", self.signature_refs)


class AssistantRevisionShowArgs(Args, frozen=True, kw_only=True):
    """Which revision."""

    assistant_revision_id: Identifier


class AssistantRevisionListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of the revisions, of one assistant where it is named."""

    definition_id: Identifier | UnsetType = UNSET


# --- operations ---------------------------------------------------------------------------------------------
ASSISTANT_CREATE: Final = DEVELOPER_ASSISTANT.write(
    "assistant_create",
    AssistantCreateArgs,
    AssistantDefinition,
    "Define an assistant.",
    mode=Mode.OPERATOR,
    surface="operator",
    project=Placement.OPTIONAL,
    problems=(*WRITES, ProblemKind.FORBIDDEN),
    event="dev.kovee.assistant.created.v1",
    rows=(
        RowEffect("bodies", "insert", 2),
        RowEffect("object_keys", "insert", 2),
        RowEffect("assistants", "insert"),
    ),
)
ASSISTANT_SHOW: Final = DEVELOPER_ASSISTANT.read(
    "assistant_show",
    AssistantShowArgs,
    AssistantDefinition,
    "One assistant.",
    mode=Mode.READ_REALM,
    project=Placement.OPTIONAL,
)
ASSISTANT_LIST: Final = DEVELOPER_ASSISTANT.read(
    "assistant_list",
    AssistantListArgs,
    AssistantDefinitionPage,
    "The realm's assistants, a page at a time, in order of creation.",
    mode=Mode.READ_REALM,
    project=Placement.OPTIONAL,
    problems=LISTS,
)
ASSISTANT_REVISION_REGISTER: Final = DEVELOPER_ASSISTANT.write(
    "assistant_revision_register",
    AssistantRevisionRegisterArgs,
    AssistantRevision,
    "Register an immutable revision of an assistant, bound to its package.",
    mode=Mode.OPERATOR,
    surface="operator",
    project=Placement.OPTIONAL,
    problems=(*WRITES, ProblemKind.FORBIDDEN),
    event="dev.kovee.assistant.revision-registered.v1",
    rows=(
        RowEffect("bodies", "insert", 3),
        RowEffect("object_keys", "insert", 3),
        RowEffect("assistant_revisions", "insert"),
    ),
)
ASSISTANT_REVISION_SHOW: Final = DEVELOPER_ASSISTANT.read(
    "assistant_revision_show",
    AssistantRevisionShowArgs,
    AssistantRevision,
    "One revision of an assistant.",
    mode=Mode.READ_REALM,
    project=Placement.OPTIONAL,
)
ASSISTANT_REVISION_LIST: Final = DEVELOPER_ASSISTANT.read(
    "assistant_revision_list",
    AssistantRevisionListArgs,
    AssistantRevisionPage,
    "Revisions of assistants, a page at a time, in order of creation.",
    mode=Mode.READ_REALM,
    project=Placement.OPTIONAL,
    problems=LISTS,
)

OPERATIONS: Final = (
    ASSISTANT_CREATE,
    ASSISTANT_SHOW,
    ASSISTANT_LIST,
    ASSISTANT_REVISION_REGISTER,
    ASSISTANT_REVISION_SHOW,
    ASSISTANT_REVISION_LIST,
)
