"""The context of a command: what it reads, what it writes, and the time, ids and randomness that it may use.

One ``Transaction`` serves one clerk; ``begin_command`` makes it ready for the next command. Domain code gets
everything from here, so that the same code runs in the daemon and under a seed. What it writes is remembered
for the log row's commitments; the log row itself is written by the clerk when the command has been judged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from tallyd.ledger import log, skeleton, times
from tallyd.ledger.leases import Leases
from tallyd.ledger.log import Log
from tallyd.ledger.view import ProjectRow, Sealed, SpaceRow, Value, View
from tallyd.store.ambient import Ambient
from tallyd.store.bodies import BODIES_PER_COMMAND_MAX, OBJECT_RANDOM_BYTES, BodyStore, ObjectKeys
from tallyd.store.identity import Identity
from tallyd.store.writer import Writer
from tallystick.protocol.problems import Problem
from tallystick.protocol.uuid7 import NS_A_MS, Uuid7

_CACHED_ROWS_MAX: Final = 16_384
"""Projects and spaces remembered by the clerk; beyond it all are forgotten and read again."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An event that a command writes. Sequences, position and time are given by the append."""

    event_id: bytes
    type: str
    schema_ref: str
    resource: str
    resource_revision: int | None
    stream: int
    project: int | None
    classification: str
    payload: bytes
    """Skeleton."""


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """What a command's handler did."""

    result: bytes | None = None
    """Skeleton of the result; None where it is the first event's payload."""
    revision: int | None = None
    cursor: bool = True
    """Whether the reply tells the project cursor after the command's last event."""
    follow_up: Callable[[Any], object] | None = None
    """File I/O that is done on a thread once the command is durable, and before it is answered. It is given
    the daemon as its families see it."""


class Refused(msgspec.Struct, frozen=True):
    """What a handler returns that refuses its command and changes the state all the same.

    A refusal that is raised leaves nothing behind. This one leaves the rows that the handler wrote, which the
    refusal's own row in the log commits to; no event, no content and no stored result. As after every
    refusal the key is free: the same command sent again is judged anew, by the state as it is then.
    """

    problem: Problem


class Idle(msgspec.Struct, frozen=True):
    """What a handler returns that found nothing to do yet, and has written nothing.

    Its command leaves no row, and its key stays free: sent again it is judged anew.
    """

    result: bytes
    again_seconds: float | None
    """After which it may find something without any commit; None where time alone brings nothing."""


class Transaction(View):
    """A view that writes. Used by the clerk's thread alone."""

    db: Writer

    def __init__(
        self,
        db: Writer,
        keys: Sealed,
        identity: Identity,
        ambient: Ambient,
        leases: Leases,
        log_: Log,
    ) -> None:
        super().__init__(
            db, keys, identity, lambda: log_.now_ms(ambient.wall_ms()), BodyStore(keys.objects)
        )
        self.log = log_
        self.leases = leases
        self._ambient = ambient
        self._new_uuid = Uuid7(lambda: self.wall_ms() * NS_A_MS, ambient.random)
        self._projects: dict[str, ProjectRow] = {}
        self._spaces: dict[str, SpaceRow] = {}
        self._inserts: dict[tuple[str, ...], str] = {}
        self._keys: dict[bytes, int] = {}
        """Idempotency keys of the batch, which the database may not have yet."""
        self.begin_command("", "", None)

    # --- one command ----------------------------------------------------------------------------------------
    def begin_command(self, actor: str, author: str, causation: str | None) -> None:
        """Makes ready for a command of ``actor`` (the channel's), whose events name ``author``."""
        self.actor = actor
        self.author = author
        self.causation = causation
        self.now_ms = self.wall_ms()
        self.sensitive.clear()
        self.events: list[Event] = []
        self.state_rows: list[bytes] = []
        self.lease_changes: list[Callable[[], None]] = []
        self.request_key: bytes | None = None
        self.step_of: int | None = None
        """The invocation that the command is a step of: a later attempt finds it done."""
        self.outside: object | None = None
        self.wakes: set[str] = set()
        self._bodies: dict[int, bytes] = {}
        self._objects = 0
        self._content_key: bytes | None = None
        self._touched: set[str] = set()
        self._key: bytes | None = None

    def undo_command(self) -> None:
        """When it was dropped: forgets what the command left in memory."""
        self.log.forget()
        for identifier in self._touched:
            self._projects.pop(identifier, None)
            self._spaces.pop(identifier, None)
        self._touched.clear()
        if self._key is not None:
            del self._keys[self._key]
            self._key = None

    def undo_all(self) -> None:
        """After a whole rollback: forgets everything that was read or written in it."""
        self.log.forget()
        self._projects.clear()
        self._spaces.clear()
        self._keys.clear()

    def apply_lease_changes(self) -> None:
        """When the command is in: what it did to leases takes effect. A refused command changed none."""
        for change in self.lease_changes:
            change()

    def trim(self) -> None:
        """Between two batches: keeps what is remembered within its bound."""
        self._keys.clear()
        if len(self._projects) + len(self._spaces) > _CACHED_ROWS_MAX:
            self._projects.clear()
            self._spaces.clear()

    # --- what it may use ------------------------------------------------------------------------------------
    @property
    def position(self) -> int:
        """The log position that the command's first row will have."""
        return self.log.next_position

    @property
    def now(self) -> str:
        """The command's time as a timestamp of the wire."""
        return times.rfc3339(self.now_ms)

    def new_id(self) -> bytes:
        """128 bits of a new id."""
        return self._new_uuid()

    def random(self, count: int) -> bytes:
        return self._ambient.random(count)

    # --- reads with memory ----------------------------------------------------------------------------------
    def project(self, project_id: str) -> ProjectRow | None:
        known = self._projects.get(project_id)
        if known is None and (known := super().project(project_id)) is not None:
            self._projects[project_id] = known
        return known

    def space(self, space_id: str) -> SpaceRow | None:
        known = self._spaces.get(space_id)
        if known is None and (known := super().space(space_id)) is not None:
            self._spaces[space_id] = known
        return known

    def content(self, body: int) -> bytes | None:
        fresh = self._bodies.get(body)
        return super().content(body) if fresh is None else fresh

    def position_of_key(self, lookup: bytes) -> int | None:
        """The command that an idempotency key leads to, or None."""
        known = self._keys.get(lookup)
        if known is None:
            row = self.db.look_up("SELECT position FROM idempotency WHERE lookup = ?", (lookup,)).fetchone()
            known = None if row is None else int(row[0])
        return known

    # --- writes ---------------------------------------------------------------------------------------------
    def insert(self, table: str, **columns: Value) -> None:
        """Inserts a row and puts it under the command's state commitment."""
        names = (table, *columns)
        sql = self._inserts.get(names)
        if sql is None:
            marks = ", ".join("?" * len(columns))
            sql = self._inserts[names] = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
        self.db.note(table, sql, tuple(columns.values()))
        self._wrote(table, None, columns)

    def update(self, table: str, key: dict[str, Value], **columns: Value) -> None:
        """Changes the one row of ``key``, and puts the change under the command's state commitment."""
        names = (table, *key, "", *columns)
        sql = self._inserts.get(names)
        if sql is None:
            sets = ", ".join(f"{name} = ?" for name in columns)
            where = " AND ".join(f"{name} = ?" for name in key)
            sql = self._inserts[names] = f"UPDATE {table} SET {sets} WHERE {where}"
        self.db.note(table, sql, (*columns.values(), *key.values()))
        self._wrote(table, key, columns)

    def update_project(self, project: ProjectRow, **columns: Value) -> ProjectRow:
        """Changes a project's row, and gives it as it is now."""
        self.update("projects", {"position": project.position}, **columns)
        changed = msgspec.structs.replace(project, **columns)
        self._touched.add(project.project_id)
        self._projects[project.project_id] = changed
        return changed

    def update_space(self, space: SpaceRow, **columns: Value) -> SpaceRow:
        """Changes a space's row, and gives it as it is now."""
        self.update("spaces", {"position": space.position}, **columns)
        changed = msgspec.structs.replace(space, **columns)
        self._touched.add(space.space_id)
        self._spaces[space.space_id] = changed
        return changed

    def index_command(self, lookup: bytes, position: int) -> None:
        """Writes what finds this command again, at ``position``: its idempotency key, and the list of its
        invocation's steps where it is one.
        """
        self.db.note(
            "idempotency", "INSERT INTO idempotency (lookup, position) VALUES (?, ?)", (lookup, position)
        )
        self._keys[lookup] = position
        self._key = lookup
        if self.step_of is not None:
            self.db.note(
                "invocation_steps",
                "INSERT INTO invocation_steps (invocation, position) VALUES (?, ?)",
                (self.step_of, position),
            )

    def register(self, digits: bytes) -> None:
        """Makes the id of an object that has no event of its own lead to this command."""
        self.db.note("ids", "INSERT INTO ids (id, position) VALUES (?, ?)", (digits, self.position))

    def seal(self, content: bytes) -> tuple[int, ObjectKeys]:
        """Keeps content (canonical JSON) as a body of this command; returns its number and its object's
        keys.
        """
        body = self._next_object()
        keys = self.bodies.put(self.db, body, content, self._ambient.random(OBJECT_RANDOM_BYTES))
        self._bodies[body] = content
        self._first_keys(keys)
        return body, keys

    def keep_keys(self, random: bytes | None = None) -> tuple[int, ObjectKeys]:
        """Keeps the keys of an object whose content stands in a file, or nowhere: drawn now, or before, where
        they were used outside already. Returns as ``seal`` does.
        """
        number = self._next_object()
        drawn = self._ambient.random(OBJECT_RANDOM_BYTES) if random is None else random
        keys = self.bodies.put_keys(self.db, number, drawn)
        self._first_keys(keys)
        return number, keys

    def forget(self, body: int) -> None:
        """Destroys a body and its keys: what is left anywhere of it is noise."""
        for table in ("bodies", "object_keys"):
            self.db.execute(f"DELETE FROM {table} WHERE body = ?", (body,))
            self._wrote(table, {"body": body}, {})
        self._bodies.pop(body, None)

    def forget_keys(self, number: int) -> None:
        """Destroys the keys of an object that ``keep_keys`` kept; the rest is noise from then on."""
        self.db.execute("DELETE FROM object_keys WHERE body = ?", (number,))
        self._wrote("object_keys", {"body": number}, {})

    def _next_object(self) -> int:
        assert self._objects < BODIES_PER_COMMAND_MAX, "a command brought more objects than it has numbers"
        self._objects += 1
        return self.position * BODIES_PER_COMMAND_MAX + self._objects - 1

    def _first_keys(self, keys: ObjectKeys) -> None:
        if self._content_key is None:
            self._content_key, self.request_key = keys.digest, keys.request

    def emit(self, event: Event) -> None:
        """Adds an event to the command."""
        self.events.append(event)

    def wake(self, name: str) -> None:
        """Who waits for work of the deployment of that name, or as the actor of that name, may find some once
        the command is durable.
        """
        self.wakes.add(name)

    # --- commitments ----------------------------------------------------------------------------------------
    def content_commitment(self) -> bytes | None:
        """HMAC over the digest of all content of the command, under its first object's digest key; None
        without.
        """
        if self._content_key is None or not self._bodies:
            return None
        return log.content_commitment(self._content_key, list(self._bodies.values()))

    def _wrote(self, table: str, key: dict[str, Value] | None, columns: dict[str, Value]) -> None:
        said: list[Value] = [table]
        for members in (key or {}, columns):
            for member in members.items():
                said += member
        self.state_rows.append(skeleton.encode(said))
