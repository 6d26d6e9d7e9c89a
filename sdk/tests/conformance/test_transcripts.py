"""The recorded conversations of KCP's first implementation: each request and reply of a typed operation.

What that implementation took, ours takes, but for null, which it took as absent; what it refused for the
socket, ours refuses for the same reason; and its results and events decode as ours. (What a
daemon answers is compared elsewhere, by running it.)
"""

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import pytest

from tallystick.protocol import ijson
from tallystick.protocol.envelope import decode_reply, decode_request
from tallystick.protocol.families.events import decode_event
from tallystick.protocol.operation import Socket
from tallystick.protocol.problems import Kind as ProblemKind
from tallystick.protocol.problems import Refusal
from tallystick.protocol.registry import BY_SOCKET

from .kcp_vectors import NO_DATA, data_root, line_of

SOCKETS: Final = {"ext": Socket.CLIENT, "wrk": Socket.WORKER}
SURFACE_KINDS: Final = (
    ProblemKind.UNKNOWN_OP,
    ProblemKind.FORBIDDEN_SURFACE,
    ProblemKind.UNSUPPORTED_VERSION,
)
REWRITTEN: Final = {"pages", "mask"}
"""What a scenario does to a reply before it is recorded, so that it is no reply any more."""


class Exchange(NamedTuple):
    """A recorded request on its socket, and the reply, `as_sent` where the record has it as it was."""

    name: str
    socket: Socket
    request: dict[str, Any]
    reply: dict[str, Any]
    as_sent: bool

    @property
    def kind(self) -> str | None:
        """The kind of the problem that was answered."""
        problem = self.reply.get("problem")
        return str(problem["type"]).rpartition(":")[2] if problem else None

    @property
    def has_null(self) -> bool:
        """Whether an argument is null, which the schemas know nowhere."""
        args = self.request.get("args")
        return isinstance(args, dict) and None in args.values()


def exchanges() -> list[Exchange]:
    """Those of all transcripts that have both, as they were sent."""
    root = data_root()
    if root is None:
        return []
    found: list[Exchange] = []
    for file in sorted((root / "transcripts").glob("*.transcript.json")):
        scenario = json.loads(file.with_name(file.name.replace(".transcript", ".scenario")).read_text())
        steps = {step["name"]: step for step in scenario}
        for record in json.loads(file.read_text()):
            request, reply = record.get("request"), record.get("reply")
            step = steps.get(record["name"], {})
            if isinstance(request, dict) and isinstance(reply, dict) and "send" not in step:
                socket = SOCKETS[step.get("socket", "ext")]
                as_sent = not REWRITTEN & step.keys()
                found.append(Exchange(record["name"], socket, request, reply, as_sent))
    return found


def typed(found: Sequence[Exchange]) -> list[Exchange]:
    """Those whose operation is typed on that socket."""
    return [e for e in found if (e.socket, e.request.get("op")) in BY_SOCKET]


def each(found: Sequence[Exchange]) -> pytest.MarkDecorator:
    if not found:
        skipped = pytest.param(None, marks=pytest.mark.skip(reason=NO_DATA))
        return pytest.mark.parametrize("exchange", [skipped], ids=["without data"])
    return pytest.mark.parametrize("exchange", found, ids=[exchange.name for exchange in found])


ALL: Final = exchanges()


TAKEN: Final = [e for e in typed(ALL) if e.kind != ProblemKind.INVALID and e.kind not in SURFACE_KINDS]


@each([e for e in TAKEN if not e.has_null])
def test_what_was_taken_is_taken(exchange: Exchange) -> None:
    """A request that was executed, or refused for what it names, has the right shape."""
    request = decode_request(line_of(exchange.request), exchange.socket)
    assert request.operation.name == exchange.request["op"]


@each([e for e in TAKEN if e.has_null])
def test_null_is_not_absent(exchange: Exchange) -> None:
    """A request with an argument that is null is refused for its shape."""
    with pytest.raises(Refusal) as refusal:
        decode_request(line_of(exchange.request), exchange.socket)
    assert refusal.value.kind is ProblemKind.INVALID


@each([e for e in ALL if e.kind == ProblemKind.UNKNOWN_OP or (e in typed(ALL) and e.kind in SURFACE_KINDS)])
def test_what_was_refused_for_its_socket_is(exchange: Exchange) -> None:
    """A request that was refused for its version, its operation or its binding is refused with that kind."""
    with pytest.raises(Refusal) as refusal:
        decode_request(line_of(exchange.request), exchange.socket)
    assert refusal.value.kind == exchange.kind


@each([e for e in typed(ALL) if e.kind is None and e.as_sent])
def test_results_decode(exchange: Exchange) -> None:
    """A recorded result is one of ours, and so is each event in it."""
    reply = decode_reply(line_of(exchange.reply))
    operation = BY_SOCKET[exchange.socket, exchange.request["op"]]
    assert type(reply.typed(operation.result)) is operation.result
    for event in exchange.reply["result"].get("events", []):
        decode_event(ijson.parse(line_of(event), ijson.Cap.REPLY))
