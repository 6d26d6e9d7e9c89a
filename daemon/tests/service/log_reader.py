"""A verifier of the log, written from docs/log-format.md alone: the standard library, and AES-GCM.

It shares no code with the product: what the page says and what the product writes are held together.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import apsw
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

Row = Mapping[str, Any]

_ALWAYS: Final = ("position", "epoch", "recorded_ms", "actor", "strength", "operation", "mode", "outcome")
_HEADER: Final = {
    "type": "type",
    "schema": "schema_ref",
    "resource": "resource",
    "author": "author",
    "correlation": "correlation",
    "classification": "classification",
    "stream": "stream",
    "stream_sequence": "stream_sequence",
    "revision": "resource_revision",
    "causation": "causation",
    "world_ms": "world_ms",
    "project": "project",
    "project_sequence": "project_sequence",
}
_RESULT: Final = (
    "salt",
    "payload",
    "result",
    "key_hash",
    "request_digest",
    "request_mac",
    "idempotency_key",
    "reply_revision",
    "reply_sequence",
)
_BODIES_A_COMMAND: Final = 16


def faults(database: str, object_key: bytes, marker: Mapping[str, Any]) -> list[str]:
    """What is wrong with the log of a store that nobody has open, by position and cause."""
    connection = apsw.Connection(database, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        cursor = connection.execute("SELECT * FROM log ORDER BY position")
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor]
        return [*_of_rows(connection, rows, object_key), *_of_marker(rows, marker)]
    finally:
        connection.close()


def _of_rows(db: apsw.Connection, rows: list[dict[str, Any]], object_key: bytes) -> Iterator[str]:
    previous = bytes(32)
    seen = Counter[tuple[str, int]]()
    for number, row in enumerate(rows):
        if row["position"] != number:
            yield f"{number}: its position is {row['position']}"
        if hashlib.sha256(b"\0" + entry(row, previous)).digest() != row["leaf"]:
            yield f"{number}: its leaf does not follow"
        if row["result_commitment"] != _committed_result(row):
            yield f"{number}: payload or result do not match"
        if row["content_commitment"] is not None and not _content_matches(db, row, object_key):
            yield f"{number}: its content does not match"
        for name in ("stream", "project"):
            if row[name] is not None:
                seen[name, row[name]] += 1
                if row[f"{name}_sequence"] != seen[name, row[name]]:
                    yield f"{number}: its {name} has a gap"
        previous = row["leaf"]


def _of_marker(rows: list[dict[str, Any]], marker: Mapping[str, Any]) -> Iterator[str]:
    if marker["position"] >= len(rows):
        yield "the marker says more than the log has"
    elif rows[marker["position"]]["leaf"].hex() != marker["leaf"]:
        yield f"{marker['position']}: the marker says another leaf"


def entry(row: Row, previous: bytes) -> bytes:
    """The canonical bytes of a row. Names are ASCII, so that sorting by code point is sorting by UTF-16, as
    RFC 8785 asks.
    """
    said: dict[str, Any] = {"v": 1, "previous": previous.hex(), "detail": json.loads(row["detail"])}
    said |= {name: row[name] for name in _ALWAYS}
    if row["command"] is not None:
        said["command"] = row["command"]
    if row["event_id"] is not None:
        header = {name: row[column] for name, column in _HEADER.items() if row[column] is not None}
        said["event"] = {"id": row["event_id"].hex(), **header}
    for name in ("content", "state", "result"):
        if row[f"{name}_commitment"] is not None:
            said[name] = row[f"{name}_commitment"].hex()
    return json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _framed(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def _as_bytes(value: bytes | str | int | None) -> bytes:
    if isinstance(value, bytes):
        return value
    return b"" if value is None else str(value).encode()


def _committed_result(row: Row) -> bytes | None:
    if row["payload"] is None and row["result"] is None and row["key_hash"] is None:
        return None
    parts = (_as_bytes(row[name]) for name in _RESULT)
    return hashlib.sha256(b"tallystick result v1" + _framed(*parts)).digest()


def _content_matches(db: apsw.Connection, row: Row, object_key: bytes) -> bool:
    """True, too, where the content has been erased: then nobody can tell."""
    first = row["position"] * _BODIES_A_COMMAND
    bodies = []
    digest_key = None
    for body, sealed, wrapped in db.execute(
        "SELECT body, sealed, wrapped FROM object_keys LEFT JOIN bodies USING (body)"
        " WHERE body >= ? AND body < ? ORDER BY body",
        (first, first + _BODIES_A_COMMAND),
    ):
        assert isinstance(wrapped, bytes)
        context = b"tallystick object key v1 " + str(body).encode()
        keys = AESGCM(object_key).decrypt(wrapped[:12], wrapped[12:], context)
        digest_key = keys[32:64] if digest_key is None else digest_key
        if sealed is not None:
            assert isinstance(sealed, bytes)
            bodies.append(
                AESGCM(keys[:32]).decrypt(bytes(12), sealed, b"tallystick body v1 " + str(body).encode())
            )
    if digest_key is None:
        return True
    said = hashlib.sha256(_framed(*bodies)).digest()
    found = hmac.digest(digest_key, b"tallystick content v1" + said, "sha256")
    return bool(found == row["content_commitment"])


def marker_of(path: str) -> dict[str, Any]:
    """The marker at a path."""
    found: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    return found
