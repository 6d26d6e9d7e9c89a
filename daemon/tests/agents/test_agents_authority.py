"""Every operation, asked by an agent in each part that it can have, is done or refused as its entry says.

The entries (``expected``) were written by hand. They are compared with the registry, with the reference that
is generated from it, and with what the daemon does on agents' own sockets.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import pytest
from entries import (
    CLAIMERS,
    CONTRIBUTORS,
    EVERYBODY,
    MEMBERS,
    NOBODY,
    OWNER,
    OWNER_IN_PROJECT,
    ROLES,
    STEWARDS,
    UPLOADERS,
    Entry,
)
from expected import ENTRIES
from harness.dumps import differences, dump_live
from harness.wire import Wire
from scene import Scene, add_agent, take_part
from world import DEPLOYMENT

from tallystick.protocol.registry import BY_SOCKET

REFERENCE: Final = Path(__file__).parents[3] / "docs" / "reference" / "operations.md"
PATTERNS: Final = {
    "public": {EVERYBODY},
    "read_realm": {
        EVERYBODY,
        MEMBERS,  # an artifact: seen by who sees what carries it
        NOBODY,  # there is no disclosure yet
    },
    "read_project": {MEMBERS},
    "read_space": {MEMBERS},
    "write_space": {CONTRIBUTORS, STEWARDS},
    "invoke": {CONTRIBUTORS},
    "steward": {STEWARDS},
    "upload": {
        UPLOADERS,
        NOBODY,  # another's upload
    },
    "write_realm": {OWNER},
    "write_project": {OWNER_IN_PROJECT},
    "operator": {OWNER, OWNER_IN_PROJECT},
    "owner": {OWNER, OWNER_IN_PROJECT},
    "worker_claim": {CLAIMERS},
    "worker_next": {EVERYBODY},
    "holder": {NOBODY},
    "worker_fenced": {NOBODY},
}
"""By the mode that the registry gives an operation, what its entry may say of agents."""

each_entry = pytest.mark.parametrize("entry", ENTRIES.values(), ids=str)


@each_entry
def test_what_an_agent_may(entry: Entry, scene: Scene) -> None:
    """Each word of its entry holds; whoever is refused changes nothing, and leaves one row at most."""
    line = entry.of_agents()
    refused = [column for column, kind in line.items() if kind is not None]
    asked = {column: scene.right(entry) for column in line}
    before = scene.settled()
    answers = {column: scene.agents[column].send(asked[column]).kind for column in refused}
    changes = [
        change for change in differences(before, dump_live(scene.owner.paths)) if change.table != "outbox"
    ]
    done = {column: scene.agents[column].send(asked[column]).kind for column in line if line[column] is None}

    assert answers | done == line
    assert {(change.table, change.action) for change in changes} <= {("log", "insert")}
    assert len(changes) <= len(refused)
    assert all(change.row["stream"] is None for change in changes), "a refused command told an event"
    assert {change.row["actor"] for change in changes} <= {scene.agents[name].name for name in refused}


@pytest.fixture(scope="module")
def revoked(scene: Scene) -> str:
    """The credential of an agent that was a steward, and is revoked."""
    credential = "it was right once"
    agent = add_agent(scene.owner, "revoked", credential=credential, deployments=[DEPLOYMENT])
    take_part(scene.owner, scene.project, scene.things.space, agent.name, "steward", "active")
    scene.owner.done("tallystick_agent_revoke", {"agent_id": agent.name})
    return credential


@each_entry
def test_a_revoked_agent_may_nothing(entry: Entry, scene: Scene, revoked: str) -> None:
    """Its sockets are gone; by its credential, on the owner's, it is refused, and whatever it then asks as
    well, but what is public. Not a row tells of it.
    """
    asked = scene.right(entry)
    line = json.dumps({"op": "tallystick_authenticate", "args": {"credential": revoked}}).encode()
    before = scene.settled()
    with Wire(scene.owner.paths, asked.socket) as wire:
        wire._socket.sendall(line + b"\n" + asked.line)
        assert json.loads(wire.read_line())["problem"]["type"].endswith(":unauthenticated")
        answered = wire.receive(asked.operation).kind
    changes = differences(before, dump_live(scene.owner.paths))
    assert answered == (None if entry.mode == "public" else "unauthenticated")
    assert {(change.table, change.action) for change in changes} <= {("outbox", "delete")}


def test_the_table_has_every_operation() -> None:
    """Each operation on each socket has its entry, with a word for each part that an agent can have."""
    assert ENTRIES.keys() == BY_SOCKET.keys()
    assert {str(entry): len(entry.agents.split()) for entry in ENTRIES.values()} == dict.fromkeys(
        map(str, ENTRIES.values()), len(ROLES)
    )


@each_entry
def test_the_registry_says_the_same(entry: Entry) -> None:
    """The mode of an operation admits exactly what its entry says; and where its entry says forbidden or
    not-found, these are among its problems.
    """
    known = BY_SOCKET[entry.socket, entry.name]
    assert entry.agents in PATTERNS[str(known.mode)]
    wanted = {kind for kind in entry.of_agents().values() if kind is not None}
    assert wanted <= {str(kind) for kind in known.problems}


def test_the_reference_says_the_same() -> None:
    """The generated page names for each operation and socket a mode that admits what its entry says."""
    found = {}
    for section in REFERENCE.read_text().split("\n### ")[1:]:
        head = re.match(r"(\w+) \((\w+) socket\)", section)
        mode = re.search(r"mode `(\w+)`", section)
        assert head is not None
        assert mode is not None
        found[head[1], head[2]] = mode[1]
    for entry in ENTRIES.values():
        assert entry.agents in PATTERNS[found[entry.name, str(entry.socket)]], str(entry)
