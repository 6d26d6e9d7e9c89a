"""The crash matrix: every writing operation at each phase, on the real process, judged by full dumps."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from all_cells import CELLS, REFUSALS
from cells import PHASES, Cell, Refusal, Run, begin, run_cell, run_refused
from effects import EFFECTS, REFUSED, Merged, Place, of_operation
from erasure_cells import ERASURE_CELLS, run_erasure
from harness.dumps import Effect
from harness.home import Home
from world import Prepared

from tallystick.protocol.operation import AnyOperation, Kind, Socket
from tallystick.protocol.registry import BY_SOCKET, OPERATIONS

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
    run = run_erasure if cell in ERASURE_CELLS else run_cell
    run(begin(prepared, home, cell), cell, phase)


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

    Two do nothing in any case yet, and are refused: a worker's cancel, and a call to a model. When that
    changes, the registry declares their rows, and each needs a cell like all others.
    """
    nothing = {Place("invocation_cancel", Socket.WORKER), Place("model_complete", Socket.WORKER)}
    registered = {Place(operation.name, operation.socket) for operation in WRITES}
    assert registered == {cell.place for cell in CELLS} | nothing
    assert [BY_SOCKET[place.socket, place.operation].rows for place in nothing] == [(), ()]
    assert nothing <= {refusal.place for refusal in REFUSALS}


def test_every_declared_situation_has_a_cell() -> None:
    """What the suite's own table declares is what the cells try, situation by situation."""
    declared = {(place, situation) for place, situations in EFFECTS.items() for situation in situations}
    assert declared == {(cell.place, cell.situation) for cell in CELLS}


@pytest.mark.parametrize("operation", WRITES, ids=lambda o: str(Place(o.name, o.socket)))
def test_the_registry_declares_the_same_rows(operation: AnyOperation) -> None:
    """The registry's rows of an operation, and the suite's own, were written apart and say the same."""
    declared = {
        (effect.table, effect.action): Merged(effect.count, frozenset(effect.columns))
        for effect in operation.rows
    }
    assert len(declared) == len(operation.rows), "a table stands twice with one action"
    assert declared == of_operation(Place(operation.name, operation.socket))


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
