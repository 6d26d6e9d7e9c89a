"""What the SDK raises: one family of exceptions, divided by where an error comes from.

``TallyError`` is the root. Below it stand

- ``ProblemError``, what the daemon answered: one subclass for each of the 21 problem kinds (KCP 1.6), so that
  a caller catches ``StaleRevision`` and not a string;
- ``TransportError``, what went wrong on the way to the daemon: nobody answers, the sandbox forbids the
  socket, time ran out;
- ``NotSendable``, a request that could not be written as strict JSON within the limits, and was not sent;
- ``KeyStoreError`` and ``CursorStoreError``, what went wrong with the SDK's own files;
- ``LeaseLost`` and ``AssistantExited``, the end of a worker's attempt.

Every error says what was wrong, where, and what to do next. For a write, ``outcome`` says what became of it:
``applied``, ``not_applied`` or ``unknown``. ``unknown`` is never a guess: the request went out, and no
answer has told its fate. Sending the same request under the same key tells it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Literal

if TYPE_CHECKING:  # importing msgspec costs a quarter of what a command at the shell may take
    from tallystick.protocol.ijson import JsonValue
    from tallystick.protocol.problems import Problem

Outcome = Literal["applied", "not_applied", "unknown"]


class TallyError(Exception):
    """The root of all that the SDK raises on purpose."""


# --- what the daemon says ---------------------------------------------------------------------------------
BY_KIND: dict[str, type[ProblemError]] = {}
"""The exception class of each problem kind."""
_LEASE: Final = "dev.tallystick.lease"
"""The extension that says why a lease is not to be had."""


class ProblemError(TallyError):
    """The daemon answered with a problem (RFC 9457).

    ``problem`` is the whole of it; ``operation`` what was asked; ``key`` the idempotency key of a write,
    else None; ``outcome`` what became of the write (a read is always ``not_applied``). It is ``unknown``
    where an earlier try of the same request got no answer and this problem does not tell that try's fate.
    """

    kind: ClassVar[str] = ""

    def __init__(
        self, problem: Problem, *, operation: str, key: str | None = None, outcome: Outcome = "not_applied"
    ) -> None:
        self.problem = problem
        self.operation = operation
        self.key = key
        self.outcome: Outcome = outcome
        super().__init__(f"{operation}: {self.kind}: {self.detail}")

    def __init_subclass__(cls) -> None:
        if cls.kind in BY_KIND:
            return  # a narrower class of the same kind, as LeaseLost is
        BY_KIND[cls.kind] = cls

    @property
    def detail(self) -> str:
        """The sentence that says what was wrong, where, and what to do; the title where there is none."""
        problem = self.problem
        return problem.detail or problem.title or problem.type

    @property
    def ext(self) -> dict[str, JsonValue]:
        """The problem's extensions, empty where it has none."""
        return self.problem.ext or {}

    def _member(self, key: str, member: str) -> JsonValue:
        extension = self.ext.get(key)
        return extension.get(member) if isinstance(extension, dict) else None

    def _text(self, key: str, member: str) -> str | None:
        value = self._member(key, member)
        return value if isinstance(value, str) else None

    def _integer(self, key: str, member: str) -> int | None:
        value = self._member(key, member)
        return value if isinstance(value, int) else None


class Invalid(ProblemError):
    """The request does not have the declared shape, or a value in it is not allowed; the detail says where.
    """

    kind = "invalid"


class Unauthenticated(ProblemError):
    """The credential shown on this connection is wrong, expired or revoked."""

    kind = "unauthenticated"


class Forbidden(ProblemError):
    """This actor sees the object and may not do this."""

    kind = "forbidden"


class NotFound(ProblemError):
    """There is no such object, or none that this actor may see: the same answer for both."""

    kind = "not-found"


class UnsupportedVersion(ProblemError):
    """Daemon and SDK have no protocol version in common."""

    kind = "unsupported-version"


class UnknownOp(ProblemError):
    """The operation is not served on this socket."""

    kind = "unknown-op"


class ForbiddenSurface(ProblemError):
    """A worker's attempt on the client socket, or none on the worker socket."""

    kind = "forbidden-surface"


class StaleRevision(ProblemError):
    """The object has moved on since it was read. Read it again, and decide anew."""

    kind = "stale-revision"

    @property
    def current_revision(self) -> int | None:
        """Where the object stands now."""
        return self._integer("dev.kovee.recovery.stale-revision", "current_revision")

    @property
    def head_digest(self) -> str | None:
        """The branch head that a compare-and-set met, where one was asked for."""
        return self._text("dev.tallystick.head", "digest")

    @property
    def head_sequence(self) -> int | None:
        """The branch sequence of ``head_digest``."""
        return self._integer("dev.tallystick.head", "branch_sequence")


class StaleLease(ProblemError):
    """There is no lease: the attempt that speaks is not the current one, or none can be had now.

    ``LeaseHeld`` and ``InvocationEnded`` are the two reasons why an invocation cannot be claimed.
    """

    kind = "stale-lease"


class LeaseHeld(StaleLease):
    """Another attempt has the invocation. It can be claimed once that one's lease has run out."""

    @property
    def remaining_seconds(self) -> int:
        """How long the lease still runs, unless it is renewed."""
        return self._integer(_LEASE, "remaining_seconds") or 0


class InvocationEnded(StaleLease):
    """The invocation is over: nobody can claim it, and no attempt of it can do anything more."""

    @property
    def state(self) -> str | None:
        """How it ended: ``succeeded``, ``failed`` or ``canceled``."""
        return self._text(_LEASE, "ended")


class IdempotencyMismatch(ProblemError):
    """The key was used before, for another request; the detail tells when, and by which request."""

    kind = "idempotency-mismatch"


class IdempotencyResultExpired(ProblemError):
    """The command was applied so long ago that the daemon no longer keeps its result."""

    kind = "idempotency-result-expired"


class AuthorizationStale(ProblemError):
    """What allowed the actor to do this has changed since."""

    kind = "authorization-stale"


class BudgetExceeded(ProblemError):
    """The budget cannot reserve what the command needs."""

    kind = "budget-exceeded"


class DeadlineExceeded(ProblemError):
    """The *invocation's* deadline has passed. (A client's own deadline raises ``TimedOut``.)"""

    kind = "deadline-exceeded"


class Cycle(ProblemError):
    """An object would supersede, depend on or relate to itself."""

    kind = "cycle"


class CursorExpired(ProblemError):
    """The cursor is of an earlier epoch of the store, or past its head."""

    kind = "cursor-expired"

    @property
    def oldest_cursor(self) -> str | None:
        """The oldest position from which events can be read."""
        return self._text("dev.kovee.recovery.cursor-expired", "oldest_cursor")

    @property
    def snapshot_boundary(self) -> str | None:
        """Where to go on after the current state was read anew."""
        return self._text("dev.kovee.recovery.cursor-expired", "snapshot_boundary")

    @property
    def epoch(self) -> dict[str, JsonValue]:
        """What the daemon says of the store's present epoch, empty where it says nothing."""
        epoch = self.ext.get("dev.tallystick.epoch")
        return epoch if isinstance(epoch, dict) else {}


class SnapshotExpired(ProblemError):
    """The list's snapshot is no longer kept; read the list again from its first page."""

    kind = "snapshot-expired"


class RateLimited(ProblemError):
    """Over a cap of the daemon for longer than the caller's deadline."""

    kind = "rate-limited"

    @property
    def retry_after_seconds(self) -> int | None:
        """How many seconds to wait before the next try."""
        return self._integer("dev.kovee.recovery.rate-limited", "retry_after_seconds")


class Ambiguous(ProblemError):
    """An effect outside the store was begun, and what became of it is not known."""

    kind = "ambiguous"


class Unavailable(ProblemError):
    """The daemon cannot do that now."""

    kind = "unavailable"


class Internal(ProblemError):
    """A fault of the daemon."""

    kind = "internal"


class LeaseLost(StaleLease):
    """This worker's attempt was fenced in the middle of its run: another one holds the invocation, or it
    has ended.

    Stop. What the attempt wrote stays, and a later attempt of the same invocation finds it done.
    """


def problem_error(
    problem: Problem, *, operation: str, key: str | None = None, outcome: Outcome = "not_applied"
) -> ProblemError:
    """The exception for a problem: that of its kind, or a narrower one where the problem says more."""
    kind = BY_KIND[problem.kind]
    lease = (problem.ext or {}).get(_LEASE)
    if kind is StaleLease and isinstance(lease, dict):
        kind = LeaseHeld if "remaining_seconds" in lease else InvocationEnded
    return kind(problem, operation=operation, key=key, outcome=outcome)


# --- what the way there does ------------------------------------------------------------------------------
class TransportError(TallyError):
    """No reply could be had. ``path`` is the socket, ``operation`` what was asked, ``key`` the key of a
    write."""

    outcome: Outcome = "not_applied"

    def __init__(self, message: str, *, path: str, operation: str, key: str | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.operation = operation
        self.key = key


class Unreachable(TransportError):
    """Nobody answers at the socket. The request was never sent."""


class SandboxBlocked(TransportError):
    """The operating system forbids this process to connect. The request was never sent."""


class WrongActor(TransportError):
    """The credential that was shown is not the actor's as whom the client was opened. The request was not
    sent.
    """


class OtherStore(TransportError):
    """The daemon that answers has another store than the one that the request is for. It was not sent there.

    A key means something in one store alone, and so does a cursor.
    """

    kind: ClassVar[str] = "other-store"


class TimedOut(TransportError):
    """The caller's deadline ran out. A read can simply be asked again."""


class BadReply(TransportError):
    """What answers at the socket does not speak the protocol."""


class OutcomeUnknown(TimedOut):
    """The caller's deadline ran out on a write that was sent, and nothing has told its fate.

    Call again with ``key=error.key`` and the same arguments, or ``client.resume()``: the same command,
    which is applied at most once, whenever it arrives.
    """

    outcome: Outcome = "unknown"


class AssistantExited(TallyError):
    """An assistant did not return and raised no exception: it asked for the end of the process.

    Its attempt has failed. The cause is what it raised (``SystemExit``, mostly). To end an attempt, return
    from ``run``, or raise an exception.
    """


class ClientClosed(TallyError):
    """The client was closed, here or by another thread; open another one."""


# --- what never left --------------------------------------------------------------------------------------
class NotSendable(TallyError, ValueError):
    """The request cannot be written as strict JSON within the limits; ``place`` says where. Nothing was
    sent."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(f"{place}: {message}")
        self.place = place


class KeyStoreError(TallyError):
    """The file in which keys are kept before the first try cannot be used. Nothing was sent."""


class UploadRejected(TallyError):
    """Bytes that were sent are not those that were declared: the file changed while it was sent.

    Nothing became available. Send it again when it is at rest.
    """

    def __init__(self, upload_id: str) -> None:
        self.upload_id = upload_id
        super().__init__(
            f"upload {upload_id} was rejected: what was sent is not what was declared, for the file changed "
            "on the way; send it again when it is at rest"
        )


class CursorStoreError(TallyError):
    """The file in which a follower keeps its cursor cannot be used, or belongs to another subscription."""
