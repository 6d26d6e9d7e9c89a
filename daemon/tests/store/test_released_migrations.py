"""Migrations that were released, and are what they were."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

import pytest

from tallyd.store import migrations

RELEASED: Final = {
    "0001_kernel.sql": "03959f5e71d29db3ec84c59ebaa3c6524f4e437c240a51f87e300847432945c5",
    "0002_collaboration.sql": "fc3c425af2f723492d34693de5cbe68b5eca034a45ce5881b9bd7f85314791af",
    "0003_agents.sql": "97381b275c8a3902b2610afbad5c7babbd57c25f53dc4abb1561e5c7660d158e",
    "0004_artifacts.sql": "09560b5b65d875b54bbc6520fd922d1737016df54c7102e25a082777256120c3",
    "0005_assistants.sql": "d9203117e9d64b3f73d8eda11202fd606420cf0e7dd8b5622866d6ae884f9017",
    "0006_lenses.sql": "45e0fb9d75554cf9f7466667c338b970d523c693a029088e5a9177d9d7e96a4d",
    "0007_erasure.sql": "eb16745e868c727b45a93c278afef857077a2e5eda0ebb7e2f399b6ccbd768fa",
}
"""SHA-256 of each file, as the first version that was released with it had it. A release adds a row for each
new file; no row ever changes."""


@pytest.mark.parametrize("name", RELEASED)
def test_a_released_migration_never_changes(name: str) -> None:
    """People's stores were made by it, and a store that is made anew must be the same: a change is a new
    file.
    """
    found = hashlib.sha256(Path(migrations.directory(), name).read_bytes()).hexdigest()
    assert found == RELEASED[name], f"{name} was released and has changed; write a further migration instead"
