"""A space is read whole on a terminal: every word, wrapped, with times and relations."""

from __future__ import annotations

import re

from tally_program import Tally, on_terminal

from tally_cli.output import width, wrapped

LONG = "The washer of the cold tap is worn, and " * 6 + "x" * 90


def test_a_terminal_shows_bodies_times_and_relations(tally: Tally, space: str) -> None:
    """Who said what when, what it bears on and what bears on it, every word of it, within the width."""
    question = tally.id("say", "why?", "--kind", "question", "--space", space)
    answer = tally.id("say", f"{LONG}\nsecond line", "--kind", "claim", "--space", space)
    tally.ok("relate", answer, "addresses", question)
    tally.ok("withdraw", tally.id("relate", question, "quotes", answer))
    tally.ok("withdraw", question)
    shown = on_terminal(tally, "read", columns=60, env={"TZ": "UTC"})
    lines = shown.splitlines()
    assert re.fullmatch(rf"#1  question  prin-owner  [0-9-]{{10}} [0-9:]{{5}}  {question}", lines[0])
    assert re.match(r"    withdrawn [0-9-]{10} [0-9:]{5};", lines[1])
    assert "addressed by #2" in shown.split(f"{answer}\n")[0].replace("\n   ", "")
    said = shown.split(f"{answer}\n")[1]
    assert "addresses #1; quoted by #1 (retracted)" in said
    body = said.split("(retracted)\n")[1]
    assert "".join(body.split()) == "".join(f"{LONG}second line".split())
    assert max(map(len, body.splitlines())) <= 60
    assert "\n    second line\n" in body


def test_short_is_a_table_and_a_pipe_has_lines(tally: Tally, space: str) -> None:
    """With --short a terminal shows one line a contribution; a pipe has had it always."""
    tally.ok("say", f"one\n{LONG}", "--space", space)
    heading, line = on_terminal(tally, "read", "--short", columns=200).splitlines()
    assert heading.split() == ["#", "CONTRIBUTION", "KIND", "AUTHOR", "BECAME", "WHAT"]
    assert line.endswith("one")
    assert tally.ok("read").out == tally.ok("read", "--short").out
    assert tally.ok("read").out.count("\n") == 1


def test_lines_are_wrapped_by_what_a_terminal_shows() -> None:
    """Wide characters count two and what is joined into one emoji counts once; no character is lost."""
    assert width("漢字") == 4
    assert width("👩\u200d🔬") == width("❤\ufe0f") == 2
    assert width("می\u200cخواهم") == 7
    for line in ("aa bb cc", "漢字" * 9, "a" * 30, "", "  four   spaces", "👩\u200d🔬 " * 9):
        pieces = wrapped(line, 8)
        assert all(width(piece) <= 8 for piece in pieces)
        assert "".join(pieces).replace(" ", "") == line.replace(" ", "")
