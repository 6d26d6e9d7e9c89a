"""``make crash``: runs the crash tests, and prints the matrix: operation by phase, cells, and mutants.

Exit code 0 when every cell and every other test here passed and every mutant was caught.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

HERE: Final = Path(__file__).resolve().parent
PHASES: Final = ("before_commit", "after_commit")
BETWEEN: Final = ("after_seal_txn", "after_seal")
"""Of a command with two transactions; all others have no such phase."""
PASSED: Final = "passed"


class Case(NamedTuple):
    """A test as it ended, with what it recorded of itself."""

    name: str
    outcome: str
    properties: dict[str, list[str]]


def main(arguments: Sequence[str]) -> int:
    """Runs everything; ``arguments`` go to pytest."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.xml"
        workers = os.environ.get("PYTEST_WORKERS", "auto")
        suite = [str(path) for path in sorted(HERE.glob("test_*.py"))]
        command = [sys.executable, "-m", "pytest", *suite, "-n", workers, f"--junitxml={report}"]
        code = subprocess.run([*command, *arguments], check=False, cwd=HERE.parent).returncode
        if not report.exists():
            return code or 1
        cases = list(read(report))
    print_matrix(cases)
    failed = print_mutants(cases)
    print_counts(cases)
    return code or int(failed)


def read(report: Path) -> Iterator[Case]:
    """The tests of a run."""
    for element in ElementTree.parse(report).iter("testcase"):
        outcome = next(
            (tag for tag in ("failure", "error", "skipped") if element.find(tag) is not None), PASSED
        )
        properties: dict[str, list[str]] = {}
        for found in element.iter("property"):
            properties.setdefault(found.attrib["name"], []).append(found.attrib["value"])
        yield Case(f"{element.attrib['classname']}::{element.attrib['name']}", outcome, properties)


def cells(cases: Sequence[Case]) -> dict[str, dict[str, str]]:
    """Outcomes by phase, by operation and situation."""
    rows: dict[str, dict[str, str]] = {}
    for case in cases:
        for cell in case.properties.get("cell", []):
            row, _, column = cell.partition("|")
            rows.setdefault(row, {})[column] = case.outcome
    return rows


def print_matrix(cases: Sequence[Case]) -> None:
    """One line an operation and situation; the steps of the first start are lines of their own."""
    rows = cells(cases)
    steps = rows.pop("first start", {})
    width = max((len(row) for row in rows), default=0)
    print(f"\n{'operation':{width}}  " + "  ".join(f"{phase:14}" for phase in (*PHASES, *BETWEEN)))
    for row in sorted(rows, key=lambda name: ("refused" in name, name)):
        shown = [rows[row].get(phase, "missing") for phase in PHASES]
        shown += [rows[row].get(phase, "") for phase in BETWEEN]
        print(f"{row:{width}}  " + "  ".join(f"{outcome:14}" for outcome in shown))
    print(f"\n{'first start, killed after':{width}}")
    for step in sorted(steps):
        print(f"{step:{width}}  {steps[step]}")
    print(f"\n{_operations(rows)}")
    outcomes = [outcome for row in (*rows.values(), steps) for outcome in row.values()]
    failed = len(outcomes) - outcomes.count(PASSED)
    print(f"{len(outcomes)} cells, {failed or 'none'} failed")


def _operations(rows: Mapping[str, Mapping[str, str]]) -> str:
    """How many operations were killed at each phase of an applied command. One that both sockets have is
    counted once.
    """
    applied = [row for row, phases in rows.items() if "refused" not in row and set(PHASES) <= phases.keys()]
    names = {row.partition(" ")[0].partition("@")[0] for row in applied}
    ours = {name for name in names if name.startswith("tallystick_")}
    return f"{len(names - ours)} writing operations of KCP and {len(ours)} of ours, each at each phase"


def print_mutants(cases: Sequence[Case]) -> bool:
    """Each mutant, caught or not; True where one was not, or there is none."""
    mutants = {name: case.outcome for case in cases for name in case.properties.get("mutant", [])}
    print()
    for name, outcome in sorted(mutants.items()):
        print(f"mutant {name}: {'caught' if outcome == PASSED else 'NOT CAUGHT'}")
    return not mutants or any(outcome != PASSED for outcome in mutants.values())


def print_counts(cases: Sequence[Case]) -> None:
    """All tests of the run."""
    counts = dict.fromkeys((PASSED, "failure", "error", "skipped"), 0)
    for case in cases:
        counts[case.outcome] += 1
    print("\n" + ", ".join(f"{number} {outcome}" for outcome, number in counts.items() if number))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
