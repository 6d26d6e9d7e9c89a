"""The matrix finds mistakes: each mutant of the product fails it, for the reason that it should."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from harness.home import NewHome
from mutate import MUTANTS, PATCHES, apply, copy_product, must_break
from world import Prepared


@pytest.mark.crash
@pytest.mark.parametrize("name", MUTANTS)
def test_mutant(
    prepared: Prepared,
    new_home: NewHome,
    tmp_path: Path,
    name: str,
    record_property: Callable[[str, object], None],
) -> None:
    """A product with this mistake breaks the promise that the mistake is about."""
    record_property("mutant", name)
    product = copy_product(tmp_path)
    apply(name, product)
    for expected in MUTANTS[name]:
        must_break(expected, prepared, new_home(), product)


@pytest.mark.crash
def test_a_copy_without_a_mistake(prepared: Prepared, new_home: NewHome, tmp_path: Path) -> None:
    """What the mutants fail, an unchanged copy of the product passes."""
    product = copy_product(tmp_path)
    for trials in MUTANTS.values():
        trials[-1].trial(prepared, new_home(), product)


def test_every_patch_is_tried() -> None:
    """There is no patch without its trials, and none of the four mistakes is without its patch."""
    assert {path.stem for path in PATCHES.iterdir()} == MUTANTS.keys()


def test_a_patch_that_does_not_apply_is_an_error(tmp_path: Path) -> None:
    """A product that has moved on from a patch fails the run, instead of passing as unmutated."""
    (tmp_path / "tallyd" / "ledger").mkdir(parents=True)
    (tmp_path / "tallyd" / "ledger" / "log.py").write_text("rewritten\n")
    with pytest.raises(AssertionError, match="does not apply"):
        apply("outbox_row_forgotten", str(tmp_path))
