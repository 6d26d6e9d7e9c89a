"""The demo's assistant: reads what pytest printed, and says why the suite fails. No model, and no files.

``python assistant.py --runtime-dir DIRECTORY INVOCATION`` runs it on one invocation. All that it knows is in
its claim: the question, and pytest's output as evidence. The same evidence gives the same words.

It knows nothing of a daemon that dies: that is the SDK's business. For whoever wants to count, it writes each
sending of a request to stdout, one JSON object a line.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tallystick import Assistant, InvocationContext, Try, run_one

# What pytest prints of a failed test: a title between underscores, its code with ">" before the line that
# failed, "E" before what it says of it, and at the end the place.
_TITLE: Final = re.compile(r"_{3,} (.+?) _{3,}")
_STATEMENT: Final = re.compile(r"> +(.+)")
_ERROR: Final = re.compile(r"E +(\S.*)")
_ORIGIN: Final = re.compile(r"\+ +(?:where|and) +(.+)")
_PLACE: Final = re.compile(r"(\S.*:\d+): [\w.]+")
_SUMMARY: Final = re.compile(r"FAILED (\S+)(?: - .*)?")
_EQUAL: Final = re.compile(r"(?:AssertionError: )?assert (.+) == (.+)")
_WHOLE_NUMBER: Final = re.compile(r"-?\d+")


class Failure(NamedTuple):
    """A failed test: its node id, file and line, the statement that failed, what pytest says of it, and where
    the values in that come from, each as "value = expression"."""

    test: str
    place: str
    statement: str
    error: str
    origins: tuple[str, ...]


def failures(output: str) -> list[Failure]:
    """What pytest's output tells of each failed test, in its order."""
    lines = output.splitlines()
    titles = [number for number, line in enumerate(lines) if _TITLE.fullmatch(line)]
    tests = _all(_SUMMARY, lines)
    if len(tests) != len(titles):  # a run without its summary: the titles have to do
        tests = _all(_TITLE, lines)
    ends = [*titles[1:], len(lines)]
    return [
        _failure(test, lines[begin:end])
        for test, begin, end in zip(tests, titles, ends, strict=False)
    ]


def _failure(test: str, section: list[str]) -> Failure:
    errors = _all(_ERROR, section)
    return Failure(
        test,
        next(_found(_PLACE, section), "a place that pytest does not name"),
        next(_found(_STATEMENT, section), "a statement that pytest does not show"),
        next((error for error in errors if _EQUAL.fullmatch(error)), errors[0] if errors else "an error"),
        tuple(_found(_ORIGIN, errors)),
    )


def _found(pattern: re.Pattern[str], lines: list[str]) -> Iterator[str]:
    return (found[1] for line in lines if (found := pattern.fullmatch(line)))


def _all(pattern: re.Pattern[str], lines: list[str]) -> list[str]:
    return list(_found(pattern, lines))


# --- words ------------------------------------------------------------------------------------------------
def synthesis(output: str) -> str:
    """Why the suite fails, in words, from what pytest printed."""
    found = failures(output)
    if not found:
        return "The evidence names no failed test, so it does not tell why the suite fails."
    count = "One test fails" if len(found) == 1 else f"{len(found)} tests fail"
    return "\n\n".join([f"{count}.", *map(_told, found)])


def _told(failure: Failure) -> str:
    lines = [
        f"{failure.test}",
        f"stops at {failure.place}, on `{failure.statement}`.",
        _difference(failure.error),
    ]
    if failure.origins:
        lines += ["That comes from", *(f"  {origin}" for origin in failure.origins)]
    return "\n".join(lines)


def _difference(error: str) -> str:
    """In an assertion of equality pytest's left side is what the code gave, by convention and not by rule."""
    compared = _EQUAL.fullmatch(error)
    if compared is None:
        return f"pytest says: {error}."
    got, expected = compared[1], compared[2]
    return f"Expected {expected}, got {got}{_distance(got, expected)}."


def _distance(got: str, expected: str) -> str:
    if not (_WHOLE_NUMBER.fullmatch(got) and _WHOLE_NUMBER.fullmatch(expected)):
        return ""
    missing = int(expected) - int(got)
    return f": {abs(missing)} {'less' if missing > 0 else 'more'}"


# --- the agent --------------------------------------------------------------------------------------------
class SuiteReader(Assistant):
    """Answers the question with a synthesis of the evidence."""

    def run(self, ctx: InvocationContext) -> None:
        """One step, "answer": the synthesis, and its relation to the question."""
        output = "\n".join(
            part.text
            for item in ctx.items
            if item.kind == "evidence"
            for part in item.body_parts
            if isinstance(part.text, str)
        )
        ctx.contribute("synthesis", synthesis(output), operation_key="answer", addresses=ctx.question)


def _tell(sent: Try) -> None:
    print(json.dumps(sent._asdict()), flush=True)


def main() -> None:
    """What ``python assistant.py`` does."""
    parser = argparse.ArgumentParser(description="Answers one invocation from its evidence.")
    parser.add_argument("--runtime-dir", required=True, help="where the daemon's sockets are")
    parser.add_argument("invocation", help="which one to run")
    arguments = parser.parse_args()
    run_one(SuiteReader(), arguments.invocation, runtime_dir=arguments.runtime_dir, observer=_tell)


if __name__ == "__main__":
    main()
