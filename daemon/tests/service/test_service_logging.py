"""The log never holds the daemon up, and one reason that is said often is one line with a count."""

from __future__ import annotations

import logging
import os
import re
import select
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from harness.home import DEATH_SECONDS_MAX
from harness.wire import ask, request
from world import CLIENT

from tallyd.service import logs
from tallyd.service.log_repeats import Repeats
from tallystick.protocol import limits

from .process import Place, command_of, environment_of

INFO: Final = request(CLIENT, "protocol_info", {})


def _full_pipe() -> tuple[int, int]:
    """A pipe that takes no byte more."""
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    try:
        while True:
            os.write(writes, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writes, True)
    return reads, writes


def _stopped_terminal() -> tuple[int, int]:
    """A terminal at which somebody has pressed Ctrl-S."""
    ours, theirs = os.openpty()
    termios.tcflow(theirs, termios.TCOOFF)
    return ours, theirs


@contextmanager
def _closed(*descriptors: int) -> Iterator[None]:
    try:
        yield
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


@pytest.mark.parametrize("reader", ["a full pipe", "a stopped terminal"])
def test_a_log_that_nobody_reads_stops_nothing(reader: str, home: Place) -> None:
    """The daemon gets ready, answers, and ends with 0 at SIGTERM, though no line of its log gets out."""
    reads, writes = _full_pipe() if reader == "a full pipe" else _stopped_terminal()
    said, say = os.pipe()
    with _closed(reads, writes, said):
        process = subprocess.Popen(
            command_of(home.paths, "--ready-fd", str(say)),
            env=environment_of(home),
            pass_fds=(say,),
            stderr=writes,
        )
        os.close(say)
        try:
            assert select.select([said], [], [], DEATH_SECONDS_MAX)[0], "it waits for its log"
            assert os.read(said, 6) == b"ready "
            for _ in range(3):
                assert ask(home.paths, INFO).ok
            process.terminate()
            assert process.wait(DEATH_SECONDS_MAX) == 0
        finally:
            process.kill()
            process.wait()


@contextmanager
def _logging_to(descriptor: int) -> Iterator[logging.Logger]:
    """A log of its own that is written to a descriptor."""
    handler = logs.ThreadedHandler(descriptor)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    log = logging.Logger("of-a-test")
    log.addHandler(handler)
    try:
        yield log
    finally:
        handler.close()


def _read_until(reads: int, word: bytes) -> bytes:
    """What comes out of a pipe, to the end of the line with that word."""
    got = b""
    while word not in got or not got.endswith(b"\n"):
        assert select.select([reads], [], [], DEATH_SECONDS_MAX)[0], got[-300:]
        got += os.read(reads, 65_536)
    return got


def test_what_is_dropped_is_counted_and_said() -> None:
    """Beyond what the queue holds records are dropped; once the reader goes on, it is told how many."""
    reads, writes = _full_pipe()
    count = limits.LOG_LINES_QUEUED_MAX + 500
    with _closed(reads, writes), _logging_to(writes) as log:
        for number in range(count):
            log.info("line %d", number)
        log.handlers[0].flush()
        said = _read_until(reads, b"were dropped").decode()
        (number,) = re.findall(r"WARNING (\d+) records of this log were dropped", said)
        dropped = int(number)
        assert 0 < dropped <= 500
        last = f"INFO line {count - dropped - 1}\n"
        if last not in said:
            said += _read_until(reads, last.encode()).decode()
        assert said.count("INFO line ") == count - dropped
        log.info("and on")
        assert _read_until(reads, b"and on").endswith(b"INFO and on\n")


def test_a_log_without_a_reader_at_all() -> None:
    """A pipe whose reader is gone costs nothing and ends nothing."""
    reads, writes = os.pipe()
    os.close(reads)
    with _closed(writes), _logging_to(writes) as log:
        for number in range(100):
            log.info("line %d", number)
        log.handlers[0].flush()


def test_a_descriptor_that_does_not_block() -> None:
    """A terminal that another program has set to be non-blocking loses no line for it."""
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    filler = "x" * 1_000
    with _closed(reads, writes), _logging_to(writes) as log:
        for number in range(500):
            log.info("%s %d", filler, number)
        got = _read_until(reads, b" 499\n").decode()
    assert got.splitlines() == [f"INFO {filler} {number}" for number in range(500)]


# --- one reason at one rate ---------------------------------------------------------------------------------
def _warning(text: str, *values: object) -> logging.LogRecord:
    return logging.LogRecord("tallyd.x", logging.WARNING, __file__, 1, text, values, None)


def test_one_reason_is_one_line_with_a_count() -> None:
    """Of 832 refusals in a minute a few are written, and the rest is one line with their number."""
    repeats = Repeats()
    now = 100.0
    written = [
        repeats.admit(_warning("agent %s was refused", number), now + number / 100) for number in range(832)
    ]
    assert written.count(True) == limits.LOG_LINES_ALIKE_MAX
    assert repeats.next_due() == now + limits.LOG_ALIKE_SECONDS
    assert repeats.due(now + limits.LOG_ALIKE_SECONDS - 1) == []
    (last,) = repeats.due(now + limits.LOG_ALIKE_SECONDS)
    left_out = 832 - limits.LOG_LINES_ALIKE_MAX
    assert last.getMessage() == f"agent 831 was refused ({left_out} more like it in 60 s)"
    assert (repeats.due(1e9), repeats.next_due()) == ([], None)


def test_the_same_words_are_written_once() -> None:
    """What says nothing new is only counted; another reason is another line; afterwards it is said again."""
    repeats = Repeats()
    assert [repeats.admit(_warning("the disk is full"), 1.0) for _ in range(3)] == [True, False, False]
    assert repeats.admit(_warning("the disk is gone"), 1.0)
    (said,) = repeats.due(61.0)
    assert said.getMessage() == "the disk is full (2 more like it in 60 s)"
    assert repeats.admit(_warning("the disk is full"), 61.0)


def test_different_news_are_all_written() -> None:
    """What is no fault and says something else each time is no repetition."""
    repeats = Repeats()
    news = [
        logging.LogRecord("tallyd.x", logging.INFO, __file__, 1, "agent %s listens", (number,), None)
        for number in range(100)
    ]
    assert all(repeats.admit(record, 1.0) for record in news)
    assert repeats.due(1e9) == []
