"""Problems: a closed vocabulary, recovery where it is due, and details that help and give nothing away."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tallystick.protocol import problems
from tallystick.protocol.envelope import decode_reply, encode_problem
from tallystick.protocol.problems import RECOVERY, STATUS, TITLE, TYPE_PREFIX, Kind, Refusal, decode_problem
from tallystick.protocol.shapes import Misshapen

STATUSES = {
    "invalid": 422,
    "unauthenticated": 401,
    "forbidden": 403,
    "not-found": 404,
    "unsupported-version": 400,
    "unknown-op": 400,
    "forbidden-surface": 403,
    "stale-revision": 409,
    "stale-lease": 409,
    "idempotency-mismatch": 409,
    "idempotency-result-expired": 410,
    "authorization-stale": 409,
    "budget-exceeded": 409,
    "deadline-exceeded": 409,
    "cycle": 409,
    "cursor-expired": 410,
    "snapshot-expired": 410,
    "rate-limited": 429,
    "ambiguous": 409,
    "unavailable": 503,
    "internal": 500,
}
"""KCP's table, written again by hand."""

MADE: dict[Kind, Callable[[], Refusal]] = {
    Kind.INVALID: lambda: problems.invalid("$.args.kind: it must be one of claim, goal."),
    Kind.UNAUTHENTICATED: lambda: problems.unauthenticated("The credential has expired. Show a new one."),
    Kind.FORBIDDEN: lambda: problems.forbidden("A system notice is the daemon's to write."),
    Kind.NOT_FOUND: lambda: problems.not_found("space", "space-1"),
    Kind.UNSUPPORTED_VERSION: lambda: problems.unsupported_version("Send version 0.1."),
    Kind.UNKNOWN_OP: lambda: problems.unknown_op("space_melt", "client"),
    Kind.FORBIDDEN_SURFACE: lambda: problems.forbidden_surface("Leave attempt_id out."),
    Kind.STALE_REVISION: lambda: problems.stale_revision(
        7, "Read it again.", {"digest": "ab" * 32, "branch_sequence": 3}
    ),
    Kind.STALE_LEASE: lambda: problems.stale_lease("Claim the invocation again."),
    Kind.IDEMPOTENCY_MISMATCH: lambda: problems.idempotency_mismatch("2026-01-31T09:00:00Z", "req-1"),
    Kind.IDEMPOTENCY_RESULT_EXPIRED: problems.idempotency_result_expired,
    Kind.AUTHORIZATION_STALE: lambda: problems.authorization_stale("Prepare it again."),
    Kind.BUDGET_EXCEEDED: lambda: problems.budget_exceeded("Ask for less."),
    Kind.DEADLINE_EXCEEDED: lambda: problems.deadline_exceeded("Ask again with a later deadline."),
    Kind.CYCLE: lambda: problems.cycle("It would supersede itself."),
    Kind.CURSOR_EXPIRED: lambda: problems.cursor_expired("kc1.a.b", "kc1.c.d", {"number": 2}),
    Kind.SNAPSHOT_EXPIRED: problems.snapshot_expired,
    Kind.RATE_LIMITED: lambda: problems.rate_limited(3, "Come again in 3 seconds."),
    Kind.AMBIGUOUS: lambda: problems.ambiguous("Ask the provider."),
    Kind.UNAVAILABLE: lambda: problems.unavailable("The disk is full. Free some space.", "not_applied"),
    Kind.INTERNAL: lambda: problems.internal("A fault of ours: report it with the request id."),
}
each_kind = pytest.mark.parametrize("kind", list(Kind))


def wire(kind: str, **members: Any) -> dict[str, Any]:
    return {"type": f"urn:kovee:error:{kind}", **members}


def test_the_vocabulary_is_kcps() -> None:
    """There are 21 kinds, each with KCP's status and a title of its own."""
    assert {str(kind): STATUS[kind] for kind in Kind} == STATUSES
    assert len(set(TITLE.values())) == len(Kind) == 21


@each_kind
def test_what_we_make_decodes(kind: Kind) -> None:
    """A refusal of each kind goes out as a line that decodes to the same problem, of its kind and status."""
    refusal = MADE[kind]()
    assert refusal.kind is kind
    reply = decode_reply(encode_problem(refusal.problem))
    assert reply.problem == refusal.problem
    assert refusal.problem.status == STATUSES[kind]
    assert refusal.problem.type == TYPE_PREFIX + kind


@each_kind
def test_a_kind_alone_is_enough_without_recovery(kind: Kind) -> None:
    """Only the kinds with a recovery member need more than a type."""
    if kind in RECOVERY:
        with pytest.raises(Misshapen, match=RECOVERY[kind][0]):
            decode_problem(wire(kind))
    else:
        assert decode_problem(wire(kind)).kind is kind


def test_members_stand_in_kcps_order() -> None:
    """A line begins with its outcome, and a problem with its type."""
    line = encode_problem(MADE[Kind.STALE_REVISION]().problem)
    assert line.startswith(
        b'{"outcome":"problem","problem":{"type":"urn:kovee:error:stale-revision","title":'
    )
    assert [*msgspec.json.decode(line)["problem"]] == ["type", "title", "status", "detail", "ext"]


def test_the_recovery_members_are_kcps() -> None:
    """Three kinds say how to go on, under the names and with the members that KCP gives them."""
    found = {kind: MADE[kind]().problem.ext for kind in RECOVERY}
    assert found == {
        Kind.STALE_REVISION: {
            "dev.kovee.recovery.stale-revision": {"current_revision": 7},
            "dev.tallystick.head": {"digest": "ab" * 32, "branch_sequence": 3},
        },
        Kind.CURSOR_EXPIRED: {
            "dev.kovee.recovery.cursor-expired": {"oldest_cursor": "kc1.a.b", "snapshot_boundary": "kc1.c.d"},
            "dev.tallystick.epoch": {"number": 2},
        },
        Kind.RATE_LIMITED: {"dev.kovee.recovery.rate-limited": {"retry_after_seconds": 3}},
    }


@pytest.mark.parametrize(("asked", "given"), [(-5, 0), (0, 0), (86_400, 86_400), (10**9, 86_400)])
def test_a_wait_is_cut_to_what_the_protocol_allows(asked: int, given: int) -> None:
    """Retry-after lies between 0 and a day, whatever was computed."""
    ext = problems.rate_limited(asked, "Later.").problem.ext
    assert ext == {"dev.kovee.recovery.rate-limited": {"retry_after_seconds": given}}


@pytest.mark.parametrize("state", ["unknown", "not_applied"])
def test_unavailable_says_what_became_of_the_command(state: Any) -> None:
    """The outcome survives the wire; a problem without it says nothing."""
    sent = problems.unavailable("Send it again under the same key.", state).problem
    assert decode_problem(msgspec.to_builtins(sent)).outcome == state
    assert problems.unavailable("Not now.").problem.outcome is None


RECOVERED = {"dev.kovee.recovery.stale-revision": {"current_revision": 7}}


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({}, "$"),
        ([], "$"),
        (wire("novel"), "$.type"),
        ({"type": "invalid"}, "$.type"),
        ({"type": None}, "$.type"),
        (wire("invalid", status=400), "$.status"),
        (wire("invalid", status=422.5), "$.status"),
        (wire("invalid", status="422"), "$.status"),
        (wire("invalid", title=None), "$.title"),
        (wire("invalid", title="t" * 4_097), "$.title"),
        (wire("invalid", detail="d" * 65_537), "$.detail"),
        (wire("invalid", instance=""), "$.instance"),
        (wire("invalid", instance="i" * 2_049), "$.instance"),
        (wire("invalid", trace="…"), "$"),
        (wire("invalid", ext=[]), "$.ext"),
        (wire("invalid", ext={"plain": 1}), "$.ext"),
        (wire("invalid", ext={"dev.Example": 1}), "$.ext"),
        (wire("stale-revision", ext={"dev.example.other": 1}), "$"),
        (wire("stale-revision", ext={"dev.kovee.recovery.stale-revision": {}}), "$.ext"),
        (
            wire("stale-revision", ext={"dev.kovee.recovery.stale-revision": {"current_revision": -1}}),
            "$.ext",
        ),
        (
            wire(
                "stale-revision", ext={"dev.kovee.recovery.stale-revision": {"current_revision": 1, "x": 1}}
            ),
            "$.ext",
        ),
        (wire("cursor-expired", ext={"dev.kovee.recovery.cursor-expired": {"oldest_cursor": "c"}}), "$.ext"),
        (
            wire("rate-limited", ext={"dev.kovee.recovery.rate-limited": {"retry_after_seconds": 86_401}}),
            "$.ext",
        ),
    ],
)
def test_what_is_no_problem_is_refused_with_its_place(value: object, place: str) -> None:
    """A problem is closed, typed and bounded; what is not one is refused where it goes wrong."""
    with pytest.raises(Misshapen) as fault:
        decode_problem(value)
    assert fault.value.path == place


@pytest.mark.parametrize(
    "value",
    [
        wire("stale-revision", status=409, ext=RECOVERED),
        wire("stale-revision", ext={**RECOVERED, "com.example.more": None}),
        wire("stale-revision", ext={"dev.kovee.recovery.stale-revision": {"current_revision": 7.0}}),
        wire("invalid", status=422.0, title="", detail="d" * 65_536, instance="i" * 2_048),
    ],
)
def test_what_is_a_problem_is_taken(value: object) -> None:
    """Foreign ext members, whole numbers written as floats and members at their bounds are all right."""
    assert decode_problem(value).type == value["type"]  # type: ignore[index]


def test_a_name_is_made_printable_and_cut() -> None:
    """What others called a thing goes into a detail without control characters, and cut."""
    detail = str(problems.not_found("space", "\x1b[2J\u202e" + "x" * 10_000).problem.detail)
    assert detail.isprintable()
    assert "\u202e" not in detail
    assert len(detail) < 400
