"""The first start of a store, killed after each of its steps: the next one goes on from where it stands."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.dumps import Dump, dump_copy, sequence_faults
from harness.home import Home
from harness.wire import ask, request
from world import CLIENT

STEPS = ("directories", "keys", "database_before_commit", "database", "marker")
AFTER_DATABASE = ("database", "marker")
"""Once this step is durable the store exists: who it is, and its keys, are never made anew."""


def contents(directory: str) -> dict[str, bytes]:
    """Each file of a directory by its name; nothing where there is no directory."""
    if not os.path.isdir(directory):
        return {}
    return {path.name: path.read_bytes() for path in Path(directory).iterdir() if path.is_file()}


def identity(dump: Dump) -> dict[str, object]:
    """What names the store, and the check values of its keys."""
    return {str(key[0]): row["value"] for key, row in dump["store_meta"].items()}


@pytest.mark.crash
@pytest.mark.parametrize("step", STEPS)
def test_first_start(home: Home, step: str, record_property: Callable[[str, object], None]) -> None:
    """A start that dies after a step took no client; the next makes one store of what is there."""
    record_property("cell", f"first start|{step}")
    paths = home.paths
    died = home.start(abort=f"start:{step}", may_end=True)
    assert not died.ready
    assert died.wait() == -signal.SIGABRT
    assert not os.path.lexists(paths.client_socket)
    keys = contents(paths.keys_dir)
    assert len(keys) == (0 if step == "directories" else 4)
    assert os.path.exists(paths.marker) == (step == "marker")
    found = dump_copy(paths) if step in AFTER_DATABASE else {}

    with home.start() as daemon:
        said = ask(daemon.paths, request(CLIENT, "diagnose", {})).result
    assert [c for c in said["checks"] if c["status"] == "fail"] == []
    after = dump_copy(paths)
    assert keys.items() <= contents(paths.keys_dir).items(), "a key was minted twice"
    assert {table: after[table] for table in found} == found, "the store was made twice"
    assert_one_store(home, after)


def assert_one_store(home: Home, dump: Dump) -> None:
    """One identity, named alike by the database, the marker and its one copy; and one beginning."""
    store_id = identity(dump)["store_id"]
    assert isinstance(store_id, bytes)
    marker = json.loads(Path(home.paths.marker).read_text())
    assert marker["store_id"] == store_id.decode()
    copies = sorted(os.listdir(home.paths.state_dir))
    assert copies == [f"{store_id.decode()}.json"]
    assert sequence_faults(dump) == []
    assert [row["operation"] for row in dump["log"].values()] == ["realm_bootstrap"]
    assert len(dump["realm"]) == len(dump["deployments"]) == 1
    assert len([name for name in identity(dump) if name.startswith("key_check_")]) == 4


def test_a_second_start_changes_nothing(home: Home) -> None:
    """A store that is there is opened as it is: every table, every key and the marker stay the same."""
    with home.start():
        pass
    before = dump_copy(home.paths), contents(home.paths.keys_dir), Path(home.paths.marker).read_bytes()
    with home.start():
        pass
    after = dump_copy(home.paths), contents(home.paths.keys_dir), Path(home.paths.marker).read_bytes()
    assert after == before
