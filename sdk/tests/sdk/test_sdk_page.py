"""The page about the SDK: its code does what it says, from top to bottom, on the real daemon."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from tallyd_process import Tallyd

PAGE: Final = Path(__file__).resolve().parents[3] / "docs" / "sdk.md"


def code() -> list[str]:
    """The page's blocks of Python, each at its line, so that an error names the line."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return ["\n" * text.count("\n", 0, block.start(1)) + block.group(1) for block in found]


def test_the_page_runs(tallyd: Tallyd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block, in one program, in a directory of its own."""
    monkeypatch.setenv("TALLY_RUNTIME_DIR", tallyd.runtime_dir)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    blocks = code()
    assert len(blocks) > 5
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert (tmp_path / "kitchen.cursor").exists()
