"""What a family tells the rest of the daemon, in one value: ``FAMILY``.

Each operation of the family's page is bound to the function that answers it, by the function here that is
named for its kind. A handler that takes the arguments of another operation is a type error, and an operation
without a handler is an error at start (``handlers_of``).

=============== ============================================ =================================================
kind            the handler is given                         and gives
=============== ============================================ =================================================
``write``       transaction, request, admission              ``Applied``, ``Refused`` or ``Idle``
``fenced_read`` transaction, request, admission              the result
``read``        view, request, admission                     ``Served``, or how it goes on after it
``asks``        host, view, request, admission               the same
``in_slices``   host, view, request, admission, slicer       ``Served``
``wait``        view, request, admission                     ``Watching``, which is looked at again and again
=============== ============================================ =================================================
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET

from tallyd.admission import Admission
from tallyd.families.shared.host import Check, Host, InSlice
from tallyd.families.shared.results import FileIO, Further, Served
from tallyd.ledger.calls import Disposed, Gated
from tallyd.ledger.transaction import Applied, Idle, Refused, Transaction
from tallyd.ledger.view import EventCheck, View
from tallystick.protocol.arguments import Args
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.operation import AnyOperation, Kind, Operation, Socket
from tallystick.protocol.problems import Problem

A = TypeVar("A", bound=Args)
T = TypeVar("T")
U = TypeVar("U")


# --- handlers -----------------------------------------------------------------------------------------------
class Watching(Protocol):
    """A wait for events: where it stands. It holds no transaction between two looks."""

    @property
    def project(self) -> int:
        """Whose commits concern it."""

    @property
    def wait_ms(self) -> int:
        """How long it may sleep."""

    @property
    def at_head(self) -> bool:
        """Whether the last look came to the end of what there is; otherwise it is to look on at once."""

    def look(self, view: View, admission: Admission) -> tuple[bool, bytes]:
        """Whether there is anything, and the result as it would be now. Raises Refusal."""


class Outside(Protocol):
    """The work between the two transactions of a command: on a thread, one at a time under ``key``.

    A second command of the same key waits for the first to end. ``phases`` name the points before and after
    the work at which a test may kill the process.
    """

    @property
    def key(self) -> str: ...
    @property
    def phases(self) -> tuple[str, str]: ...

    def run(self, host: Host, should_stop: Callable[[], bool]) -> object:
        """Does it; the outcome goes into the second transaction."""

    def settle(self, host: Host, outcome: Any) -> None:
        """After the second transaction, whichever way that ended, and before its reply. Raises OSError."""

    def gave_up(self, failure: Exception) -> Problem:
        """What the client is told where the work did not end: nothing was applied."""


class Pending(msgspec.Struct, Generic[A], frozen=True):
    """A command that may wait until there is something for it to do (``Idle``)."""

    names: Callable[[A], Collection[str]]
    """Under which names it is woken, beside its actor's own (``Transaction.wake``)."""
    wait_ms: Callable[[A], int]


class Handler(msgspec.Struct, frozen=True, kw_only=True):
    """An operation, and the function that answers it. Made by the functions below."""

    operation: AnyOperation


class WriteHandler(Handler, frozen=True, kw_only=True):
    run: Callable[[Transaction, AnyRequest, Admission], Applied | Refused | Idle]
    first_step: Callable[[Transaction, AnyRequest, Admission], Outside] | None = None
    pending: Pending[Any] | None = None
    unfinished: Callable[[Transaction, int], str | None] | None = None
    """Of a command whose reply says that all is done: the errand that is not, for the one applied at a log
    position."""


class FencedReadHandler(Handler, frozen=True, kw_only=True):
    run: Callable[[Transaction, AnyRequest, Admission], bytes]


class ReadHandler(Handler, frozen=True, kw_only=True):
    run: Callable[[Host, View, AnyRequest, Admission], Served | FileIO | Further]
    scans: Callable[[AnyRequest], bool]
    """Whether it may look at much more than it shows, and so runs on a thread."""


class SlicedHandler(Handler, frozen=True, kw_only=True):
    run: Callable[[Host, View, AnyRequest, Admission, InSlice], Served]


class WaitHandler(Handler, frozen=True, kw_only=True):
    run: Callable[[View, AnyRequest, Admission], Watching]


def write(
    operation: Operation[A, Any],
    run: Callable[[Transaction, Request[A], Admission], Applied | Refused | Idle],
    *,
    first_step: Callable[[Transaction, Request[A], Admission], Outside] | None = None,
    pending: Pending[A] | None = None,
    unfinished: Callable[[Transaction, int], str | None] | None = None,
) -> WriteHandler:
    """A command. With a ``first_step`` it has two transactions, and ``run`` is the second."""
    return WriteHandler(
        operation=operation, run=run, first_step=first_step, pending=pending, unfinished=unfinished
    )


def fenced_read(
    operation: Operation[A, Any], run: Callable[[Transaction, Request[A], Admission], bytes]
) -> FencedReadHandler:
    """A worker's read in the clerk's order."""
    return FencedReadHandler(operation=operation, run=run)


def read(
    operation: Operation[A, Any],
    run: Callable[[View, Request[A], Admission], Served | FileIO | Further],
    *,
    scans: bool | tuple[str, ...] = False,
) -> ReadHandler:
    """A read. ``scans`` says that it goes through much more than it shows: always, or where one of these
    arguments is given.
    """

    def without_host(
        _host: Host, view: View, request: Request[A], admission: Admission
    ) -> Served | FileIO | Further:
        return run(view, request, admission)

    return ReadHandler(operation=operation, run=without_host, scans=_scanner(scans))


def asks(
    operation: Operation[A, Any],
    run: Callable[[Host, View, Request[A], Admission], Served | FileIO],
) -> ReadHandler:
    """A read that asks the daemon something, or a control of it."""
    return ReadHandler(operation=operation, run=run, scans=_scanner(False))


def in_slices(
    operation: Operation[A, Any],
    run: Callable[[Host, View, Request[A], Admission, InSlice], Served],
) -> SlicedHandler:
    """A long read on a thread, of many short transactions."""
    return SlicedHandler(operation=operation, run=run)


def wait(operation: Operation[A, Any], run: Callable[[View, Request[A], Admission], Watching]) -> WaitHandler:
    """A read that may sleep until something is committed."""
    return WaitHandler(operation=operation, run=run)


def _scanner(scans: bool | tuple[str, ...]) -> Callable[[AnyRequest], bool]:
    if isinstance(scans, bool):
        return lambda _: scans
    return lambda request: any(getattr(request.args, name) is not UNSET for name in scans)


# --- what the daemon does of itself -------------------------------------------------------------------------
class Errand(msgspec.Struct, Generic[T, U], frozen=True, kw_only=True):
    """What the daemon does of itself for a family, whether or not anybody asks for anything.

    ``look`` finds what is due; None is nothing. ``clean`` then does the file I/O, on a thread (with
    ``cuts_log`` after the write-ahead log was cut to nothing), and ``command`` writes down what came of it,
    as a system command under ``name``; after that it looks again. Without ``clean`` the command is given
    what is due. It is due at each start, every
    ``every_seconds``, and after each commit of one of the operations in ``after``. Each step may be done
    again: what a crash or a full disk interrupts is taken up later.
    """

    name: str
    look: Callable[[View], T | None]
    cuts_log: bool = False
    clean: Callable[[Host, T], U] | None = None
    command: Callable[[U, Transaction], bool] | None = None
    every_seconds: float | None = None
    after: tuple[AnyOperation, ...] = ()


AnyErrand: TypeAlias = Errand[Any, Any]


# --- a family -----------------------------------------------------------------------------------------------
class Family(msgspec.Struct, frozen=True, kw_only=True):
    """A family: who answers its operations, and what else it tells.

    ``event_shown`` hides events of its objects from who may not see these. ``policies`` and
    ``classifications`` are queries, of one column, for the names that its rows use. ``disposed`` and
    ``gated`` are its calls (``ledger.calls``).
    """

    operations: tuple[AnyOperation, ...]
    handlers: tuple[Handler, ...]
    event_shown: EventCheck | None = None
    errands: tuple[AnyErrand, ...] = ()
    checks: tuple[Check, ...] = ()
    policies: tuple[str, ...] = ()
    classifications: tuple[str, ...] = ()
    disposed: Disposed[Transaction] | None = None
    gated: Gated | None = None

    def __post_init__(self) -> None:
        bound = [handler.operation for handler in self.handlers]
        for operation in self.operations:
            if bound.count(operation) != 1:
                raise TypeError(f"{operation.name} ({operation.socket} socket) needs exactly one handler")
        for handler in self.handlers:
            if handler.operation not in self.operations:
                raise TypeError(f"{handler.operation.name} is no operation of this family")
            if handler.operation.kind not in _KINDS[type(handler)]:
                raise TypeError(f"{handler.operation.name} is a {handler.operation.kind}, and bound as none")


_KINDS: Final[Mapping[type[Handler], frozenset[Kind]]] = MappingProxyType(
    {
        WriteHandler: frozenset({Kind.WRITE}),
        FencedReadHandler: frozenset({Kind.FENCED_READ}),
        ReadHandler: frozenset({Kind.READ, Kind.CONTROL}),
        SlicedHandler: frozenset({Kind.READ}),
        WaitHandler: frozenset({Kind.WAIT}),
    }
)

Key = tuple[Socket, str]


def handlers_of(families: Iterable[Family]) -> dict[Key, Handler]:
    """All handlers, by socket and name of their operation."""
    return {
        (handler.operation.socket, handler.operation.name): handler
        for family in families
        for handler in family.handlers
    }
