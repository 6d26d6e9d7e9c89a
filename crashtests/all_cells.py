"""Every cell of the matrix. A family of operations has its cells in a module of its own."""

from __future__ import annotations

from typing import Final

from artifact_cells import ARTIFACT_CELLS, ARTIFACT_REFUSALS
from cells import Cell, Refusal
from disposition_cells import DISPOSITION_CELLS
from erasure_cells import ERASURE_CELLS, ERASURE_REFUSALS
from kernel_cells import KERNEL_CELLS, KERNEL_REFUSALS
from lens_cells import LENS_CELLS, LENS_REFUSALS
from pipeline_cells import PIPELINE_CELLS, PIPELINE_REFUSALS
from steward_cells import STEWARD_CELLS, STEWARD_REFUSALS

CELLS: Final[tuple[Cell, ...]] = (
    *KERNEL_CELLS,
    *ARTIFACT_CELLS,
    *STEWARD_CELLS,
    *LENS_CELLS,
    *ERASURE_CELLS,
    *DISPOSITION_CELLS,
    *PIPELINE_CELLS,
)
REFUSALS: Final[tuple[Refusal, ...]] = (
    *KERNEL_REFUSALS,
    *ARTIFACT_REFUSALS,
    *STEWARD_REFUSALS,
    *LENS_REFUSALS,
    *ERASURE_REFUSALS,
    *PIPELINE_REFUSALS,
)


def find_cell(name: str) -> Cell:
    """The cell of that name, as it is printed."""
    return next(cell for cell in CELLS if str(cell) == name)
