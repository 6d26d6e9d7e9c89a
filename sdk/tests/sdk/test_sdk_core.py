"""The sans-IO core: keys, bytes, framing, and when a request is sent again."""

import errno
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from line_server import NOT_APPLIED, UNKNOWN, limited, ok, problem

from tallystick import calls, core, errors
from tallystick.core import Exchange, Read, ReplyBuffer, Request, Write, encode, new_key, prepare
from tallystick.protocol import limits
from tallystick.protocol.problems import STATUS, Kind
from tallystick.protocol.replies import decode_reply

PATH = "/run/tally/tally.sock"
WRITE = Request("client", "project_create", "key-1", b"{}")
READ = Request("client", "realm_show", None, b"{}")


def exchange(request: Request = WRITE, *, sent_before: bool = False, random: float = 0.0) -> Exchange:
    """An exchange that began at 0 and ends at 10."""
    return Exchange(
        request, path=PATH, now=0.0, seconds=10.0, sent_before=sent_before, random=lambda: random
    )


def refused(kind: str) -> bytes:
    """A problem line of the kind, with the recovery members that it must carry."""
    recoveries: dict[str, object] = {
        "stale-revision": {"current_revision": 7},
        "cursor-expired": {"oldest_cursor": "kc1.a.b", "snapshot_boundary": "kc1.c.d"},
        "rate-limited": {"retry_after_seconds": 0},
    }
    members = {}
    if kind in recoveries:
        members["ext"] = {f"dev.kovee.recovery.{kind}": recoveries[kind]}
    return problem(kind, STATUS[Kind(kind)], detail=f"it is {kind}", **members)[:-1]


# --- keys -------------------------------------------------------------------------------------------------
def test_keys_are_time_ordered_uuids() -> None:
    """A key is the digits of a UUIDv7 of now, and each is greater than the one before."""
    before = time.time_ns() // 1_000_000
    keys = [new_key() for _ in range(10_000)]
    assert keys == sorted(set(keys))
    assert all(len(key) == 32 and key[12] == "7" and key[16] in "89ab" for key in keys)
    assert before <= int(keys[0][:12], 16) <= time.time_ns() // 1_000_000


# --- bytes ------------------------------------------------------------------------------------------------
def test_the_same_key_and_arguments_give_the_same_bytes() -> None:
    """A retry by another process that knows its key sends the very line that the first one sent."""
    lines = {prepare(calls.projects.project_create("kitchen", key="k")).line for _ in range(2)}
    assert len(lines) == 1
    assert json.loads(lines.pop()) == {
        "version": "0.1",
        "op": "project_create",
        "realm_id": "realm-personal",
        "meta": {"request_id": "req-k", "idempotency_key": "k"},
        "args": {"name": "kitchen"},
    }


def test_a_long_key_still_gives_a_request_id() -> None:
    """A key of full length makes a request id that is an identifier, the same each time."""
    key = "k" * limits.IDENTIFIER_BYTES_MAX
    lines = [prepare(calls.projects.project_create("x", key=key)).line for _ in "ab"]
    ids = {json.loads(line)["meta"]["request_id"] for line in lines}
    assert len(ids) == 1
    assert len(ids.pop()) <= limits.IDENTIFIER_BYTES_MAX


def test_a_new_key_each_time_where_none_is_given() -> None:
    """Two calls without a key are two commands."""
    first, second = (prepare(calls.projects.project_create("x")) for _ in range(2))
    assert first.key != second.key


def test_reads_carry_no_meta() -> None:
    """A read has no key, and says so on the wire by leaving meta out."""
    request = prepare(calls.projects.realm_show())
    assert request.key is None
    assert b"meta" not in request.line


def test_a_request_does_not_show_its_content() -> None:
    """What is printed of a request holds nothing of what a person wrote."""
    assert "canary" not in repr(prepare(calls.projects.project_create("canary")))


@pytest.mark.parametrize(
    ("value", "place", "words"),
    [
        ({"a": [{"text": "ab\ud800c"}]}, "$.a[0].text", "character 2"),
        ({"n\udc00": 1}, "$", "surrogate"),
        ({"a": float("nan")}, "$.a", "not finite"),
        ({"a": float("inf")}, "$.a", "not finite"),
        ({"a": 2**53}, "$.a", "send it as a string"),
        ({"a": -(2**53)}, "$.a", "send it as a string"),
        ({"a": {1: 2}}, "$.a", "name is a int"),
        ({"a": {"b": b"bytes"}}, "$.a.b", "bytes is no JSON type"),
        ({"a": {1, 2}}, "$.a", "set is no JSON type"),
    ],
)
def test_what_json_would_change_is_refused_with_its_place(value: object, place: str, words: str) -> None:
    """Nothing is sent that another reader would see differently, and the error says where it stands (case
    71)."""
    with pytest.raises(errors.NotSendable) as caught:
        encode(value)
    assert caught.value.place == place
    assert words in str(caught.value)
    str(caught.value).encode()  # the message itself can be written to a log


def test_too_deep_and_too_long_are_refused() -> None:
    """What the daemon could never take is refused before it is sent."""
    deep: object = "x"
    for _ in range(limits.DEPTH_MAX + 1):
        deep = [deep]
    with pytest.raises(errors.NotSendable, match="nested deeper"):
        encode(deep)
    with pytest.raises(errors.NotSendable, match="Split the content"):
        encode({"a": "x" * limits.REQUEST_BYTES_MAX})


def test_lone_surrogates_are_replaced_where_asked() -> None:
    """Halves that belong together are joined, a lone one becomes U+FFFD, all else stays (case 71)."""
    line = encode({"a": "ä\ud83d\ude00 \ud800x \udc00", "b": "plain ä"}, "replace")
    assert json.loads(line) == {"a": "ä😀 \ufffdx \ufffd", "b": "plain ä"}


# --- framing ----------------------------------------------------------------------------------------------
@given(st.lists(st.binary().filter(lambda b: b"\n" not in b), min_size=1), st.data())
def test_lines_come_out_as_they_went_in(sent: list[bytes], data: st.DataObject) -> None:
    """However the bytes of a reply are cut, the line that comes out is the one that went in."""
    for line in sent:
        buffer, rest, out = ReplyBuffer(), line + b"\n", None
        while rest:
            size = data.draw(st.integers(1, len(rest)))
            out = buffer.feed(rest[:size])
            rest = rest[size:]
            assert (out is not None) == (not rest)
        assert out == line


def test_an_endless_reply_is_refused() -> None:
    """Something that sends and never ends its line does not fill the memory."""
    buffer = ReplyBuffer()
    with pytest.raises(ValueError, match="more than"):
        buffer.feed(b"x" * (limits.REPLY_BYTES_MAX + 1))


@pytest.mark.parametrize(
    "line",
    [
        ok({"a": 1})[:-1],
        ok([], revision=3, event_cursor="kc1.a.b")[:-1],
        *(refused(kind) for kind in Kind),
        b"",
        b"[]",
        b"{}",
        b'{"outcome":"ok"}',
        b'{"outcome":"ok","result":1,"revision":true}',
        b'{"outcome":"ok","result":1,"revision":"1"}',
        b'{"outcome":"ok","result":1,"event_cursor":1}',
        b'{"outcome":"ok","result":1,"problem":{}}',
        b'{"outcome":"ok","result":1,"result":2}',
        b'{"outcome":"perhaps","result":1}',
        b'{"outcome":"problem"}',
        b'{"outcome":"problem","problem":{"type":"urn:kovee:error:new","status":400}}',
        b'{"outcome":"problem","problem":{"type":"urn:kovee:error:invalid","status":400}}',
        b'{"outcome":"problem","problem":{"type":"urn:kovee:error:stale-revision","status":409}}',
    ],
)
def test_replies_are_read_as_the_protocol_reads_them(line: bytes) -> None:
    """The core's quick reading of a reply takes and refuses what the protocol's own decoder does."""
    try:
        expected = decode_reply(line)
    except ValueError:
        with pytest.raises(ValueError, match=r".+"):
            core.parse_reply(line)
        return
    reply = core.parse_reply(line)
    if isinstance(reply, core.Answer):
        assert reply.result == expected.result
        assert reply.revision == (expected.revision or None)
        assert reply.event_cursor == (expected.event_cursor or None)
    else:
        assert reply == expected.problem


# --- problems ---------------------------------------------------------------------------------------------
def test_each_problem_kind_has_its_exception() -> None:
    """There is one exception class for each of the protocol's kinds, and none for another."""
    assert set(errors.BY_KIND) == set(Kind)
    assert len({*errors.BY_KIND.values()}) == len(Kind) == 21


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.RATE_LIMITED])
def test_a_problem_is_raised_and_not_retried(kind: Kind) -> None:
    """A problem that would be answered the same again is raised at once, as its class, with what it says."""
    running = exchange()
    running.sending()
    with pytest.raises(errors.ProblemError) as caught:
        running.answered(refused(kind), 1.0)
    assert type(caught.value) is errors.BY_KIND[kind]
    assert caught.value.kind == kind
    assert caught.value.detail == f"it is {kind}"
    assert caught.value.key == "key-1"
    assert caught.value.outcome == ("applied" if kind is Kind.IDEMPOTENCY_RESULT_EXPIRED else "not_applied")


def test_recovery_members_can_be_read() -> None:
    """What a problem says for the recovery is had by name, typed."""
    running = exchange()
    running.sending()
    with pytest.raises(errors.StaleRevision) as stale:
        running.answered(refused("stale-revision"), 1.0)
    assert stale.value.current_revision == 7
    with pytest.raises(errors.CursorExpired) as expired:
        running.answered(refused("cursor-expired"), 1.0)
    assert (expired.value.oldest_cursor, expired.value.snapshot_boundary) == ("kc1.a.b", "kc1.c.d")


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("stale-revision", "not_applied"),
        ("idempotency-mismatch", "not_applied"),
        ("cycle", "not_applied"),
        ("idempotency-result-expired", "applied"),
        ("not-found", "unknown"),
        ("stale-lease", "unknown"),
        ("internal", "unknown"),
    ],
)
def test_a_problem_after_a_lost_reply_says_what_it_knows(kind: str, outcome: str) -> None:
    """A problem found before the key was looked up does not tell what became of an earlier try (case 24)."""
    running = exchange()
    running.sending()
    running.broken(ConnectionResetError())
    running.sending()
    with pytest.raises(errors.ProblemError) as caught:
        running.answered(refused(kind), 1.0)
    assert caught.value.outcome == outcome


# --- retries ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("line", [UNKNOWN, NOT_APPLIED, limited(0)])
def test_what_may_pass_is_sent_again(line: bytes) -> None:
    """Rate-limited, and unavailable with an outcome, mean the same bytes again."""
    running = exchange()
    running.sending()
    assert running.answered(line[:-1], 1.0) is None
    assert running.pause(1.0) >= 0
    running.sending()
    assert running.answered(ok("done")[:-1], 1.1) == core.Answer("done", None, None)
    assert running.tries == 2


def test_the_pause_grows_and_is_drawn_between_nothing_and_its_ceiling() -> None:
    """The pauses are full jitter below a doubling ceiling that ends at a second."""
    ceilings = [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0, 1.0]
    longest, shortest = exchange(random=1.0), exchange(random=0.0)
    assert [longest.pause(0.0) for _ in ceilings] == pytest.approx(ceilings)
    assert [shortest.pause(0.0) for _ in ceilings] == [0.0] * len(ceilings)


def test_no_pause_reaches_beyond_the_deadline() -> None:
    """The last pause ends at the deadline, and after it there is an error and no pause."""
    running = exchange(random=1.0)
    for _ in range(8):
        running.pause(0.0)
    assert running.pause(9.75) == pytest.approx(0.25)
    with pytest.raises(errors.TimedOut):
        running.pause(10.0)


def test_rate_limited_is_not_asked_earlier() -> None:
    """A client that is told to come again in three seconds does not come before."""
    running = exchange(random=0.5)
    running.sending()
    running.answered(limited(3)[:-1], 1.0)
    assert running.pause(2.0) == pytest.approx(2.0 + 0.01)


def test_rate_limited_beyond_the_deadline_is_raised_at_once() -> None:
    """Waiting for nothing helps nobody: the caller learns when to come again, and that nothing was done."""
    running = exchange()
    running.sending()
    running.answered(limited(60)[:-1], 1.0)
    with pytest.raises(errors.RateLimited) as caught:
        running.pause(1.0)
    assert caught.value.retry_after_seconds == 60
    assert caught.value.outcome == "not_applied"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([None], errors.OutcomeUnknown),
        ([UNKNOWN], errors.OutcomeUnknown),
        ([NOT_APPLIED], errors.Unavailable),
        ([None, NOT_APPLIED], errors.OutcomeUnknown),
        ([NOT_APPLIED, None], errors.OutcomeUnknown),
        ([UNKNOWN, limited(0)], errors.OutcomeUnknown),
        ([limited(0)], errors.RateLimited),
    ],
)
def test_the_deadline_of_a_write_tells_what_is_known(
    lines: list[bytes | None], expected: type[errors.TallyError]
) -> None:
    """A write's last error is OutcomeUnknown exactly where some try's fate was never told; None is a lost
    reply."""
    running = exchange()
    for line in lines:
        running.sending()
        if line is None:
            running.broken(ConnectionResetError())
        else:
            assert running.answered(line[:-1], 1.0) is None
    with pytest.raises(expected) as caught:
        running.pause(10.0)
    assert getattr(caught.value, "key", None) == "key-1"
    assert getattr(caught.value, "outcome", None) == (
        "unknown" if expected is errors.OutcomeUnknown else "not_applied"
    )


def test_outcome_unknown_says_how_to_go_on() -> None:
    """The error holds the key in its words too: a log line is enough to continue from."""
    running = exchange()
    running.sending()
    with pytest.raises(errors.OutcomeUnknown, match="key='key-1'"):
        running.give_up()


def test_a_read_that_times_out_is_no_riddle() -> None:
    """A read without an answer is a time-out, not an unknown outcome."""
    running = exchange(READ)
    running.sending()
    running.broken(TimeoutError())
    with pytest.raises(errors.TimedOut) as caught:
        running.pause(10.0)
    assert type(caught.value) is errors.TimedOut


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM])
def test_a_forbidden_socket_is_the_sandbox(code: int) -> None:
    """What the operating system forbids is said at once, with the settings that allow it (case 20)."""
    with pytest.raises(errors.SandboxBlocked, match="the sandbox blocks this socket") as caught:
        exchange().connect_failed(OSError(code, "no"))
    assert PATH in str(caught.value)
    assert caught.value.outcome == "not_applied"
    for setting in ("allowUnixSockets", "allowAllUnixSockets", "network_access"):
        assert setting in str(caught.value)


@pytest.mark.parametrize("code", [errno.ENOENT, errno.ECONNREFUSED, errno.EAGAIN, errno.ECONNRESET])
def test_an_absent_daemon_is_waited_for(code: int) -> None:
    """Until the deadline a daemon may come; then the error names the path and what to do."""
    running = exchange()
    running.connect_failed(OSError(code, "no"))
    running.pause(1.0)
    running.connect_failed(OSError(code, "no"))
    with pytest.raises(errors.Unreachable, match="tally up") as caught:
        running.pause(10.0)
    assert PATH in str(caught.value)
    assert caught.value.outcome == "not_applied"


@pytest.mark.parametrize("code", [errno.ENOTDIR, errno.ELOOP, errno.EMFILE, errno.ENAMETOOLONG])
def test_what_waiting_cannot_mend_is_raised_at_once(code: int) -> None:
    """An error of the path or of this process does not go away in thirty seconds."""
    with pytest.raises(errors.Unreachable):
        exchange().connect_failed(OSError(code, "no"))


def test_an_absent_daemon_after_a_lost_reply_leaves_the_outcome_unknown() -> None:
    """A daemon that died after it had the bytes may have applied them, however long it stays away."""
    running = exchange()
    running.sending()
    running.broken(ConnectionResetError())
    running.connect_failed(FileNotFoundError(errno.ENOENT, "no"))
    with pytest.raises(errors.OutcomeUnknown):
        running.pause(10.0)


def test_what_an_earlier_process_may_have_sent_is_unknown_from_the_start() -> None:
    """A request resumed from the store is not called never sent, because this process did not send it."""
    running = exchange(sent_before=True)
    running.connect_failed(FileNotFoundError(errno.ENOENT, "no"))
    with pytest.raises(errors.OutcomeUnknown):
        running.pause(10.0)


@pytest.mark.parametrize("line", [b"HTTP/1.1 400 Bad Request", b"{}", b"\xff"])
def test_another_protocol_is_named(line: bytes) -> None:
    """What answers in another language is not retried, and a write's outcome is then unknown."""
    running = exchange()
    running.sending()
    with pytest.raises(errors.BadReply, match="does not answer as the protocol demands") as caught:
        running.answered(line, 1.0)
    assert caught.value.outcome == "unknown"


def test_an_observer_sees_every_sending() -> None:
    """Who watches is told operation, key and number before each try."""
    seen: list[core.Try] = []
    running = Exchange(WRITE, path=PATH, now=0.0, seconds=10.0, observer=seen.append)
    running.sending()
    running.sending()
    assert seen == [core.Try("project_create", "key-1", 1), core.Try("project_create", "key-1", 2)]


def test_calls_tell_reads_from_writes() -> None:
    """Only a write gets a key."""
    assert isinstance(calls.projects.realm_show(), Read)
    assert isinstance(calls.projects.project_create("x"), Write)
