"""Sealing and reading take the same memory for a byte and for a gigabyte."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .vault_helpers import UPLOAD

MEBIBYTES = 96
GROWTH_BYTES_MAX = 16 * 2**20
"""Of the resident set, over what the same process took for one byte: a sixth of the artifact."""

PROGRAM = """
import hashlib, resource, sys
from pathlib import Path
from tallyd.store.files import Disk
from tallyd.vault import Vault
from tests.vault.vault_helpers import ARTIFACT, COMMITMENT_KEY, UPLOAD, order
from tallyd.vault import digest
import msgspec

data_dir, size = sys.argv[1], int(sys.argv[2])
vault = Vault(data_dir, Disk())
vault.open()

def seal(size, seed):
    with open(vault.staging.path(UPLOAD), "wb") as file:
        file.truncate(size)
    sha = hashlib.sha256()
    for _ in range(size >> 16):
        sha.update(bytes(1 << 16))
    sha.update(bytes(size & 0xFFFF))
    made = msgspec.structs.replace(
        order(b"", seed=seed), size=size, commitment=digest.commitment(COMMITMENT_KEY, sha.hexdigest())
    )
    assert vault.seal(made).matches
    for offset in range(0, size, 1 << 19):
        got = vault.read(ARTIFACT, made.version, made.keys.seal, made.artifact, size, offset, 1 << 19)
        assert not got.strip(bytes(1)), "zeros went in"
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

print(seal(1, 1), seal(size, 2))
"""


def test_memory_does_not_follow_the_size(data_dir: Path) -> None:
    """A process that seals and reads back a large artifact grows by less than a sixth of it."""
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(data_dir), str(MEBIBYTES * 2**20)],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    small, large = (int(number) for number in ran.stdout.split())
    unit = 1 if sys.platform == "darwin" else 1024
    assert (large - small) * unit < GROWTH_BYTES_MAX
    assert (data_dir / "artifacts" / "staging" / UPLOAD).stat().st_size == MEBIBYTES * 2**20
