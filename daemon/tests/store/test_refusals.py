"""The table of exit codes."""

from __future__ import annotations

import re

import pytest

from tallyd.store.refusals import MEANINGS, ExitCode, StartRefused


def test_every_code_has_a_row() -> None:
    """No code is without words, and no words are without a code."""
    assert set(MEANINGS) == set(ExitCode)


def test_codes_are_distinct_and_out_of_the_way() -> None:
    """Clear of Python's and shells' own, and of signals."""
    numbers = [int(code) for code in ExitCode]
    assert len(set(numbers)) == len(ExitCode.__members__)
    assert all(64 <= number <= 113 for number in numbers)


@pytest.mark.parametrize("code", ExitCode)
def test_case_082_no_row_suggests_destroying_anything(code: ExitCode) -> None:
    """An agent does what a hint says."""
    words = re.compile(r"\b(delete|remove|erase|rm|wipe|reset|force|drop|init)\b", re.IGNORECASE)
    assert not words.search(MEANINGS[code].do)


def test_case_093_only_what_can_pass_by_itself_is_started_again() -> None:
    """A supervisor that starts a refused daemon again and again helps nobody."""
    assert {code for code in ExitCode if MEANINGS[code].restart} == {
        ExitCode.STORAGE_FAILED,
        ExitCode.DATABASE_BUSY,
        ExitCode.LOCK_LOST,
        ExitCode.CLOCK_OUT_OF_RANGE,
        ExitCode.RESOURCES_LACKING,
        ExitCode.DEFECT,
    }


def test_a_refusal_is_its_sentence() -> None:
    """What is printed is the sentence alone."""
    refused = StartRefused(ExitCode.LOST_KEY, "the key file is missing")
    assert str(refused) == refused.sentence == "the key file is missing"
    assert refused.exit_code == 77
