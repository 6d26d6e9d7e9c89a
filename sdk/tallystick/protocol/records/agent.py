"""Records of agents: who may use which directory of sockets."""

from typing import Literal

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import DisplayName, Identifier, Identifiers, SafeInt, Timestamp

from ._base import Page, Record


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
