"""Arguments of agents: ours, and the owner's alone.

The client makes the credential and sends its SHA-256: the daemon never holds, returns or logs a credential.
"""

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import DigestHex, DisplayName, Identifier, Identifiers, SafeInt, Timestamp

from ._base import Args, PageArgs


class TallystickAgentAddArgs(Args, frozen=True, kw_only=True):
    """Who is added, how it proves itself, and how far it reaches."""

    name: DisplayName
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
