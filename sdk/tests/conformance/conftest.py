"""Counts the vectors that passed, over all workers, and prints how many of how many at the end of a run."""

from collections import Counter
from typing import Final

import pytest

from .kcp_vectors import data_root, operation_vectors, vectors

PROPERTY: Final = "kcp_vectors"
FAMILIES: Final = {
    "envelope": "envelope vectors",
    "served": "vectors of the operations served",
    "prepared": "vectors of the operations prepared",
}
OPERATIONS: Final = ("served", "prepared")


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line a family: passed of found. A test says by a property of its which family its vector is of."""
    groups = terminalreporter.stats.values()
    reports = [report for group in groups for report in group if isinstance(report, pytest.TestReport)]
    ran, passed = Counter[object](), Counter[object]()
    for report in reports:
        for name, family in report.user_properties:
            if name == PROPERTY and report.when == "call":
                ran[family] += 1
                passed[family] += report.passed
    if data_root() is None:
        terminalreporter.write_line("KCP's vectors: skipped, its data is not here (set KCP_DATA)")
        return
    found = Counter("served" if vector.served else "prepared" for vector in operation_vectors())
    found["envelope"] = len(vectors("envelope"))
    for family, words in FAMILIES.items():
        if ran[family]:  # else the run was about other tests
            terminalreporter.write_line(f"{passed[family]} of {found[family]} {words}")
    if any(ran[family] for family in OPERATIONS):
        counts = (sum(counter[family] for family in OPERATIONS) for counter in (passed, found))
        terminalreporter.write_line("{} of {} vectors of operations".format(*counts))
