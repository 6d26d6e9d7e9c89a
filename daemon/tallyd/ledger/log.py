"""The log: one row for each command, one chain of leaves, and for each event two sequences without a gap.

A row's *entry* is the canonical JSON of what it says; its leaf is SHA-256(0x00 ‖ entry), the leaf hash of RFC
6962, and each entry holds the leaf before it, the first 32 zero bytes: the leaf is the link.
``docs/log-format.md`` is enough to write a verifier from.

An entry holds no content and no unkeyed digest of content. What a command brought is under the leaf by
commitments: ``content`` is an HMAC under a key that is erased with the content; ``state`` (the rows written)
and ``result`` (payload, stored reply and its key) are SHA-256 under the row's salt, over skeletons and
identifiers alone.

``Log.append`` goes on from what the database holds, not from what the process remembers: at the start of each
batch the last row is read again, and its leaf is derived again and compared. Sequences are read from the
unique indexes. After a rollback ``forget`` drops what was remembered, and the next use reads the database.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import apsw
import msgspec

from tallyd.ledger import skeleton
from tallyd.store.bodies import mac
from tallyd.store.writer import Writer

FIRST_PREVIOUS: Final = bytes(32)
SALT_BYTES: Final = 16
APPLIED: Final = "applied"
REALM_STREAM: Final = 0
"""The realm's stream begins with the first row; its events have no project."""


class LogBroken(Exception):
    """The log's last row does not match its leaf, so nothing may be appended. Run the verifier (``tally
    diagnose``).
    """


class LogRow(msgspec.Struct, frozen=True):
    """One row of ``log``, its fields in the table's order (migrations/0001_kernel.sql says what each is)."""

    position: int
    leaf: bytes
    epoch: int
    recorded_ms: int
    actor: str
    strength: str
    operation: str
    mode: str
    outcome: str
    detail: str
    command: int | None = None
    event_id: bytes | None = None
    type: str | None = None
    schema_ref: str | None = None
    resource: str | None = None
    resource_revision: int | None = None
    author: str | None = None
    causation: str | None = None
    correlation: str | None = None
    classification: str | None = None
    world_ms: int | None = None
    stream: int | None = None
    stream_sequence: int | None = None
    project: int | None = None
    project_sequence: int | None = None
    payload: bytes | None = None
    idempotency_key: str | None = None
    key_hash: bytes | None = None
    request_digest: bytes | None = None
    request_mac: bytes | None = None
    result: bytes | None = None
    reply_revision: int | None = None
    reply_sequence: int | None = None
    salt: bytes = b""
    content_commitment: bytes | None = None
    state_commitment: bytes | None = None
    result_commitment: bytes | None = None

    @property
    def reply(self) -> bytes:
        """The skeleton of the stored result: the event's payload where the two are one."""
        stored = self.payload if self.result is None else self.result
        if stored is None:
            raise ValueError(f"log row {self.position} holds no result")
        return stored


COLUMNS: Final = tuple(LogRow.__struct_fields__)
SELECT: Final = f"SELECT {', '.join(COLUMNS)} FROM log "
_INSERT: Final = f"INSERT INTO log ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"


def entry(row: LogRow, previous_leaf: bytes) -> bytes:
    """The bytes of a row that its leaf is the hash of: RFC 8785 JSON with a version, absent members left out.
    """
    said: dict[str, object] = {
        "v": 1,
        "previous": previous_leaf.hex(),
        "position": row.position,
        "epoch": row.epoch,
        "recorded_ms": row.recorded_ms,
        "actor": row.actor,
        "strength": row.strength,
        "operation": row.operation,
        "mode": row.mode,
        "outcome": row.outcome,
        "detail": skeleton.embedded(row.detail.encode()),
    }
    if row.command is not None:
        said["command"] = row.command
    if row.event_id is not None:
        said["event"] = _event_header(row)
    for name, commitment in (
        ("content", row.content_commitment),
        ("state", row.state_commitment),
        ("result", row.result_commitment),
    ):
        if commitment is not None:
            said[name] = commitment.hex()
    return skeleton.encode(said)


def _event_header(row: LogRow) -> dict[str, object]:
    assert row.event_id is not None
    header: dict[str, object] = {
        "id": row.event_id.hex(),
        "type": row.type,
        "schema": row.schema_ref,
        "resource": row.resource,
        "author": row.author,
        "correlation": row.correlation,
        "classification": row.classification,
        "stream": row.stream,
        "stream_sequence": row.stream_sequence,
    }
    for name, value in (
        ("revision", row.resource_revision),
        ("causation", row.causation),
        ("world_ms", row.world_ms),
        ("project", row.project),
        ("project_sequence", row.project_sequence),
    ):
        if value is not None:
            header[name] = value
    return header


def leaf_hash(entry_bytes: bytes) -> bytes:
    """SHA-256(0x00 ‖ entry): the leaf hash of RFC 6962, section 2.1."""
    return hashlib.sha256(b"\0" + entry_bytes).digest()


def framed(*parts: bytes) -> bytes:
    """Each part after its length in eight bytes, big-endian, so that two different lists never give the same
    bytes.
    """
    return b"".join([len(part).to_bytes(8, "big") + part for part in parts])


def result_commitment(row: LogRow) -> bytes | None:
    """SHA-256 over salt, payload, result and the key that finds them; None where the row has none of
    these.
    """
    if row.payload is None and row.result is None and row.key_hash is None:
        return None
    parts = (
        row.salt,
        row.payload or b"",
        row.result or b"",
        row.key_hash or b"",
        row.request_digest or b"",
        row.request_mac or b"",
        (row.idempotency_key or "").encode(),
        b"" if row.reply_revision is None else b"%d" % row.reply_revision,
        b"" if row.reply_sequence is None else b"%d" % row.reply_sequence,
    )
    return hashlib.sha256(b"tallystick result v1" + framed(*parts)).digest()


def state_commitment(salt: bytes, rows: list[bytes]) -> bytes | None:
    """SHA-256 over salt and the rows written, each the JSON array [table, key, member, value, …]; None
    without rows.
    """
    if not rows:
        return None
    return hashlib.sha256(b"tallystick state v1" + framed(salt, *rows)).digest()


def content_commitment(digest_key: bytes, contents: Sequence[bytes]) -> bytes:
    """HMAC over all content that a command brought, under its first object's digest key, which is erased
    with it.
    """
    said = hashlib.sha256(framed(*contents)).digest()
    return mac(digest_key, b"tallystick content v1" + said)


def read(db: apsw.Connection, position: int) -> LogRow | None:
    """The row at a position."""
    row = db.execute(SELECT + "WHERE position = ?", (position,)).fetchone()
    return None if row is None else LogRow(*row)


def leaf_at(db: apsw.Connection, position: int) -> bytes | None:
    """The leaf at a position; for -1, what the first row's entry holds as previous."""
    if position == -1:
        return FIRST_PREVIOUS
    row = db.execute("SELECT leaf FROM log WHERE position = ?", (position,)).fetchone()
    return None if row is None else row[0]


class Log:
    """Appends to the log over the clerk's connection."""

    def __init__(self, db: Writer) -> None:
        self._db = db
        self._tail: tuple[int, bytes] | None = None
        self._streams: dict[int, int] = {}
        self._projects: dict[int, int] = {}
        row = db.execute("SELECT recorded_ms FROM log ORDER BY position DESC LIMIT 1").fetchone()
        self.last_ms = 0 if row is None else int(row[0])
        """The newest time in the log. Readers look at it from other threads; it only grows."""

    def begin(self) -> None:
        """Reads the last row again, derives its leaf again and compares. Raises LogBroken."""
        row = self._db.execute(SELECT + "ORDER BY position DESC LIMIT 1").fetchone()
        if row is None:
            self._tail = (-1, FIRST_PREVIOUS)
            return
        last = LogRow(*row)
        previous = leaf_at(self._db, last.position - 1)
        if previous is None:
            raise LogBroken(
                f"log row {last.position - 1} is missing; run `tally diagnose` and restore a copy"
            )
        if leaf_hash(entry(last, previous)) != last.leaf:
            raise LogBroken(f"log row {last.position} does not match its leaf; run `tally diagnose`")
        if self._tail is not None and self._tail[0] == last.position and self._tail[1] != last.leaf:
            raise LogBroken(f"log row {last.position} changed under the daemon; run `tally diagnose`")
        self._tail = (last.position, last.leaf)

    def forget(self) -> None:
        """After a rollback: what was remembered may be about rows that are gone."""
        self._tail = None
        self._streams.clear()
        self._projects.clear()

    @property
    def tail(self) -> tuple[int, bytes]:
        """Position and leaf of the last row; (-1, zero bytes) of an empty log."""
        if self._tail is None:
            row = self._db.execute("SELECT position, leaf FROM log ORDER BY position DESC LIMIT 1").fetchone()
            self._tail = (-1, FIRST_PREVIOUS) if row is None else (row[0], row[1])
        return self._tail

    @property
    def next_position(self) -> int:
        return self.tail[0] + 1

    def stream_sequence(self, stream: int) -> int:
        """The last sequence given in a stream; 0 before its first event."""
        known = self._streams.get(stream)
        if known is None:
            known = self._streams[stream] = self._last("stream", stream)
        return known

    def project_sequence(self, project: int) -> int:
        """The last sequence given in a project; 0 before its first event."""
        known = self._projects.get(project)
        if known is None:
            known = self._projects[project] = self._last("project", project)
        return known

    def _last(self, column: str, key: int) -> int:
        if key >= self.next_position:  # named by the row that is about to begin it
            return 0
        row = self._db.execute(
            f"SELECT max({column}_sequence) FROM log WHERE {column} = ?", (key,)
        ).fetchone()
        return 0 if row is None or row[0] is None else int(row[0])

    def append(self, row: LogRow) -> LogRow:
        """Writes the row with its leaf, its ids entry and its outbox row; ``row.leaf`` is ignored and
        derived.

        The position must be the next, and the sequences the next of their stream and project: asserted here,
        and again by the table's constraints.
        """
        position, previous = self.tail
        assert row.position == position + 1, "a log position was skipped"
        leaf = leaf_hash(entry(row, previous))
        row = msgspec.structs.replace(row, leaf=leaf)
        self._db.note("log", _INSERT, msgspec.structs.astuple(row))
        self._tail = (row.position, leaf)
        self.last_ms = max(self.last_ms, row.recorded_ms)
        if row.event_id is not None:
            self._enqueue(row)
        return row

    def _enqueue(self, row: LogRow) -> None:
        """Writes the event's id and its outbox row. The append itself does it, so no event goes unannounced.
        """
        assert row.stream is not None
        assert row.stream_sequence == self.stream_sequence(row.stream) + 1, "a stream sequence was skipped"
        self._streams[row.stream] = row.stream_sequence
        if row.project is not None:
            assert row.project_sequence == self.project_sequence(row.project) + 1, (
                "a project sequence was skipped"
            )
            self._projects[row.project] = row.project_sequence
        self._db.note("ids", "INSERT INTO ids (id, position) VALUES (?, ?)", (row.event_id, row.position))
        self._db.note(
            "outbox", "INSERT INTO outbox (position, event_id) VALUES (?, ?)", (row.position, row.event_id)
        )

    def now_ms(self, wall_ms: int) -> int:
        """The time in the store: the wall clock's, and while that stands back the newest in the log. So what
        has expired stays so, and what is written is never older than what was.
        """
        return max(wall_ms, self.last_ms)

    def drain_outbox(self, passed: int, rows_max: int) -> int:
        """Deletes up to ``rows_max`` outbox rows that every consumer has passed; returns how many."""
        self._db.execute(
            "DELETE FROM outbox WHERE position IN (SELECT position FROM outbox WHERE position <= ? "
            "ORDER BY position LIMIT ?)",
            (passed, rows_max),
        )
        return self._db.changes()
