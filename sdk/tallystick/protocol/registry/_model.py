"""What an operation is, as data: one row of the registry, and the words it is described in."""

from enum import StrEnum
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from tallystick.protocol.arguments import Args, DualArgs
from tallystick.protocol.problems import Kind as ProblemKind
from tallystick.protocol.records import Record


class Socket(StrEnum):
    """Which of the two sockets (KCP 1.1)."""

    CLIENT = "client"
    WORKER = "worker"


class Kind(StrEnum):
    """How an operation runs."""

    READ = "read"
    """On a read connection; leaves nothing behind."""
    WRITE = "write"
    """One transaction of the clerk, under an idempotency key."""
    FENCED_READ = "fenced_read"
    """A worker's read in the clerk's order, so that it sees what its attempt wrote."""
    WAIT = "wait"
    """A read that may sleep until something is committed."""
    CONTROL = "control"
    """Changes the daemon, or a file beside the store, and no row of it."""


class Placement(StrEnum):
    """Whether a member of the envelope must, must not or may be there."""

    REQUIRED = "required"
    FORBIDDEN = "forbidden"
    OPTIONAL = "optional"


class Mode(StrEnum):
    """Under which authority an operation is admitted."""

    PUBLIC = "public"
    READ_REALM = "read_realm"
    WRITE_REALM = "write_realm"
    READ_PROJECT = "read_project"
    WRITE_PROJECT = "write_project"
    READ_SPACE = "read_space"
    WRITE_SPACE = "write_space"
    STEWARD = "steward"
    """Whoever answers for a space: who takes part in it, who sees it, whether it is written in."""
    UPLOAD = "upload"
    """Whoever may write in some space, for uploads of their own: an upload stands in no space."""
    INVOKE = "invoke"
    OPERATOR = "operator"
    WORKER_CLAIM = "worker_claim"
    WORKER_NEXT = "worker_next"
    WORKER_FENCED = "worker_fenced"
    OWNER = "owner"


class Emission(StrEnum):
    """Which of the event types in a write's row one execution tells."""

    EACH = "each"
    """All of them, in order."""
    ONE_OF = "one_of"
    """One of them: it depends on how it went."""
    ON_CHANGE = "on_change"
    """All of them, or none where it found everything as it was to be."""
    OF_CALLER = "of_caller"
    """One of a type that the request names; the row names none."""


class RowEffect(Struct, frozen=True):
    """Rows of one table that one execution of an operation touches.

    `count` is how many, exactly; none where it depends on the request, or on what it finds. `columns` are
    what an update may change.
    """

    table: str
    action: Literal["insert", "update", "delete"]
    count: int | None = 1
    columns: tuple[str, ...] = ()


Surface: TypeAlias = Literal["external_client", "operator", "worker"]


class Operation(Struct, frozen=True, kw_only=True):
    """One operation on one socket.

    `content` names the arguments that hold content, which can be erased; all others are identifiers and
    labels, which cannot. A name with a dot in it is a member inside an argument. `problems` are the kinds
    that it can be answered with, `events` the types that it writes, and `emission` which of them one
    execution does. `refusal_rows` are the rows of a refusal that itself changes the state: with none, a
    refusal leaves the log's row that says so, and nothing else. `extensions` are the ``dev.tallystick.``
    members of ext that it knows, with their shapes. `waits` says of a write that it may sleep until there is
    something for it to do; a read that does is of the kind `wait`.
    """

    name: str
    bundle: str
    surface: Surface
    socket: Socket
    kind: Kind
    waits: bool = False
    mode: Mode
    realm: Placement
    project: Placement
    arguments: type[Args]
    result: type[Record]
    content: tuple[str, ...] = ()
    problems: tuple[ProblemKind, ...]
    events: tuple[str, ...] = ()
    emission: Emission = Emission.EACH
    rows: tuple[RowEffect, ...] = ()
    refusal_rows: tuple[RowEffect, ...] = ()
    extensions: dict[str, type[Args]] = {}
    summary: str

    @property
    def meta(self) -> Placement:
        """A write has a request id and an idempotency key; nothing else has (KCP 1.4)."""
        return Placement.REQUIRED if self.kind is Kind.WRITE else Placement.FORBIDDEN

    @property
    def binding(self) -> Placement:
        """Whether `attempt_id` and `fence_epoch` may stand in the arguments of an operation of both sockets
        (or of a completion, which KCP has no schema of).

        Where the arguments' own shape settles it (always there, or never) it is `OPTIONAL`: nothing to add.
        """
        if not issubclass(self.arguments, DualArgs):
            return Placement.OPTIONAL
        return Placement.REQUIRED if self.socket is Socket.WORKER else Placement.FORBIDDEN


# --- problems that many operations share ------------------------------------------------------------------
ALWAYS: Final = (
    ProblemKind.INVALID,
    ProblemKind.UNSUPPORTED_VERSION,
    ProblemKind.RATE_LIMITED,
    ProblemKind.UNAVAILABLE,
    ProblemKind.INTERNAL,
)
"""What any request can be answered with, whatever it asks."""
READS: Final = (*ALWAYS, ProblemKind.UNAUTHENTICATED, ProblemKind.NOT_FOUND)
"""A read inside the realm: what it names may not exist, or not for this actor."""
LISTS: Final = (*READS, ProblemKind.SNAPSHOT_EXPIRED, ProblemKind.CURSOR_EXPIRED)
"""A paged list: its snapshot or its continuation may be of an earlier epoch, or no longer kept."""
WRITES: Final = (
    *READS,
    ProblemKind.IDEMPOTENCY_MISMATCH,
    ProblemKind.IDEMPOTENCY_RESULT_EXPIRED,
)
"""A command under an idempotency key."""
COMPARING_WRITES: Final = (*WRITES, ProblemKind.STALE_REVISION)
"""A command that compares a revision, a head or a state."""
GUARDED_READS: Final = (*READS, ProblemKind.FORBIDDEN)
"""A read of what its actor may see to be there, and not read."""
GUARDED_LISTS: Final = (*LISTS, ProblemKind.FORBIDDEN)
"""A paged list of the same."""
GUARDED_WRITES: Final = (*COMPARING_WRITES, ProblemKind.FORBIDDEN)
"""A comparing command that not all may do who see its object."""
FENCED: Final = (ProblemKind.STALE_LEASE, ProblemKind.DEADLINE_EXCEEDED)
"""What a worker's attempt can run into besides."""

# --- rows that many operations write ----------------------------------------------------------------------
COMMAND_ROWS: Final = (
    RowEffect("log", "insert"),
    RowEffect("idempotency", "insert"),
    RowEffect("outbox", "insert"),
)
"""A command with one event: its row, its key, and the event's place in the outbox."""
ONE_ID: Final = RowEffect("ids", "insert")
"""The event's id, which an object that it makes shares; each further object has an id of its own."""
CONTENT_ROWS: Final = (RowEffect("bodies", "insert"), RowEffect("object_keys", "insert"))
"""One piece of content, and its keys."""
ARTIFACT_ERASED: Final = RowEffect(
    "artifacts",
    "update",
    None,
    (
        "state",
        "revision",
        "size",
        "media_type",
        "verification_digest",
        "content_digest",
        "keys",
        "available_ms",
        "retention_ms",
    ),
)
"""An artifact that is erased, with what carries it or by itself."""
STEP_ROW: Final = RowEffect("invocation_steps", "insert")
"""By which a later attempt of the same invocation finds the command done."""

CORE: Final = "core_v1"
SHARED_SPACE: Final = "shared_space_v1"
DEVELOPER_ASSISTANT: Final = "developer_assistant_v1"
TALLYSTICK_CORE: Final = "tallystick_core_v1"
TALLYSTICK_WORKER: Final = "tallystick_worker_v1"
TALLYSTICK_AGENT: Final = "tallystick_agent_v1"
TALLYSTICK_ERASURE: Final = "tallystick_erasure_v1"
TALLYSTICK_ARTIFACT: Final = "tallystick_artifact_v1"
TALLYSTICK_SPACE: Final = "tallystick_space_v1"
