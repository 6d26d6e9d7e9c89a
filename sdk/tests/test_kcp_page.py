"""The page about KCP's first implementation: its rows can be read, and each test that it names exists."""

from __future__ import annotations

import re
from typing import Final

import pytest
from promises import ROOT, docstrings, promises

PAGE: Final = ROOT / "docs" / "kcp.md"
HEADER: Final = "| What the first implementation does | What tallyd does | Test |"
UNSHOWN: Final = ("not done", "not tested")

_CELLS: Final = re.compile(r"\| (?P<first>[^|]+) \| (?P<ours>[^|]+) \| (?P<shown>[^|]+) \|\Z")


def shown(text: str) -> list[str]:
    """The third column of every row. Raises ValueError for a row that has not three columns."""
    found = []
    for line in text.splitlines():
        if not line.startswith("| ") or line == HEADER:
            continue
        row = _CELLS.match(line)
        if row is None:
            raise ValueError(f"not three columns: {line}")
        found.append(row["shown"])
    return found


def named(text: str) -> list[str]:
    """The tests of all rows. Raises ValueError for a row that names none and says neither word for that."""
    rows = [f"| {column} | {column} |" for column in shown(text) if column not in UNSHOWN]
    return [test for row in promises("\n".join(rows)) for test in row.tests]


def test_every_test_that_the_page_names_exists() -> None:
    """Each name is a test in the file that is named with it, and there are as many rows as KCP has points."""
    text = PAGE.read_text(encoding="utf-8")
    assert len(shown(text)) > 100
    missing = []
    for test in named(text):
        path, _, name = test.partition("::")
        if not (ROOT / path).is_file() or name not in docstrings(ROOT / path):
            missing.append(test)
    assert missing == []


def test_each_table_has_rows() -> None:
    """No heading stands over an empty table."""
    tables = PAGE.read_text(encoding="utf-8").split(f"{HEADER}\n")[1:]
    assert tables
    assert [table for table in tables if not shown(table.partition("\n#")[0])] == []


@pytest.mark.parametrize(
    "row", ["| a | b |", "| a | b | by looking |", "| a | b | `test_it` |", "| a | b | not quite done |"]
)
def test_a_row_that_shows_nothing_is_found(row: str) -> None:
    """A row says by which test, in the form in which pytest names it, or that there is none."""
    with pytest.raises(ValueError, match=r"three columns|no test is named|cannot be read"):
        named(row)


def test_a_row_of_the_page_is_read() -> None:
    """Its tests, and those of the rows beside one that is not done."""
    text = (
        f"{HEADER}\n|---|---|---|\n| a | b | `a/test_b.py::test_c`<br>`d.py::test_e` |\n| a | b | not done |"
    )
    assert named(text) == ["a/test_b.py::test_c", "d.py::test_e"]
    assert len(shown(text)) == 2
