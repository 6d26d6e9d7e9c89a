"""Agents: who may connect beside the owner, by a directory of sockets or a credential of their own."""

from typing import Final, Literal

from msgspec import UNSET, UnsetType

from tallystick.protocol.arguments import Args, Content, PageArgs
from tallystick.protocol.operation import (
    GUARDED_LISTS,
    GUARDED_READS,
    TALLYSTICK_AGENT,
    Mode,
    Placement,
    RowEffect,
)
from tallystick.protocol.records import Page, Record
from tallystick.protocol.shapes import DigestHex, DisplayName, Identifier, Identifiers, SafeInt, Timestamp


# --- records ------------------------------------------------------------------------------------------------
class Agent(Record, frozen=True, kw_only=True):
    """An agent: also the actor that its commands are put down to. `directory` is below the runtime
    directory.
    """

    agent_id: Identifier
    realm_id: Identifier
    revision: SafeInt
    name: DisplayName
    status: Literal["active", "revoked"]
    directory: str
    peer_uid: SafeInt | UnsetType = UNSET
    deployments: Identifiers
    classification_ceiling_ref: Identifier | UnsetType = UNSET
    expires_at: Timestamp | UnsetType = UNSET
    created_at: Timestamp


class AgentPage(Page, frozen=True, kw_only=True):
    """The result of `tallystick_agent_list`; who was revoked stays listed."""

    items: tuple[Agent, ...]


# --- arguments ----------------------------------------------------------------------------------------------
class TallystickAgentAddArgs(Args, frozen=True, kw_only=True):
    """Who is added, how it proves itself, and how far it reaches."""

    name: Content[DisplayName]
    credential_sha256: DigestHex
    peer_uid: SafeInt | UnsetType = UNSET
    deployments: Identifiers | UnsetType = UNSET
    classification_ceiling_ref: Identifier | UnsetType = UNSET
    expires_at: Timestamp | UnsetType = UNSET


class TallystickAgentListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of the agents."""


class TallystickAgentShowArgs(Args, frozen=True, kw_only=True):
    """Which agent."""

    agent_id: Identifier


class TallystickAgentRevokeArgs(Args, frozen=True, kw_only=True):
    """Which agent is no longer let in."""

    agent_id: Identifier


# --- operations ---------------------------------------------------------------------------------------------
TALLYSTICK_AGENT_ADD: Final = TALLYSTICK_AGENT.write(
    "tallystick_agent_add",
    TallystickAgentAddArgs,
    Agent,
    "Let an agent in: it gets a directory of sockets, on which it acts as itself.",
    mode=Mode.OWNER,
    surface="operator",
    project=Placement.FORBIDDEN,
    event="dev.tallystick.agent.added.v1",
    all_rows=(
        RowEffect("log", "insert"),
        RowEffect("ids", "insert"),
        RowEffect("outbox", "insert"),
        RowEffect("idempotency", "insert"),
        RowEffect("bodies", "insert"),
        RowEffect("object_keys", "insert"),
        RowEffect("agents", "insert"),
    ),
)
TALLYSTICK_AGENT_LIST: Final = TALLYSTICK_AGENT.read(
    "tallystick_agent_list",
    TallystickAgentListArgs,
    AgentPage,
    "The agents, a page at a time, in the order in which they were added.",
    mode=Mode.OWNER,
    surface="operator",
    project=Placement.FORBIDDEN,
    problems=GUARDED_LISTS,
)
TALLYSTICK_AGENT_SHOW: Final = TALLYSTICK_AGENT.read(
    "tallystick_agent_show",
    TallystickAgentShowArgs,
    Agent,
    "One agent.",
    mode=Mode.OWNER,
    surface="operator",
    project=Placement.FORBIDDEN,
    problems=GUARDED_READS,
)
TALLYSTICK_AGENT_REVOKE: Final = TALLYSTICK_AGENT.write(
    "tallystick_agent_revoke",
    TallystickAgentRevokeArgs,
    Agent,
    "Let an agent in no more: its sockets go, its connections end, what it did stands.",
    mode=Mode.OWNER,
    surface="operator",
    project=Placement.FORBIDDEN,
    event="dev.tallystick.agent.revoked.v1",
    all_rows=(
        RowEffect("log", "insert"),
        RowEffect("ids", "insert"),
        RowEffect("outbox", "insert"),
        RowEffect("idempotency", "insert"),
        RowEffect("agents", "update", 1, ("revision", "status")),
    ),
)

OPERATIONS: Final = (
    TALLYSTICK_AGENT_ADD,
    TALLYSTICK_AGENT_LIST,
    TALLYSTICK_AGENT_SHOW,
    TALLYSTICK_AGENT_REVOKE,
)
