"""Records of the log that repeat one reason: the first few are written, the rest is one line with a count.

Two records are *alike* where logger, level and exception are the same, and so is the message before its
values are put in. What is below a warning is news and not a fault: there the whole text must be the same. Of
those alike, ``LOG_LINES_ALIKE_MAX`` different ones are written in ``LOG_ALIKE_SECONDS``, and none twice. What
was left out is told at the end of that time, by its last record and their number.

Does not: read a clock or write. Times are in seconds of whichever clock the caller uses.
"""

from __future__ import annotations

import logging
from typing import Final, TypeAlias

from tallystick.protocol import limits

_KINDS_MAX: Final = 1_024
"""Kinds of records watched at a time; further ones are written as they come."""

_Kind: TypeAlias = tuple[str, int, str, type[BaseException] | None]


class _Alike:
    """One kind of record, from the first until its time is over."""

    __slots__ = ("ends", "last", "left_out", "texts")

    def __init__(self, ends: float) -> None:
        self.ends = ends
        self.texts: set[str] = set()
        """Those that were written."""
        self.left_out = 0
        self.last: logging.LogRecord | None = None
        """Of those that were left out."""


class Repeats:
    """What was written lately, by kind. One thread at a time."""

    def __init__(self) -> None:
        self._kinds: dict[_Kind, _Alike] = {}

    def admit(self, record: logging.LogRecord, now: float) -> bool:
        """Whether to write this record. One that is not written is counted."""
        text = record.getMessage()
        alike = self._of(_kind(record, text), now)
        if alike is None:
            return True
        if text not in alike.texts and len(alike.texts) < limits.LOG_LINES_ALIKE_MAX:
            alike.texts.add(text)
            return True
        alike.left_out += 1
        alike.last = record
        return False

    def _of(self, kind: _Kind, now: float) -> _Alike | None:
        found = self._kinds.get(kind)
        if found is None and len(self._kinds) < _KINDS_MAX:
            found = self._kinds[kind] = _Alike(now + limits.LOG_ALIKE_SECONDS)
        return found

    def next_due(self) -> float | None:
        """When ``due`` has something to do next; None where there is nothing."""
        return min((alike.ends for alike in self._kinds.values()), default=None)

    def due(self, now: float) -> list[logging.LogRecord]:
        """For each kind whose time is over: a record that says how many were left out, where any were."""
        over = [kind for kind, alike in self._kinds.items() if alike.ends <= now]
        ended = [self._kinds.pop(kind) for kind in over]
        return [_counted(alike.last, alike.left_out) for alike in ended if alike.last is not None]

    def end(self) -> list[logging.LogRecord]:
        """The same for every kind: the log ends."""
        return self.due(float("inf"))


def _kind(record: logging.LogRecord, text: str) -> _Kind:
    words = str(record.msg) if record.levelno >= logging.WARNING else text
    return record.name, record.levelno, words, record.exc_info[0] if record.exc_info else None


def _counted(last: logging.LogRecord, left_out: int) -> logging.LogRecord:
    seconds = f"{limits.LOG_ALIKE_SECONDS:.0f} s"
    said = f"{last.getMessage()} ({left_out} more like it in {seconds})"
    return logging.LogRecord(last.name, last.levelno, last.pathname, last.lineno, said, (), last.exc_info)
