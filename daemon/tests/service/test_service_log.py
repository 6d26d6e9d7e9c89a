"""The log, read by a verifier that was written from its page: what the page says is what is written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import apsw
import pytest
from harness.wire import Wire
from world import WORKER, World, complete, fail

from .log_reader import faults, marker_of
from .process import Place, Tallyd


@pytest.fixture(scope="module")
def written(world: World) -> Iterator[str]:
    """The root of a stopped store with commands of both sockets, refusals and replays in it."""
    place = Place()
    try:
        _write(place, world)
        yield place.root
    finally:
        place.close()


def _write(place: Place, world: World) -> None:
    place.copy_of(world.home)
    with Tallyd(place) as daemon, Wire(daemon.paths) as client, Wire(daemon.paths, WORKER) as worker:
        appended = world.append("v-1", 'Umlaute ÄÖÜ, 漢字, \N{GRINNING FACE} and "quotes" \\ too.')
        assert client.ask(appended).ok
        assert client.ask(appended).ok
        assert client.ask(appended.changed(kind="claim")).kind == "idempotency-mismatch"
        step = world.as_worker(world.append("v-2", "A step.", kind="synthesis"), world.attempts["append"])
        assert worker.ask(step).ok
        assert worker.ask(complete("v-3", world.attempts["complete"])).ok
        assert worker.ask(fail("v-4", world.attempts["fail for good"], retryable=False)).ok


def verdict(root: str) -> list[str]:
    """What the verifier finds in the store below a root."""
    data = os.path.join(root, "d")
    key = Path(data, "keys", "objects.key").read_bytes()
    return faults(os.path.join(data, "tally.db"), key, marker_of(os.path.join(data, "store.json")))


def test_another_verifier_agrees(written: str) -> None:
    """Every entry, leaf, commitment and sequence, and the marker, are as the page says."""
    assert verdict(written) == []


DAMAGES: Final = {
    "an actor": ("UPDATE log SET actor = 'prin-else' WHERE position = 7", "7: its leaf does not follow"),
    "a strength": ("UPDATE log SET strength = 'word' WHERE position = 7", "7: its leaf does not follow"),
    "a time out there": ("UPDATE log SET world_ms = 1 WHERE position = 7", "7: its leaf does not follow"),
    "a payload": ("UPDATE log SET payload = x'7b7d' WHERE position = 7", "7: payload or result do not match"),
    "a leaf": ("UPDATE log SET leaf = zeroblob(32) WHERE position = 7", "8: its leaf does not follow"),
    "a cut tail": (
        "DELETE FROM log WHERE position = (SELECT max(position) FROM log)",
        "the marker says more than the log has",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_case_122_a_change_is_found_where_it_is(damage: str, written: str, tmp_path: Path) -> None:
    """One thing changed in a copy of the store is named by position and cause."""
    sql, cause = DAMAGES[damage]
    _copy(written, tmp_path)
    connection = apsw.Connection(str(tmp_path / "d" / "tally.db"))
    connection.execute("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON").fetchall()
    connection.execute(sql).fetchall()
    connection.close()
    assert cause in verdict(str(tmp_path))


def _copy(root: str, to: Path) -> None:
    for path in Path(root, "d").rglob("*"):
        if path.is_file():
            target = to / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())


def test_the_log_has_the_constraints_of_its_sequences_and_no_other_index(written: str) -> None:
    """What an index costs is paid by every command: over all rows the log has those of its two sequences."""
    database = os.path.join(written, "d", "tally.db")
    connection = apsw.Connection(database, flags=apsw.SQLITE_OPEN_READONLY)
    indexes = connection.execute("SELECT name FROM pragma_index_list('log') WHERE NOT partial").fetchall()
    columns = sorted(
        tuple(row[0] for row in connection.execute("SELECT name FROM pragma_index_info(?)", index))
        for index in indexes
    )
    connection.close()
    assert columns == [("project", "project_sequence"), ("stream", "stream_sequence")]
