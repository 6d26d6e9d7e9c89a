"""Copies of the installed product with one mistake each, to show that the matrix would find it.

A mutant is a patch in ``mutants/``, applied to a copy of the packages as they are installed. A patch that
does not apply is an error and not a skip: the product has moved on, and the mutant has to follow.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from batches import run_ten
from cells import Broken, Promise, Run, begin, run_cell, run_refused
from expected import REFUSALS, find_cell
from harness.home import Home
from world import Prepared

PATCHES: Final = Path(__file__).parent / "mutants"
PACKAGES: Final = ("tallyd", "tallystick")
_MIGRATIONS: Final = Path(__file__).parents[1] / "migrations"

Trial = Callable[[Prepared, Home, str], None]
"""A part of the matrix, run with the product in the directory."""


class Expected(NamedTuple):
    """A part of the matrix that a mutant must fail, and the promise that it breaks there."""

    trial: Trial
    promise: Promise


def _cell(name: str, phase: str) -> Trial:
    def trial(prepared: Prepared, home: Home, product: str) -> None:
        cell = find_cell(name)
        run_cell(begin(prepared, home, cell, product), cell, phase)

    return trial


def _refused(situation: str) -> Trial:
    def trial(prepared: Prepared, home: Home, product: str) -> None:
        refusal = next(each for each in REFUSALS if each.situation == situation)
        run_refused(Run(prepared, home.copy_of(prepared.home), product), refusal, "before_commit")

    return trial


def _ten(prepared: Prepared, home: Home, product: str) -> None:
    run_ten(Run(prepared, home.copy_of(prepared.home), product))


MUTANTS: Final[dict[str, tuple[Expected, ...]]] = {
    "reply_before_commit": (
        Expected(_cell("project_create", "before_commit"), Promise.SILENT),
        Expected(_cell("contribution_append@worker", "after_commit"), Promise.SILENT),
    ),
    "outbox_row_forgotten": (
        Expected(_cell("project_create", "after_commit"), Promise.EXACT_ROWS),
        Expected(_cell("invocation_complete@worker", "after_commit"), Promise.EXACT_ROWS),
    ),
    "audit_outside_the_savepoint": (
        Expected(_refused("the head has moved"), Promise.REFUSED_LEAVES_ONE_ROW),
        Expected(_ten, Promise.REFUSED_LEAVES_ONE_ROW),
    ),
    "digest_not_compared": (
        Expected(_cell("contribution_append", "before_commit"), Promise.OTHER_INTENT_REFUSED),
        Expected(_cell("relation_assert@worker", "after_commit"), Promise.OTHER_INTENT_REFUSED),
    ),
}
"""By the name of the patch. The same trials pass on a copy that has no mistake."""


def copy_product(target: Path) -> str:
    """Copies the packages as they are installed; returns the directory to import them from."""
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.submodule_search_locations is not None
        source = next(iter(spec.submodule_search_locations))
        shutil.copytree(source, target / package, ignore=shutil.ignore_patterns("__pycache__"))
    installed = target / "tallyd" / "migrations"
    if not installed.is_dir():  # a checkout has them elsewhere
        shutil.copytree(_MIGRATIONS, installed)
    return str(target)


def apply(name: str, product: str) -> None:
    """Applies a patch to a copy. Raises AssertionError where it does not apply as it is."""
    patch = PATCHES / f"{name}.patch"
    before = _patched(patch, product)
    # Inside a repository git would leave out what is not below its root, and call that success.
    alone = {**os.environ, "GIT_CEILING_DIRECTORIES": os.path.dirname(product)}
    command = ["git", "apply", "-p1", str(patch)]
    done = subprocess.run(command, cwd=product, env=alone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{patch.name} does not apply any more: {done.stderr}"
    after = _patched(patch, product)
    assert before, f"{patch.name} names no file"
    assert not before.items() & after.items(), f"{patch.name} changed nothing"


def _patched(patch: Path, product: str) -> dict[str, bytes]:
    """The files that the patch is about, as they are."""
    names = re.findall(r"^\+\+\+ b/(.+)$", patch.read_text(), re.MULTILINE)
    return {name: Path(product, name).read_bytes() for name in names}


def must_break(expected: Expected, prepared: Prepared, home: Home, product: str) -> None:
    """Runs the trial, which must break its promise and no other."""
    try:
        expected.trial(prepared, home, product)
    except Broken as found:
        if found.promise is not expected.promise:
            raise
        return
    raise AssertionError(f"the mistake was not found; it should have broken: {expected.promise}")
