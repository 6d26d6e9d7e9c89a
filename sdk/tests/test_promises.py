"""The page of promises: what it names exists and carries its number; a run that left one out is found."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from promises import FAILED, PAGE, PASSED, ROOT, Promise, carries, docstrings, promises, unkept

ROWS = promises(PAGE.read_text(encoding="utf-8"))


def test_every_test_that_is_named_exists() -> None:
    """Each name on the page is a test in the file that is named with it."""
    missing = [
        f"{row.what}: {test}"
        for row in ROWS
        for test in row.tests
        if not (ROOT / test.partition("::")[0]).is_file()
        or test.partition("::")[2] not in docstrings(ROOT / test.partition("::")[0])
    ]
    assert missing == []


def test_every_case_is_carried_by_its_tests() -> None:
    """Each test that a case's row names has the case's number in its name or its docstring."""
    bare = []
    for row in ROWS:
        for test in row.tests if row.case is not None else ():
            path, _, name = test.partition("::")
            assert row.case is not None
            if not carries(name, docstrings(ROOT / path).get(name, ""), row.case):
                bare.append(f"case {row.case}: {test}")
    assert bare == []


def test_a_promise_stands_once() -> None:
    """No row's words stand twice, and there are rows of both sorts."""
    words = [row.what for row in ROWS]
    assert len(set(words)) == len(words)
    assert sum(row.case is None for row in ROWS) > 100
    assert sum(row.case is not None for row in ROWS) > 50


@pytest.mark.parametrize(
    "line",
    [
        "| a promise | by looking at it |",
        "| a promise | `test_it` |",
        "| a promise | `a.py::test_it` and more `x` |",
    ],
)
def test_a_row_without_a_test_is_found(line: str) -> None:
    """A row that names no test, or names it in another form, is an error."""
    with pytest.raises(ValueError, match=r"a promise"):
        promises(line)


def test_a_row_is_read() -> None:
    """Words, number and all tests of a row."""
    text = "| promise | shown by |\n|---|---|\n| 7 | it holds | `a/test_b.py::test_c`<br>`d.py::test_e` |"
    assert promises(text) == [Promise("7 | it holds", 7, ("a/test_b.py::test_c", "d.py::test_e"))]


@pytest.mark.parametrize(
    ("name", "docstring", "case", "carried"),
    [
        ("test_case_014_x", "", 14, True),
        ("test_x_case_001_case_010", "", 10, True),
        ("test_case_051_053_x", "", 53, True),
        ("test_x", "What holds (case 7).", 7, True),
        ("test_x", "What holds (cases 66, 67 and 70).", 70, True),
        ("test_x", "What holds (case 71).", 7, False),
        ("test_x", "In any case 12 of them.", 1, False),
    ],
)
def test_a_number_is_found(name: str, docstring: str, case: int, carried: bool) -> None:
    """In a name after ``case_``, in a docstring after ``case``, whole."""
    assert carries(name, docstring, case) is carried


def test_what_was_not_run_is_unkept() -> None:
    """What did not run, or was skipped for no declared reason, is named; what failed has failed the run."""
    outcomes = {
        "a::passed": {PASSED},
        "a::failed": {FAILED},
        "a::here": {PASSED, "Skipped: not today"},
        "a::declared": {"Skipped: needs root to become another uid"},
        "a::lazy": {"Skipped: not today"},
    }
    assert unkept([*outcomes, "a::absent"], outcomes) == [
        "a::absent did not run",
        "a::lazy was skipped: Skipped: not today",
    ]


def test_a_whole_run_that_left_one_out_fails(tmp_path: Path) -> None:
    """A real run, on two workers: it passes while all that is promised ran, fails where a test was skipped or
    is gone, and a run of one file is not held to the page.
    """
    (tmp_path / "docs").mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\ntestpaths = ["."]\n')
    (tmp_path / "conftest.py").write_text(
        textwrap.dedent(f"""
            import sys
            from pathlib import Path
            sys.path.insert(0, {str(ROOT / "sdk" / "tests")!r})
            import promises
            promises.PAGE = Path({str(tmp_path)!r}) / "docs" / "promises.md"

            def pytest_configure(config):
                if promises.is_whole(config):
                    config.pluginmanager.register(promises.Keeper())
            """)
    )
    (tmp_path / "test_a.py").write_text(
        "import pytest\n\n@pytest.mark.parametrize('n', [1, 2])\ndef test_one(n):\n    assert n\n\n"
        "@pytest.mark.skip(reason='not today')\ndef test_two():\n    pass\n"
    )
    page = tmp_path / "docs" / "promises.md"

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    page.write_text("| it holds | `test_a.py::test_one` |\n")
    assert run().returncode == 0
    page.write_text("| it holds | `test_a.py::test_two`<br>`test_a.py::test_three` |\n")
    left_out = run("-n", "2")
    assert left_out.returncode == 1
    assert "test_a.py::test_three did not run" in left_out.stdout
    assert "test_a.py::test_two was skipped" in left_out.stdout
    assert run("test_a.py").returncode == 0
