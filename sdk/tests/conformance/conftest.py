"""Counts the vectors that passed, over all workers, and prints how many of how many at the end of a run."""

from collections import Counter
from typing import Final

import pytest

from .kcp_vectors import SERVED, data_root, operation_vectors, registry_entries, vectors

PROPERTY: Final = "kcp_vectors"
FAMILIES: Final = ("envelope", "operations")


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line a family: passed of found. A test says by a property of its which family its vector is of."""
    groups = terminalreporter.stats.values()
    reports = [report for group in groups for report in group if isinstance(report, pytest.TestReport)]
    passed = Counter[object]()
    for report in reports:
        for name, family in report.user_properties:
            if name == PROPERTY and report.when == "call":
                passed[family] += report.passed
    write = terminalreporter.write_line
    if data_root() is None:
        write("KCP's vectors: skipped, its data is not here (set KCP_DATA)")
        return
    if not all(passed[family] for family in FAMILIES):
        return  # the run was about other tests
    found = {"envelope": len(vectors("envelope")), "operations": len(operation_vectors())}
    for family in FAMILIES:
        write(f"{passed[family]} of {found[family]} vectors: {family}")
    write(f"{sum(passed.values())} of {sum(found.values())} vectors")
    entries = registry_entries()
    served = [entry for entry in entries if entry in SERVED]
    names = {name for name, _ in entries}
    write(f"{len(names & {name for name, _ in served})} of {len(names)} operations")
    write(f"{len(served)} of {len(entries)} registry entries")
