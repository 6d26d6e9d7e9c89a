"""One connection without its socket, against a model: whatever arrives, is answered and is sent in which
order."""

from __future__ import annotations

import os

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallyd.door import Channel, DoorLimits, Exchange, Peer
from tallyd.door.connection import ConnectionState
from tallyd.door.exchange import Load
from tallystick.protocol.operation import Socket

CHANNEL = Channel(socket=Socket.CLIENT, actor="me", strength="peer-uid", path="tally.sock", allowed_uid=0)
CAPS = DoorLimits(
    request_bytes_max=20,
    oversize_line_discard_bytes_max=100,
    pipelined_requests_max=4,
    pipelined_bytes_max=60,
    reply_backlog_bytes_max=30,
)


class Word(msgspec.Struct, frozen=True):
    """A request: its first letter says what it is (w: a write, v: a wait, n: answered at once; else a
    read)."""

    text: str

    @property
    def concurrent(self) -> bool:
        """See Parsed."""
        return self.text.startswith("w")

    @property
    def waits(self) -> bool:
        """See Parsed."""
        return self.text.startswith("v")


class Model:
    """A dispatcher that notes what it was asked and checks the rules while it is asked."""

    def __init__(self) -> None:
        self.in_flight: list[tuple[Word, Exchange]] = []
        self.started: list[str] = []
        self.abandoned: list[str] = []

    def parse(self, line: bytes, channel: Channel) -> Word:
        """Nothing is parsed while something that is not concurrent is in flight."""
        assert channel is CHANNEL
        assert all(word.concurrent for word, _ in self.in_flight)
        return Word(line.decode())

    def start(self, parsed: Word, exchange: Exchange) -> None:
        """What is not concurrent starts alone."""
        assert parsed.concurrent or not self.in_flight
        assert len(self.in_flight) < CAPS.pipelined_requests_max
        self.started.append(parsed.text)
        if parsed.text.startswith("n"):
            exchange.reply(parsed.text.encode())
        else:
            self.in_flight.append((parsed, exchange))

    def finish_early(self, exchange: Exchange) -> None:
        """Only a wait finishes early; this one answers at once, or only later, as its name says."""
        word = next(word for word, other in self.in_flight if other is exchange)
        assert word.waits
        if word.text.endswith("q"):
            self.answer(0)

    def abandon(self, exchange: Exchange) -> None:
        """An abandoned one is in flight, and not answered."""
        word = next(word for word, other in self.in_flight if other is exchange)
        self.abandoned.append(word.text)
        self.in_flight = [(word, other) for word, other in self.in_flight if other is not exchange]

    def wants_drain(self) -> bool:
        """See Dispatcher."""
        return False

    def cut(self) -> None:
        """See Dispatcher."""

    def oversize(self, channel: Channel) -> bytes:
        """See Dispatcher."""
        assert channel is CHANNEL
        return b"oversize"

    def refuse_capacity(self, retry_after_seconds: int) -> bytes:
        """See Dispatcher."""
        raise AssertionError(retry_after_seconds)

    def failed(self, exchange: Exchange) -> bytes:
        """See Dispatcher."""
        raise AssertionError(exchange)

    def answer(self, index: int) -> None:
        """Answer one of those in flight."""
        word, exchange = self.in_flight.pop(index % len(self.in_flight))
        exchange.reply(word.text.encode())


words = st.sampled_from(["w1", "w22", "v", "vq", "n", "n-long-enough-to-be", "r", "", "x" * 25])
streams = st.lists(words, min_size=1, max_size=25)
moves = st.lists(st.tuples(st.sampled_from(["feed", "answer", "send"]), st.integers(1, 40)), max_size=80)


@settings(max_examples=300)
@given(streams, moves, st.booleans())
def test_replies_leave_in_the_order_of_their_requests(
    lines: list[str], steps: list[tuple[str, int]], newline_at_the_end: bool
) -> None:
    """Whatever the order of arrival, answers and sends: replies are those of the requests, each once, in
    their order; what may be in flight together is; memory stays within the caps; and in the end nothing is
    left."""
    model, load = Model(), Load()
    connection = ConnectionState(model, CAPS, load, CHANNEL, Peer(1, 2, 3), lambda: None, 0.0)
    stream = "\n".join(lines).encode() + (b"\n" if newline_at_the_end else b"")
    expected = [line if len(line) <= CAPS.request_bytes_max else "oversize" for line in lines]
    if len(lines) == 1 and not newline_at_the_end and not lines[-1]:
        expected.pop()
    expected = [line for number, line in enumerate(expected) if line or not number]
    sent = b""
    endless = (("feed", 9), ("answer", 1), ("send", 13)) * (len(stream) + 60)
    for move, amount in (*steps, *endless):
        connection.touched = False
        if move == "feed" and connection.wants_read(0.0):
            taken, stream = stream[:amount], stream[amount:]
            if taken:
                connection.receive(taken, 0.0)
            else:
                connection.receive_eof()
        elif move == "answer" and model.in_flight:
            model.answer(amount)
        elif move == "send" and connection.output_bytes:
            data = connection.output()
            connection.sent(data, min(amount, len(data)), 0.0)
            sent += bytes(data[:amount])
        connection.advance()
        assert load.requests.total + load.waits == len(model.in_flight)
        assert connection.output_bytes <= CAPS.reply_backlog_bytes_max + 4 * (CAPS.request_bytes_max + 1)
    assert connection.finished
    assert model.in_flight == []
    assert sent == b"".join(line.encode() + b"\n" for line in expected)


@given(streams, moves)
def test_a_connection_that_ends_lets_go_of_everything(lines: list[str], steps: list[tuple[str, int]]) -> None:
    """Closed at any point, a connection abandons exactly what was in flight and holds nothing; later
    replies are dropped."""
    model, load = Model(), Load()
    connection = ConnectionState(model, CAPS, load, CHANNEL, Peer(1, 2, 3), lambda: None, 0.0)
    stream = "\n".join(lines).encode()
    for move, amount in steps:
        connection.touched = False
        if move == "feed" and connection.wants_read(0.0) and stream:
            connection.receive(stream[:amount], 0.0)
            stream = stream[amount:]
        elif move == "answer" and model.in_flight:
            model.answer(amount)
        connection.advance()
    in_flight = list(model.in_flight)
    started = list(model.started)
    connection.close()
    assert model.abandoned == [word.text for word, _ in in_flight]
    assert (connection.busy, connection.output_bytes, load.waits) == (False, 0, 0)
    assert load.requests.total == sum(not word.waits for word, _ in in_flight)
    for _, exchange in in_flight:
        exchange.reply(b"too late")
        exchange.reply(b"and again")
    assert not connection.advance()
    assert (load.requests.total, model.started) == (0, started)


def test_a_send_that_takes_nothing_is_no_progress() -> None:
    """The deadline for reading runs from the last byte that the socket took, not from the last try."""
    connection = ConnectionState(Model(), CAPS, Load(), CHANNEL, Peer(1, 2, 3), lambda: None, 0.0)
    connection.receive(b"n-12345678\n", 5.0)
    connection.advance()
    for now, taken, since in ((5.0, 0, 5.0), (9.0, 0, 5.0), (11.0, 3, 11.0), (12.0, 0, 11.0)):
        connection.sent(connection.output(), taken, now)
        assert connection.blocked
        assert connection.deadline() == since + CAPS.reply_read_seconds_max
        connection.blocked = False
    connection.sent(connection.output(), 8, 13.0)
    assert connection.deadline() == 13.0 + CAPS.idle_seconds_max


def test_the_last_holder_of_an_abandoned_request_may_be_a_thread() -> None:
    """What was abandoned counts until nobody holds it, and dropping it is enough."""
    model, load = Model(), Load()
    connection = ConnectionState(model, CAPS, load, CHANNEL, Peer(1, 2, 3), lambda: None, 0.0)
    connection.receive(b"w1\n", 0.0)
    connection.advance()
    held = list(model.in_flight)
    model.in_flight = list(held)
    connection.close()
    assert load.requests.total == 1
    held.clear()
    assert load.requests.total == 0


def test_the_peer_and_the_channel_of_an_exchange() -> None:
    """A dispatcher can ask an exchange who connected and who speaks."""
    model, load = Model(), Load()
    connection = ConnectionState(model, CAPS, load, CHANNEL, Peer(os.getpid(), 2, 3), lambda: None, 0.0)
    connection.receive(b"r\n", 0.0)
    connection.advance()
    exchange = model.in_flight[0][1]
    assert (exchange.peer, exchange.channel) == (Peer(os.getpid(), 2, 3), CHANNEL)
    exchange.adopt(msgspec.structs.replace(CHANNEL, actor="another"))
    assert exchange.channel.actor == "another"
    assert [exchange.strike(), exchange.strike()] == [1, 2]
    with pytest.raises(AttributeError):
        exchange.unheard_of = 1  # type: ignore[attr-defined]
