"""Several commands in one transaction: they share its commit, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from batches import run_pair, run_ten, run_ten_killed
from cells import PHASES, Run
from harness.home import Home
from world import Prepared


@pytest.mark.crash
@pytest.mark.parametrize("phase", PHASES)
def test_two_clients_in_one_batch(
    prepared: Prepared, world_home: Home, phase: str, record_property: Callable[[str, object], None]
) -> None:
    """Two clients whose commands share a transaction die with it; sent again, each is done once."""
    record_property("cell", f"contribution_append (two clients in one batch)|{phase}")
    run_pair(Run(prepared, world_home), phase)


def test_the_fifth_of_ten_is_refused(prepared: Prepared, world_home: Home) -> None:
    """With one of ten members refused, the other nine are in, and each of the ten has its one entry."""
    run_ten(Run(prepared, world_home))


def test_ten_are_one_transaction(prepared: Prepared, world_home: Home) -> None:
    """Ten commands that waited together are one transaction: all of them are in, or none."""
    run_ten_killed(Run(prepared, world_home))
