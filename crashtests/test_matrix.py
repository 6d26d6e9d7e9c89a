"""The crash matrix: every writing operation at each phase, on the real process, judged by full dumps."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cells import PHASES, Cell, Refusal, Run, begin, run_cell, run_refused
from effects import REFUSED, Merged, Place, merged
from expected import CELLS, PAGES, REFUSALS
from harness.dumps import Effect
from harness.home import Home
from world import Prepared

from tallystick.protocol.operation import AnyOperation, Kind
from tallystick.protocol.registry import OPERATIONS

Note = Callable[[str, object], None]

WRITES = [operation for operation in OPERATIONS if operation.kind is Kind.WRITE]


@pytest.mark.crash
@pytest.mark.parametrize(
    ("cell", "phase"),
    [(cell, phase) for cell in CELLS for phase in cell.phases],
    ids=str,
)
def test_cell(prepared: Prepared, home: Home, cell: Cell, phase: str, record_property: Note) -> None:
    """Killed at that phase the store holds nothing of a command, or all of it; sent again it is done once."""
    record_property("cell", f"{cell}|{phase}")
    run_cell(begin(prepared, home, cell), cell, phase)


@pytest.mark.crash
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("refusal", REFUSALS, ids=str)
def test_refused_cell(
    prepared: Prepared, world_home: Home, refusal: Refusal, phase: str, record_property: Note
) -> None:
    """A refused command reaches no phase: the daemon lives, and one row says that it came. One whose refusal
    changes something is as durable as any other, and once."""
    record_property("cell", f"{refusal}|{phase}")
    run_refused(Run(prepared, world_home), refusal, phase)


def test_every_write_has_a_cell() -> None:
    """No writing operation of the registry, on either socket, is without a cell, and no cell without one.

    Only what does nothing in any case yet, for which the registry declares no row, is without one, and is
    tried refused. When that changes it needs a cell like all others.
    """
    registered = {Place(operation.name, operation.socket): operation for operation in WRITES}
    tried = {cell.place for cell in CELLS}
    assert tried <= registered.keys()
    nothing = registered.keys() - tried
    assert [str(place) for place in nothing if registered[place].rows] == []
    assert nothing <= {refusal.place for refusal in REFUSALS}


def test_each_situation_is_tried_once_and_on_its_familys_page() -> None:
    """A cell stands on the page of its operation's family, and no situation of an operation stands twice."""
    for page in PAGES.values():
        places = {Place(entry.name, entry.socket) for entry in page.entries}
        assert {cell.place for cell in page.cells} | {each.place for each in page.refusals} <= places
    situations = [str(case) for case in (*CELLS, *REFUSALS)]
    assert len(set(situations)) == len(situations)


@pytest.mark.parametrize("operation", WRITES, ids=lambda o: str(Place(o.name, o.socket)))
def test_the_registry_declares_the_same_rows(operation: AnyOperation) -> None:
    """The registry's rows of an operation, and those of its cells, were written apart and say the same."""
    declared = {
        (effect.table, effect.action): Merged(effect.count, frozenset(effect.columns))
        for effect in operation.rows
    }
    assert len(declared) == len(operation.rows), "a table stands twice with one action"
    place = Place(operation.name, operation.socket)
    assert declared == merged(cell.rows for cell in CELLS if cell.place == place)


@pytest.mark.parametrize("operation", WRITES, ids=lambda o: str(Place(o.name, o.socket)))
def test_the_registry_declares_what_a_refusal_changes(operation: AnyOperation) -> None:
    """An operation whose refusal changes the state has a cell for it, and the registry says the same rows."""
    declared = tuple(
        Effect(row.table, row.action, row.count or 0, frozenset(row.columns))
        for row in operation.refusal_rows
    )
    place = Place(operation.name, operation.socket)
    tried = {refusal.leaves for refusal in REFUSALS if refusal.place == place and refusal.leaves != REFUSED}
    assert tried == ({declared} if declared else set())
