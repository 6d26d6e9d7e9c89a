"""The daemon's own log: stderr, one line an occurrence, text or JSON.

It holds request ids, reasons, positions and places; never content, a credential or an attempt id.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Final, Literal

Format = Literal["text", "json"]
_TEXT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class _Json(logging.Formatter):
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


class _Text(logging.Formatter):
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
