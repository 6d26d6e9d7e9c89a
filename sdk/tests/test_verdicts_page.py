"""What `docs/verdicts.md` says is what the statements and the verifier do."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import typing
from pathlib import Path
from typing import Final

import pytest
import signed_vectors
import soft_keys

from tallystick import verifying
from tallystick.protocol.limits import SIGNATURE_BYTES_MAX, STATEMENT_BYTES_MAX
from tallystick.protocol.statements import (
    FORMS,
    KEY_RANKS,
    RANKS,
    VerdictStatement,
    make_statement,
    parse_statement,
)

PAGE: Final = (Path(__file__).resolve().parents[2] / "docs" / "verdicts.md").read_text()
BLOCKS: Final = dict(re.findall(r"^```(?:(sh|python))\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
FIRST = parse_statement(signed_vectors.TEXTS["verdict"].encode())
assert isinstance(FIRST, VerdictStatement)
STATEMENT: VerdictStatement = FIRST


def rows(head: str) -> list[list[str]]:
    """The cells of the table that begins with this row."""
    table = PAGE.partition(f"{head}\n")[2].partition("\n\n")[0].splitlines()[1:]
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in table]


def test_the_page_shows_the_statements() -> None:
    """Its three are those of the vectors, in their namespaces."""
    shown = re.findall(r"^```\n(tallystick .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert shown == list(signed_vectors.TEXTS.values())
    assert all(f"`{form.namespace}`" in PAGE for form in FORMS)


def test_the_page_explains_each_line_of_a_verdict() -> None:
    """Each has a row, in the order of the statement."""
    told = [word for row in rows("| line | says |") for word in re.findall(r"[a-z-]+", row[0])]
    names = [line.split(" ")[0] for line in FORMS[0].lines[1:]]
    assert [word for word in told if word != "round"] == names


def test_the_page_has_the_strengths_and_types() -> None:
    """Ranks, strengths and types of keys are those of the program, and so are the bounds."""
    strengths = [row[:2] for row in rows(re.findall(r"^\| rank \|.*$", PAGE, re.MULTILINE)[0])]
    assert strengths == [[str(rank), strength] for strength, rank in RANKS.items()]
    assert rows("| type | rank |") == [[kind, str(rank)] for kind, rank in KEY_RANKS.items()]
    for bound in (verifying.RSA_BITS_MIN, SIGNATURE_BYTES_MAX, STATEMENT_BYTES_MAX):
        assert f"{bound:,}" in PAGE


def test_the_page_has_every_fault_of_a_signature() -> None:
    """In the order of the program's list."""
    faults = typing.get_args(verifying.SignatureFault)
    assert [row[0] for row in rows("| fault | what was wrong |")] == list(faults)


@pytest.fixture
def signed(tmp_path: Path) -> Path:
    """A directory with the statement, its signature and a list of signers, as the page names them."""
    key = soft_keys.load()["sk-ed25519"]
    text = make_statement(STATEMENT._replace(key=key.fingerprint, expires=253_402_300_799))
    (tmp_path / "statement").write_bytes(text)
    (tmp_path / "statement.sig").write_bytes(soft_keys.armored(key.sign(text, "verdict@tallystick")))
    (tmp_path / "allowed_signers").write_text(f"ada {key.line}\n")
    return tmp_path


def test_the_pages_program_runs(signed: Path) -> None:
    """Once it is approved; the second time it was used before."""
    run = [sys.executable, "-c", BLOCKS["python"]]
    first = subprocess.run(run, cwd=signed, capture_output=True, text=True, check=False)
    assert (first.returncode, first.stdout) == (0, "approved by ada\n"), first.stderr
    second = subprocess.run(run, cwd=signed, capture_output=True, text=True, check=False)
    assert second.returncode == 1
    assert "UsedBefore" in second.stderr


def test_the_pages_command_runs(signed: Path) -> None:
    """`ssh-keygen` verifies what the page says that it does."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("this system does not have ssh-keygen")
    done = subprocess.run(BLOCKS["sh"], cwd=signed, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
