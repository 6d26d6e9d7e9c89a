"""Credentials: shown on a line of its own, they say who speaks; and they stand nowhere."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from harness.dumps import differences, dump_live
from harness.files import contents
from harness.wire import Request, Wire, request
from scene import Actor, add_agent, take_part
from service.process import Place, Tallyd, run_to_its_end
from world import AT_HEAD, CLIENT, DEPLOYMENT, WORKER, Space

from tallyd.store.refusals import ExitCode

OWNERS: Final = "the owner's own credential, a canary: 7d2a"
SECRET: Final = "the credential of an agent, a canary: 91be"
WRONG: Final = "nobody's credential, a canary: 3c5f"
SHOW: Final = request(CLIENT, "realm_show", {})
CREATE: Final = request(CLIENT, "project_create", {"name": "mine"}, key="create")


def line_of(credential: object, **more: object) -> bytes:
    """The line that shows a credential."""
    shown = {"op": "tallystick_authenticate", "args": {"credential": credential}, **more}
    return json.dumps(shown).encode() + b"\n"


def told(wire: Wire, line: bytes) -> dict[str, Any]:
    """What one line is answered."""
    wire._socket.sendall(line)
    answered: dict[str, Any] = json.loads(wire.read_line())
    return answered


def kind(answered: dict[str, Any]) -> str:
    return str(answered["problem"]["type"]).rpartition(":")[2]


def settle(home: Place, text: str) -> None:
    """Writes the settings of a daemon that has not started yet."""
    os.makedirs(home.paths.data_dir, 0o700, exist_ok=True)
    Path(home.paths.data_dir, "tallyd.toml").write_text(text)


OWNER_SHOWS: Final = (
    f'owner = "credential"\nowner_credential_sha256 = "{hashlib.sha256(OWNERS.encode()).hexdigest()}"\n'
)


@pytest.fixture
def owner(daemon: Tallyd) -> Actor:
    return Actor(daemon.paths)


@pytest.fixture
def agent(owner: Actor) -> Actor:
    return add_agent(owner, "reviewer", credential=SECRET, deployments=[DEPLOYMENT])


# --- on a socket that says who speaks -----------------------------------------------------------------------
def test_a_right_one_makes_the_connection_the_agents(owner: Actor, agent: Actor) -> None:
    """From the next line on, also one that came in the same piece: its events and rows are the agent's."""
    project = owner.done("project_create", {"name": "kitchen"})["project_id"]
    made = owner.done("space_create", {"title": "taps", "visibility": "restricted"}, project=project)
    space = Space(made["space_id"], made["main_branch_id"])
    take_part(owner, project, space, agent.name, "contributor", "active")
    parts = [{"media_type": "text/plain", "text": "It drips."}]
    args = {**space.args, "kind": "claim", "body_parts": parts}
    append = request(CLIENT, "contribution_append", args, project=project, key="a", ext=AT_HEAD)
    with Wire(owner.paths) as wire:
        wire._socket.sendall(line_of(SECRET) + append.line + CREATE.line)
        assert json.loads(wire.read_line()) == {"outcome": "ok", "result": {"actor": agent.name}}
        assert wire.receive("contribution_append").result["author_actor_ref"] == agent.name
        assert wire.receive("project_create").kind == "forbidden"
    rows = [row for row in dump_live(owner.paths)["log"].values() if row["actor"] == agent.name]
    assert {(row["operation"], row["strength"]) for row in rows} == {
        ("contribution_append", "credential"),
        ("project_create", "credential"),
    }


def test_it_is_taken_on_the_workers_socket_too(owner: Actor, agent: Actor) -> None:
    """Whoever waits for work there then waits as the agent: for what is bound to it."""
    args = {"deployments": ["dep-other"], "wait_ms": 0, "term_seconds": 60}
    asked = request(WORKER, "tallystick_invocation_next", args, key="n")
    with Wire(owner.paths, WORKER) as wire:
        assert told(wire, line_of(SECRET))["result"] == {"actor": agent.name}
        assert wire.ask(asked).kind == "not-found"
        taken = request(WORKER, "tallystick_invocation_next", {**args, "deployments": [DEPLOYMENT]}, key="m")
        assert wire.ask(taken).ok


def test_agents_sockets_take_one_as_well(home: Place) -> None:
    """Another agent's makes a connection that agent's, the owner's makes it the owner's."""
    settle(home, OWNER_SHOWS.replace('"credential"', '"peer-uid"'))
    with Tallyd(home):
        owner = Actor(home.paths)
        agent, other = add_agent(owner, "one"), add_agent(owner, "other", credential=SECRET)
        with Wire(agent.paths) as wire:
            assert told(wire, line_of(SECRET))["result"] == {"actor": other.name}
            assert wire.ask(CREATE).kind == "forbidden"
            assert told(wire, line_of(OWNERS))["result"] == {"actor": "prin-owner"}
            assert wire.ask(CREATE).ok


@pytest.mark.parametrize("credential", [WRONG, "", SECRET + "x", hashlib.sha256(SECRET.encode()).hexdigest()])
def test_a_wrong_one_is_never_as_if_absent(owner: Actor, agent: Actor, credential: str) -> None:
    """Who showed one is nobody, also where the socket alone would have said that it is the owner; until a
    right one is shown.
    """
    with Wire(owner.paths) as wire:
        assert wire.ask(SHOW).ok
        wire._socket.sendall(line_of(credential) + CREATE.line + SHOW.line)
        assert kind(json.loads(wire.read_line())) == ("invalid" if not credential else "unauthenticated")
        assert wire.receive("project_create").kind == "unauthenticated"
        assert wire.receive("realm_show").kind == "unauthenticated"
        assert wire.ask(request(CLIENT, "tallystick_limits", {})).ok
        assert told(wire, line_of(SECRET))["result"] == {"actor": agent.name}
        assert wire.ask(SHOW).ok


def test_nobodys_commands_are_not_written_down(owner: Actor) -> None:
    """Only what somebody known asks is audited: who cannot say who it is cannot fill the record."""
    with Wire(owner.paths) as wire:
        assert kind(told(wire, line_of(WRONG))) == "unauthenticated"
        before = dump_live(owner.paths)
        for _ in range(5):
            assert wire.ask(CREATE).kind == "unauthenticated"
        assert not differences(before, dump_live(owner.paths))


def test_three_wrong_ones_end_the_connection(owner: Actor, agent: Actor) -> None:
    """The third is answered, and what stands behind it is not; right ones in between do not start it anew.
    Another connection has three of its own.
    """
    with Wire(owner.paths) as wire, Wire(owner.paths) as other:
        assert kind(told(wire, line_of(WRONG))) == "unauthenticated"
        assert kind(told(other, line_of(WRONG))) == "unauthenticated"
        assert told(wire, line_of(SECRET))["result"] == {"actor": agent.name}
        assert kind(told(wire, line_of(WRONG))) == "unauthenticated"
        wire._socket.sendall(line_of(WRONG) + line_of(SECRET) + SHOW.line)
        assert kind(json.loads(wire.read_line())) == "unauthenticated"
        assert wire.read_line() == b""
        assert told(other, line_of(SECRET))["result"] == {"actor": agent.name}


def test_a_revoked_one_and_an_expired_one_are_wrong(owner: Actor) -> None:
    """As wrong as any other, in the same words."""
    revoked = add_agent(owner, "revoked", credential="once right")
    owner.done("tallystick_agent_revoke", {"agent_id": revoked.name})
    with Wire(owner.paths) as wire:
        never = told(wire, line_of(WRONG))
        assert told(wire, line_of("once right")) == never


def test_an_escaped_name_is_the_same_name(agent: Actor, owner: Actor) -> None:
    """However a JSON writer spells the operation, a credential is shown with it, right or wrong."""

    def spelled(credential: str) -> bytes:
        return line_of(credential).replace(b"authenticate", b"\\u0061uthenticate")

    with Wire(owner.paths) as wire:
        assert kind(told(wire, spelled(WRONG))) == "unauthenticated"
        assert told(wire, spelled(SECRET))["result"] == {"actor": agent.name}


# --- malformed ----------------------------------------------------------------------------------------------
CANARY: Final = "canary-b1f7"
AUTHENTICATE: Final = '{"op":"tallystick_authenticate","args":{"credential":"' + CANARY
"""The beginning of a line whose end is wrong."""


def with_args(args: object) -> bytes:
    return json.dumps({"op": "tallystick_authenticate", "args": args}).encode() + b"\n"


MALFORMED: Final[dict[str, bytes]] = {
    "a number": line_of(171_717_171_717),
    "a list": line_of([CANARY]),
    "null": line_of(None),
    "a member too many": line_of(CANARY, ext={CANARY: CANARY}),
    "an envelope around it": line_of(CANARY, version="0.1"),
    "an argument too many": with_args({"credential": CANARY, "also": CANARY}),
    "no arguments": b'{"op":"tallystick_authenticate"}\n',
    "arguments in a list": with_args([CANARY]),
    "no end": AUTHENTICATE.encode() + b'"\n',
    "twice": AUTHENTICATE.encode() + b'","credential":"x"}}\n',
    "not UTF-8": AUTHENTICATE.encode() + b'\xff"}}\n',
    "another name": line_of(CANARY).replace(b"authenticate", b"authenticate2"),
    "in a command": request(CLIENT, "realm_show", {"credential": CANARY}).line,
}


@pytest.mark.parametrize("form", MALFORMED)
def test_a_malformed_one_is_refused_without_a_word_of_it(form: str, owner: Actor, daemon: Tallyd) -> None:
    """Whatever is wrong with the line, no reply and no line of the log repeats what it held."""
    with Wire(owner.paths) as wire:
        wire._socket.sendall(MALFORMED[form])
        raw = wire.read_line()
        assert kind(json.loads(raw)) in ("invalid", "unknown-op")
    for text in (raw.decode(), daemon.log()):
        assert CANARY not in text
        assert "171717171717" not in text


# --- nowhere ------------------------------------------------------------------------------------------------
def disguises(text: str) -> set[bytes]:
    """A text as it might stand somewhere: as it is, in hex, in UTF-16, in base64."""
    raw = text.encode()
    found = {raw, raw.hex().encode(), text.encode("utf-16-le"), text.encode("utf-16-be")}
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + raw)
        found.add(encoded[4 if shift else 0 : len(encoded) // 4 * 4 - 4])
    return found


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_credential_stands_nowhere(form: str, home: Place) -> None:
    """Right, wrong and revoked ones are in no file of the daemon, in neither form of its log, in nothing that
    the system shows of it: while it runs, when it was killed, and after its drain.
    """
    settle(home, OWNER_SHOWS)
    found: list[tuple[str, str]] = []

    def search(when: str, said: str) -> None:
        places = [*contents(home.root), ("log", said.encode())]
        for name in ("cmdline", "environ"):
            path = Path(f"/proc/{daemon.pid}/{name}")
            if path.exists():
                places.append((name, path.read_bytes()))
        for secret in (OWNERS, SECRET, WRONG):
            for disguise in disguises(secret):
                found.extend((f"{when} {name}", secret) for name, content in places if disguise in content)

    daemon = Tallyd(home, "--log-format", form)
    with Wire(home.paths) as wire, Wire(home.paths) as other:
        assert told(wire, line_of(OWNERS))["result"] == {"actor": "prin-owner"}
        hashed = hashlib.sha256(SECRET.encode()).hexdigest()
        add = request(CLIENT, "tallystick_agent_add", {"name": "x", "credential_sha256": hashed}, key="add")
        agent = wire.ask(add).result
        assert SECRET not in json.dumps(agent)
        assert hashed not in json.dumps(agent)
        assert kind(told(other, line_of(WRONG))) == "unauthenticated"
        assert told(other, line_of(SECRET))["result"] == {"actor": agent["agent_id"]}
        shown = wire.ask(request(CLIENT, "tallystick_agent_show", {"agent_id": agent["agent_id"]}))
        assert hashed.encode() not in shown.raw
        search("running", daemon.log())
        revoke = request(CLIENT, "tallystick_agent_revoke", {"agent_id": agent["agent_id"]}, key="revoke")
        assert hashed.encode() not in wire.ask(revoke).raw
        assert kind(told(wire, line_of(SECRET))) == "unauthenticated"
    daemon.kill()
    search("killed", daemon.log())
    with Tallyd(home, "--log-format", form) as again:
        daemon = again
    search("stopped", again.log())
    assert found == []


# --- an owner who shows one ---------------------------------------------------------------------------------
@pytest.fixture
def guarded(home: Place) -> Iterator[Tallyd]:
    """A daemon whose owner has to show a credential."""
    settle(home, OWNER_SHOWS)
    with Tallyd(home) as running:
        yield running


HELLO: Final = request(
    CLIENT,
    "hello",
    {
        "supported_versions": ["0.1"],
        "implementation": "x",
        "implementation_version": "1",
        "requested_features": [],
    },
)
PUBLIC: Final = (HELLO, request(CLIENT, "protocol_info", {}), request(CLIENT, "tallystick_limits", {}))
KEPT: Final = (
    SHOW,
    CREATE,
    request(CLIENT, "project_list", {"limit": 1}),
    request(CLIENT, "tallystick_status", {}),
    request(CLIENT, "tallystick_shutdown", {}),
    request(CLIENT, "diagnose", {}),
    request(CLIENT, "events_read", {"source": "proj-1", "limit": 1}),
    request(CLIENT, "events_wait", {"source": "proj-1", "after_cursor": "kc1.61.62", "timeout_ms": 30_000}),
)


def test_only_what_is_public_is_open_until_it_is_shown(guarded: Tallyd) -> None:
    """On the owner's sockets, clients' and workers', whoever has the owner's uid is nobody yet."""
    with Wire(guarded.paths) as wire, Wire(guarded.paths, WORKER) as worker:
        before = dump_live(guarded.paths)
        for asked in PUBLIC:
            assert wire.ask(asked).ok
        for asked in KEPT:
            assert wire.ask(asked).kind == "unauthenticated"
        args = {"deployments": [DEPLOYMENT], "wait_ms": 30_000, "term_seconds": 60}
        waits = request(WORKER, "tallystick_invocation_next", args, key="w")
        assert worker.ask(Request(WORKER, HELLO.body)).ok
        assert worker.ask(waits).kind == "unauthenticated"
        assert not differences(before, dump_live(guarded.paths))
        assert told(wire, line_of(OWNERS))["result"] == {"actor": "prin-owner"}
        assert told(worker, line_of(OWNERS))["result"] == {"actor": "prin-owner"}
        assert wire.ask(CREATE).ok
        short = request(WORKER, "tallystick_invocation_next", {**args, "wait_ms": 0}, key="w")
        assert worker.ask(short).ok


def test_it_is_for_one_connection(guarded: Tallyd) -> None:
    """Who connects anew shows it anew; nothing is remembered of a peer."""
    with Wire(guarded.paths) as wire:
        assert told(wire, line_of(OWNERS))["result"] == {"actor": "prin-owner"}
        with Wire(guarded.paths) as another:
            assert another.ask(SHOW).kind == "unauthenticated"


def test_agents_directories_say_who_speaks_all_the_same(guarded: Tallyd) -> None:
    """That the owner shows a credential asks none of an agent on its own sockets."""
    with Wire(guarded.paths) as wire:
        assert told(wire, line_of(OWNERS))["result"] == {"actor": "prin-owner"}
        hashed = hashlib.sha256(SECRET.encode()).hexdigest()
        add = request(CLIENT, "tallystick_agent_add", {"name": "x", "credential_sha256": hashed}, key="a")
        directory = os.path.join(guarded.paths.runtime_dir, wire.ask(add).result["directory"])
    agent = Actor(guarded.paths._replace(client_socket=os.path.join(directory, "tally.sock")))
    assert agent.send(SHOW).ok
    assert agent.send(CREATE).kind == "forbidden"


REFUSED: Final[dict[str, str]] = {
    "an unknown setting": 'colour = "blue"\n',
    "an unknown setting in a table": '[orders]\ncolours = ["blue"]\n',
    "a credential without its digest": 'owner = "credential"\n',
    "a digest that is none": 'owner_credential_sha256 = "secret"\n',
    "another word": 'owner = "anybody"\n',
    "no TOML": "owner = \n",
}


@pytest.mark.parametrize("what", REFUSED)
def test_settings_that_mean_nothing_stop_the_start(what: str, home: Place) -> None:
    """A setting that the owner believes in and the daemon does not have: exit code 64, and where to look."""
    settle(home, REFUSED[what])
    ended = run_to_its_end(home)
    assert (ended.code, ExitCode.BAD_CONFIGURATION.value) == (64, 64)
    assert "tallyd.toml" in ended.said
    assert "docs/tallyd.toml" in ended.said
    assert not os.path.exists(home.paths.database)
