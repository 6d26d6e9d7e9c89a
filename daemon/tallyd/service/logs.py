"""The daemon's own log: stderr, one line an occurrence, text or JSON.

It holds request ids, reasons, positions and places; never content, a credential or an attempt id. So an
exception is told by its type and by where it came from: what it says may be what a client wrote.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import Final, Literal, TypeAlias

Format = Literal["text", "json"]
_TEXT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


_Caught: TypeAlias = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)


class _Wordless(logging.Formatter):
    """Tracebacks without the exceptions' words."""

    def formatException(self, ei: _Caught) -> str:
        return "\n".join(_told(ei[1]))


def _told(error: BaseException | None) -> Iterator[str]:
    """The exception and what it came from, the last first, each with its calls, the innermost last."""
    while error is not None:
        yield type(error).__qualname__
        for frame, line in traceback.walk_tb(error.__traceback__):
            yield f"  {frame.f_code.co_filename}:{line} in {frame.f_code.co_name}"
        error = error.__cause__ or error.__context__


class _Json(_Wordless):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        said = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            said["traceback"] = self.formatException(record.exc_info)
        return json.dumps(said, ensure_ascii=False)


class _Text(_Wordless):
    """One line of text, whatever the message holds."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).replace("\n", "\n    ")


def set_up(format_: Format, level: int = logging.INFO) -> None:
    """Sends everything under ``tallyd`` to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if format_ == "json" else _Text(_TEXT))
    root = logging.getLogger("tallyd")
    root.handlers[:] = [handler]
    root.setLevel(level)
    root.propagate = False
