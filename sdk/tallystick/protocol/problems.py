"""What goes wrong, as a closed vocabulary: RFC 9457 problems of KCP 1.6, and the exception that carries one.

The kinds are closed and each has one status. Three kinds carry a recovery member that tells the client how to
go on; `decode_problem` requires it as strictly as the constructors give it. A detail says what was wrong,
where, and what to do next; none suggests anything that destroys data, and none repeats content, only
identifiers.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from . import limits
from .shapes import AnyJson, Cursor, DigestHex, ExtKey, Misshapen, SafeInt, convert, member_fault, shown


class Kind(StrEnum):
    """The 21 kinds of KCP 1.6, in its order."""

    INVALID = "invalid"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not-found"
    UNSUPPORTED_VERSION = "unsupported-version"
    UNKNOWN_OP = "unknown-op"
    FORBIDDEN_SURFACE = "forbidden-surface"
    STALE_REVISION = "stale-revision"
    STALE_LEASE = "stale-lease"
    IDEMPOTENCY_MISMATCH = "idempotency-mismatch"
    IDEMPOTENCY_RESULT_EXPIRED = "idempotency-result-expired"
    AUTHORIZATION_STALE = "authorization-stale"
    BUDGET_EXCEEDED = "budget-exceeded"
    DEADLINE_EXCEEDED = "deadline-exceeded"
    CYCLE = "cycle"
    CURSOR_EXPIRED = "cursor-expired"
    SNAPSHOT_EXPIRED = "snapshot-expired"
    RATE_LIMITED = "rate-limited"
    AMBIGUOUS = "ambiguous"
    UNAVAILABLE = "unavailable"
    INTERNAL = "internal"


STATUS: Final[dict[Kind, int]] = {
    Kind.INVALID: 422,
    Kind.UNAUTHENTICATED: 401,
    Kind.FORBIDDEN: 403,
    Kind.NOT_FOUND: 404,
    Kind.UNSUPPORTED_VERSION: 400,
    Kind.UNKNOWN_OP: 400,
    Kind.FORBIDDEN_SURFACE: 403,
    Kind.STALE_REVISION: 409,
    Kind.STALE_LEASE: 409,
    Kind.IDEMPOTENCY_MISMATCH: 409,
    Kind.IDEMPOTENCY_RESULT_EXPIRED: 410,
    Kind.AUTHORIZATION_STALE: 409,
    Kind.BUDGET_EXCEEDED: 409,
    Kind.DEADLINE_EXCEEDED: 409,
    Kind.CYCLE: 409,
    Kind.CURSOR_EXPIRED: 410,
    Kind.SNAPSHOT_EXPIRED: 410,
    Kind.RATE_LIMITED: 429,
    Kind.AMBIGUOUS: 409,
    Kind.UNAVAILABLE: 503,
    Kind.INTERNAL: 500,
}

TITLE: Final[dict[Kind, str]] = {
    Kind.INVALID: "The request is not valid",
    Kind.UNAUTHENTICATED: "The credential is not accepted",
    Kind.FORBIDDEN: "This actor may not do that",
    Kind.NOT_FOUND: "There is no such object here",
    Kind.UNSUPPORTED_VERSION: "The protocol version is not supported",
    Kind.UNKNOWN_OP: "There is no such operation on this socket",
    Kind.FORBIDDEN_SURFACE: "The attempt binding does not fit this socket",
    Kind.STALE_REVISION: "The object has moved on",
    Kind.STALE_LEASE: "The attempt no longer holds the invocation",
    Kind.IDEMPOTENCY_MISMATCH: "The idempotency key was used for another request",
    Kind.IDEMPOTENCY_RESULT_EXPIRED: "The stored result has expired",
    Kind.AUTHORIZATION_STALE: "The authorization has changed",
    Kind.BUDGET_EXCEEDED: "The budget does not cover it",
    Kind.DEADLINE_EXCEEDED: "The deadline has passed",
    Kind.CYCLE: "It would close a cycle",
    Kind.CURSOR_EXPIRED: "The cursor has expired",
    Kind.SNAPSHOT_EXPIRED: "The snapshot has expired",
    Kind.RATE_LIMITED: "Too many requests",
    Kind.AMBIGUOUS: "The outcome is not known",
    Kind.UNAVAILABLE: "The service cannot do that now",
    Kind.INTERNAL: "An internal fault",
}

TYPE_PREFIX: Final = "urn:kovee:error:"

_KINDS: Final[dict[str, Kind]] = {TYPE_PREFIX + kind: kind for kind in Kind}

Ext: TypeAlias = dict[ExtKey, AnyJson]


class StaleRevisionRecovery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the object stands now; a client reads it again, or repeats with this revision."""

    current_revision: SafeInt


class CursorExpiredRecovery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where reading can go on: the oldest position there is, or a snapshot and its boundary."""

    oldest_cursor: Cursor
    snapshot_boundary: Cursor


class RateLimitedRecovery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When to come again, in seconds."""

    retry_after_seconds: Annotated[int, Meta(ge=0, le=limits.RETRY_AFTER_SECONDS_MAX)]


RECOVERY: Final[dict[Kind, tuple[str, type[Struct]]]] = {
    Kind.STALE_REVISION: ("dev.kovee.recovery.stale-revision", StaleRevisionRecovery),
    Kind.CURSOR_EXPIRED: ("dev.kovee.recovery.cursor-expired", CursorExpiredRecovery),
    Kind.RATE_LIMITED: ("dev.kovee.recovery.rate-limited", RateLimitedRecovery),
}
"""The `ext` member that a problem of this kind must carry, and its closed shape."""

EXT_HEAD: Final = "dev.tallystick.head"
EXT_LEASE: Final = "dev.tallystick.lease"
EXT_HOLDER: Final = "dev.tallystick.holder"
EXT_EPOCH: Final = "dev.tallystick.epoch"
EXT_OUTCOME: Final = "dev.tallystick.outcome"
EXT_DISK: Final = "dev.tallystick.disk"


class Head(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`ext` ``dev.tallystick.head``: the branch head that a compare-and-set met."""

    digest: DigestHex
    branch_sequence: SafeInt


class Outcome(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`ext` ``dev.tallystick.outcome``: an ``unknown`` one is sent again under the same key."""

    state: Literal["unknown", "not_applied"]


class Problem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """RFC 9457 problem details as KCP 1.6 closes them. Members in the order in which they are sent."""

    type: str
    title: Annotated[str, Meta(max_length=limits.PROBLEM_TITLE_SCALARS_MAX)] | UnsetType = UNSET
    status: Annotated[int, Meta(ge=400, le=599)] | UnsetType = UNSET
    detail: Annotated[str, Meta(max_length=limits.PROBLEM_DETAIL_SCALARS_MAX)] | UnsetType = UNSET
    instance: Annotated[str, Meta(min_length=1, max_length=limits.PROBLEM_INSTANCE_CHARS_MAX)] | UnsetType = (
        UNSET
    )
    ext: Ext | UnsetType = UNSET

    def __post_init__(self) -> None:
        kind = _KINDS.get(self.type)
        if kind is None:
            raise member_fault("type", "it must be one of " + ", ".join(_KINDS))
        if self.status is not UNSET and self.status != STATUS[kind]:
            raise member_fault("status", f"a problem of the kind {kind} has the status {STATUS[kind]}")
        if kind in RECOVERY:
            _check_recovery(self, kind)

    @property
    def kind(self) -> Kind:
        """The kind, which travels inside `type`."""
        return _KINDS[self.type]

    @property
    def outcome(self) -> Literal["unknown", "not_applied"] | None:
        """What `unavailable` says about the command, if it says it (``dev.tallystick.outcome``)."""
        if self.ext is UNSET or EXT_OUTCOME not in self.ext:
            return None
        return convert(self.ext[EXT_OUTCOME], Outcome, f"$.ext['{EXT_OUTCOME}']").state


def _check_recovery(problem: Problem, kind: Kind) -> None:
    key, shape = RECOVERY[kind]
    if problem.ext is UNSET or key not in problem.ext:
        raise ValueError(f"a problem of the kind {kind} must carry {key} in its ext")
    try:
        convert(problem.ext[key], shape, "")
    except Misshapen as fault:
        raise member_fault("ext", f"{key}{fault.path}: {fault.detail}") from None


def decode_problem(value: object, at: str = "$") -> Problem:
    """`value`, parsed JSON at the path `at`, as a problem. Raises `Misshapen`."""
    return convert(value, Problem, at)


class Refusal(Exception):
    """A request is refused with `problem`. Raised by whatever finds the reason, answered by the door."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail if problem.detail is not UNSET else problem.type)
        self.problem = problem

    @property
    def kind(self) -> Kind:
        return self.problem.kind


def _refusal(kind: Kind, detail: str, ext: Mapping[str, object] | None = None) -> Refusal:
    return Refusal(
        Problem(
            type=TYPE_PREFIX + kind,
            title=TITLE[kind],
            status=STATUS[kind],
            detail=detail[: limits.PROBLEM_DETAIL_SCALARS_MAX],
            ext=dict(ext) if ext else UNSET,
        )
    )


# --- one constructor a kind -------------------------------------------------------------------------------
def invalid(detail: str, ext: Mapping[str, object] | None = None) -> Refusal:
    """A shape or a value that is not allowed; `detail` says where, and what is allowed there."""
    return _refusal(Kind.INVALID, detail, ext)


def misshapen(fault: Misshapen) -> Refusal:
    """`fault` as `invalid`: its JSON path, and what is allowed there."""
    return _refusal(Kind.INVALID, f"{fault.path}: {fault.detail}.")


def unauthenticated(detail: str) -> Refusal:
    """The credential that was shown is wrong, expired or revoked."""
    return _refusal(Kind.UNAUTHENTICATED, detail)


def forbidden(detail: str) -> Refusal:
    """The actor is known, sees the object, and may not do this."""
    return _refusal(Kind.FORBIDDEN, detail)


def not_found(what: str, identifier: str) -> Refusal:
    """No `what` of that `identifier` exists, or none that this actor may see: the same answer for both."""
    return _refusal(
        Kind.NOT_FOUND,
        f"There is no {what} {shown(identifier)} here that you may see. Check the identifier, and the realm, "
        "project and space that it belongs to.",
    )


def unsupported_version(detail: str) -> Refusal:
    """No protocol version in common."""
    return _refusal(Kind.UNSUPPORTED_VERSION, detail)


def unknown_op(op: str, socket: str) -> Refusal:
    """`op` is no operation of the socket on which it came."""
    return _refusal(
        Kind.UNKNOWN_OP,
        f"$.op: {shown(op)} is not an operation of the {socket} socket. protocol_info and tallystick_limits, "
        "asked on the client socket, name the bundles that are served.",
    )


def forbidden_surface(detail: str) -> Refusal:
    """A worker's attempt binding on the client socket, or none on the worker socket."""
    return _refusal(Kind.FORBIDDEN_SURFACE, detail)


def stale_revision(current_revision: int, detail: str, head: Mapping[str, object] | None = None) -> Refusal:
    """The object has moved; `head` ({digest, branch_sequence}) is the head, if one was compared."""
    ext: dict[str, object] = {RECOVERY[Kind.STALE_REVISION][0]: {"current_revision": current_revision}}
    if head is not None:
        ext[EXT_HEAD] = dict(head)
    return _refusal(Kind.STALE_REVISION, detail, ext)


def stale_lease(detail: str, ext: Mapping[str, object] | None = None) -> Refusal:
    """The attempt or claim that speaks is not the current one, or another has what it wants."""
    return _refusal(Kind.STALE_LEASE, detail, ext)


def invocation_ended(detail: str, state: str) -> Refusal:
    """There is no lease to be had any more: the invocation has ended, as `state` says."""
    return _refusal(Kind.STALE_LEASE, detail, {EXT_LEASE: {"ended": state}})


def lease_held(detail: str, remaining_seconds: int) -> Refusal:
    """Another attempt has the invocation, for `remaining_seconds` more unless it renews its lease."""
    return _refusal(Kind.STALE_LEASE, detail, {EXT_LEASE: {"remaining_seconds": remaining_seconds}})


def idempotency_mismatch(first_at: str, first_request_id: str) -> Refusal:
    """The key was used for something else, at the time `first_at` by the request `first_request_id`."""
    return _refusal(
        Kind.IDEMPOTENCY_MISMATCH,
        f"This idempotency key was first used at {first_at} by the request {shown(first_request_id)}, for "
        "something else. For a new intent make a new key; to have the first result again, send the first "
        "request unchanged.",
    )


def idempotency_result_expired() -> Refusal:
    """The command ran, and its stored result is past its retention."""
    return _refusal(
        Kind.IDEMPOTENCY_RESULT_EXPIRED,
        "The command under this idempotency key was executed, and its stored result is past its retention. "
        "It will not be executed again. Read the object to see where it stands.",
    )


def authorization_stale(detail: str) -> Refusal:
    """What the actor was allowed rests on something that has changed."""
    return _refusal(Kind.AUTHORIZATION_STALE, detail)


def budget_exceeded(detail: str) -> Refusal:
    """The budget cannot reserve what the command needs."""
    return _refusal(Kind.BUDGET_EXCEEDED, detail)


def deadline_exceeded(detail: str) -> Refusal:
    """The invocation's deadline has passed."""
    return _refusal(Kind.DEADLINE_EXCEEDED, detail)


def cycle(detail: str) -> Refusal:
    """An object would supersede, depend on or relate to itself."""
    return _refusal(Kind.CYCLE, detail)


def cursor_expired(oldest_cursor: str, snapshot_boundary: str, epoch: Mapping[str, object]) -> Refusal:
    """The cursor is of an earlier epoch or past the head; `epoch` says which one reigns now."""
    return _refusal(
        Kind.CURSOR_EXPIRED,
        "This cursor names a position that the store no longer has. Go on from oldest_cursor, or read a "
        "snapshot and go on from snapshot_boundary.",
        {
            RECOVERY[Kind.CURSOR_EXPIRED][0]: {
                "oldest_cursor": oldest_cursor,
                "snapshot_boundary": snapshot_boundary,
            },
            EXT_EPOCH: dict(epoch),
        },
    )


def snapshot_expired(detail: str | None = None) -> Refusal:
    """The list's snapshot is no longer kept."""
    return _refusal(
        Kind.SNAPSHOT_EXPIRED,
        detail or "This list's snapshot is no longer kept. Read the list again from its first page.",
    )


def rate_limited(retry_after_seconds: int, detail: str) -> Refusal:
    """Over a cap; `retry_after_seconds` is cut to what the protocol allows."""
    seconds = max(0, min(retry_after_seconds, limits.RETRY_AFTER_SECONDS_MAX))
    return _refusal(
        Kind.RATE_LIMITED, detail, {RECOVERY[Kind.RATE_LIMITED][0]: {"retry_after_seconds": seconds}}
    )


def ambiguous(detail: str) -> Refusal:
    """An effect outside the store was begun, and what became of it is not known."""
    return _refusal(Kind.AMBIGUOUS, detail)


def unavailable(
    detail: str,
    outcome: Literal["unknown", "not_applied"] | None = None,
    ext: Mapping[str, object] | None = None,
) -> Refusal:
    """Not now. `outcome` says whether the command may have been applied, where that can be said."""
    whole: dict[str, object] = dict(ext or {})
    if outcome is not None:
        whole[EXT_OUTCOME] = {"state": outcome}
    return _refusal(Kind.UNAVAILABLE, detail, whole)


def internal(detail: str) -> Refusal:
    """A fault of ours; `detail` says how to report it and holds no secrets."""
    return _refusal(Kind.INTERNAL, detail)
