"""What an operation is, as data, and the words it is described in.

A family's page (``families``) makes its operations with the methods of their bundle, ``write`` and ``read``,
which give what nearly all of a kind have in common. An ``Operation[A, R]`` knows the types of its arguments
and of its result, so that a handler that is bound to another operation is a type error.
"""

from collections.abc import Iterator
from enum import StrEnum
from inspect import get_annotations
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar, get_args

from msgspec import Meta, Struct

from tallystick.protocol.arguments import Args, DualArgs
from tallystick.protocol.problems import Kind as ProblemKind
from tallystick.protocol.records import Record

A = TypeVar("A", bound=Args)
R = TypeVar("R", bound=Record)


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


class Operation(Struct, Generic[A, R], frozen=True, kw_only=True):
    """One operation on one socket.

    `content` names the arguments that hold content (they are marked ``Content``), which can be erased; all
    others are identifiers and labels, which cannot. A name with a dot in it is a member inside an argument.
    `texts` are those of them in which secrets are looked for: all that are not marked ``ExactContent``.
    `problems` are the kinds that it can be answered with, `events` the types that it writes, and `emission`
    which of them one execution does. `refusal_rows` are the rows of a refusal that itself changes the state:
    with none, a refusal leaves the log's row that says so, and nothing else. `extensions` are the
    ``dev.tallystick.`` members of ext that it knows, with their shapes. `waits` says of a write that it may
    sleep until there is something for it to do; a read that does is of the kind `wait`. `compares_project` is
    false where KCP compares the request's project with nothing: it is then a part of the digest alone.
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
    compares_project: bool = True
    arguments: type[A]
    result: type[R]
    content: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
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
        """Whether `attempt_id` and `fence_epoch` may stand in the arguments of an operation of both sockets.

        Where the arguments' own shape settles it (always there, or never) it is `OPTIONAL`: nothing to add.
        """
        if not issubclass(self.arguments, DualArgs):
            return Placement.OPTIONAL
        return Placement.REQUIRED if self.socket is Socket.WORKER else Placement.FORBIDDEN


AnyOperation: TypeAlias = Operation[Any, Any]


def content_of(shape: type[Struct], *, exact: bool = True) -> tuple[str, ...]:
    """The members of a struct that are marked ``Content``; of the structs in it, as ``outer.inner``. Those
    that are marked ``ExactContent`` are left out where ``exact`` is false.
    """
    return tuple(_content_of(shape, exact))


def _content_of(shape: type[Struct], exact: bool) -> Iterator[str]:
    annotations: dict[str, Any] = {}
    for base in reversed(shape.__mro__):
        annotations |= get_annotations(base)
    for name in shape.__struct_fields__:
        parts = list(_parts(annotations[name]))
        marks = [part.extra for part in parts if isinstance(part, Meta) and part.extra]
        if any("content" in mark for mark in marks):
            if exact or not any("exact" in mark for mark in marks):
                yield name
        else:
            inner = [part for part in parts if isinstance(part, type) and issubclass(part, Struct)]
            yield from (f"{name}.{member}" for each in inner for member in _content_of(each, exact))


def _parts(type_: Any) -> Iterator[Any]:
    """A type, what it is made of, and what is said of it."""
    yield type_
    yield from getattr(type_, "__metadata__", ())
    for part in get_args(type_):
        yield from _parts(part)


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


# --- bundles ----------------------------------------------------------------------------------------------
class Bundle(Struct, frozen=True):
    """A named set of operations, and how one of its operations is written down.

    KCP's bundles are atomic: those that are named to clients are served whole. Ours begin with
    ``tallystick_``.
    """

    name: str

    @property
    def is_own(self) -> bool:
        """Whether it is ours, and not KCP's."""
        return self.name.startswith("tallystick_")

    def write(
        self,
        name: str,
        arguments: type[A],
        result: type[R],
        summary: str,
        *,
        mode: Mode,
        socket: Socket = Socket.CLIENT,
        surface: Surface | None = None,
        realm: Placement = Placement.REQUIRED,
        project: Placement = Placement.REQUIRED,
        compares_project: bool = True,
        waits: bool = False,
        problems: tuple[ProblemKind, ...] = GUARDED_WRITES,
        event: str | None = None,
        events: tuple[str, ...] = (),
        emission: Emission = Emission.EACH,
        ids: int | None = 1,
        rows: tuple[RowEffect, ...] = (),
        all_rows: tuple[RowEffect, ...] | None = None,
        refusal_rows: tuple[RowEffect, ...] = (),
        extensions: dict[str, type[Args]] | None = None,
    ) -> Operation[A, R]:
        """A command. ``rows`` come beside those that a command with one event always has, and beside ``ids``
        rows of ids: the event's, which an object that it makes shares, and one for each further object.
        ``all_rows`` are given where it has others.
        """
        if all_rows is None:
            all_rows = (*COMMAND_ROWS, RowEffect("ids", "insert", ids), *rows)
        return Operation(
            name=name,
            bundle=self.name,
            surface=surface or _surface(socket),
            socket=socket,
            kind=Kind.WRITE,
            waits=waits,
            mode=mode,
            realm=realm,
            project=project,
            compares_project=compares_project,
            arguments=arguments,
            result=result,
            content=content_of(arguments),
            texts=content_of(arguments, exact=False),
            problems=problems,
            events=events if event is None else (event,),
            emission=emission,
            rows=all_rows,
            refusal_rows=refusal_rows,
            extensions=extensions or {},
            summary=summary,
        )

    def read(
        self,
        name: str,
        arguments: type[A],
        result: type[R],
        summary: str,
        *,
        mode: Mode,
        kind: Kind = Kind.READ,
        socket: Socket = Socket.CLIENT,
        surface: Surface | None = None,
        realm: Placement = Placement.REQUIRED,
        project: Placement = Placement.REQUIRED,
        problems: tuple[ProblemKind, ...] = READS,
    ) -> Operation[A, R]:
        """What is no command: a read, unless another ``kind`` is given."""
        return Operation(
            name=name,
            bundle=self.name,
            surface=surface or _surface(socket),
            socket=socket,
            kind=kind,
            mode=mode,
            realm=realm,
            project=project,
            arguments=arguments,
            result=result,
            content=content_of(arguments),
            texts=content_of(arguments, exact=False),
            problems=problems,
            summary=summary,
        )


def _surface(socket: Socket) -> Surface:
    return "worker" if socket is Socket.WORKER else "external_client"


CORE: Final = Bundle("core_v1")
SHARED_SPACE: Final = Bundle("shared_space_v1")
DEVELOPER_ASSISTANT: Final = Bundle("developer_assistant_v1")
TALLYSTICK_CORE: Final = Bundle("tallystick_core_v1")
TALLYSTICK_WORKER: Final = Bundle("tallystick_worker_v1")
TALLYSTICK_AGENT: Final = Bundle("tallystick_agent_v1")
TALLYSTICK_ERASURE: Final = Bundle("tallystick_erasure_v1")
TALLYSTICK_ARTIFACT: Final = Bundle("tallystick_artifact_v1")
TALLYSTICK_SPACE: Final = Bundle("tallystick_space_v1")
