"""The verbs of tasks: from making one to its receipt, by ids that an earlier line printed."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Final

from tally_program import Tally

from tally_cli.exits import Exit

SESSION: Final = {"TALLY_SESSION": "ci-4"}


def test_from_create_to_done(tally: Tally, space: str) -> None:
    """What needs another becomes ready by its receipt; then nothing is left to be claimed."""
    first = tally.id("task", "create", "first", "--space", space, "--priority", "1")
    last = tally.id("task", "create", "last", "--space", space, "--needs", first)
    assert [line.split("\t")[0] for line in tally.ok("task", "ready").out.splitlines()] == [first]
    assert tally.id("task", "next", env=SESSION) == first
    assert tally("task", "claim", first).code == Exit.PROBLEM
    tally.ok("task", "note", first, "half done")
    tally.ok("task", "renew", env=SESSION)
    ended = tally.ok("task", "done", "--receipt", "rounded", "--json", env=SESSION).object
    assert (ended["task"]["state"], ended["unlocked"]) == ("done", [last])
    again = tally("task", "done", "--receipt", "rounded", env=SESSION)
    assert (again.code, "holds no task" in again.err) == (Exit.PROBLEM, True)
    assert tally("task", "run", "--", "false", env=SESSION).code == Exit.ASSISTANT_FAILED
    tally.ok("task", "run", last, "--", "true", env=SESSION)
    assert tally.ok("task", "show", last, "--json").object["state"] == "done"
    assert tally("task", "next", env=SESSION).code == Exit.NOTHING_READY
    assert tally("task", "ready").code == Exit.NOTHING_READY


def test_sessions_do_not_end_each_others_claims(tally: Tally, space: str) -> None:
    """B5: another session holds nothing; without a session the task must be named."""
    task = tally.id("task", "create", "first", "--space", space)
    tally.ok("task", "claim", task, env=SESSION)
    assert tally("task", "release", task, env={"TALLY_SESSION": "ci-5"}).code == Exit.PROBLEM
    assert tally("task", "release").code == Exit.USAGE
    tally.ok("task", "release", "--note", "not today", env=SESSION)
    assert tally("task", "release", task, env=SESSION).code == Exit.PROBLEM


def test_a_claims_id_is_kept_private(tally: Tally, space: str) -> None:
    """In a file that its user alone can read, and in nothing that is printed."""
    task = tally.id("task", "create", "first", "--space", space)
    printed = tally.ok("task", "claim", task, "--json", env=SESSION)
    files = [Path(where, name) for where, _, names in os.walk(tally.root) for name in names]
    (kept,) = [file for file in files if file.parent.name == "claims" and file.suffix == ".json"]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    (claim,) = json.loads(kept.read_text())
    assert claim["task_id"] == task
    assert claim["claim_id"] not in printed.out + printed.err


def test_a_beginning_of_an_id_is_enough(tally: Tally, space: str) -> None:
    """Where one task alone begins so."""
    one = tally.id("task", "create", "one", "--space", space)
    two = tally.id("task", "create", "two", "--space", space)
    parted = next(place for place, (a, b) in enumerate(zip(one, two, strict=True)) if a != b)
    assert tally("task", "show", one[:parted]).code == Exit.USAGE
    assert tally.ok("task", "show", one[: parted + 1], "--json").object["task_id"] == one
    assert tally.ok("task", "cancel", two, "--json").object["state"] == "canceled"
    assert tally.ok("task", "cancel", two, "--json").object["already"] is True
