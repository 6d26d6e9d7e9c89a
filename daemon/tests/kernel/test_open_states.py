"""States of our own records: the program's tables say which there are, and the database takes any."""

from __future__ import annotations

from typing import Final

import pytest

from tallyd.families import agents, erasure
from tallyd.ledger import lifecycles

from .kernel import Kernel

STATES: Final = {"agents": ("status", agents.LIFECYCLE), "erasures": ("state", erasure.LIFECYCLE)}
"""Our own tables with states: their column, and the lifecycle that their rows are held to."""
NEW: Final = {"name": "Eve", "credential_sha256": "ee" * 32}


def test_the_states_are_the_lifecycles() -> None:
    """Each state that may follow is a state, and each lifecycle ends somewhere."""
    for _, lifecycle in STATES.values():
        assert set().union(*lifecycle.values()) < set(lifecycle)
        assert [state for state, after in lifecycle.items() if not after]


@pytest.mark.parametrize("table", STATES)
def test_the_database_knows_no_set_of_states(kernel: Kernel, table: str) -> None:
    """A further state needs no migration: no constraint of the table names one; its lengths and references
    are held as before.
    """
    column, lifecycle = STATES[table]
    ((found,),) = kernel.view.all("SELECT sql FROM sqlite_schema WHERE name = ?", table)
    sql = str(found)
    assert not [state for state in lifecycle if f"'{state}'" in sql]
    assert f"{column} " in sql
    assert "CHECK (length(id) = 16)" in sql
    assert "REFERENCES log (position) DEFERRABLE INITIALLY DEFERRED" in sql


def test_a_row_has_no_state_that_is_none(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that would write a state without a place in its lifecycle refuses its own command, and
    nothing is written.
    """
    monkeypatch.setattr(agents, "LIFECYCLE", {"paused": frozenset({"revoked"})})
    refused = kernel.write("tallystick_agent_add", NEW)
    assert refused["problem"]["type"].endswith(":internal")
    assert kernel.view.all("SELECT * FROM agents") == []


def test_a_state_follows_only_what_it_may_follow() -> None:
    """The first state is one of the lifecycle's; the next is one that may follow."""
    assert lifecycles.begin(erasure.LIFECYCLE, "erasing") == "erasing"
    assert lifecycles.change(erasure.LIFECYCLE, "erasing", "erased") == "erased"
    for before, after in (("erased", "erasing"), ("erasing", "gone"), ("gone", "erased")):
        with pytest.raises(AssertionError, match=after):
            lifecycles.change(erasure.LIFECYCLE, before, after)
    with pytest.raises(AssertionError, match="gone"):
        lifecycles.begin(erasure.LIFECYCLE, "gone")
