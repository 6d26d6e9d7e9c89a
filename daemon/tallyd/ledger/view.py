"""What a command or a read sees of the store: one connection, the keys, and the look-ups that all of them
share.

A view over the clerk's connection sees the transaction's own writes; a view over a reader's connection sees
what is durable. A view begins and ends no transaction. Between two uses it remembers a bounded number of ids,
which never change, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

import apsw
import msgspec

from tallyd.ledger import ids, log, skeleton
from tallyd.ledger.cursors import Cursors
from tallyd.ledger.leases import Leases
from tallyd.ledger.orders import SENSITIVE, Orders
from tallyd.store.bodies import BodyDamaged, BodyStore, ObjectKeys, mac
from tallyd.store.identity import Identity
from tallystick.protocol.problems import Refusal, unavailable

Value = int | str | bytes | float | None

_REMEMBERED_IDS_MAX: Final = 16_384
"""Ids that a view remembers of streams and projects, 2 MB; beyond it all are forgotten and read again."""


class Sealed(Protocol):
    """The keys that a view needs, as the store has them."""

    @property
    def objects(self) -> bytes: ...
    @property
    def cursor(self) -> bytes: ...
    @property
    def attempts(self) -> bytes: ...
    @property
    def audit(self) -> bytes: ...


class ProjectRow(msgspec.Struct, frozen=True):
    """A row of ``projects``, its fields in the table's order."""

    position: int
    id: bytes
    revision: int
    name: int
    status: str
    default_classification_ref: str
    policy_set_ref: str
    created_by: str
    created_ms: int

    @property
    def project_id(self) -> str:
        return ids.text("proj", self.id)


class SpaceRow(msgspec.Struct, frozen=True):
    """A row of ``spaces``, its fields in the table's order."""

    position: int
    id: bytes
    project: int
    revision: int
    title: int
    purpose_contribution_ref: str | None
    visibility: str
    status: str
    main_branch: bytes
    next_space_sequence: int
    branch_sequence: int
    branch_head: bytes
    default_classification_ref: str
    policy_set_ref: str
    created_by: str
    created_ms: int

    @property
    def space_id(self) -> str:
        return ids.text("space", self.id)

    @property
    def branch_id(self) -> str:
        return ids.text("branch", self.main_branch)


class ContentDamaged(Refusal):
    """Content, or its keys, cannot be opened. It is the fault of the object that the log row at ``position``
    made or changed, and of no other.
    """

    def __init__(self, position: int, resource: str | None) -> None:
        of = f"the content of {resource or 'an object'}, which log row {position} brought,"
        said: dict[str, object] = {"log_position": position}
        if resource is not None:
            said["object_ref"] = resource
        refusal = unavailable(
            f"{of} cannot be opened: its bytes or its key were changed on the disk. Everything else can be "
            "read; `tally diagnose` names all that is damaged. Stop the daemon and restore a verified copy",
            ext={skeleton.DAMAGED_MEMBER: said},
        )
        super().__init__(refusal.problem)
        self.position = position


class Viewer(Protocol):
    """Whoever looks at something, as admission has judged them."""

    @property
    def actor(self) -> str: ...
    @property
    def agent(self) -> object:
        """None for the owner."""

    def sees(self, view: View, space: SpaceRow) -> bool: ...


EventCheck = Callable[["View", Viewer, log.LogRow], bool]
"""A family's own rule: whether an event may be shown to somebody who sees its stream. True for every event of
another family."""

PROJECT_COLUMNS: Final = ", ".join(ProjectRow.__struct_fields__)
SPACE_COLUMNS: Final = ", ".join(SpaceRow.__struct_fields__)


class View:
    """Reads over one connection."""

    def __init__(
        self,
        db: apsw.Connection,
        keys: Sealed,
        identity: Identity,
        wall_ms: Callable[[], int],
        bodies: BodyStore | None = None,
    ) -> None:
        self.db = db
        self.identity = identity
        self.wall_ms = wall_ms
        self.orders = Orders()
        self.event_checks: tuple[EventCheck, ...] | None = None
        """Set by whoever makes the view. None is a defect and not "no rules": no event is shown by it."""
        self.claim_leases = Leases(lambda: 0.0)
        """The leases of the running claims. Set by whoever makes the view; until then it knows of none."""
        self.calls: object = None
        """What families do in each other's rows, and ask of each other (``ledger.calls.of``). Set by whoever
        makes the view.
        """
        self.sensitive: list[str] = []
        """Sensitive objects that this read looked at. An access record of them is durable before the read is
        served."""
        self.keys = keys
        self.bodies = bodies or BodyStore(keys.objects)
        self.cursors = Cursors(keys.cursor, identity.epoch.number, identity.epoch.nonce)
        self._stream_ids: dict[int, str] = {}

    @property
    def epoch(self) -> int:
        """The number of the store's epoch."""
        return self.identity.epoch.number

    # --- rows -----------------------------------------------------------------------------------------------
    def one(self, sql: str, *values: Value) -> tuple[Value, ...] | None:
        """The first row, or None."""
        return self.db.execute(sql, values).fetchone()

    def all(self, sql: str, *values: Value) -> Sequence[tuple[Value, ...]]:
        """All rows."""
        return self.db.execute(sql, values).fetchall()

    def number(self, sql: str, *values: Value) -> int:
        """The integer of a query that always gives one row; NULL counts as 0."""
        row = self.db.execute(sql, values).fetchone()
        assert row is not None
        return 0 if row[0] is None else int(row[0])

    def position_of(self, prefix: str, identifier: str) -> int | None:
        """The log position of the row that made the object or event of that id. None where the id does not
        have the prefix and the form of ours, or is not known.

        The prefix is not checked against what the object is: the caller looks in the table of that kind.
        """
        digits = ids.digits(prefix, identifier)
        if digits is None:
            return None
        row = self.db.execute("SELECT position FROM ids WHERE id = ?", (digits,)).fetchone()
        return None if row is None else int(row[0])

    def log_row(self, position: int) -> log.LogRow:
        """The row at a position. Raises LookupError where there is none."""
        row = log.read(self.db, position)
        if row is None:
            raise LookupError(f"log row {position} is missing")
        return row

    def project(self, project_id: str) -> ProjectRow | None:
        """The project of that id, or None."""
        position = self.position_of("proj", project_id)
        return None if position is None else self.project_at(position)

    def project_at(self, position: int) -> ProjectRow | None:
        row = self.db.execute(
            f"SELECT {PROJECT_COLUMNS} FROM projects WHERE position = ?", (position,)
        ).fetchone()
        return None if row is None else ProjectRow(*row)

    def space(self, space_id: str) -> SpaceRow | None:
        """The space of that id, or None."""
        position = self.position_of("space", space_id)
        row = None if position is None else self.space_at(position)
        return row if row is not None and row.space_id == space_id else None

    def space_at(self, position: int) -> SpaceRow | None:
        row = self.db.execute(
            f"SELECT {SPACE_COLUMNS} FROM spaces WHERE position = ?", (position,)
        ).fetchone()
        return None if row is None else SpaceRow(*row)

    def resource_at(self, position: int) -> str:
        """The id of a stream or project that began at that position: the resource of its first row."""
        if position == log.REALM_STREAM:
            return ids.REALM_ID
        known = self._stream_ids.get(position)
        if known is None:
            row = self.db.execute("SELECT resource FROM log WHERE position = ?", (position,)).fetchone()
            if row is None or row[0] is None:
                raise LookupError(f"log row {position} names no object")
            if len(self._stream_ids) >= _REMEMBERED_IDS_MAX:
                self._stream_ids.clear()
            known = self._stream_ids[position] = str(row[0])
        return known

    def note(self, classification: str, identifier: str) -> None:
        """An object's content is about to be served, or refused: if it is sensitive, it is remembered for the
        access record.
        """
        if classification == SENSITIVE:
            self.sensitive.append(identifier)

    # --- rendering ------------------------------------------------------------------------------------------
    def render(self, skeleton_bytes: bytes) -> bytes:
        """A skeleton with its content, for a read of that object alone and for whoever works with what it
        says. Raises Refusal ``unavailable`` where a body cannot be opened.
        """
        return skeleton.render(skeleton_bytes, self._fill)

    def render_with_marks(self, skeleton_bytes: bytes) -> bytes:
        """The same for one item among others, and for a command's reply: a body that cannot be opened is
        marked in its place (``skeleton.damaged``), and takes nothing from what stands beside it.
        """
        return skeleton.render(skeleton_bytes, self._fill_or_mark)

    def _fill(self, kind: bytes, number: bytes) -> bytes:
        if kind == skeleton.ATTEMPT:
            invocation, ordinal, epoch = number.decode().split(".")
            return b'"%b"' % self.attempt_id(int(invocation), int(ordinal), int(epoch)).encode()
        if kind == skeleton.CLAIM:
            task, ordinal, epoch = number.decode().split(".")
            return b'"%b"' % self.claim_id(int(task), int(ordinal), int(epoch)).encode()
        if kind == skeleton.ERASURE:
            row = self.one("SELECT state FROM erasures WHERE position = ?", int(number))
            assert row is not None, "an erasure without its row"
            return skeleton.encode(row[0])
        content = self.content(skeleton.body_of(number))
        if content is None:
            return skeleton.ERASED[kind]
        if kind == skeleton.MEMBER:
            return skeleton.member(content, number.partition(b".")[2].decode())
        return content

    def _fill_or_mark(self, kind: bytes, number: bytes) -> bytes:
        try:
            return self._fill(kind, number)
        except ContentDamaged as damaged:
            return skeleton.damaged(kind, damaged.position)

    def content(self, body: int) -> bytes | None:
        """A body's canonical JSON, or None where it was erased. Raises ContentDamaged."""
        try:
            return self.bodies.get(self.db, body)
        except BodyDamaged as damaged:
            raise self._damaged(damaged) from None

    def object_keys(self, number: int) -> ObjectKeys | None:
        """An object's keys, or None where it was erased. Raises ContentDamaged."""
        try:
            return self.bodies.keys(self.db, number)
        except BodyDamaged as damaged:
            raise self._damaged(damaged) from None

    def _damaged(self, damaged: BodyDamaged) -> ContentDamaged:
        row = self.one("SELECT resource FROM log WHERE position = ?", damaged.position)
        return ContentDamaged(damaged.position, None if row is None or row[0] is None else str(row[0]))

    def attempt_id(self, invocation: int, ordinal: int, epoch: int) -> str:
        """The secret id of an attempt. It is derived each time for whoever may have it, and is stored
        nowhere.
        """
        said = log.framed(self.resource_at(invocation).encode(), b"%d" % ordinal, b"%d" % epoch)
        return "att-" + mac(self.keys.attempts, b"tallystick attempt v1" + said).hex()[:32]

    def claim_id(self, task: int, ordinal: int, epoch: int) -> str:
        """The secret id of a task's claim; derived as an attempt's is."""
        said = log.framed(b"%d" % task, b"%d" % ordinal, b"%d" % epoch)
        return "claim-" + mac(self.keys.attempts, b"task claim v1" + said).hex()[:32]

    def project_cursor(self, project: int, sequence: int) -> str:
        """The cursor just after an event of a project, in this epoch."""
        return self.cursors.token(self.resource_at(project), sequence)

    def project_head(self, project: int) -> int:
        """The last sequence of a project's events."""
        return self.number("SELECT max(project_sequence) FROM log WHERE project = ?", project)

    def realm_head(self) -> int:
        """The position of the last event that stands in no project."""
        return self.number(
            "SELECT max(position) FROM log INDEXED BY events_of_realm "
            "WHERE project IS NULL AND event_id IS NOT NULL"
        )
