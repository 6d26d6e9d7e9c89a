"""Who takes part, grants, and what no longer stands: from the shell, with the real daemon."""

from __future__ import annotations

from typing import get_args

from tally_program import Tally

from tally_cli.exits import Exit
from tally_cli.verbs import participants
from tallystick.protocol import shapes


def test_the_choices_are_the_protocols() -> None:
    """Roles and kinds that can be chosen are those of the wire."""
    assert get_args(shapes.ParticipantRole) == participants.ROLES
    assert get_args(shapes.ParticipantKind) == participants.KINDS


def test_a_participant_comes_changes_and_goes(tally: Tally, space: str) -> None:
    """Proposed, admitted, muted, let speak again and removed, by id or by subject; listed all the while."""
    part = tally.id("participants", "propose", "prin-ada", "contributor", "--kind", "principal", "-s", space)
    admitted = tally.ok("participants", "admit", "prin-ada", "contributor", "--json").object
    assert (admitted["participant_id"], admitted["status"]) == (part, "active")
    muted = tally.ok("participants", "change", part, "--mute", "--role", "observer", "--json").object
    assert (muted["status"], muted["role"]) == ("muted", "observer")
    spoken = tally.ok("participants", "change", "prin-ada", "--unmute", "--json").object
    assert (spoken["status"], spoken["role"]) == ("active", "observer")
    assert tally.id("participants", "remove", "prin-ada") == part
    lines = [line.split("\t") for line in tally.ok("participants", "list").out.splitlines()]
    assert [line[1:] for line in lines] == [
        ["active", "steward", "principal", "prin-owner"],
        ["revoked", "observer", "principal", "prin-ada"],
    ]


def test_nobody_is_admitted_in_another_role_than_is_said(tally: Tally, space: str) -> None:
    """The role that the person at the shell means is the one that is let in, or nothing is."""
    tally.ok("participants", "propose", "prin-ada", "steward", "--kind", "principal", "--space", space)
    refused = tally("participants", "admit", "prin-ada", "observer", "--json")
    assert (refused.code, refused.error["kind"]) == (Exit.PROBLEM, "stale-revision")
    assert tally.ok("participants", "list", "--json").objects[-1]["status"] == "proposed"


def test_who_is_not_there_is_said(tally: Tally, space: str) -> None:
    """A name that nobody has is a mistake of the command line; so is a change of nothing."""
    missing = tally("participants", "remove", "prin-nobody", "--space", space, "--json")
    assert (missing.code, missing.error["kind"]) == (Exit.USAGE, "no-participant")
    assert "prin-nobody" in missing.error["message"]
    assert tally("participants", "change", "prin-owner").code == Exit.USAGE


def test_grants_are_given_listed_and_taken_back(tally: Tally, space: str) -> None:
    """With ceiling and end; what ended stays listed."""
    given = tally.ok(
        "grant", "give", "prin-ada", "read", "reaction_set", "--ceiling", "class-default",
        "--until", "2999-01-01T00:00:00Z", "-s", space, "--json",
    ).object  # fmt: skip
    assert given["allowed_actions"] == ["read", "reaction_set"]
    assert given["classification_ceiling_ref"] == "class-default"
    assert tally.id("grant", "revoke", given["space_access_id"]) == given["space_access_id"]
    (listed,) = tally.ok("grant", "list", "--json").objects
    assert (listed["status"], listed["revision"]) == ("revoked", 2)
    cells = tally.ok("grant", "list").out.rstrip("\n").split("\t")
    assert (cells[0], cells[1], cells[-1]) == (given["space_access_id"], "revoked", "read reaction_set")
    assert tally("grant", "give", "prin-ada").code == Exit.USAGE


def test_what_was_said_is_withdrawn_superseded_and_retracted(tally: Tally, space: str) -> None:
    """By one verb; once each; and what was said is still shown."""
    one, other = tally.id("say", "It drips.", "--space", space), tally.id("say", "It drips at night.")
    relation = tally.id("relate", other, "refines", one)
    withdrawn = tally.ok("withdraw", one, "--reason", "mistake", "--json").object
    assert (withdrawn["kind"], withdrawn["reason_class"]) == ("withdraw", "mistake")
    superseded = tally.ok("withdraw", one, "--for", other, "--json").object
    assert (superseded["kind"], superseded["replacement_ref"]) == ("supersede", other)
    assert tally.id("withdraw", relation).startswith("rdisp-")
    again = tally.ok("withdraw", one, "--json").object
    assert (again.pop("already"), again) == (True, withdrawn)
    assert tally.ok("show", one, "--json").object["contribution_id"] == one
    shown = tally.ok("show", relation, "--json").object
    assert [each["kind"] for each in shown["dispositions"]] == ["retract"]
    assert tally("withdraw", relation, "--for", one).code == Exit.USAGE


def test_the_same_key_is_the_same_command(tally: Tally, space: str) -> None:
    """A script that repeats a withdrawal under its key does it once."""
    said = tally.id("say", "It drips.", "--space", space)
    first = tally.id("withdraw", said, "--key", "k1")
    assert tally.id("withdraw", said, "--key", "k1") == first
