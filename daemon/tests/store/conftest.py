"""Fixtures of the store's tests: places of their own, and a way to open what is there."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from store.helpers import SMALL_SCHEMA, UNPROBED, Opener, begin_log
from tallyd.store.ambient import SystemAmbient
from tallyd.store.identity import Identity
from tallyd.store.keys import Keys
from tallyd.store.migrations import Migration
from tallyd.store.opening import Machine, OnAdopt, open_store
from tallyd.store.progress import OnProgress, unheard
from tallyd.store.store import Store
from tallyd.store.writer import Writer
from tallystick.paths import Paths, resolve


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Paths]:
    """Directories of this test alone, none of which exists; the sockets' one is short."""
    with tempfile.TemporaryDirectory(prefix="ty", dir="/tmp") as short:
        env = {"HOME": str(tmp_path), "TALLY_STATE_DIR": str(tmp_path / "state")}
        yield resolve(str(tmp_path / "data"), f"{short}/run", env)


@pytest.fixture
def opened(places: Paths, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opener]:
    """Opens stores and closes, at the end, those that the test left open."""
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    stores: list[Store] = []

    def opener(
        *,
        paths: Paths | None = None,
        schema: tuple[Migration, ...] = SMALL_SCHEMA,
        machine: Machine | None = None,
        adopt: str | None = None,
        on_adopt: OnAdopt | None = None,
        on_step: Callable[[str], None] | None = None,
        on_progress: OnProgress = unheard,
        bootstrap: Callable[[Writer, Identity, Keys], None] = begin_log,
        vfs: str | None = None,
    ) -> Store:
        store = open_store(
            paths or places,
            ambient=SystemAmbient(),
            bootstrap=bootstrap,
            on_adopt=on_adopt,
            adopt=adopt,
            vfs=vfs,
            on_step=on_step,
            on_progress=on_progress,
            machine=machine or UNPROBED,
            steps_of_schema=schema,
        )
        stores.append(store)
        return store

    yield opener
    for store in stores:
        store.close()
