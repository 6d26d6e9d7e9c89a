"""What a verb prints, in three forms: JSON for programs, tab-separated lines for pipes, tables for people.

A verb hands over values and never looks which form is wanted. With ``--json`` each object is one line of
compact JSON, as the daemon gave it. Without it, and when stdout is no terminal, each row is one line whose
cells are separated by tabs, without headings. On a terminal the same rows are aligned under headings.

Whatever passes here is made visible (`visible`). There is no other way to stdout, except `Printer.raw`, which
only a pipe can take, and `Printer.own`, for texts that come with the program.
"""

import io
import json
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final, TextIO
from unicodedata import category, combining, east_asian_width

from tally_cli.exits import Exit
from tally_cli.trouble import Trouble
from tallystick.protocol.visible import (
    EMOJI_SELECTOR,
    JOINER,
    is_pictorial,
    visible,
    visible_block,
    visible_json,
)

_GAP: Final = "  "
_NO_COLUMN: Final = frozenset({"Cf", "Mn", "Me"})
"""General categories that draw nothing of their own width: format characters and marks over others."""
_COLUMNS_UNKNOWN: Final = 80
_LAST_COLUMNS_MIN: Final = 20
"""A last cell keeps this much, however narrow the terminal is."""


def to_json(value: object) -> str:
    """Compact JSON with the same value, and nothing hidden in it."""
    return visible_json(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


class Printer:
    """Writes one verb's answer to `stream` (stdout) in the form that is wanted."""

    def __init__(self, *, as_json: bool, stream: TextIO | None = None) -> None:
        self.as_json = as_json
        self._stream = sys.stdout if stream is None else stream
        self.people = not as_json and self._stream.isatty()

    def move_to(self, stream: TextIO) -> None:
        """Write to another stream from here on: stdout was given to somebody else."""
        self._stream = stream

    def object(self, value: object) -> None:
        """One JSON object on a line of its own."""
        self._stream.write(to_json(value) + "\n")

    def row(self, *cells: str) -> None:
        """One line of cells: a tab between them, on a terminal a gap."""
        self._stream.write((_GAP if self.people else "\t").join(map(visible, cells)) + "\n")

    def fields(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Names with their values, one a line."""
        shown = [(name, visible(value)) for name, value in pairs]
        wide = max((len(name) for name, _ in shown), default=0) if self.people else 0
        between = _GAP if self.people else "\t"
        self._stream.write("".join(f"{name:<{wide}}{between}{value}\n" for name, value in shown))

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Rows of cells under `headings`; for a pipe without them, as lines."""
        shown = [[visible(cell) for cell in row] for row in rows]
        if not self.people:
            self._stream.write("".join("\t".join(row) + "\n" for row in shown))
            return
        lines = [[heading.upper() for heading in headings], *shown]
        widths = [max(map(width, column)) for column in zip(*lines, strict=True)]
        room = _terminal_columns(self._stream)
        self._stream.write("".join(_aligned(line, widths, room) + "\n" for line in lines))

    def text(self, text: str) -> None:
        """A text of several lines; what is written ends with a newline."""
        self._stream.write(visible_block(text) + ("" if text.endswith("\n") else "\n"))

    def paragraph(self, text: str, indent: str) -> None:
        """A text of several lines for people, wrapped at the terminal's width, with `indent` before each."""
        room = max(_terminal_columns(self._stream) - len(indent), _LAST_COLUMNS_MIN)
        for line in visible_block(text.rstrip("\n")).expandtabs().split("\n"):
            for piece in wrapped(line, room):
                self._stream.write(f"{indent}{piece}".rstrip() + "\n")

    def raw(self, text: str) -> None:
        """A text as it is, into a pipe or a file. Raises `Trouble` (exit 2) on a terminal."""
        if self._stream.isatty():
            raise Trouble(
                Exit.USAGE,
                "usage",
                "--raw writes what others wrote as it is, and a terminal would obey it."
                " Send it into a pipe or a file.",
            )
        self._stream.write(text)

    def own(self, text: str) -> None:
        """A text of this program's own, such as a page of its documentation, as it is."""
        self._stream.write(text)

    def flush(self) -> None:
        """Hand over what was written so far to whoever reads it."""
        self._stream.flush()


def _terminal_columns(terminal: TextIO) -> int:
    try:
        return os.get_terminal_size(terminal.fileno()).columns or _COLUMNS_UNKNOWN
    except OSError:
        return _COLUMNS_UNKNOWN


def width(text: str) -> int:
    """Columns that a terminal gives to visible `text`.

    Wide and fullwidth characters take two (UAX 11); marks and joiners none; what is joined to an emoji stands
    in its two, and a variation selector makes a symbol an emoji of two.
    """
    if text.isascii():
        return len(text)
    columns, before = 0, ""
    for char in text:
        if char == EMOJI_SELECTOR:
            columns += 1 if before and _columns(before) == 1 else 0
        elif not (before == JOINER and is_pictorial(char)):
            columns += _columns(char)
        before = char
    return columns


def _columns(char: str) -> int:
    if combining(char) or category(char) in _NO_COLUMN:
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def wrapped(line: str, columns: int) -> list[str]:
    """One line as several, none wider than `columns`: broken at a space where there is one, else anywhere."""
    pieces = []
    while width(line) > columns:
        end = _fits(line, columns)
        space = line.rfind(" ", 1, end + 1)
        if space > 0 and line[:space].strip():
            pieces.append(line[:space])
            line = line[space + 1 :]
        else:
            pieces.append(line[:end])
            line = line[end:]
    return [*pieces, line]


def _fits(text: str, columns: int) -> int:
    """How many characters of a text go into so many columns; at least one."""
    low, high = 1, min(len(text), 4 * columns + 1)
    while low < high:
        middle = (low + high + 1) // 2
        if width(text[:middle]) <= columns:
            low = middle
        else:
            high = middle - 1
    return low


def cut(text: str, columns: int) -> str:
    """`text` within `columns`, ending in an ellipsis where something is left out."""
    if width(text) <= columns:
        return text
    kept = ""
    for char in text:
        if width(kept + char) > columns - 1:
            break
        kept += char
    return kept + "…"


def _aligned(cells: Sequence[str], widths: Sequence[int], room: int) -> str:
    """Cells in columns. Only the last one is cut to the terminal's room: ids must stay whole."""
    before = sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)
    last = cut(cells[-1], max(room - before, _LAST_COLUMNS_MIN))
    padded = [cell + " " * (wide - width(cell)) for cell, wide in zip(cells[:-1], widths, strict=False)]
    return _GAP.join([*padded, last]).rstrip()


def first_line(text: str) -> str:
    """The first line of a text that has something in it."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def complain(message: str) -> None:
    """Words to stderr, made visible."""
    with suppress(OSError):  # nobody is left to hear it, or no room; the exit code still tells
        sys.stderr.write(visible_block(message) + "\n")
        sys.stderr.flush()


def prepare_streams() -> None:
    """Make stdout and stderr take any text: UTF-8 into pipes, whatever encoding a terminal has on it.

    Where a caller has closed one of them, what is written to it goes nowhere.
    """
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
            if not stream.isatty():
                stream.reconfigure(encoding="utf-8")


def _nowhere() -> TextIO:
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def abandon_stdout() -> None:
    """After its reader has gone, or its disk is full: the interpreter flushes stdout at its end, and must not
    complain.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
