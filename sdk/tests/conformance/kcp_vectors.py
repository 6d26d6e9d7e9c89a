"""KCP's vectors: where they lie, what each is, and which requests of them can be sent over a socket."""

import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from tallystick.protocol.operation import AnyOperation, Socket
from tallystick.protocol.registry import BY_SOCKET, OPERATIONS

SERVED: Final = {(operation.name, operation.surface) for operation in OPERATIONS}
"""Operations by name and surface, as KCP's registry has them."""
BUNDLES: Final = ("core_v1", "shared_space_v1", "developer_assistant_v1")
"""Those of KCP's that are ours to serve."""
NO_DATA: Final = "KCP's data is not here: set KCP_DATA to the directory that holds vectors and schemas"
_BESIDE: Final = Path(__file__).resolve().parents[3].parent / "shared" / "kcp"


class Vector(NamedTuple):
    """One file: its `name`, what is given, and what is expected of it."""

    name: str
    given: dict[str, Any]
    expected: dict[str, Any]

    @property
    def is_valid(self) -> bool:
        return bool(self.expected["valid"])


class RequestVector(NamedTuple):
    """A request as a line: `valid` says whether its shape is right on that socket."""

    name: str
    socket: Socket
    raw: bytes
    valid: bool


class ResultVector(NamedTuple):
    """A result of `operation`, as parsed JSON."""

    name: str
    operation: AnyOperation
    value: object
    valid: bool


def data_root() -> Path | None:
    """The directory of KCP's data, or none."""
    directory = Path(os.environ.get("KCP_DATA", _BESIDE))
    return directory if (directory / "vectors").is_dir() else None


@cache
def vectors(family: str) -> tuple[Vector, ...]:
    """The vectors of a family (``envelope`` or ``ops``), by name; none without the data."""
    root = data_root()
    if root is None:
        return ()
    files = sorted((root / "vectors" / family).glob("*.json"))
    return tuple(_vector(json.loads(file.read_text(encoding="utf-8"))) for file in files)


@cache
def registry_entries() -> tuple[tuple[str, str], ...]:
    """Name and surface of each entry of KCP's registry in the bundles that are ours; none without the data.
    """
    root = data_root()
    if root is None:
        return ()
    entries = json.loads((root / "registry.json").read_text(encoding="utf-8"))["entries"]
    return tuple((entry["operation"], entry["surface"]) for entry in entries if entry["bundle"] in BUNDLES)


def _vector(content: dict[str, Any]) -> Vector:
    return Vector(content["name"], content["input"], content["expected"])


def operation_of(schema: str) -> str:
    """The operation that a schema of ops/ is about."""
    return schema.removesuffix("-request").removesuffix("-result").replace("-", "_")


def socket_of(operation: str, request: dict[str, Any]) -> Socket:
    """The socket for a request: the worker's where it names an attempt and the operation is there too."""
    args = request.get("args")
    binds = isinstance(args, dict) and "attempt_id" in args
    if (Socket.WORKER, operation) in BY_SOCKET and (binds or (Socket.CLIENT, operation) not in BY_SOCKET):
        return Socket.WORKER
    return Socket.CLIENT


def line_of(value: object) -> bytes:
    """`value` as a client would send it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def text_of(given: dict[str, Any]) -> bytes:
    """The bytes of an acceptance vector."""
    if "raw" in given:
        return str(given["raw"]).encode()
    if given["synthetic"] == "json_synth":
        return f"{given['prefix']}{given['repeat'] * given['count']}{given['suffix']}".encode()
    frame = '{{"version":"0.1","op":"diagnose","realm_id":"realm-personal","args":{{"pad":"{}"}}}}'
    return frame.format("a" * (int(given["target_bytes"]) - len(frame.format("")))).encode()


def operation_vectors() -> list[RequestVector | ResultVector]:
    """The vectors of ops/ whose operation is one of ours."""
    ours: list[RequestVector | ResultVector] = []
    for vector in vectors("ops"):
        schema, value = vector.given["schema"], vector.given["value"]
        name = operation_of(schema)
        operation = BY_SOCKET.get((Socket.CLIENT, name)) or BY_SOCKET.get((Socket.WORKER, name))
        if operation is None:
            continue
        if schema.endswith("-request"):
            socket = socket_of(name, value)
            ours.append(RequestVector(vector.name, socket, line_of(value), vector.is_valid))
        else:
            ours.append(ResultVector(vector.name, operation, value, vector.is_valid))
    return ours


def iter_request_vectors() -> Iterator[RequestVector]:
    """Every vector that can be sent over a socket: of operations, and texts that no parser may take.

    A valid one may be answered with any problem but `invalid`, `unknown-op` and `forbidden-surface`, for what
    it names does not exist; an invalid one with `invalid` or `forbidden-surface` only.
    """
    for ours in operation_vectors():
        if isinstance(ours, RequestVector):
            yield ours
    for vector in vectors("envelope"):
        given = vector.given
        if (
            ("raw" in given or "synthetic" in given)
            and given.get("cap") != "response"
            and not vector.is_valid
        ):
            raw = text_of(given)
            if b"\n" not in raw:
                yield RequestVector(vector.name, Socket.CLIENT, raw, valid=False)
