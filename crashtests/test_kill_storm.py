"""Ten thousand appends from 64 clients, and a daemon that is killed five times on the way."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from cells import judge_diagnosis
from harness.dumps import Dump, dump_copy, sequence_faults
from harness.home import Home
from harness.wire import Wire, request
from storm import Storm
from world import CLIENT, make_space

TOTAL: Final = 10_000
AT_COMMIT: Final = (True, False, True, False, True)
"""Of each kill: whether it comes as a transaction becomes durable, or at once, whatever the daemon does."""
OUTSTANDING_MIN: Final = 8


@pytest.mark.crash
@pytest.mark.slow
def test_what_was_acknowledged_is_there_once(
    home: Home, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Every append that a client has recorded as acknowledged is there exactly once, and no other twice; of
    what was outstanding at the kills some was applied and some was not."""
    daemon = home.start()
    with Wire(daemon.paths) as wire:
        made = wire.ask(request(CLIENT, "project_create", {"name": "storm"}, key="project"))
        space = make_space(wire, made.result["project_id"], "storm")
    storm = Storm(made.result["project_id"], space, TOTAL, str(tmp_path / "acknowledged"))
    applied_in_all = not_applied_in_all = 0
    for number, at_commit in enumerate(AT_COMMIT, 1):
        storm.connect(daemon)
        storm.run(TOTAL * number // (len(AT_COMMIT) + 1))
        outstanding = storm.kill(daemon, at_commit=at_commit)
        assert daemon.wait() == -signal.SIGKILL
        assert len(outstanding) >= OUTSTANDING_MIN
        applied = outstanding & set(numbers(dump_copy(home.paths)))
        figure = f"kill {number}: {len(storm.recorded)} recorded, {len(outstanding)} outstanding, "
        figure += f"of them {len(applied)} applied, {len(outstanding - applied)} not"
        record_property("figure", figure)
        applied_in_all += len(applied)
        not_applied_in_all += len(outstanding - applied)
        daemon = home.start()
    storm.connect(daemon)
    storm.run(TOTAL)
    judge_diagnosis(daemon.paths)
    daemon.stop()
    storm.close()

    assert applied_in_all > 0
    assert not_applied_in_all > 0
    dump = dump_copy(home.paths)
    assert_each_once(dump, [int(line) for line in (tmp_path / "acknowledged").read_text().split()])


def numbers(dump: Dump) -> list[int]:
    """The appends of the storm that are in a store, by the keys in its log."""
    keys = [str(row["idempotency_key"]) for row in dump["log"].values() if row["outcome"] == "applied"]
    return [int(key.removeprefix("storm-")) for key in keys if key.startswith("storm-")]


def assert_each_once(dump: Dump, acknowledged: list[int]) -> None:
    """All that was acknowledged, each once, one behind the other, and nothing else."""
    assert sorted(acknowledged) == list(range(TOTAL)), "an append was acknowledged twice, or never"
    assert Counter(numbers(dump)) == Counter(range(TOTAL))
    places = sorted(int(str(row["branch_sequence"])) for row in dump["contributions"].values())
    assert places == list(range(1, TOTAL + 1))
    assert sequence_faults(dump) == []
    [space] = dump["spaces"].values()
    assert space["next_space_sequence"] == TOTAL + 1
