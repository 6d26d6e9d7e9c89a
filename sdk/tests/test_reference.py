"""The reference says what the product does: it is generated from it, and checked here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tallystick.protocol.registry import OPERATIONS

ROOT = Path(__file__).resolve().parents[2]


def test_the_reference_is_up_to_date() -> None:
    """What the generator would write is what is there."""
    script = ROOT / "docs" / "reference" / "generate.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_operation_stands_in_the_reference() -> None:
    """An operation that is not documented is not an operation."""
    page = (ROOT / "docs" / "reference" / "operations.md").read_text(encoding="utf-8")
    for operation in OPERATIONS:
        assert f"### {operation.name} ({operation.socket} socket)" in page
