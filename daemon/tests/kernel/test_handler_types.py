"""A handler that is bound to another operation is a type error: tried with the type checker itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

BEGINNING = """
from tallyd.admission import Admission
from tallyd.families.lenses import lenses
from tallyd.families.shared.family import FencedReadHandler, fenced_read, read, wait, write
from tallyd.ledger.transaction import Applied, Transaction
from tallystick.protocol.envelope import Request
from tallystick.protocol.families.lenses import (
    LENS_CREATE, LENS_READ, LENS_REVOKE, LENS_SHOW, LENS_UPDATE, LensCreateArgs,
)

"""

RIGHT = """
BOUND = (write(LENS_CREATE, lenses.create), read(LENS_SHOW, lenses.show), read(LENS_READ, lenses.read))

def handler(tx: Transaction, request: Request[LensCreateArgs], admission: Admission) -> Applied:
    kind: str = request.args.kind
    return Applied(revision=len(kind))

MORE = write(LENS_CREATE, handler)
"""

WRONG = {
    "another write's handler": "write(LENS_CREATE, lenses.update)",
    "a read's handler for a write": "write(LENS_CREATE, lenses.show)",
    "a write's handler for a read": "read(LENS_SHOW, lenses.revoke)",
    "another read's handler": "read(LENS_READ, lenses.list_)",
    "no fenced read": "fenced_read(LENS_SHOW, lenses.show)",
    "no wait": "wait(LENS_SHOW, lenses.show)",
    "an argument that does not exist": "(lambda request: request.args.lens)(Request[LensCreateArgs](**{}))",
}


def checked(path: Path, text: str) -> list[str]:
    """The lines on which the checker finds a fault, strictly, with their kinds."""
    path.write_text(BEGINNING + text)
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode in (0, 1), found.stdout + found.stderr
    return [line for line in found.stdout.splitlines() if " error: " in line]


def test_handlers_of_their_own_operation_pass(tmp_path: Path) -> None:
    """What is bound rightly has no fault: so the faults below are those of the bindings."""
    assert checked(tmp_path / "right.py", RIGHT) == []


@pytest.mark.slow
def test_each_wrong_binding_is_a_type_error(tmp_path: Path) -> None:
    """Every wrong line is found, by itself, and says which argument does not fit."""
    faults = checked(tmp_path / "wrong.py", "\n".join(WRONG.values()))
    first = len(BEGINNING.splitlines()) + 1
    for number, what in enumerate(WRONG, first):
        of_line = [fault for fault in faults if f"wrong.py:{number}: " in fault]
        assert of_line, f"{what} is no type error"
        assert any("[arg-type]" in fault or "[attr-defined]" in fault for fault in of_line), of_line
