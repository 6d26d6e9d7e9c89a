"""Arguments of the deployments of assistants."""

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import ConcurrencyPolicy, DigestHex, Identifier, JsonObject, SecurityProfile

from ._base import Args, PageArgs


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
    rollout_policy: JsonObject


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
