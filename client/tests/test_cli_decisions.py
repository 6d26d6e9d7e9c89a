"""Decisions from the shell, with the real daemon: recorded, contradicted, settled, overturned."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tally_program import Tally

from tally_cli.exits import Exit
from tally_cli.repository import Label, repository


def test_two_agents_contradict_and_a_steward_settles(tally: Tally, space: str) -> None:
    """Both are told at once, listed as contested, and one command settles it (case C-5)."""
    first = tally.ok(
        "decide", "db.engine=sqlite", "--reason", "one file", "--path", "services/ledger", "-s", space
    )
    one = first.out.strip()
    assert first.err == ""
    second = tally.ok(
        "decide", "db.engine=postgres", "--reason", "two writers", "--path", "services", "-s", space
    )
    other = second.out.strip()
    assert second.err.splitlines() == [
        f"contested: {one} says db.engine = sqlite in services/ledger, by prin-owner",
        f"  one of them has to go:  tally decisions settle {other}",
    ]
    lines = [line.split("\t") for line in tally.ok("decisions", "--contested").out.splitlines()]
    assert [(line[0], line[2], line[6]) for line in lines] == [
        (one, "db.engine = sqlite", "contested"),
        (other, "db.engine = postgres", "contested"),
    ]
    settled = tally.ok("decisions", "settle", one)
    assert settled.out.strip() == one
    assert settled.err.strip() == f"superseded: {other}, db.engine = postgres in services"
    assert tally.ok("decisions", "--contested").out == ""
    shown = tally.ok("decisions", "show", other, "--json").object
    assert (shown["state"], shown["superseded_by"]) == ("superseded", one)
    assert tally.ok("show", other, "--json").object == shown


def test_a_proposal_is_adopted_once_and_again_is_so_already(tally: Tally, space: str) -> None:
    """It says what it would meet; adopted twice it is exit 0, and says so."""
    one = tally.id("decide", "indent=4", "--reason", "as it was", "-s", space)
    proposed = tally.ok("decide", "indent=2", "--reason", "narrow screens", "--proposed", "-s", space)
    other = proposed.out.strip()
    assert proposed.err.strip() == f"it would meet: {one} says indent = 4, by prin-owner"
    assert tally.ok("decisions", "indent").out.split("\t")[0] == one
    tally.ok("decisions", "adopt", other)
    again = tally.ok("decisions", "adopt", other)
    assert "so already" in again.err
    over = tally.id(
        "decide", "indent=3", "--reason", "peace", "--supersedes", one, "--supersedes", other, "-s", space
    )
    lines = [line.split("\t")[:2] for line in tally.ok("decisions", "--all").out.splitlines()]
    assert lines == [[one, "superseded"], [other, "superseded"], [over, "standing"]]


@pytest.mark.parametrize("what", ["indent", "indent=", "=4"])
def test_what_is_no_decision_is_refused(tally: Tally, space: str, what: str) -> None:
    """By the shell or by the daemon, and nothing is recorded."""
    refused = tally("decide", what, "--reason", "why", "-s", space)
    assert refused.code in (Exit.USAGE, Exit.PROBLEM)
    assert tally.ok("decisions").out == ""


def _git(place: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(place), *arguments], check=True, capture_output=True)


def test_a_repository_has_one_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a worktree, a bare clone and below; by configuration, variable, origin or name (case B6)."""
    top = tmp_path / "ledger"
    top.mkdir()
    monkeypatch.delenv("TALLY_REPOSITORY", raising=False)
    monkeypatch.chdir(tmp_path)
    assert repository() is None
    _git(top, "init", "-q")
    monkeypatch.chdir(top)
    assert repository() == Label("local:ledger", "its directory's name")
    for address in ("ssh://git@Example.org:22/me/ledger.git", "git@example.org:me/ledger.git"):
        _git(top, "config", "remote.origin.url", address)
        assert repository() == Label("example.org/me/ledger", "its remote origin")
    _git(top, "config", "remote.origin.url", "https://me:secret@example.org/me/ledger")
    assert repository() == Label("example.org/me/ledger", "its remote origin"), "no user, no password"
    named = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    _git(top, "commit", "-q", "--allow-empty", "-m", "first")
    _git(top, "worktree", "add", "-q", str(tmp_path / "beside"))
    below = tmp_path / "beside" / "deep"
    below.mkdir()
    monkeypatch.setenv("TALLY_REPOSITORY", "ours")
    monkeypatch.chdir(below)
    assert repository() == Label("ours", "TALLY_REPOSITORY")
    _git(top, "config", "tallystick.repository", "the-ledger")
    assert repository() == Label("the-ledger", "tallystick.repository of its git configuration")
    _git(tmp_path, "clone", "-q", "--bare", str(top), "bare.git")
    monkeypatch.delenv("TALLY_REPOSITORY")
    monkeypatch.chdir(tmp_path / "bare.git")
    assert repository() == Label("local:bare", "its directory's name")
