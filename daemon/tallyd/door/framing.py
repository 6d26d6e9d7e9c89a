"""Lines out of bytes, without a socket. How the bytes are cut into reads makes no difference to the lines.

The rules:

- A line ends at ``\\n``, which is not part of it. Where the stream ends without one, what stands after the
  last ``\\n`` is a line, too, unless nothing stands there.
- An empty line is a line where it is the stream's first. (It is no JSON, and is answered as such.) After
  another line it is none: clients end their request with an empty line, and expect one answer.
- A line longer than ``line_bytes_max`` gives one ``OVERSIZE``, as soon as its length is known. Its rest is
  dropped up to its ``\\n``. Where none comes within ``discard_bytes_max`` bytes of the line's beginning,
  the reader is ``too_long`` and takes nothing more.

Promises: no byte is looked at twice, so a line costs the same whether it comes in one read or byte by byte;
at most one line of ``line_bytes_max`` is held. Does not: read JSON, decode UTF-8, or strip ``\\r`` (it is
white space in JSON).
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class Oversize(Enum):
    """Stands in the place of a line that is too long to be kept."""

    OVERSIZE = "oversize"


OVERSIZE: Final = Oversize.OVERSIZE

Framed = bytes | Oversize


class LineReader:
    """Bytes in, lines out, in their order."""

    __slots__ = ("_begun", "_discard_bytes_max", "_dropped", "_line_bytes_max", "_partial", "too_long")

    def __init__(self, line_bytes_max: int, discard_bytes_max: int) -> None:
        self._line_bytes_max = line_bytes_max
        self._discard_bytes_max = discard_bytes_max
        self._begun = False
        """Whether a line has come."""
        self._partial: bytearray | None = None
        self._dropped = 0
        """How long the oversize line is so far that is being dropped; 0 when none is."""
        self.too_long = False
        """An oversize line did not end within ``discard_bytes_max``: no more is taken from this stream."""

    @property
    def within_line(self) -> bool:
        """The beginning of a line has come, and its newline has not."""
        return self._partial is not None or self._dropped > 0

    def feed(self, data: bytes) -> list[Framed]:
        """Take the bytes of one read, however many; return the lines that they complete."""
        if self.too_long:
            return []
        size = len(data) - 1
        whole = self._partial is None and not self._dropped and data.find(b"\n") == size >= 0
        if whole and 0 < size <= self._line_bytes_max:  # by far the most frequent: one read, one line
            self._begun = True
            return [data[:-1]]
        pieces = data.split(b"\n")
        rest = pieces.pop()
        lines: list[Framed] = []
        for piece in pieces:
            self._end_line(piece, lines)
            if self.too_long:
                return lines
        if rest:
            self._go_on(rest, lines)
        return lines

    def eof(self) -> list[Framed]:
        """The stream has ended: what has come without a newline is the last line."""
        lines: list[Framed] = []
        if self._partial is not None:
            self._end_line(b"", lines)
        self._dropped = 0
        return lines

    def _end_line(self, piece: bytes, lines: list[Framed]) -> None:
        """``piece`` is the end of the line: its newline follows."""
        self._go_on(piece, lines)
        if self._partial is not None:
            lines.append(bytes(self._partial))
        elif not self._dropped and not self._begun:
            lines.append(b"")
        self._begun = True
        self._partial = None
        self._dropped = 0

    def _go_on(self, piece: bytes, lines: list[Framed]) -> None:
        """``piece`` is the next part of the line."""
        partial = self._partial
        if self._dropped:
            self._dropped += len(piece)
        elif (0 if partial is None else len(partial)) + len(piece) > self._line_bytes_max:
            self._dropped = len(piece) + (0 if partial is None else len(partial))
            self._partial = None
            lines.append(OVERSIZE)
        elif partial is not None:
            partial += piece
        elif piece:
            self._partial = bytearray(piece)
        self.too_long = self._dropped > self._discard_bytes_max
