"""KCP's vectors, each judged by the function that the door or the encoder calls for such a thing."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tallystick.protocol import digests, ijson
from tallystick.protocol.canonical import canonical
from tallystick.protocol.envelope import check_placement, decode_envelope, decode_reply, decode_request
from tallystick.protocol.families.events import decode_event
from tallystick.protocol.families.service import HelloResult
from tallystick.protocol.operation import AnyOperation, Placement, Socket
from tallystick.protocol.problems import Kind as ProblemKind
from tallystick.protocol.problems import Refusal, decode_problem
from tallystick.protocol.registry import BY_SOCKET
from tallystick.protocol.shapes import Misshapen, convert

from .kcp_vectors import (
    NO_DATA,
    RequestVector,
    ResultVector,
    Vector,
    data_root,
    line_of,
    operation_vectors,
    text_of,
    vectors,
)

Note = Callable[[str, object], None]
SHAPE_REFUSALS = (ProblemKind.INVALID, ProblemKind.FORBIDDEN_SURFACE, ProblemKind.UNKNOWN_OP)
GOVERNED = 40
"""Vectors of ops/ that belong to a bundle which is not ours."""


def each(found: Sequence[Vector | RequestVector | ResultVector]) -> pytest.MarkDecorator:
    """A parameter for each vector, or one that is skipped with the reason."""
    if not found:
        skipped = pytest.param(None, marks=pytest.mark.skip(reason=NO_DATA))
        return pytest.mark.parametrize("vector", [skipped], ids=["without data"])
    return pytest.mark.parametrize("vector", found, ids=[vector.name for vector in found])


def of_schema(*names: str) -> list[Vector]:
    return [vector for vector in vectors("envelope") if vector.given.get("schema") in names]


def of_text() -> list[Vector]:
    return [vector for vector in vectors("envelope") if {"raw", "synthetic"} & vector.given.keys()]


def of_digests() -> list[Vector]:
    return [vector for vector in vectors("envelope") if "derivations" in vector.given]


def is_taken(judge: Callable[[], object]) -> bool:
    """Whether `judge` accepts. Our functions refuse in three ways; anything else is an error."""
    try:
        judge()
    except (Misshapen, ijson.NotStrict, Refusal):
        return False
    return True


# --- envelope vectors -------------------------------------------------------------------------------------
@each(of_text())
def test_acceptance(vector: Vector, record_property: Note) -> None:
    """A text is strict JSON within the limits, or refused with the class that the vector names."""
    record_property("kcp_vectors", "envelope")
    cap = ijson.Cap.REPLY if vector.given.get("cap") == "response" else ijson.Cap.REQUEST
    refused_as = None
    try:
        ijson.parse(text_of(vector.given), cap)
    except ijson.NotStrict as fault:
        refused_as = fault.error_class
    assert (refused_as is None) == vector.is_valid
    if "error_class" in vector.expected:
        assert refused_as == vector.expected["error_class"]


def command_operation(value: dict[str, Any], ref: str) -> AnyOperation:
    """The operation that a command of the generic envelope names, where the project's placement is open.

    The generic schema knows no operation's placement of the project, only whether it is a mutation or a read.
    """
    kinds = {"#/$defs/mutationCommand": "project_create", "#/$defs/readCommand": "realm_show"}
    operation = BY_SOCKET.get((Socket.CLIENT, value["op"])) or BY_SOCKET[Socket.CLIENT, kinds[ref]]
    return replace(operation, project=Placement.OPTIONAL)


@each(of_schema("kcp-command"))
def test_command_envelope(vector: Vector, record_property: Note) -> None:
    """A command's envelope is taken by the door's own steps, or refused by them."""
    record_property("kcp_vectors", "envelope")
    value = vector.given["value"]

    def judge() -> None:
        envelope = decode_envelope(ijson.parse(line_of(value)))
        check_placement(envelope, command_operation(value, vector.given.get("ref", "")))

    assert is_taken(judge) == vector.is_valid


@each(of_schema("kcp-hello"))
def test_hello(vector: Vector, record_property: Note) -> None:
    """A request of hello passes the door as a whole line; its result decodes from a whole reply."""
    record_property("kcp_vectors", "envelope")
    value = vector.given["value"]
    if vector.given["ref"].endswith("helloRequest"):
        line = line_of({"version": "0.1", "op": "hello", "args": value})
        assert is_taken(lambda: decode_request(line, Socket.CLIENT)) == vector.is_valid
    else:
        line = line_of({"outcome": "ok", "result": value})
        assert is_taken(lambda: decode_reply(line).typed(HelloResult)) == vector.is_valid


@each(of_schema("kcp-problem"))
def test_problem(vector: Vector, record_property: Note) -> None:
    """A problem decodes from a whole reply exactly where the vector says so."""
    record_property("kcp_vectors", "envelope")
    value = vector.given["value"]
    assert is_taken(lambda: decode_problem(value)) == vector.is_valid
    assert (
        is_taken(lambda: decode_reply(line_of({"outcome": "problem", "problem": value}))) == vector.is_valid
    )


@each(of_schema("kcp-command-result"))
def test_reply(vector: Vector, record_property: Note) -> None:
    """A reply decodes exactly where the vector says so."""
    record_property("kcp_vectors", "envelope")
    assert is_taken(lambda: decode_reply(line_of(vector.given["value"]))) == vector.is_valid


@each(of_schema("kcp-event"))
def test_event(vector: Vector, record_property: Note) -> None:
    """An event decodes exactly where the vector says so."""
    record_property("kcp_vectors", "envelope")
    value = ijson.parse(line_of(vector.given["value"]), ijson.Cap.REPLY)
    assert is_taken(lambda: decode_event(value)) == vector.is_valid


def derived(derivation: dict[str, Any]) -> tuple[str, bytes | None]:
    """The digest of one derivation by our functions, and the canonical bytes where it has some."""
    if "bytes_utf8" in derivation:
        data = derivation["bytes_utf8"].encode()
        return digests.tbd(derivation["domain"], derivation["media_or_schema_ref"], data), None
    if "raw_command" in derivation:
        command = derivation["raw_command"]
        top = ("version", "op", "realm_id", "project_id", "args", "ext")
        envelope = {name: command[name] for name in top if name in command}
        rest = {name: value for name, value in command.items() if name not in (*top, "authority_surface")}
        projection = digests.request_projection(
            {**envelope, "meta": rest}, surface=command["authority_surface"]
        )
        return digests.request_digest(projection), None
    kind, ref, projection = derivation["object_kind"], derivation["schema_ref"], derivation["projection"]
    tagged = digests.tagged(
        derivation["kind"],
        {"protocol_major": 0, "object_kind": kind, "schema_ref": ref, "projection": projection},
    )
    return digests.cod(kind, ref, projection), tagged


@each(of_digests())
def test_digest(vector: Vector, record_property: Note) -> None:
    """Each derivation gives the digest that the vector names, over the canonical bytes that it shows."""
    record_property("kcp_vectors", "envelope")
    results = vector.expected["results"]
    found = [derived(derivation) for derivation in vector.given["derivations"]]
    for (digest, bytes_), result in zip(found, results, strict=True):
        assert digest == result.get("digest_hex", result.get("sha256_hex"))
        if "canonical" in result:
            assert canonical(json.loads(result["canonical"])) == result["canonical"].encode()
            assert bytes_ in (None, result["canonical"].encode())
    distinct = len({digest for digest, _ in found})
    if "relation" in vector.expected:
        assert distinct == (1 if vector.expected["relation"] == "equal" else len(found))


@pytest.mark.skipif(data_root() is None, reason=NO_DATA)
def test_every_envelope_vector_is_judged() -> None:
    """No vector is of a sort that no test here takes up, and none is taken up twice."""
    schemas = ("kcp-command", "kcp-hello", "kcp-problem", "kcp-command-result", "kcp-event")
    judged = [*of_text(), *of_digests(), *of_schema(*schemas)]
    assert sorted(vector.name for vector in judged) == sorted(vector.name for vector in vectors("envelope"))


# --- vectors of operations --------------------------------------------------------------------------------
def shape_refusal(vector: RequestVector) -> ProblemKind | None:
    """The kind of the refusal where the door refuses the request for its shape."""
    try:
        decode_request(vector.raw, vector.socket)
    except Refusal as refusal:
        return refusal.kind
    return None


@each(operation_vectors())
def test_operation(vector: RequestVector | ResultVector, record_property: Note) -> None:
    """A request passes the door on its socket, and a result decodes, exactly where the vector says so."""
    record_property("kcp_vectors", "operations")
    if isinstance(vector, RequestVector):
        assert (shape_refusal(vector) in SHAPE_REFUSALS) != vector.valid
    else:
        result = ijson.parse(line_of(vector.value), ijson.Cap.REPLY)
        assert is_taken(lambda: convert(result, vector.operation.result)) == vector.valid


@pytest.mark.skipif(data_root() is None, reason=NO_DATA)
def test_every_vector_of_our_bundles_is_judged() -> None:
    """All vectors of ops/ but those of the bundle that is not ours are judged above."""
    assert len(operation_vectors()) == len(vectors("ops")) - GOVERNED
