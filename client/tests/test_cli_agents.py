"""Agents from the shell, with the real daemon: added, shown, revoked; and who speaks by which socket."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path

from tally_program import Tally

from tally_cli.exits import Exit


def test_an_agent_is_added_shown_and_revoked(tally: Tally) -> None:
    """Its credential is told once, in the line that adds it; its sockets are there; its end is shown."""
    added = tally.ok("agent", "add", "reviewer", "--deployment", "dep-local-dev").out.split("\t")
    agent, sockets, credential = (cell.strip() for cell in added)
    assert sockets == str(tally.runtime_dir / "agents" / agent)
    assert len(credential) >= 43
    assert {"tally.sock", "tally-worker.sock", "kovee.sock", "kovee-worker.sock"} == set(os.listdir(sockets))
    shown = tally.ok("agent", "show", "reviewer", "--json")
    assert (shown.object["agent_id"], shown.object["deployments"]) == (agent, ["dep-local-dev"])
    assert shown.object["sockets"] == sockets
    assert credential not in shown.out
    assert hashlib.sha256(credential.encode()).hexdigest() not in shown.out
    assert tally.id("agent", "revoke", "reviewer") == agent
    rows = [line.split("\t") for line in tally.ok("agent", "list").out.splitlines()]
    assert [(row[0], row[1], row[-1]) for row in rows] == [(agent, "revoked", "reviewer")]
    assert not os.path.exists(sockets)


def test_a_credential_goes_to_a_file_and_nowhere_else(tally: Tally) -> None:
    """0600, and its SHA-256 alone goes on; the same file and key again are the same agent."""
    path = tally.root / "credential"
    said = tally.ok("agent", "add", "reviewer", "--credential-file", str(path), "--key", "one", "--json")
    credential = path.read_text().strip()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert credential not in said.out
    again = tally.ok("agent", "add", "reviewer", "--credential-file", str(path), "--key", "one", "--json")
    assert again.out == said.out
    for place in (tally.data_dir, tally.state_dir):
        for file in place.rglob("*"):
            assert not file.is_file() or credential.encode() not in file.read_bytes()


def test_a_file_that_holds_none_is_left_alone(tally: Tally) -> None:
    """Somebody's other file is no credential, and stays as it is."""
    path = tally.root / "notes"
    path.write_text("milk\n")
    refused = tally("agent", "add", "reviewer", "--credential-file", str(path), "--json")
    assert (refused.code, refused.error["kind"]) == (Exit.LOCAL_FILE, "file")
    assert path.read_text() == "milk\n"
    assert tally.ok("agent", "list").out == ""


def test_who_is_meant_must_be_clear(tally: Tally) -> None:
    """A name that nobody has is a mistake of the command line, and no two have one; of the revoked, none
    counts.
    """
    first = tally.ok("agent", "add", "twin", "--json").object["agent_id"]
    refused = tally("agent", "show", "nobody", "--json")
    assert (refused.code, refused.error["kind"]) == (Exit.USAGE, "no-agent")
    assert tally("agent", "add", "twin", "--json").code == Exit.PROBLEM
    tally.ok("agent", "revoke", first)
    second = tally.ok("agent", "add", "twin", "--json").object["agent_id"]
    assert tally.ok("agent", "show", "twin", "--json").object["agent_id"] == second


def test_an_agent_speaks_in_its_directory(tally: Tally, space: str) -> None:
    """The same program in an agent's directory is the agent: it sees what it was let into, and is its author.
    """
    agent = tally.ok("agent", "add", "reviewer", "--json").object
    there = {"TALLY_RUNTIME_DIR": agent["sockets"], "TALLY_ACTOR": agent["agent_id"]}
    assert tally.ok("project", "list", env=there).out == ""
    assert tally("agent", "list", env=there).code == Exit.PROBLEM
    tally.ok("participants", "propose", agent["agent_id"], "contributor", "-s", space)
    tally.ok("participants", "admit", agent["agent_id"], "contributor", "-s", space)
    said = tally.ok("say", "hello", "-s", space, "--json", env=there).object
    assert said["author_actor_ref"] == agent["agent_id"]


def test_a_credential_is_shown_where_a_file_names_it(tally: Tally) -> None:
    """On the owner's socket an agent's credential makes the call the agent's. Where TALLY_ACTOR does not say
    so, nothing is sent: the keys of one actor are never used as another.
    """
    path = tally.root / "credential"
    agent = tally.ok("agent", "add", "reviewer", "--credential-file", str(path), "--json").object["agent_id"]
    tally.ok("project", "create", "kitchen")
    shown = {"TALLY_CREDENTIAL_FILE": str(path)}
    mistaken = tally("project", "list", "--json", env=shown)
    assert (mistaken.code, mistaken.error["kind"]) == (Exit.USAGE, "wrong-actor")
    assert agent in mistaken.error["message"]
    assert tally.ok("project", "list", env={**shown, "TALLY_ACTOR": agent}).out == ""
    wrong = tally.root / "wrong"
    wrong.write_text("x" * 43)
    refused = tally("project", "list", "--json", env={"TALLY_CREDENTIAL_FILE": str(wrong)})
    assert (refused.code, refused.error["kind"]) == (Exit.PROBLEM, "unauthenticated")
    missing = tally("project", "list", "--json", env={"TALLY_CREDENTIAL_FILE": str(tally.root / "none")})
    assert missing.code == Exit.LOCAL_FILE


def test_no_daemon_is_started_in_an_agents_directory(tally: Tally) -> None:
    """Where the daemon is away, who is shown an agent's directory does not become an owner in it."""
    agent = tally.ok("agent", "add", "reviewer", "--json").object
    tally.ok("down")
    data = tally.root / "other"
    there = {"TALLY_RUNTIME_DIR": agent["sockets"], "TALLY_DATA_DIR": str(data)}
    refused = tally("project", "list", "--json", env=there)
    assert (refused.code, refused.error["kind"]) == (Exit.NOT_STARTED, "daemon-refused")
    assert "an agent's directory" in json.dumps(refused.error)
    assert not (data / "tally.db").exists()


def test_sockets_that_would_not_fit_are_said_before(tally: Tally) -> None:
    """A runtime directory too long for agents' sockets is refused before anybody is added."""
    deep = Path("/tmp") / ("t" * 60)
    refused = tally("agent", "add", "reviewer", "--json", "--no-start", "--runtime-dir", str(deep))
    assert (refused.code, refused.error["kind"]) == (Exit.USAGE, "path")
