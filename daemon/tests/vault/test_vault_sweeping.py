"""The sweep at start: plain bytes that nobody wants go, sealed files that no row names are kept aside."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tallyd.store.files import Disk
from tallyd.store.refusals import ExitCode, StartRefused
from tallyd.vault import Swept, Vault

from .vault_helpers import ARTIFACT, UPLOAD, files, order, staged

OTHER = "upl-" + "9" * 32


def test_staging_that_no_upload_wants_goes(vault: Vault, data_dir: Path) -> None:
    """An upload that has not ended keeps its bytes; everything else in staging is removed."""
    vault.staging.receive(UPLOAD, 0, b"wanted")
    vault.staging.receive(OTHER, 0, b"not wanted")
    (data_dir / "artifacts" / "staging" / "notes.txt").write_text("a stray")
    assert vault.sweep({UPLOAD}, ()) == Swept(staging=("notes.txt", OTHER))
    assert files(data_dir / "artifacts")["staging"] == [UPLOAD]


def test_a_stray_link_goes_and_not_what_it_leads_to(vault: Vault, data_dir: Path) -> None:
    """The link is what is removed."""
    other = data_dir / "other"
    other.write_bytes(b"precious")
    (data_dir / "artifacts" / "staging" / "link").symlink_to(other)
    assert vault.sweep((), ()).staging == ("link",)
    assert other.read_bytes() == b"precious"


def test_a_directory_in_staging_is_left(vault: Vault, data_dir: Path) -> None:
    """What cannot be a client's bytes is somebody's, and is left to them."""
    (data_dir / "artifacts" / "staging" / "somebodys").mkdir()
    assert vault.sweep((), ()) == Swept()
    assert files(data_dir / "artifacts")["staging"] == ["somebodys"]


def test_what_a_dead_run_had_written_goes(vault: Vault, data_dir: Path) -> None:
    """A part has no name that a row could have."""
    (data_dir / "artifacts" / "sealed" / f"{ARTIFACT}.v1-0.part").write_bytes(b"noise")
    assert vault.sweep((), ()).unfinished == (f"{ARTIFACT}.v1-0.part",)
    assert files(data_dir / "artifacts") == {"staging": [], "sealed": [], "aside": []}


def test_a_sealed_file_without_a_row_is_kept_aside(vault: Vault, data_dir: Path) -> None:
    """It is moved, byte for byte, and never deleted; one that a row names stays where it is."""
    staged(vault, b"abc")
    known, stray = vault.seal(order(b"abc", seed=1)), vault.seal(order(b"abc", seed=2))
    name = f"{ARTIFACT}.{stray.version}"
    raw = Path(vault.sealed.path(name)).read_bytes()
    assert vault.sweep({UPLOAD}, {(ARTIFACT, known.version)}).aside == (name,)
    assert (data_dir / "artifacts" / "aside" / name).read_bytes() == raw
    assert files(data_dir / "artifacts")["sealed"] == [f"{ARTIFACT}.{known.version}"]


def test_nothing_aside_is_written_over(vault: Vault, data_dir: Path) -> None:
    """A second stray of the same name stands beside the first."""
    for content in (b"first", b"second", b"third"):
        (data_dir / "artifacts" / "sealed" / "stray").write_bytes(content)
        vault.sweep((), ())
    aside = data_dir / "artifacts" / "aside"
    found = {name: (aside / name).read_bytes() for name in files(data_dir / "artifacts")["aside"]}
    assert found == {"stray": b"first", "stray.1": b"second", "stray.2": b"third"}


def test_a_second_sweep_does_nothing(vault: Vault, data_dir: Path) -> None:
    """Replayed, it finds nothing, and changes nothing."""
    vault.staging.receive(UPLOAD, 0, b"wanted")
    vault.staging.receive(OTHER, 0, b"not wanted")
    (data_dir / "artifacts" / "sealed" / "stray").write_bytes(b"sealed")
    (data_dir / "artifacts" / "sealed" / "a.part").write_bytes(b"noise")
    vault.sweep({UPLOAD}, ())
    before = files(data_dir / "artifacts")
    assert vault.sweep({UPLOAD}, ()) == Swept()
    assert files(data_dir / "artifacts") == before


def test_the_directories_are_private(data_dir: Path) -> None:
    """Nobody else looks into any of them."""
    Vault(str(data_dir), Disk()).open()
    for path in (
        data_dir / "artifacts",
        *(data_dir / "artifacts" / name for name in ("staging", "sealed", "aside")),
    ):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["", "staging", "sealed", "aside"])
def test_a_directory_that_is_a_link_is_refused(data_dir: Path, name: str) -> None:
    """Staging that leads elsewhere could be anybody's."""
    Vault(str(data_dir), Disk()).open()
    path = data_dir / "artifacts" / name
    os.rename(path, data_dir / "elsewhere")
    (data_dir / "artifacts" / name if name else data_dir / "artifacts").symlink_to(data_dir / "elsewhere")
    with pytest.raises(StartRefused) as refused:
        Vault(str(data_dir), Disk()).open()
    assert refused.value.exit_code is ExitCode.BAD_DIRECTORY
