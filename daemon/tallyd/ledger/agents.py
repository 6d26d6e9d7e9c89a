"""Agents, as rows, and the look-ups that admission and the operations share."""

from __future__ import annotations

import hashlib
import unicodedata
from typing import Final

import msgspec

from tallyd.ledger import ids
from tallyd.ledger.view import View

PREFIX: Final = "agent"


class AgentRow(msgspec.Struct, frozen=True):
    """A row of ``agents``, its fields in the table's order."""

    position: int
    id: bytes
    revision: int
    name: int
    status: str
    credential_sha256: bytes
    peer_uid: int | None
    deployments: str
    ceiling_ref: str | None
    expires_at: str | None
    expires_ms: int | None
    created_ms: int

    @property
    def agent_id(self) -> str:
        """The agent's id, which is also the actor of its commands."""
        return ids.text(PREFIX, self.id)

    def bound_deployments(self) -> list[str]:
        """The deployments whose invocations it may claim."""
        return msgspec.json.decode(self.deployments, type=list[str])

    def active(self, now_ms: int) -> bool:
        """Neither revoked nor expired."""
        return self.status == "active" and (self.expires_ms is None or now_ms < self.expires_ms)


COLUMNS: Final = ", ".join(AgentRow.__struct_fields__)


def agent(view: View, agent_id: str) -> AgentRow | None:
    """The agent of that id, active or not, or None."""
    position = view.position_of(PREFIX, agent_id)
    if position is None:
        return None
    row = view.db.execute(f"SELECT {COLUMNS} FROM agents WHERE position = ?", (position,)).fetchone()
    return None if row is None else AgentRow(*row)


def by_credential(view: View, credential: str) -> AgentRow | None:
    """The agent whose credential it is, looked up by its SHA-256; the credential itself stands nowhere."""
    hashed = hashlib.sha256(credential.encode()).digest()
    row = view.db.execute(f"SELECT {COLUMNS} FROM agents WHERE credential_sha256 = ?", (hashed,)).fetchone()
    return None if row is None else AgentRow(*row)


def named(view: View, name: str) -> AgentRow | None:
    """The active agent of that name, looked up by its NFC, or None."""
    wanted = unicodedata.normalize("NFC", name)
    for row in active(view):
        content = view.content(row.name)  # None where it was erased
        said = None if content is None else msgspec.json.decode(content, type=str)
        if said is not None and unicodedata.normalize("NFC", said) == wanted:
            return row
    return None


def active(view: View) -> list[AgentRow]:
    """All agents that may connect now, in the order in which they were added."""
    rows = view.db.execute(f"SELECT {COLUMNS} FROM agents WHERE status = 'active' ORDER BY position")
    now = view.wall_ms()
    return [row for values in rows if (row := AgentRow(*values)).active(now)]
