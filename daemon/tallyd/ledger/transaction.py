"""The context of a command: what it reads and writes, and the time, ids and randomness that it may use.

A clerk has one ``Transaction``; ``begin_command`` makes it ready for the next command. Handlers take time,
ids and randomness from here alone, so that a simulation can run the same code with a seed. The transaction
remembers what a command wrote, because the command's log row commits to it. The clerk writes that row, when
the handler is done.
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
from tallystick.protocol.secrets import Policy
from tallystick.protocol.uuid7 import NS_A_MS, Uuid7

_CACHED_ROWS_MAX: Final = 16_384
"""Projects and spaces remembered by the clerk; beyond it all are forgotten and read again."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An event that a command writes. The clerk gives it sequences, position and time when it appends the
    row.
    """

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
    awaits: str | None = None
    """The errand (``families.shared.family``) that does what the reply promises. Once the command is durable,
    the reply waits for it, ``ANSWER_AFTER_ERRAND_SECONDS_MAX`` at most, and is then made anew."""


class Refused(msgspec.Struct, frozen=True):
    """What a handler returns when it refuses its command but has changed the state.

    A refusal that is raised leaves nothing behind. This one leaves the rows that the handler wrote, and the
    refusal's row in the log commits to them. It has no event, no content and no stored result. The key stays
    free, as after every refusal: the same command sent again is judged anew, by the state as it is then.
    """

    problem: Problem


class Idle(msgspec.Struct, frozen=True):
    """What a handler returns when it has found nothing to do yet and has written nothing.

    Its command leaves no row, and its key stays free: the same command sent again is judged anew.
    """

    result: bytes
    again_seconds: float | None
    """Seconds after which it may find something although nothing was committed. None: time alone changes
    nothing."""


class Transaction(View):
    """A view that also writes. Only the clerk's thread uses it."""

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
        """Idempotency keys used in this batch: their rows may still be in the writer's buffer."""
        self.secrets: Policy = "redact"
        """What becomes of secrets in content. Set by whoever makes the transaction."""
        self.no_room_for_agent: Callable[[int], str | None] = lambda _others: None
        """Why one more agent beside so many could not be served. Set by whoever serves them."""
        self.begin_command("", "", None)

    # --- one command ----------------------------------------------------------------------------------------
    def begin_command(self, actor: str, author: str, causation: str | None) -> None:
        """Makes ready for the next command. ``actor`` is the channel's; the command's events name ``author``.
        """
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
        """After the command was dropped: forgets what it left in memory."""
        self.log.forget()
        for identifier in self._touched:
            self._projects.pop(identifier, None)
            self._spaces.pop(identifier, None)
        self._touched.clear()
        if self._key is not None:
            del self._keys[self._key]
            self._key = None

    def undo_all(self) -> None:
        """After the whole transaction was rolled back: forgets everything that was read or written in it."""
        self.log.forget()
        self._projects.clear()
        self._spaces.clear()
        self._keys.clear()

    def apply_lease_changes(self) -> None:
        """After the command was kept: its changes to leases take effect. A refused command changes no lease.
        """
        for change in self.lease_changes:
            change()

    def trim(self) -> None:
        """Between two batches: forgets cached rows when there are more than the bound, and the batch's keys.
        """
        self._keys.clear()
        if len(self._projects) + len(self._spaces) > _CACHED_ROWS_MAX:
            self._projects.clear()
            self._spaces.clear()

    # --- what it may use ------------------------------------------------------------------------------------
    @property
    def position(self) -> int:
        """The log position that the next row will have: of the command's first row, until that is appended.
        """
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
        """Inserts a row. The command's state commitment covers it."""
        names = (table, *columns)
        sql = self._inserts.get(names)
        if sql is None:
            marks = ", ".join("?" * len(columns))
            sql = self._inserts[names] = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
        self.db.note(table, sql, tuple(columns.values()))
        self._wrote(table, None, columns)

    def update(self, table: str, key: dict[str, Value], **columns: Value) -> None:
        """Changes the one row that has ``key``. The command's state commitment covers the change."""
        names = (table, *key, "", *columns)
        sql = self._inserts.get(names)
        if sql is None:
            sets = ", ".join(f"{name} = ?" for name in columns)
            where = " AND ".join(f"{name} = ?" for name in key)
            sql = self._inserts[names] = f"UPDATE {table} SET {sets} WHERE {where}"
        self.db.note(table, sql, (*columns.values(), *key.values()))
        self._wrote(table, key, columns)

    def update_project(self, project: ProjectRow, **columns: Value) -> ProjectRow:
        """Changes a project's row and returns the changed row."""
        self.update("projects", {"position": project.position}, **columns)
        changed = msgspec.structs.replace(project, **columns)
        self._touched.add(project.project_id)
        self._projects[project.project_id] = changed
        return changed

    def update_space(self, space: SpaceRow, **columns: Value) -> SpaceRow:
        """Changes a space's row and returns the changed row."""
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
        """Lets an id find this command, for an object that has no event of its own."""
        self.db.note("ids", "INSERT INTO ids (id, position) VALUES (?, ?)", (digits, self.position))

    def seal(self, content: bytes) -> tuple[int, ObjectKeys]:
        """Stores content (canonical JSON), sealed, as a body of this command. Returns the body's number and
        the keys that it is sealed and digested with.
        """
        body = self._next_object()
        keys = self.bodies.put(self.db, body, content, self._ambient.random(OBJECT_RANDOM_BYTES))
        self._bodies[body] = content
        self._first_keys(keys)
        return body, keys

    def keep_keys(self, random: bytes | None = None) -> tuple[int, ObjectKeys]:
        """Stores the keys of an object whose content is in a file, or nowhere. ``random`` is what the keys
        were made from, where they were used outside already; otherwise it is drawn now. Returns as ``seal``
        does.
        """
        number = self._next_object()
        drawn = self._ambient.random(OBJECT_RANDOM_BYTES) if random is None else random
        keys = self.bodies.put_keys(self.db, number, drawn)
        self._first_keys(keys)
        return number, keys

    def forget(self, body: int) -> None:
        """Deletes a body and its keys. Nothing else can open what is left of the sealed body anywhere."""
        for table in ("bodies", "object_keys"):
            self.db.execute(f"DELETE FROM {table} WHERE body = ?", (body,))
            self._wrote(table, {"body": body}, {})
        self._bodies.pop(body, None)

    def forget_keys(self, number: int) -> None:
        """Deletes the keys of an object that ``keep_keys`` stored. Nothing else can open what was sealed
        with them.
        """
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
        """Once the command is durable, claims are tried again that wait under that name: a deployment's or an
        actor's.
        """
        self.wakes.add(name)

    # --- commitments ----------------------------------------------------------------------------------------
    def content_commitment(self) -> bytes | None:
        """HMAC over the digest of all content of the command, under the digest key of its first object. None
        if the command has no content.
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
