"""Aliases: names by which a project knows its assistants."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.arguments import Args, Content, PageArgs
from tallystick.protocol.operation import DEVELOPER_ASSISTANT, LISTS, Mode, RowEffect
from tallystick.protocol.records import Page, Record
from tallystick.protocol.shapes import DisplayName, Identifier, SafeInt, StatusToken, Timestamp


# --- records ------------------------------------------------------------------------------------------------
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


# --- arguments ----------------------------------------------------------------------------------------------
class AssistantAliasBindArgs(Args, frozen=True, kw_only=True):
    """A new alias, and the deployment at the revision that it stands for."""

    display_alias: Content[DisplayName]
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


# --- operations ---------------------------------------------------------------------------------------------
ASSISTANT_ALIAS_BIND: Final = DEVELOPER_ASSISTANT.write(
    "assistant_alias_bind",
    AssistantAliasBindArgs,
    AssistantAlias,
    "Give a deployment a name in a project.",
    mode=Mode.OPERATOR,
    surface="operator",
    event="dev.kovee.assistant.alias-bound.v1",
    rows=(
        RowEffect("bodies", "insert", 2),
        RowEffect("object_keys", "insert", 2),
        RowEffect("aliases", "insert"),
    ),
)
ASSISTANT_ALIAS_SHOW: Final = DEVELOPER_ASSISTANT.read(
    "assistant_alias_show",
    AssistantAliasShowArgs,
    AssistantAlias,
    "One alias.",
    mode=Mode.READ_PROJECT,
)
ASSISTANT_ALIAS_LIST: Final = DEVELOPER_ASSISTANT.read(
    "assistant_alias_list",
    AssistantAliasListArgs,
    AssistantAliasPage,
    "The project's aliases, a page at a time, in order of creation.",
    mode=Mode.READ_PROJECT,
    problems=LISTS,
)
ASSISTANT_ALIAS_UPDATE: Final = DEVELOPER_ASSISTANT.write(
    "assistant_alias_update",
    AssistantAliasUpdateArgs,
    AssistantAlias,
    "Let an alias stand for another deployment.",
    mode=Mode.OPERATOR,
    surface="operator",
    event="dev.kovee.assistant.alias-updated.v1",
    rows=(RowEffect("aliases", "update", 1, ("revision", "deployment_id", "deployment_revision")),),
)
ASSISTANT_ALIAS_REVOKE: Final = DEVELOPER_ASSISTANT.write(
    "assistant_alias_revoke",
    AssistantAliasRevokeArgs,
    AssistantAlias,
    "Take an alias away.",
    mode=Mode.OPERATOR,
    surface="operator",
    event="dev.kovee.assistant.alias-revoked.v1",
    rows=(RowEffect("aliases", "update", 1, ("revision", "status")),),
)

OPERATIONS: Final = (
    ASSISTANT_ALIAS_BIND,
    ASSISTANT_ALIAS_SHOW,
    ASSISTANT_ALIAS_LIST,
    ASSISTANT_ALIAS_UPDATE,
    ASSISTANT_ALIAS_REVOKE,
)
