"""What is named by an id or a name is found, and what is done already is said to be, with exit code 0."""

from __future__ import annotations

import json

import pytest
from tally_program import Tally

from tally_cli.exits import Exit


# --- what is done already ---------------------------------------------------------------------------------
def test_a_space_that_is_so_already(tally: Tally, space: str) -> None:
    """A second freeze, reopen, restrict or archive is exit 0, prints the space, and says that it was so.

    What the space cannot become is the daemon's refusal still, exit 1.
    """
    for verb, member, value in (
        ("freeze", "status", "frozen"),
        ("reopen", "status", "open"),
        ("restrict", "visibility", "restricted"),
        ("archive", "status", "archived"),
    ):
        assert tally.ok("space", verb, space).err == ""
        again = tally.ok("space", verb, space)
        assert (again.out.strip(), "already" in again.err) == (space, True)
        shown = tally.ok("space", verb, space, "--json").object
        assert (shown[member], shown["already"]) == (value, True)
    assert tally("space", "freeze", space).code == Exit.PROBLEM


def test_what_was_withdrawn_replaced_or_retracted_already(tally: Tally, space: str) -> None:
    """The earlier disposition is printed; another replacement than the one that stands is refused."""
    one, two, three = (tally.id("say", words, "--space", space) for words in ("a", "b", "c"))
    relation = tally.id("relate", one, "supports", two)
    for ref in (one, relation):
        first = tally.id("withdraw", ref)
        again = tally.ok("withdraw", ref)
        assert (again.out.strip(), "already" in again.err) == (first, True)
    tally.ok("withdraw", two, "--for", three)
    assert tally.ok("withdraw", two, "--for", three, "--json").object["already"] is True
    assert tally("withdraw", two, "--for", one).code == Exit.PROBLEM
    assert tally.ok("redact", three).err == ""
    assert tally.ok("redact", three, "--json").object["already"] is True


def test_who_and_what_was_revoked_already(tally: Tally, space: str) -> None:
    """An agent by id and by name, a grant, and a participant: each second time is exit 0."""
    agent = tally.id("agent", "add", "reviewer", "--credential-file", "credential")
    grant = tally.id("grant", "give", "reviewer", "read", "--space", space)
    tally.ok("participants", "propose", "reviewer", "observer")
    assert tally.ok("participants", "propose", "reviewer", "observer", "--json").object["already"] is True
    assert tally("participants", "propose", "reviewer", "steward").code == Exit.PROBLEM
    tally.ok("participants", "admit", "reviewer", "observer")
    assert tally.ok("participants", "admit", "reviewer", "observer", "--json").object["already"] is True
    for revoking in (
        ("participants", "remove", "reviewer"),
        ("grant", "revoke", grant),
        ("agent", "revoke", "reviewer"),
        ("agent", "revoke", agent),
    ):
        tally.ok(*revoking)
        assert tally.ok(*revoking, "--json").object["status"] == "revoked"


def test_a_name_stands_for_its_agent(tally: Tally, space: str) -> None:
    """A grant or a part that is given by an agent's name is that agent's; an unknown name is refused."""
    agent = tally.id("agent", "add", "reviewer", "--credential-file", "credential")
    given = tally.ok("grant", "give", "reviewer", "read", "--space", space, "--json").object
    proposed = tally.ok("participants", "propose", "reviewer", "observer", "--json").object
    assert (given["subject_ref"], proposed["subject_ref"]) == (agent, agent)
    for verb in (("grant", "give", "nobody", "read"), ("participants", "propose", "nobody", "observer")):
        refused = tally(*verb, "--json")
        assert (refused.code, refused.error["kind"]) == (Exit.USAGE, "no-agent")


# --- what is named by its id ------------------------------------------------------------------------------
def test_an_id_never_asks_for_its_project(tally: Tally, space: str) -> None:
    """With two projects, and TALLY_PROJECT naming the other one, what has an id is found and changed."""
    tally.ok("project", "create", "kitchen")
    said = tally.id("say", "a", "--space", space)
    other = tally.id("say", "b", "--space", space)
    for project in ("", "kitchen", "no such"):
        env = {"TALLY_PROJECT": project} if project else {}
        assert tally.ok("show", said, "--json", env=env).object["contribution_id"] == said
        assert tally.ok("space", "show", space, "--json", env=env).object["space_id"] == space
        assert said in tally.ok("read", "--space", space, "--json", env=env).out
        relation = tally.id("relate", said, "supports", other, env=env)
        assert tally.ok("show", relation, "--json", env=env).object["relation_id"] == relation
        tally.ok("withdraw", relation, env=env)
    grant = tally.id("grant", "give", "prin-owner", "read", "--space", space)
    tally.ok("grant", "revoke", grant, env={"TALLY_PROJECT": "kitchen"})
    tally.ok("redact", said)
    missing = tally("show", "contrib-" + "0" * 32, "--json")
    assert (missing.code, missing.error["kind"]) == (Exit.PROBLEM, "not-found")
    elsewhere = tally("show", other, "--project", "kitchen", "--json")
    assert (elsewhere.code, elsewhere.error["kind"]) == (Exit.PROBLEM, "not-found")


def test_call_leaves_the_shells_project_out_where_none_is_taken(tally: Tally, space: str) -> None:
    """TALLY_PROJECT does not spoil an operation without a project; --project there is refused by name."""
    project = tally.ok("project", "show", "--json").object["project_id"]
    env = {"TALLY_PROJECT": project}
    assert tally.ok("call", "tallystick_status", env=env).object["pid"], space
    named = tally("call", "tallystick_status", "--project", project)
    assert (named.code, "takes no project" in named.err) == (Exit.USAGE, True)
    shown = tally.ok("call", "space_show", json.dumps({"space_id": space}), env=env).object
    assert shown["space_id"] == space


@pytest.mark.parametrize("how", [("",), (" \n",), ("-",), ("--file", "/dev/null")])
def test_an_empty_text_is_not_said(tally: Tally, how: tuple[str, ...]) -> None:
    """Nothing, or blanks alone, is refused before a daemon is started for it."""
    refused = tally("say", *how, "--json")
    assert (refused.code, refused.error["kind"]) == (Exit.USAGE, "empty")
    assert not tally.data_dir.exists()
