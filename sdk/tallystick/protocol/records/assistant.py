"""Records of assistants: definition, revision and manifest, deployment, and the aliases in a project."""

from typing import Annotated, Final, get_args

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
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

from ._base import Page, Record


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
    runtime: JsonObject
    supported_worker_protocols: Identifiers
    input_schema_ref: Identifier
    output_schema_ref: Identifier
    skills: Identifiers
    attention_proposals: Annotated[tuple[JsonObject, ...], Meta(max_length=limits.LIST_ITEMS_MAX)]
    requested_capabilities: Identifiers
    model_profiles: Identifiers
    tool_profiles: Identifiers
    network_policy: JsonObject
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


class AssistantDeployment(Record, frozen=True, kw_only=True):
    """A revision of an assistant, configured: what an invocation asks."""

    assistant_deployment_id: Identifier
    assistant_revision_id: Identifier
    realm_id: Identifier
    project_id: Identifier | UnsetType = UNSET
    revision: SafeInt
    config_ref: Identifier
    config_digest: DigestHex
    secret_binding_set_ref: Identifier
    secret_binding_set_digest: DigestHex
    policy_ref: Identifier
    pool_ref: Identifier
    security_profile: SecurityProfile
    concurrency_policy: ConcurrencyPolicy
    rollout_policy: JsonObject
    status: StatusToken
    activated_at: Timestamp | UnsetType = UNSET


class AssistantDeploymentPage(Page, frozen=True, kw_only=True):
    """The result of `deployment_list`."""

    items: Annotated[tuple[AssistantDeployment, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


class AssistantAlias(Record, frozen=True, kw_only=True):
    """A name that a project has for a deployment at one revision; a name is no identity.

    `normalized_alias` is `display_alias` in lower case with its white space collapsed.
    """

    alias_binding_id: Identifier
    realm_id: Identifier
    project_id: Identifier
    revision: SafeInt
    normalized_alias: DisplayName
    display_alias: DisplayName
    assistant_deployment_id: Identifier
    deployment_revision: SafeInt
    status: StatusToken
    created_by: Identifier
    created_at: Timestamp


class AssistantAliasPage(Page, frozen=True, kw_only=True):
    """The result of `assistant_alias_list`."""

    items: Annotated[tuple[AssistantAlias, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]
