"""An agent's whole wire as an attack, made from the registry and from nothing else.

Of each operation's arguments a right request is taken where the scene has one, and else the smallest that the
arguments' types allow. Then each argument that may name something is pointed, one at a time, at each kind of
object that the agent may not see. New operations, and new arguments, are attacked without a line here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from entries import JsonObject
from expected import ENTRIES
from harness.wire import Reply, Request, Wire, judged, request
from msgspec import inspect
from scene import Actor, Scene
from world import AT_HEAD, Attempt

from tallystick.protocol.operation import AnyOperation, Mode, Placement, Socket
from tallystick.protocol.registry import BY_SOCKET
from tallystick.protocol.shapes import Identifier

ID: Final = re.compile(r"\b([a-z]+)-([0-9a-f]{32})\b")
NEVER: Final = "0123456789abcdef" * 2
"""The digits of an id that was never given."""
_IN_FLIGHT: Final = 64
_IDENTIFIER: Final = msgspec.inspect.type_info(Identifier)

Path = tuple[str | int, ...]


# --- what there is to be attacked ---------------------------------------------------------------------------
class Target(NamedTuple):
    """An argument of an operation that may name something: where it stands in a request's arguments."""

    operation: AnyOperation
    path: Path

    def __str__(self) -> str:
        return f"{self.operation.name}@{self.operation.socket} {'.'.join(map(str, self.path))}"


def attacked() -> list[AnyOperation]:
    """Every operation of both sockets that asks who speaks, and whose arguments name anything."""
    return [
        operation
        for operation in BY_SOCKET.values()
        if operation.mode is not Mode.PUBLIC and any(_paths(_shape(operation), {}))
    ]


def right_args(scene: Scene, operation: AnyOperation, attempt: Attempt) -> JsonObject:
    """Arguments with which an attacker could do it: on the worker socket under an attempt of its own."""
    args = _known(scene, operation)
    if operation.socket is Socket.WORKER:
        said = {"attempt_id": attempt.attempt_id, "fence_epoch": attempt.fence_epoch}
        args |= {name: value for name, value in said.items() if name in operation.arguments.__struct_fields__}
        if "invocation_id" in args and "attempt_id" in args:
            args["invocation_id"] = attempt.invocation_id
    return args


def _known(scene: Scene, operation: AnyOperation) -> JsonObject:
    """The right request of the operation's page, without its attempt."""
    return dict(ENTRIES[operation.socket, operation.name].right(scene))


def targets(operation: AnyOperation, args: JsonObject) -> list[Target]:
    """The arguments that may name something, whether or not the right request has them."""
    return [Target(operation, path) for path in _paths(_shape(operation), args)]


def without_options(operation: AnyOperation, args: JsonObject) -> JsonObject:
    """The same request with what it must have alone, and the attempt that speaks."""
    kept = {one.encode_name for one in _shape(operation).fields if one.required}
    return {name: value for name, value in args.items() if name in {*kept, "attempt_id", "fence_epoch"}}


def _shape(operation: AnyOperation) -> inspect.StructType:
    shape = inspect.type_info(operation.arguments)
    assert isinstance(shape, inspect.StructType)
    return shape


def _paths(shape: inspect.Type, value: object, at: Path = ()) -> Iterator[Path]:
    """Paths of identifiers below a type; a list that the value leaves empty is gone into at its first
    place.
    """
    if shape == _IDENTIFIER:
        yield at
    elif isinstance(shape, inspect.Metadata):
        yield from _paths(shape.type, value, at)
    elif isinstance(shape, inspect.UnionType):
        for one in shape.types:
            yield from _paths(one, value, at)
    elif isinstance(shape, inspect.StructType):
        there = value if isinstance(value, dict) else {}
        for member in shape.fields:
            yield from _paths(member.type, there.get(member.encode_name), (*at, member.encode_name))
    elif isinstance(shape, (inspect.VarTupleType, inspect.ListType)):
        items: Sequence[object] = value if isinstance(value, list) else ()
        yield from _paths(shape.item_type, items[0] if items else None, (*at, 0))


# --- a request, from its arguments ------------------------------------------------------------------------
def pointed(args: JsonObject, path: Path, identifier: str) -> JsonObject:
    """The same arguments with one of them naming something else."""
    changed: JsonObject = json.loads(json.dumps(args))
    _point(changed, path, identifier)
    return changed


def _point(value: Any, path: Path, identifier: str) -> None:
    step, *rest = path
    if not rest:
        if isinstance(value, list):
            value[:1] = [identifier]
        else:
            value[step] = identifier
        return
    if isinstance(value, list):
        if not value:
            value.append({})
        step = 0
    elif step not in value:
        value[step] = [] if rest[0] == 0 else {}
    _point(value[step], tuple(rest), identifier)


# --- what an agent may not see ------------------------------------------------------------------------------
def ids_in(*said: object) -> set[str]:
    """Every id of ours that stands anywhere in these."""
    return {match[0] for one in said for match in ID.finditer(json.dumps(one))}


def told_of(owner: Actor, source: str) -> list[JsonObject]:
    """Every event of a project, or of the realm."""
    told: list[JsonObject] = []
    cursor: JsonObject = {}
    while True:
        page = owner.done("tallystick_events_read", {"source": source, "limit": 512, **cursor})
        if not page["events"]:
            return told
        told += page["events"]
        cursor = {"after_cursor": page["next_cursor"]}


def one_of_each(identifiers: set[str]) -> list[str]:
    """The latest id of each kind."""
    return list({identifier.partition("-")[0]: identifier for identifier in sorted(identifiers)}.values())


def one_of_each_type(events: Sequence[JsonObject]) -> list[str]:
    """The latest event of each type."""
    return list({event["type"]: str(event["event_id"]) for event in events}.values())


def never(identifier: str) -> str:
    """An id of the same kind that was never given."""
    return f"{identifier.partition('-')[0]}-{NEVER}"


# --- asking -------------------------------------------------------------------------------------------------
def asked(scene: Scene, operation: AnyOperation, args: JsonObject, project: str | None) -> Request:
    """A request for an operation under a key of its own."""
    ext = AT_HEAD if operation.name in ("contribution_append", "relation_assert") else None
    return request(
        operation.socket, operation.name, args, project=project, key=scene.key("attack"), ext=ext
    )


def places(scene: Scene, operation: AnyOperation) -> list[str | None]:
    """With and without ``project_id``, as far as the operation takes it."""
    if operation.project is Placement.REQUIRED:
        return [scene.project]
    return [None] if operation.project is Placement.FORBIDDEN else [None, scene.project]


def answers(actor: Actor, requests: Sequence[Request]) -> list[Reply]:
    """The replies to many requests, of one socket, in their order."""
    replies: list[Reply] = []
    if not requests:
        return replies
    with Wire(actor.paths, requests[0].socket) as wire:
        for first in range(0, len(requests), _IN_FLIGHT):
            some = requests[first : first + _IN_FLIGHT]
            wire.send(*some)
            replies += [judged(one.operation, wire.read_line()) for one in some]
    return replies


_MOVES: Final = re.compile(
    rb'"kc1\.[0-9a-f.]+"|\b[0-9a-f]{64}\b|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|\b[a-z]+-[0-9a-f]{32}\b|(?<=[:,-])\d+'
)


def shape(reply: Reply) -> bytes:
    """What was answered, without ids, digests, times, tokens and numbers."""
    return _MOVES.sub(b"*", reply.raw)


def comparable(reply: Reply, identifier: str) -> bytes:
    """What was answered, without the id that was asked for. Of what was done it is the shape alone, and of
    what has to wait without how long.
    """
    if reply.ok or reply.kind == "rate-limited":
        return shape(reply)
    return reply.raw.replace(identifier.encode(), b"*")
