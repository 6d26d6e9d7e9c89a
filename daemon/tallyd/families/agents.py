"""Agents: the owner lets them in and no more. Ours, and realm-level: their events stand in the realm's
stream.

| status  | may become |
|---------|------------|
| active  | revoked    |
| revoked | –          |

Two active agents never have one name, or one uid.

The client makes the credential and sends its SHA-256, so that no reply, event, row or log of ours could ever
hold one. An agent's directory of sockets follows from its row: the service makes it appear and go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tallyd.admission import Admission
from tallyd.families.shared.family import Family, read, write
from tallyd.families.shared.results import Served, check_revision, given, optional
from tallyd.ledger import agents, ids, lifecycles, log, pages, skeleton, times
from tallyd.ledger.agents import AgentRow
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallyd.ledger.view import View
from tallystick.protocol.canonical import canonical
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.families.agents import (
    OPERATIONS,
    TALLYSTICK_AGENT_ADD,
    TALLYSTICK_AGENT_LIST,
    TALLYSTICK_AGENT_REVOKE,
    TALLYSTICK_AGENT_SHOW,
    TallystickAgentAddArgs,
    TallystickAgentRevokeArgs,
    TallystickAgentShowArgs,
)
from tallystick.protocol.problems import invalid, not_found, stale_revision, unavailable

AGENT_SCHEMA: Final = "schema:tallystick-agent-v1"
LIFECYCLE: Final = {"active": frozenset({"revoked"}), "revoked": frozenset[str]()}


PARENT: Final = "agents"
"""The directory, below the runtime directory, in which agents have theirs."""


def directory(agent_id: str) -> str:
    """Where an agent's sockets are, below the runtime directory."""
    return f"{PARENT}/{agent_id}"


def is_agents_directory(path: str) -> bool:
    """Whether a path is that of an agent's directory, below whichever runtime directory."""
    above, _, name = path.rpartition("/")
    return above.endswith(f"/{PARENT}") and ids.digits(agents.PREFIX, name) is not None


def record(row: AgentRow) -> bytes:
    """Skeleton of an agent's record."""
    said: dict[str, object] = {
        "agent_id": row.agent_id,
        "realm_id": ids.REALM_ID,
        "revision": row.revision,
        "name": skeleton.place(skeleton.NAME, row.name),
        "status": row.status,
        "directory": directory(row.agent_id),
        "deployments": row.bound_deployments(),
        "created_at": times.rfc3339(row.created_ms),
    }
    for member, value in (
        ("peer_uid", row.peer_uid),
        ("classification_ceiling_ref", row.ceiling_ref),
        ("expires_at", row.expires_at),
    ):
        if value is not None:
            said[member] = value
    return skeleton.encode(said)


def _event(row: AgentRow, what: str, digits: bytes) -> Event:
    return Event(
        event_id=digits,
        type=f"dev.tallystick.agent.{what}.v1",
        schema_ref=AGENT_SCHEMA,
        resource=row.agent_id,
        resource_revision=row.revision,
        stream=log.REALM_STREAM,
        project=None,
        classification="class-default",
        payload=record(row),
    )


def add(tx: Transaction, request: Request[TallystickAgentAddArgs], _admission: Admission) -> Applied:
    """``tallystick_agent_add``."""
    args = request.args
    check_revision(request, 0, "an agent that is not there yet")
    credential = bytes.fromhex(args.credential_sha256)
    if tx.one("SELECT 1 FROM agents WHERE credential_sha256 = ?", credential) is not None:
        raise invalid("$.args.credential_sha256 is another agent's; make a credential for each")
    _check_told_apart(tx, args)
    expires_at = optional(args.expires_at)
    expires_ms = None if expires_at is None else times.unix_ms(expires_at)
    if expires_ms is not None and expires_ms <= tx.now_ms:
        raise invalid(f"$.args.expires_at {expires_at} has passed at {tx.now}; name a later time, or none")
    lacking = tx.no_room_for_agent(len(agents.active(tx)))
    if lacking is not None:
        raise unavailable(f"the agent was not added: {lacking}", outcome="not_applied")
    name, _ = tx.seal(canonical(args.name))
    row = AgentRow(
        position=tx.position,
        id=tx.new_id(),
        revision=1,
        name=name,
        status=lifecycles.begin(LIFECYCLE, "active"),
        credential_sha256=credential,
        peer_uid=optional(args.peer_uid),
        deployments=skeleton.encode(given(args.deployments, ())).decode(),
        ceiling_ref=optional(args.classification_ceiling_ref),
        expires_at=expires_at,
        expires_ms=expires_ms,
        created_ms=tx.now_ms,
    )
    tx.insert("agents", **{field: getattr(row, field) for field in row.__struct_fields__})
    tx.emit(_event(row, "added", row.id))
    return Applied(revision=1)


def _check_told_apart(tx: Transaction, args: TallystickAgentAddArgs) -> None:
    """Raises Refusal ``invalid`` for the name or the uid of another active agent: whoever has that uid could
    speak as either.
    """
    same_name = agents.named(tx, args.name)
    if same_name is not None:
        raise invalid(
            f"$.args.name is that of agent {same_name.agent_id}; choose another, or revoke that agent first"
        )
    uid = optional(args.peer_uid)
    for row in agents.active(tx) if uid is not None else ():
        if row.peer_uid == uid:
            raise invalid(
                f"$.args.peer_uid {uid} is that of agent {row.agent_id}, and whoever has it could speak as "
                f"either; give each agent a uid of its own"
            )


def revoke(tx: Transaction, request: Request[TallystickAgentRevokeArgs], _admission: Admission) -> Applied:
    """``tallystick_agent_revoke``."""
    args = request.args
    row = _found(tx, args.agent_id)
    check_revision(request, row.revision, f"agent {row.agent_id}")
    if "revoked" not in LIFECYCLE[row.status]:
        raise stale_revision(row.revision, f"agent {row.agent_id} is {row.status} already")
    status = lifecycles.change(LIFECYCLE, row.status, "revoked")
    tx.update("agents", {"position": row.position}, revision=row.revision + 1, status=status)
    row = _found(tx, args.agent_id)
    tx.emit(_event(row, "revoked", tx.new_id()))
    return Applied(revision=row.revision)


def _found(view: View, agent_id: str) -> AgentRow:
    row = agents.agent(view, agent_id)
    if row is None:
        raise not_found("agent", agent_id)
    return row


def show(view: View, request: Request[TallystickAgentShowArgs], _admission: Admission) -> Served:
    """``tallystick_agent_show``."""
    args = request.args
    row = _found(view, args.agent_id)
    return Served(view.render(record(row)), row.revision)


def list_(view: View, request: AnyRequest, _admission: Admission) -> Served:
    """``tallystick_agent_list``: in the order in which they were added."""
    asked = pages.ask("list:agents", request.args)
    snapshot = pages.open_page(view, asked, "agents")
    return Served(pages.page(view, asked, snapshot, _rows(view, snapshot)))


def _rows(view: View, snapshot: pages.Snapshot) -> Iterator[tuple[int, bytes]]:
    rows = view.db.execute(
        f"SELECT {agents.COLUMNS} FROM agents WHERE position > ? AND position <= ? ORDER BY position",
        (snapshot.after, snapshot.bound),
    )
    for values in rows:
        row = AgentRow(*values)
        yield row.position, view.render_with_marks(record(row))


FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        write(TALLYSTICK_AGENT_ADD, add),
        read(TALLYSTICK_AGENT_LIST, list_),
        read(TALLYSTICK_AGENT_SHOW, show),
        write(TALLYSTICK_AGENT_REVOKE, revoke),
    ),
    classifications=("SELECT ceiling_ref FROM agents WHERE ceiling_ref IS NOT NULL",),
)
