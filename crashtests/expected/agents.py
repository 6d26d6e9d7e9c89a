"""What is expected of agents, as the owner adds and revokes them."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from cells import NOWHERE, client_cell
from effects import command, content, insert, update
from entries import DIGEST, OWNER, Entry, Example, Page, listed
from scene import add_agent
from world import CLIENT

ENTRIES: Final = (
    Entry(
        CLIENT,
        "tallystick_agent_add",
        "write owner R F name",
        callers="ok invalid",
        agents=OWNER,
        events="dev.tallystick.agent.added.v1",
        right=lambda s: {
            "name": "another",
            "credential_sha256": sha256(s.key("secret").encode()).hexdigest(),
        },
        examples=(
            Example(
                {
                    "name": "plumber",
                    "credential_sha256": DIGEST,
                    "peer_uid": 1000,
                    "deployments": ["dep-local-dev"],
                    "classification_ceiling_ref": "class-default",
                    "expires_at": "2126-12-31T09:00:00Z",
                },
                optional="peer_uid deployments classification_ceiling_ref expires_at",
                texts="name",
            ),
        ),
    ),
    Entry(
        CLIENT,
        "tallystick_agent_list",
        "read owner R F -",
        callers="ok invalid",
        agents=OWNER,
        right=lambda _: {"limit": 9},
        examples=(listed({}),),
    ),
    Entry(
        CLIENT,
        "tallystick_agent_show",
        "read owner R F -",
        callers="ok invalid",
        agents=OWNER,
        right=lambda s: {"agent_id": s.agents["none"].name},
        examples=(Example({"agent_id": "agent-1"}),),
    ),
    Entry(
        CLIENT,
        "tallystick_agent_revoke",
        "write owner R F -",
        callers="ok invalid",
        agents=OWNER,
        events="dev.tallystick.agent.revoked.v1",
        right=lambda s: {"agent_id": add_agent(s.owner, s.key("agent")).name},
        examples=(Example({"agent_id": "agent-1"}),),
    ),
)


CELLS: Final = (
    client_cell(
        "tallystick_agent_add",
        (*command(), *content(), insert("agents")),
        {"name": "Ada", "credential_sha256": "ab" * 32},
        {"name": "Bob"},
    ),
    client_cell(
        "tallystick_agent_revoke",
        (*command(), update("agents", "revision", "status")),
        {},
        {"agent_id": f"agent-{NOWHERE}"},
        names=("agent_id", "agent"),
    ),
)

PAGE: Final = Page(ENTRIES, CELLS)
