"""Arguments of the aliases that a project has for deployments."""

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import DisplayName, Identifier, SafeInt

from ._base import Args, PageArgs


class AssistantAliasBindArgs(Args, frozen=True, kw_only=True):
    """A new alias, and the deployment at the revision that it stands for."""

    display_alias: DisplayName
    assistant_deployment_id: Identifier
    deployment_revision: SafeInt


class AssistantAliasShowArgs(Args, frozen=True, kw_only=True):
    """Which alias."""

    alias_binding_id: Identifier


class AssistantAliasListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of the project's aliases, of one deployment where it is named."""

    assistant_deployment_id: Identifier | UnsetType = UNSET


class AssistantAliasUpdateArgs(Args, frozen=True, kw_only=True):
    """Which alias, and what it stands for from now on."""

    alias_binding_id: Identifier
    assistant_deployment_id: Identifier
    deployment_revision: SafeInt


class AssistantAliasRevokeArgs(Args, frozen=True, kw_only=True):
    """Which alias."""

    alias_binding_id: Identifier
