"""The page of promises, read: which test shows what, and whether they ran.

A row names its tests as pytest does, ``path::name``, without parameters: a test with parameters has run when
one of them has. In a run of the whole suite each named test must have passed, or be skipped for a reason that
is declared here, which is a thing that this machine does not have.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs" / "promises.md"

_ROW: Final = re.compile(r"\| (?P<what>.+) \| (?P<tests>`.+`) \|\Z")
_TEST: Final = re.compile(r"`(?P<path>[\w/.-]+\.py)::(?P<name>test_\w+)`")
_CASE: Final = re.compile(r"(?P<number>\d+) \| ")

PASSED: Final = "passed"
FAILED: Final = "failed"
MAY_BE_SKIPPED: Final = (
    "KCP's data is not here",
    "root",
    "takes privileges that are not given here",
    "is Linux's",
    "system call numbers differ",
    "this system does not",
    "CPU is read from /proc",
    "this process may open",
)
"""What the reason of a skipped test may say."""


class Promise(NamedTuple):
    """A row: its words, the number of its case where it has one, and its tests."""

    what: str
    case: int | None
    tests: tuple[str, ...]


def promises(text: str) -> list[Promise]:
    """The rows of the page. Raises ValueError for a row that names no test, or names it in another form."""
    found = []
    for line in text.splitlines():
        if not line.startswith("| ") or line.startswith(("| promise |", "| case |")):
            continue
        row = _ROW.match(line)
        if row is None:
            raise ValueError(f"no test is named in: {line}")
        tests = tuple(f"{each['path']}::{each['name']}" for each in _TEST.finditer(row["tests"]))
        if not tests or _TEST.sub("", row["tests"]).replace("<br>", ""):
            raise ValueError(f"its tests cannot be read: {line}")
        case = _CASE.match(row["what"])
        found.append(Promise(row["what"], None if case is None else int(case["number"]), tests))
    return found


@cache
def docstrings(path: Path) -> dict[str, str]:
    """The tests of a file with their docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        node.name: ast.get_docstring(node) or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }


def carries(name: str, docstring: str, case: int) -> bool:
    """Whether a test has the number of a case in its name (``case_014``) or its docstring (``case 14``)."""
    numbers = {
        int(number) for found in re.findall(r"case((?:_\d{3})+)", name) for number in found.split("_")[1:]
    }
    for words in re.findall(r"cases? (\d+(?:(?:, | and )\d+)*)", " ".join(docstring.split())):
        numbers |= {int(number) for number in re.findall(r"\d+", words)}
    return case in numbers


def unkept(promised: Iterable[str], outcomes: Mapping[str, set[str]]) -> list[str]:
    """What of the promised tests did not pass, and why; ``outcomes`` are words or reasons of skipping."""
    found = []
    for test in sorted(set(promised)):
        seen = outcomes.get(test, set())
        reasons = seen - {PASSED, FAILED}
        if FAILED in seen:
            continue  # the run has failed for that already
        undeclared = [r for r in sorted(reasons) if not any(words in r for words in MAY_BE_SKIPPED)]
        if not seen:
            found.append(f"{test} did not run")
        elif PASSED not in seen and undeclared:
            found.append(f"{test} was skipped: {undeclared[0]}")
    return found


class Keeper:
    """Watches a run of the whole suite, and fails it where a promised test did not run."""

    def __init__(self) -> None:
        self.outcomes: dict[str, set[str]] = {}
        self.unkept: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = report.nodeid.partition("[")[0]
        if report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            self.outcomes.setdefault(test, set()).add(reason)
        elif report.failed or report.when == "call":
            self.outcomes.setdefault(test, set()).add(FAILED if report.failed else PASSED)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or session.shouldstop:
            return
        rows = promises(PAGE.read_text(encoding="utf-8"))
        self.unkept = unkept((test for row in rows for test in row.tests), self.outcomes)
        if self.unkept:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in self.unkept:
            terminalreporter.write_line(f"promised: {line}", red=True)


def is_whole(config: pytest.Config) -> bool:
    """Whether a run is of the whole suite: nothing was named, chosen or left out. False in its workers, whose
    reports come to the one that started them.
    """
    narrowed = (
        "keyword",
        "markexpr",
        "deselect",
        "ignore",
        "ignore_glob",
        "lf",
        "failedfirst",
        "collectonly",
    )
    return (
        not hasattr(config, "workerinput")
        and config.args_source is pytest.Config.ArgsSource.TESTPATHS
        and not any(config.getoption(name, None) for name in narrowed)
    )
