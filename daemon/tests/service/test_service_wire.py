"""Bad input of every kind, and clients that take their time, on the daemon's process: nothing dies of it."""

from __future__ import annotations

import copy
import json
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Final

import pytest
from conformance.mutations import specimens
from harness.wire import Wire, request
from hypothesis import given, settings
from hypothesis import strategies as st
from socket_conformance.talk import HELLO, Talk
from world import CLIENT, World

from tallystick.protocol import limits
from tallystick.protocol.operation import Socket

from .process import Tallyd, running_on
from .waiting import head, until_asleep, until_open, waits

DEFECTS: Final = ("defect", "Traceback", "CRITICAL", "ERROR")
"""Words that the daemon's log has of something that went wrong in the daemon, and not in a client."""


@pytest.fixture(scope="module")
def daemon(world: World) -> Iterator[Tallyd]:
    """A daemon for everything bad of this module, which must have noticed nothing at the end."""
    with running_on(world.home) as running:
        yield running
        log = running.log()
        assert not [line for line in log.splitlines() if any(word in line for word in DEFECTS)], log


# --- lines that are no requests -----------------------------------------------------------------------------
_OK: Final = '{"version":"0.1","op":"project_list","realm_id":"realm-personal","args":{"limit":9}}'
HOSTILE: Final[dict[str, bytes]] = {
    "nothing": b"",
    "blanks": b" \t ",
    "a carriage return": b"\r",
    "NUL bytes": b"\0" * 64,
    "a byte order mark": b"\xef\xbb\xbf" + _OK.encode(),
    "UTF-16": _OK.encode("utf-16-le"),
    "Latin-1": _OK.replace("list", "lést").encode("latin-1"),
    "an overlong slash": b'{"op":"\xc0\xaf"}',
    "a surrogate in UTF-8": b'{"op":"\xed\xa0\x80"}',
    "past the last code point": b'{"op":"\xf4\x90\x80\x80"}',
    "a lone escaped surrogate": rb'{"version":"0.1","op":"\ud800","args":{}}',
    "a name twice": _OK.replace('"args"', '"op":"hello","args"').encode(),
    "an escaped name twice": _OK.replace('"args"', r'"\u006fp":"hello","args"').encode(),
    "NaN": _OK.replace("9", "NaN").encode(),
    "infinity": _OK.replace("9", "-Infinity").encode(),
    "an endless number": _OK.replace("9", "9" * 100_000).encode(),
    "an endless exponent": _OK.replace("9", "1e999999999").encode(),
    "past the safe integers": _OK.replace("9", str(2**53)).encode(),
    "a hexadecimal number": _OK.replace("9", "0x9").encode(),
    "a leading zero": _OK.replace("9", "09").encode(),
    "a comment": _OK.encode() + b" // please",
    "a trailing comma": _OK.replace("9}", "9,}").encode(),
    "single quotes": _OK.replace('"', "'").encode(),
    "two values": _OK.encode() + _OK.encode(),
    "half of one": _OK[: len(_OK) // 2].encode(),
    "null": b"null",
    "true": b"true",
    "a number": b"7",
    "a string": b'"hello"',
    "a list": b"[" + _OK.encode() + b"]",
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"a":' * 40_000,
    "deep and closed": b"[" * 60_000 + b"]" * 60_000,
    "many members": b"{" + b",".join(b'"%d":0' % n for n in range(30_000)) + b"}",
    "many lists": b"[" + b"[]," * 80_000 + b"[]]",
    "a list too long": _OK.replace("9", json.dumps([0] * 257)).encode(),
    "the largest line, of one string": b'"' + b"a" * (limits.REQUEST_BYTES_MAX - 2) + b'"',
    "a byte too long": b"a" * (limits.REQUEST_BYTES_MAX + 1),
    "much too long": b"[" * 1_000_000,
    "another version": b'{"jsonrpc":"2.0","method":"hello","id":1}',
    "control characters": _OK.replace("personal", "per\x01sonal").encode(),
    "a terminal's command": b'{"op":"\x1b]0;owned\x07"}',
    "members of objects": b'{"__class__":"x","__proto__":{"op":"hello"}}',
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_case_063_a_hostile_line(kind: str, daemon: Tallyd) -> None:
    """It is refused as invalid, in short and printable words, and its connection lives on, on each socket."""
    for to in Socket:
        with Talk(daemon.paths, to) as talk:
            reply = talk.ask("hello", HOSTILE[kind])
            assert reply.kind == "invalid"
            detail = reply.problem["detail"]
            assert detail.isprintable()
            assert 10 < len(detail) < 400
            assert talk.lives_on()


def test_a_flood_of_hostile_lines(daemon: Tallyd) -> None:
    """Sent together with right requests between them, each gets its own answer, in order."""
    lines = [line for kind in HOSTILE for line in (HOSTILE[kind], HELLO)]
    with Talk(daemon.paths) as talk:
        talk.send(*lines)
        kinds = [talk.receive("hello").kind for _ in lines]
    assert kinds == ["invalid", None] * len(HOSTILE)


_WEB: Final = {
    "a request": b"POST / HTTP/1.1\r\nHost: localhost\r\n",
    "one that is too long": b"POST /%s HTTP/1.1\r\nHost: h\r\n" % (b"x" * limits.REQUEST_BYTES_MAX),
    "a preface": b"PRI * HTTP/2.0\r\n",
}


@pytest.mark.parametrize("kind", _WEB)
def test_the_body_of_a_web_request_is_no_command(kind: str, daemon: Tallyd) -> None:
    """A line of HTTP is refused and ends its connection: what stands behind it is not done."""
    body = request(CLIENT, "project_create", {"name": "led astray"}, key=f"web-{kind}").line
    with Wire(daemon.paths) as wire:
        wire._socket.sendall(_WEB[kind] + b"Content-Type: text/plain\r\n\r\n" + body)
        replies = list(iter(wire.read_line, b""))
    assert 1 <= len(replies) <= 2, replies
    assert all(json.loads(reply)["outcome"] == "problem" for reply in replies)
    assert b"HTTP" in replies[-1]
    with Wire(daemon.paths) as wire:
        listed = wire.ask(request(CLIENT, "project_list", {"limit": 100})).raw
    assert b"led astray" not in listed


def test_long_lines_that_are_refused_hold_nobody_up(daemon: Tallyd, world: World) -> None:
    """To say what is wrong with a long line it is read slowly, and others are served meanwhile: somebody's
    append comes before those that stand behind eight such lines, which came first.
    """
    values = b"[" + b",".join([b"0"] * 130_000) + b"]"
    with ExitStack() as stack:
        other = stack.enter_context(Wire(daemon.paths))
        hostile = [stack.enter_context(Talk(daemon.paths)) for _ in range(8)]
        for talk in hostile:
            talk.socket.sendall(values)
        for number, talk in enumerate(hostile):
            talk.socket.sendall(b"\n")
            talk.send(world.append(f"behind-{number}", "Behind.").line.rstrip(b"\n"))
        place = other.ask(world.append("beside", "Beside.")).result["space_sequence"]
        places = []
        for talk in hostile:
            reply = talk.receive("hello")
            assert reply.kind == "invalid"
            assert "more than 65536 values" in reply.problem["detail"]
            places.append(talk.receive("contribution_append").result["space_sequence"])
    assert sum(place < behind for behind in places) > len(places) / 2


# --- fuzz ---------------------------------------------------------------------------------------------------
_SCALARS: Final = (
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False)
    | st.text(max_size=40)
)
_VALUES: Final = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
)
_UNENDING: Final = [s for s in specimens() if s.request["op"] != "tallystick_shutdown"]


@given(st.lists(st.binary(max_size=200), min_size=1, max_size=6))
@settings(max_examples=150)
def test_any_bytes(daemon: Tallyd, pieces: list[bytes]) -> None:
    """Whatever comes is answered line by line, but for what is empty; and a right request behind it too."""
    sent = b"\n".join(pieces)
    with Talk(daemon.paths) as talk:
        talk.send(sent)
        first, *others = sent.split(b"\n")
        for _ in [first, *filter(None, others)]:
            assert talk.receive("hello").kind in ("invalid", "unsupported-version", "unknown-op")
        assert talk.lives_on()


def _paths_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _paths_in(inner, (*path, key))


@given(st.data())
@settings(max_examples=150)
def test_any_change_of_a_right_request(daemon: Tallyd, data: st.DataObject) -> None:
    """Any value anywhere in a right request, and any bytes anywhere in its line, get one reply; no request
    but an ordinary refusal or result comes of it.
    """
    specimen = data.draw(st.sampled_from(_UNENDING))
    changed: Any = copy.deepcopy(specimen.request)
    for path in data.draw(st.lists(st.sampled_from(list(_paths_in(changed))[1:]), max_size=3)):
        inner = changed
        for step in path[:-1]:
            inner = inner[step] if _has(inner, step) else None
        if inner is not None and _has(inner, path[-1]):
            inner[path[-1]] = data.draw(_VALUES)
    line = json.dumps(changed, ensure_ascii=data.draw(st.booleans())).encode("utf-8", "surrogatepass")
    cut = data.draw(st.integers(0, len(line)))
    line = line[:cut] + data.draw(st.binary(max_size=6)) + line[cut + data.draw(st.integers(0, 6)) :]
    line = line.replace(b"\n", b" ")
    with Talk(daemon.paths, specimen.socket) as talk:
        kind = talk.ask(specimen.request["op"], line).kind
        assert kind != "internal"
        assert talk.lives_on()


def _has(container: Any, step: Any) -> bool:
    if isinstance(container, dict):
        return step in container
    return isinstance(container, list) and isinstance(step, int) and step < len(container)


@given(st.lists(st.sampled_from(["send", "half", "reset", "close"]), min_size=1, max_size=6))
@settings(max_examples=30)
def test_clients_that_go_in_every_way(daemon: Tallyd, world: World, steps: list[str]) -> None:
    """Clients that stop in the middle, reset, or leave replies unread end their own connection alone."""
    lines = world.show_space().line + request(CLIENT, "protocol_info", {}).line
    for step in steps:
        client = socket.socket(socket.AF_UNIX)
        client.connect(daemon.paths.client_socket)
        client.sendall(lines + lines[: len(lines) // 3])
        if step == "half":
            client.shutdown(socket.SHUT_WR)
        if step == "reset":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if step == "send":
            client.sendall(lines * 50)
        client.close()
    with Talk(daemon.paths) as talk:
        assert talk.lives_on()


# --- clients that take their time ---------------------------------------------------------------------------
@pytest.fixture(scope="module")
def long_page(daemon: Tallyd, world: World) -> bytes:
    """A request whose reply is nearly as long as a reply may be."""
    with Wire(daemon.paths) as wire:
        space = wire.ask(
            request(CLIENT, "space_create", {"title": "long", "visibility": "project"},
                    project=world.project, key="long-space")
        ).result  # fmt: skip
        place = world.space._replace(space_id=space["space_id"], branch_id=space["main_branch_id"])
        for number in range(20):
            assert wire.ask(world.append(f"long-{number}", "x" * 60_000, space=place)).ok
        args = {"space_id": place.space_id, "limit": 512}
        asked = request(CLIENT, "contribution_list", args, project=world.project)
        reply = wire.ask(asked)
    assert limits.REPLY_BYTES_MAX * 0.9 < len(reply.raw) <= limits.REPLY_BYTES_MAX
    return asked.line


def test_a_slow_reader_of_long_replies(daemon: Tallyd, world: World, long_page: bytes) -> None:
    """Twelve replies of a megabyte that are read in small pieces come whole and in order, and nobody else
    waits for them.
    """
    slow = socket.socket(socket.AF_UNIX)
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.settimeout(60)
    slow.connect(daemon.paths.client_socket)
    with slow, Wire(daemon.paths) as other:
        slow.sendall(long_page * 12 + HELLO + b"\n")
        received = bytearray()
        pieces = 0
        while received.count(b"\n", max(0, len(received) - 16_384)) == 0 or received.count(b"\n") < 13:
            received += slow.recv(16_384)
            pieces += 1
            if pieces % 64 == 0:
                before = time.monotonic()
                assert other.ask(world.show_space()).ok
                assert time.monotonic() - before < 5, "somebody else waited for the slow one"
    *pages, hello, rest = bytes(received).split(b"\n")
    assert rest == b""
    assert len(set(pages)) == 1
    assert json.loads(pages[0])["outcome"] == "ok"
    assert b'"outcome":"ok"' in hello


def test_a_wait_ends_with_its_client(daemon: Tallyd, world: World) -> None:
    """When a client dies, half-closed or not, what waited for it is let go of."""
    with Wire(daemon.paths) as wire:
        waiting = waits(world.project, head(wire, world.project)).line
        clients = [socket.socket(socket.AF_UNIX) for _ in range(20)]
        for number, client in enumerate(clients):
            client.connect(daemon.paths.client_socket)
            client.sendall(waiting)
            if number % 2:
                client.shutdown(socket.SHUT_WR)
        until_asleep(wire, len(clients))
        for client in clients:
            client.close()
        until_asleep(wire, 0)


def test_the_daemon_holds_no_descriptor_of_dead_clients(daemon: Tallyd) -> None:
    """After hundreds of connections that came and went, one is open: the one that asks."""
    for _ in range(300):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(daemon.paths.client_socket)
    with Wire(daemon.paths) as wire:
        until_open(wire, 1)
