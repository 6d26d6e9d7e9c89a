"""Deployments: where a revision of an assistant runs."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.arguments import Args, Content, PageArgs
from tallystick.protocol.operation import (
    CONTENT_ROWS,
    DEVELOPER_ASSISTANT,
    LISTS,
    WRITES,
    Mode,
    Placement,
    RowEffect,
)
from tallystick.protocol.problems import Kind as ProblemKind
from tallystick.protocol.records import Page, Record
from tallystick.protocol.shapes import (
    ConcurrencyPolicy,
    DigestHex,
    Identifier,
    JsonObject,
    SafeInt,
    SecurityProfile,
    StatusToken,
    Timestamp,
)


# --- records ------------------------------------------------------------------------------------------------
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


# --- arguments ----------------------------------------------------------------------------------------------
class DeploymentCreateArgs(Args, frozen=True, kw_only=True):
    """Which revision is deployed, and how it is configured."""

    assistant_revision_id: Identifier
    config_ref: Identifier
    config_digest: DigestHex
    secret_binding_set_ref: Identifier
    secret_binding_set_digest: DigestHex
    policy_ref: Identifier
    pool_ref: Identifier
    security_profile: SecurityProfile
    concurrency_policy: ConcurrencyPolicy
    rollout_policy: Content[JsonObject]


class DeploymentShowArgs(Args, frozen=True, kw_only=True):
    """Which deployment."""

    assistant_deployment_id: Identifier


class DeploymentListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of the deployments, of one revision where it is named."""

    assistant_revision_id: Identifier | UnsetType = UNSET


class DeploymentActivateArgs(Args, frozen=True, kw_only=True):
    """Which deployment."""

    assistant_deployment_id: Identifier


class DeploymentDrainArgs(Args, frozen=True, kw_only=True):
    """Which deployment."""

    assistant_deployment_id: Identifier


# --- operations ---------------------------------------------------------------------------------------------
DEPLOYMENT_CREATE: Final = DEVELOPER_ASSISTANT.write(
    "deployment_create",
    DeploymentCreateArgs,
    AssistantDeployment,
    "Configure a revision of an assistant to be asked.",
    mode=Mode.OPERATOR,
    surface="operator",
    project=Placement.OPTIONAL,
    problems=(*WRITES, ProblemKind.FORBIDDEN),
    event="dev.kovee.assistant.deployment-created.v1",
    rows=(
        *CONTENT_ROWS,
        RowEffect("deployments", "insert"),
    ),
)
DEPLOYMENT_SHOW: Final = DEVELOPER_ASSISTANT.read(
    "deployment_show",
    DeploymentShowArgs,
    AssistantDeployment,
    "One deployment.",
    mode=Mode.READ_REALM,
    project=Placement.OPTIONAL,
)
DEPLOYMENT_LIST: Final = DEVELOPER_ASSISTANT.read(
    "deployment_list",
    DeploymentListArgs,
    AssistantDeploymentPage,
    "The realm's deployments, a page at a time, in order of creation.",
    mode=Mode.READ_REALM,
    project=Placement.OPTIONAL,
    problems=LISTS,
)
DEPLOYMENT_ACTIVATE: Final = DEVELOPER_ASSISTANT.write(
    "deployment_activate",
    DeploymentActivateArgs,
    AssistantDeployment,
    "Let a deployment be asked.",
    mode=Mode.OPERATOR,
    surface="operator",
    project=Placement.OPTIONAL,
    event="dev.kovee.assistant.deployment-activated.v1",
    rows=(RowEffect("deployments", "update", 1, ("revision", "status", "activated_ms")),),
)
DEPLOYMENT_DRAIN: Final = DEVELOPER_ASSISTANT.write(
    "deployment_drain",
    DeploymentDrainArgs,
    AssistantDeployment,
    "Let a deployment finish what it was asked, and be asked no more.",
    mode=Mode.OPERATOR,
    surface="operator",
    project=Placement.OPTIONAL,
    event="dev.kovee.assistant.deployment-drained.v1",
    rows=(RowEffect("deployments", "update", 1, ("revision", "status")),),
)

OPERATIONS: Final = (
    DEPLOYMENT_CREATE,
    DEPLOYMENT_SHOW,
    DEPLOYMENT_LIST,
    DEPLOYMENT_ACTIVATE,
    DEPLOYMENT_DRAIN,
)
