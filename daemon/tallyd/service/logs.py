"""The daemon's own log: stderr, one line an occurrence, text or JSON.

It holds request ids, reasons, positions and places; never content, a credential or an attempt id. So an
exception is told by its type and by where it came from: what it says may be what a client wrote.

Whoever logs never waits. A record is formatted, queued and forgotten; a thread writes it. Where stderr takes
nothing (Ctrl-S at a terminal, a pipe that nobody reads), up to ``LOG_LINES_QUEUED_MAX`` lines wait for it.
Further ones are dropped and counted, and the count is the first line once it takes something again. One
reason that is said often is one line with a count (``log_repeats``).
"""

from __future__ import annotations

import json
import logging
import os
import select
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Final, Literal, NoReturn, TypeAlias

from tallyd.service.log_repeats import Repeats
from tallyd.store.refusals import ExitCode
from tallystick.protocol import limits

Format = Literal["text", "json"]
_TEXT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_ENDING_SECONDS_MAX: Final = 1.0
"""How long the end of the process waits for its last lines to be written."""
_STDERR: Final = 2


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


class ThreadedHandler(logging.Handler):
    """Writes to a descriptor on a thread of its own, which begins with the first record."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._repeats = Repeats()
        self._lines: deque[str] = deque()
        self._dropped = 0
        self._writing = False
        self._ended = False
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()
        """Guards everything above. No system call is made under it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a record, count it, or drop it. Any thread; never waits for whoever reads the log."""
        with self._changed:
            if self._repeats.admit(record, time.monotonic()):
                self._queue([record])
            self._begin()
            self._changed.notify_all()

    def _queue(self, records: Iterable[logging.LogRecord]) -> None:
        for record in records:
            if len(self._lines) < limits.LOG_LINES_QUEUED_MAX:
                self._lines.append(self.format(record) + "\n")
            else:
                self._dropped += 1

    def _begin(self) -> None:
        """Where no thread can be had, the lines stay queued, and the next record tries again."""
        if self._thread is None and not self._ended:
            thread = threading.Thread(target=self._run, name="log", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                return
            self._thread = thread

    def flush(self) -> None:
        """Wait until everything queued is written, for a second at most. Not on the loop."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._lines or self._writing), _ENDING_SECONDS_MAX)

    def close(self) -> None:
        """Write what was counted, wait as ``flush`` does, and end the thread."""
        with self._changed:
            if self._ended:
                return
            self._queue(self._repeats.end())
            self._begin()
            self._changed.notify_all()
        self.flush()
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        super().close()

    # --- on the thread --------------------------------------------------------------------------------------
    def _run(self) -> None:
        while (line := self._next()) is not None:
            self._write(line.encode(errors="backslashreplace"))
            with self._changed:
                self._writing = False
                self._changed.notify_all()

    def _next(self) -> str | None:
        """The next line, when there is one; None when the log has ended."""
        with self._changed:
            while not self._ended:
                self._queue(self._repeats.due(time.monotonic()))
                self._writing = bool(self._dropped or self._lines)
                if self._writing:
                    return self._about_dropped() if self._dropped else self._lines.popleft()
                due = self._repeats.next_due()
                self._changed.wait(None if due is None else max(due - time.monotonic(), 0.0))
            return None

    def _about_dropped(self) -> str:
        """Called when the write before has got through."""
        dropped, self._dropped = self._dropped, 0
        said = f"{dropped} records of this log were dropped: nobody took them from stderr fast enough"
        record = logging.LogRecord("tallyd.log", logging.WARNING, __file__, 0, said, (), None)
        return self.format(record) + "\n"

    def _write(self, data: bytes) -> None:
        """All of it, however long that takes. A reader that is gone for good loses it."""
        try:
            while data:
                try:
                    data = data[os.write(self._descriptor, data) :]
                except BlockingIOError:
                    select.select([], [self._descriptor], [])
        except OSError:
            return


def set_up(format_: Format, level: int = logging.INFO) -> None:
    """Sends everything under ``tallyd`` to stderr, and also what ends a thread or cannot be raised."""
    handler = ThreadedHandler(_STDERR)
    handler.setFormatter(_Json() if format_ == "json" else _Text(_TEXT))
    root = logging.getLogger("tallyd")
    for before in root.handlers:
        before.close()
    root.handlers[:] = [handler]
    root.setLevel(level)
    root.propagate = False
    threading.excepthook = lambda ended: _defect("a thread ended, which is a defect", ended.exc_value)
    sys.unraisablehook = lambda lost: _defect("an exception had nowhere to go", lost.exc_value)


def _defect(what: str, error: BaseException | None) -> None:
    logging.getLogger("tallyd").error("%s", what, exc_info=error)


def flush() -> None:
    """Wait until what was logged is written, for a second at most. Not on the loop."""
    for handler in logging.getLogger("tallyd").handlers:
        handler.flush()


def exit_at_once(code: ExitCode) -> NoReturn:
    """End the process without another word to the disk; its reason, just logged, still gets out where
    somebody reads it.
    """
    flush()
    os._exit(code)
