"""Agents: whom the owner lets in, on sockets of their own.

All four operations are for the owner (``Forbidden`` to others). The credential is made here and never sent:
the daemon is given its SHA-256 (``credential_sha256``), and keeps no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Unpack

from tallystick.calls.descriptors import items, read, write
from tallystick.calls.values import ReadOptions, WriteOptions, page_arguments
from tallystick.core import Read, Write
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol.families.agents import Agent, AgentPage

CREDENTIAL_BYTES: Final = 32
"""Random bytes in a new credential: nobody guesses it, and its bare SHA-256 gives nothing away."""


def new_credential() -> str:
    """A new secret for one agent: a prefix, by which it is known for one wherever it turns up
    (``protocol.secrets``), and 43 characters of URL-safe base64.
    """
    from secrets import token_urlsafe

    return f"tallycred_{token_urlsafe(CREDENTIAL_BYTES)}"


def credential_sha256(credential: str) -> str:
    """What the daemon is given of a credential: 64 hexadecimal digits."""
    from hashlib import sha256

    return sha256(credential.encode()).hexdigest()


def agent_add(
    name: str,
    credential_sha256: str,
    *,
    peer_uid: int | None = None,
    deployments: Sequence[str] | None = None,
    classification_ceiling_ref: str | None = None,
    expires_at: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[Agent]:
    """Let an agent in: its directory of sockets appears, and whoever connects there acts as it.

    ``peer_uid``: the uid that its processes have, where it is not the daemon's. ``deployments``: whose
    invocations it may claim. ``classification_ceiling_ref``: the highest classification that it may read.
    ``expires_at``: an RFC 3339 timestamp, from which on it is let in no more.
    """
    arguments = {
        "name": name,
        "credential_sha256": credential_sha256,
        "peer_uid": peer_uid,
        "deployments": deployments,
        "classification_ceiling_ref": classification_ceiling_ref,
        "expires_at": expires_at,
    }
    return Write("tallystick_agent_add", arguments, "agents.Agent", **options)


def agent_show(agent_id: str, **options: Unpack[ReadOptions]) -> Read[Agent]:
    """An agent as it stands now."""
    return Read("tallystick_agent_show", {"agent_id": agent_id}, "agents.Agent", **options)


def agent_list(
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[AgentPage]:
    """A page of the agents, in the order in which they were added; who was revoked stays listed."""
    return Read(
        "tallystick_agent_list", page_arguments(limit, after, snapshot), "agents.AgentPage", **options
    )


def agent_revoke(agent_id: str, **options: Unpack[WriteOptions]) -> Write[Agent]:
    """Let an agent in no more: its sockets go, its connections end, and what it did stands."""
    return Write("tallystick_agent_revoke", {"agent_id": agent_id}, "agents.Agent", **options)


# --- methods ----------------------------------------------------------------------------------------------
class AgentsMethods:
    """The methods of the clients."""

    agent_add = write(agent_add)
    agent_show = read(agent_show)
    agent_list = read(agent_list)
    agents = items(agent_list)
    agent_revoke = write(agent_revoke)
