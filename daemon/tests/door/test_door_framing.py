"""Lines out of bytes: the rules of the framing, without a socket."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallyd.door.framing import OVERSIZE, Framed, LineReader

LINE_BYTES_MAX = 10
DISCARD_BYTES_MAX = 30

segments = st.lists(st.binary(max_size=12).map(lambda data: data.replace(b"x", b"\n")), max_size=30)
streams = st.lists(st.sampled_from([b"\n", b"ab", b"0123456789", b"x" * 11, b"y" * 31, b""]), max_size=12)


def reader() -> LineReader:
    """One with small limits."""
    return LineReader(LINE_BYTES_MAX, DISCARD_BYTES_MAX)


def expected(stream: bytes) -> list[Framed]:
    """The lines of a whole stream, by the rules, computed in the plainest way."""
    lines: list[Framed] = []
    pieces = stream.split(b"\n")
    for number, piece in enumerate(pieces):
        if number == len(pieces) - 1 and not piece:
            break
        if number and not piece:
            continue
        if len(piece) <= LINE_BYTES_MAX:
            lines.append(piece)
            continue
        lines.append(OVERSIZE)
        if len(piece) > DISCARD_BYTES_MAX:
            break
    return lines


@given(st.one_of(segments, streams), st.integers(1, 40))
def test_the_segments_do_not_matter(pieces: list[bytes], size: int) -> None:
    """However a stream is cut into segments, the same lines come out of it."""
    stream = b"".join(pieces)
    by_piece, by_size = reader(), reader()
    first = [line for piece in pieces for line in by_piece.feed(piece)] + by_piece.eof()
    cuts = range(0, len(stream), size)
    second = [line for cut in cuts for line in by_size.feed(stream[cut : cut + size])] + by_size.eof()
    assert first == second == expected(stream)
    assert by_piece.too_long == by_size.too_long


def test_many_lines_in_one_segment() -> None:
    """A segment gives all lines that it completes, and keeps the rest."""
    lines = reader()
    assert lines.feed(b"a\nbc\n\nd") == [b"a", b"bc"]
    assert lines.within_line
    assert lines.feed(b"e\n") == [b"de"]
    assert not lines.within_line


def test_one_line_in_many_segments() -> None:
    """A line whose bytes come one at a time is whole when its newline comes, and not before."""
    lines = reader()
    for byte in b"0123456789":
        assert lines.feed(bytes([byte])) == []
    assert lines.feed(b"\n") == [b"0123456789"]


def test_an_empty_line_is_a_line_where_nothing_came_before() -> None:
    """A newline alone is a request (which is no JSON), so that nobody waits for an answer that never comes.
    After a request it is none: that is answered once.
    """
    lines = reader()
    assert lines.feed(b"\n") == [b""]
    assert lines.feed(b"\n") == []
    assert lines.feed(b"a\n\n") == [b"a"]
    assert lines.feed(b"\n\n") == []
    assert lines.eof() == []


def test_the_end_of_the_stream_ends_a_line() -> None:
    """What stands without a newline at the end is a line; nothing there is none."""
    lines = reader()
    lines.feed(b"a\nlast")
    assert lines.eof() == [b"last"]
    assert lines.eof() == []


@pytest.mark.parametrize("size", [LINE_BYTES_MAX, LINE_BYTES_MAX + 1])
@pytest.mark.parametrize("pieces", [1, 3])
def test_the_limit_of_a_line_is_exact(size: int, pieces: int) -> None:
    """A line of the limit's length passes, one byte more is oversize, in one piece or in several."""
    data = b"x" * size + b"\n"
    step = len(data) // pieces
    lines = reader()
    found = [line for cut in range(0, len(data), step) for line in lines.feed(data[cut : cut + step])]
    assert found == ([data[:-1]] if size == LINE_BYTES_MAX else [OVERSIZE])


def test_an_oversize_line_is_known_before_it_ends() -> None:
    """The answer to an oversize line does not wait for its newline; its rest is dropped, and the next line
    is read."""
    lines = reader()
    assert lines.feed(b"x" * 11) == [OVERSIZE]
    assert lines.feed(b"x" * 18) == []
    assert lines.within_line
    assert lines.feed(b"x\nnext\n") == [b"next"]
    assert not lines.too_long


def test_an_oversize_line_is_dropped_up_to_a_limit() -> None:
    """A line longer than what is dropped ends the reading, whether its newline has come or not."""
    for last in (b"xx", b"xx\nnext\n"):
        lines = reader()
        assert lines.feed(b"x" * 29) == [OVERSIZE]
        assert lines.feed(last) == []
        assert lines.too_long
        assert lines.feed(b"more\n") == []


def test_an_oversize_line_cut_off_is_answered_once() -> None:
    """The end of the stream inside an oversize line adds nothing to its one answer."""
    lines = reader()
    assert lines.feed(b"x" * 20) == [OVERSIZE]
    assert lines.eof() == []


def test_case_062_no_byte_is_scanned_twice() -> None:
    """Eight times as many one-byte pieces of one line cost about eight times as much, not sixty-four
    times."""

    def cpu_seconds(pieces: int) -> float:
        lines = LineReader(pieces, pieces)
        begin = time.thread_time()
        for _ in range(pieces):
            lines.feed(b"x")
        assert len(lines.eof()) == 1
        return time.thread_time() - begin

    small = min(cpu_seconds(60_000) for _ in range(3))
    large = min(cpu_seconds(480_000) for _ in range(3))
    assert large < 24 * small
