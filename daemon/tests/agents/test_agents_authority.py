"""Every operation, asked by an agent in each part that it can have, is done or refused as the table says.

The table (``service.authority``) was written by hand. It is compared with the registry, with the reference
that is generated from it, and with what the daemon does on agents' own sockets.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import pytest
from harness.dumps import Dump, differences, dump_live
from harness.wire import Wire, ask, request
from service.authority import PATTERNS, agents_table, agents_words

from tallystick.protocol.operation import AnyOperation, Socket
from tallystick.protocol.registry import BY_SOCKET

from .scene import BUILT_IN, ROLES, Scene, add_agent, take_part

TABLE: Final = agents_table()
WORDS: Final = agents_words()
PUBLIC: Final = {"hello", "protocol_info", "tallystick_limits"}
REFERENCE: Final = Path(__file__).parents[3] / "docs" / "reference" / "operations.md"


def entry(line: str) -> AnyOperation:
    """The registry's entry of a line: worker operations have no other, or say so."""
    name, _, worker = line.partition("@")
    if worker or (Socket.CLIENT, name) not in BY_SOCKET:
        return BY_SOCKET[Socket.WORKER, name]
    return BY_SOCKET[Socket.CLIENT, name]


def settled(scene: Scene) -> Dump:
    """The store when the daemon does nothing by itself any more: what was erased before is gone."""
    while True:
        dump = dump_live(scene.owner.paths)
        if all(row["state"] == "erased" for row in dump["erasures"].values()):
            return dump
        assert ask(scene.owner.paths, request(Socket.CLIENT, "diagnose", {})).ok


@pytest.mark.parametrize("operation", TABLE)
def test_what_an_agent_may(operation: str, scene: Scene) -> None:
    """Each cell of its line is as written; whoever is refused changes nothing, and leaves one row at most."""
    line = TABLE[operation]
    refused = [column for column, kind in line.items() if kind is not None]
    asked = {column: scene.right(operation) for column in line}
    before = settled(scene)
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
    agent = add_agent(scene.owner, "revoked", credential=credential, deployments=[BUILT_IN])
    take_part(scene.owner, scene.project, scene.things.space, agent.name, "steward", "active")
    scene.owner.done("tallystick_agent_revoke", {"agent_id": agent.name})
    return credential


@pytest.mark.parametrize("operation", TABLE)
def test_a_revoked_agent_may_nothing(operation: str, scene: Scene, revoked: str) -> None:
    """Its sockets are gone; by its credential, on the owner's, it is refused, and whatever it then asks as
    well, but what is public. Not a row tells of it.
    """
    asked = scene.right(operation)
    line = json.dumps({"op": "tallystick_authenticate", "args": {"credential": revoked}}).encode()
    before = settled(scene)
    with Wire(scene.owner.paths, asked.socket) as wire:
        wire._socket.sendall(line + b"\n" + asked.line)
        assert json.loads(wire.read_line())["problem"]["type"].endswith(":unauthenticated")
        answered = wire.receive(asked.operation).kind
    changes = differences(before, dump_live(scene.owner.paths))
    assert answered == (None if operation in PUBLIC else "unauthenticated")
    assert {(change.table, change.action) for change in changes} <= {("outbox", "delete")}


def test_the_table_has_every_operation() -> None:
    """Each entry of the registry has its line, but for hello, which is the same on both sockets."""
    lines = {(entry(line).socket, entry(line).name) for line in TABLE}
    assert lines == BY_SOCKET.keys() - {(Socket.WORKER, "hello")}
    assert all(tuple(line) == tuple(ROLES) for line in TABLE.values())


@pytest.mark.parametrize("operation", TABLE)
def test_the_registry_says_the_same(operation: str) -> None:
    """The mode of an entry admits exactly what the line says; forbidden is among its problems where it is in
    the line, and not-found too.
    """
    known = entry(operation)
    assert " ".join(WORDS[operation].values()) in PATTERNS[str(known.mode)]
    wanted = {kind for kind in TABLE[operation].values() if kind is not None}
    assert wanted <= {str(kind) for kind in known.problems}


def test_the_reference_says_the_same() -> None:
    """The generated page names for each operation and socket a mode that admits what the line says."""
    found = {}
    for section in REFERENCE.read_text().split("\n### ")[1:]:
        head = re.match(r"(\w+) \((\w+) socket\)", section)
        mode = re.search(r"mode `(\w+)`", section)
        assert head is not None
        assert mode is not None
        found[head[1], head[2]] = mode[1]
    for line, words in WORDS.items():
        known = entry(line)
        assert " ".join(words.values()) in PATTERNS[found[known.name, str(known.socket)]], line
