"""The pages come with the program: in the wheel, listed and printed by `tally docs`, pointed to by help."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from tally_program import Tally

from tally_cli.exits import Exit

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/*.toml"), *ROOT.glob("docs/reference/*.md")]
)


def test_every_page_is_one_of_the_wheels() -> None:
    """The list of what the wheel takes up has each page of the directory, and no other."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    taken = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert sorted(name for name in taken if name.startswith("docs/")) == PAGES


def test_the_wheel_has_the_pages(tmp_path: Path) -> None:
    """A wheel that is built holds each page where `tally docs` looks for it."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {f"tally_cli/pages/{name.removeprefix('docs/')}" for name in PAGES} <= set(names)
    assert not [name for name in names if "/demo/" in name or name.endswith("generate.py")]


@pytest.mark.parametrize("page", ["cli", "cli.md", "reference/limits", "tallyd.toml"])
def test_a_page_is_printed(tally: Tally, page: str) -> None:
    """By its name, with or without its ending, as it is; no daemon is started for it."""
    path = ROOT / "docs" / (page if "." in page else f"{page}.md")
    assert tally.ok("docs", page).out == path.read_text(encoding="utf-8")
    assert not tally.data_dir.exists()


def test_pages_are_listed_and_help_points_to_them(tally: Tally) -> None:
    """Each with its path and title; `tally --help` names the verb, and so does who asks for none there is."""
    listed = {page["page"]: page for page in tally.ok("docs", "--json").objects}
    assert len(listed) == len(PAGES)
    assert Path(listed["cli"]["path"]).is_file()
    assert listed["cli"]["title"] == "The command line"
    assert "`tally docs`" in re.sub(r"\s+", " ", tally.ok("--help").out)
    missing = tally("docs", "nothing")
    assert (missing.code, "reference/limits" in missing.err) == (Exit.USAGE, True)
