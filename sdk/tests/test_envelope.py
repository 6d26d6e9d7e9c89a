"""Requests and replies: which of two faults wins, what a socket takes, and what goes over the wire."""

import copy
import json
from typing import Any

import pytest
from conformance.mutations import specimens
from hypothesis import given
from hypothesis import strategies as st

from tallystick.protocol import digests
from tallystick.protocol.arguments import AppendExtension
from tallystick.protocol.envelope import decode_reply, decode_request, encode_ok, encode_problem
from tallystick.protocol.families.contributions import ContributionAppendArgs
from tallystick.protocol.families.service import Stopping
from tallystick.protocol.families.work import LeaseExtension, LeaseTerm
from tallystick.protocol.operation import Socket
from tallystick.protocol.problems import Kind, Refusal, not_found
from tallystick.protocol.shapes import Misshapen

CLIENT, WORKER = Socket.CLIENT, Socket.WORKER
DIGEST = "0123456789abcdef" * 4
BINDING = {"attempt_id": "att-1", "fence_epoch": 1}
AT_HEAD = {"dev.tallystick.append": {"at_head": True}}
SPECIMENS = {specimen.name: specimen for specimen in specimens()}


def append(**changes: Any) -> dict[str, Any]:
    """A small append for the client socket, changed."""
    request: dict[str, Any] = {
        "version": "0.1",
        "op": "contribution_append",
        "meta": {"request_id": "req-1", "idempotency_key": "key-1"},
        "realm_id": "realm-personal",
        "project_id": "proj-1",
        "args": {
            "space_id": "space-1",
            "branch_id": "branch-1",
            "expected_head_digest": DIGEST,
            "kind": "claim",
            "body_parts": [{"media_type": "text/plain", "text": "It drips."}],
        },
    }
    return changed(request, **changes)


def show(**changes: Any) -> dict[str, Any]:
    request = {
        "version": "0.1",
        "op": "space_show",
        "realm_id": "realm-personal",
        "project_id": "proj-1",
        "args": {"space_id": "space-1"},
    }
    return changed(request, **changes)


def changed(request: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """`request` with members set (``args__kind`` is a member of args), or taken away by `...`."""
    result = copy.deepcopy(request)
    for name, value in changes.items():
        inner = result
        *outer, last = name.split("__")
        for step in outer:
            inner = inner[step]
        if value is ...:
            del inner[last]
        else:
            inner[last] = value
    return result


def line(request: object) -> bytes:
    return json.dumps(request, ensure_ascii=False).encode()


def refused(request: object, socket: Socket = CLIENT) -> tuple[Kind, str]:
    """The kind and the detail of the refusal of a request, or of a raw line."""
    with pytest.raises(Refusal) as refusal:
        decode_request(request if isinstance(request, bytes) else line(request), socket)
    return refusal.value.kind, str(refusal.value.problem.detail)


# --- what a request becomes -------------------------------------------------------------------------------
def test_a_request_is_typed() -> None:
    """Envelope, meta, arguments and extensions come out typed, and what was sent is kept for the digest."""
    sent = append(
        ext={**AT_HEAD, "com.example.x": [1]}, args__expected_head_digest=..., meta__expected_revision=4
    )
    request = decode_request(line(sent), CLIENT)
    assert request.operation.name == "contribution_append"
    assert request.operation.socket is CLIENT
    assert request.meta is not None
    assert (request.meta.request_id, request.meta.idempotency_key) == ("req-1", "key-1")
    assert request.meta.expected_revision == 4
    assert (request.realm_id, request.project_id) == ("realm-personal", "proj-1")
    assert isinstance(request.args, ContributionAppendArgs)
    assert request.args.body_parts[0].text == "It drips."
    assert request.extension("dev.tallystick.append") == AppendExtension(at_head=True)
    assert request.extension("com.example.x") is None
    assert request.ext == sent["ext"]
    assert request.raw == sent


def test_what_is_absent_is_none() -> None:
    """A read has no meta, and hello no realm and no project either."""
    request = decode_request(line(SPECIMENS["hello on the client socket"].request), CLIENT)
    assert (request.meta, request.realm_id, request.project_id) == (None, None, None)
    assert decode_request(line(show()), CLIENT).ext == {}


def test_blanks_around_a_request_are_nothing() -> None:
    """A carriage return before the newline, or blanks around the object, change nothing."""
    assert decode_request(b" \t" + line(show()) + b"\r", CLIENT).raw == show()


def test_a_digest_can_be_taken_of_any_specimen() -> None:
    """The parsed envelope of every right request is what the digests take, with its content left blank."""
    for entry in SPECIMENS.values():
        request = decode_request(line(entry.request), entry.socket)
        surface = "worker" if request.operation.socket is WORKER else "external_client"
        projection = digests.request_projection(
            request.raw,
            surface=surface,
            leave_out=("attempt_id", "fence_epoch"),
            blank=request.operation.content,
        )
        assert len(digests.request_digest(projection)) == 64


# --- which fault wins -------------------------------------------------------------------------------------
FAULTS: list[tuple[str, bytes | dict[str, Any], Kind, str]] = [
    ("oversize before JSON", b"{" * 262_145, Kind.INVALID, "262144"),
    (
        "JSON before the envelope",
        b'{"version":"0.1","op":"space_show","op":"x","zzz":1}',
        Kind.INVALID,
        "$.op",
    ),
    ("the envelope before the version", append(version="9.9", zzz=1), Kind.INVALID, "`zzz`"),
    ("a meta of a wrong shape before the version", append(version="9.9", meta={}), Kind.INVALID, "$.meta"),
    ("a version of a wrong shape is invalid", append(version="v9"), Kind.INVALID, "$.version"),
    (
        "the version before the operation",
        append(version="9.9", op="nope"),
        Kind.UNSUPPORTED_VERSION,
        "$.version",
    ),
    ("an older version", append(version="0.0"), Kind.UNSUPPORTED_VERSION, "$.version"),
    ("the operation before placement", append(op="nope", realm_id=...), Kind.UNKNOWN_OP, "`nope`"),
    ("placement before arguments", append(meta=..., args={}), Kind.INVALID, "meta"),
    ("placement of the realm", append(realm_id=..., args={}), Kind.INVALID, "realm_id"),
    ("placement of the project", append(project_id=..., args={}), Kind.INVALID, "project_id"),
    ("a read with meta", show(meta=append()["meta"], args={}), Kind.INVALID, "$.meta"),
    (
        "arguments before the binding",
        append(args__kind="x", args__attempt_id="a"),
        Kind.INVALID,
        "$.args.kind",
    ),
    (
        "the binding before ext",
        append(args__attempt_id="a", ext={"dev.tallystick.lease": {"term_seconds": 60}}),
        Kind.FORBIDDEN_SURFACE,
        "$.args.attempt_id",
    ),
    ("ext at last", append(ext={"dev.tallystick.lease": {"term_seconds": 60}}), Kind.INVALID, "$.ext"),
]


@pytest.mark.parametrize(("name", "request_", "kind", "words"), FAULTS, ids=[row[0] for row in FAULTS])
def test_of_two_faults_the_earlier_check_wins(name: str, request_: Any, kind: Kind, words: str) -> None:
    """Size, JSON, envelope, version, operation, placement, arguments, binding, ext: in this order."""
    found, detail = refused(request_)
    assert (found, words in detail) == (kind, True), f"{name}: {detail}"


@pytest.mark.parametrize(
    "op", ["", "Space_show", "space-show", "space_show ", "a" * 200, "nope", "application_event"]
)
def test_an_unknown_operation_is_unknown_whatever_its_shape(op: str) -> None:
    """A string that names no operation is unknown-op, also one that could name none."""
    assert refused(show(op=op))[0] is Kind.UNKNOWN_OP


@pytest.mark.parametrize("op", [None, 7, True, ["space_show"], {}])
def test_an_operation_that_is_no_string_is_invalid(op: object) -> None:
    """Another type is a fault of the envelope."""
    kind, detail = refused(show(op=op))
    assert (kind, "$.op" in detail) == (Kind.INVALID, True)


@pytest.mark.parametrize(
    "text", [b"", b" ", b"[]", b"null", b"7", b'"x"', b"{}", b"[{}]", b"\xff", b"\xef\xbb\xbf{}"]
)
def test_what_is_no_envelope_is_invalid(text: bytes) -> None:
    """An empty line, other JSON values and bytes that are no text each get an answer that says where."""
    kind, detail = refused(text)
    assert kind is Kind.INVALID
    assert "$" in detail or "byte" in detail


# --- which socket -----------------------------------------------------------------------------------------
READS = ["space_show", "events_read", "project_list", "protocol_info", "diagnose", "tallystick_limits"]


@pytest.mark.parametrize("op", READS)
def test_a_worker_reads_nothing(op: str) -> None:
    """Reads of clients are no operations of the worker socket."""
    assert refused(show(op=op), WORKER)[0] is Kind.UNKNOWN_OP


@pytest.mark.parametrize("op", ["invocation_claim", "invocation_complete", "tallystick_invocation_renew"])
def test_a_client_claims_nothing(op: str) -> None:
    """What only an attempt does is no operation of the client socket."""
    assert refused(show(op=op), CLIENT)[0] is Kind.UNKNOWN_OP


DUAL = [
    "contribution_append at an expected head",
    "relation_assert at the head",
    "context_assembly_create",
    "invocation_cancel",
]


@pytest.mark.parametrize("name", DUAL)
@pytest.mark.parametrize(
    "binding", [BINDING, {"attempt_id": "att-1"}, {"fence_epoch": 1}], ids=["both", "id", "fence"]
)
def test_a_client_names_no_attempt(name: str, binding: dict[str, Any]) -> None:
    """A whole binding and half of one are forbidden on the client socket."""
    entry = next(e for n, e in SPECIMENS.items() if n.startswith(name) and e.socket is CLIENT)
    request = {**entry.request, "args": {**entry.request["args"], **binding}}
    assert refused(request, CLIENT)[0] is Kind.FORBIDDEN_SURFACE


@pytest.mark.parametrize("name", DUAL)
@pytest.mark.parametrize("missing", [["attempt_id", "fence_epoch"], ["attempt_id"], ["fence_epoch"]])
def test_a_worker_names_its_attempt(name: str, missing: list[str]) -> None:
    """Without the binding, or with half of it, a worker's command is forbidden."""
    entry = next(e for n, e in SPECIMENS.items() if n.startswith(name) and e.socket is WORKER)
    args = {k: v for k, v in entry.request["args"].items() if k not in missing}
    assert refused({**entry.request, "args": args}, WORKER)[0] is Kind.FORBIDDEN_SURFACE


@pytest.mark.parametrize("missing", ["attempt_id", "fence_epoch", "invocation_id"])
def test_an_operation_of_workers_alone_needs_its_binding_by_shape(missing: str) -> None:
    """Where the arguments themselves require the binding, one that is missing is invalid."""
    request = SPECIMENS["tallystick_invocation_fail on the worker socket"].request
    args = {k: v for k, v in request["args"].items() if k != missing}
    assert refused({**request, "args": args}, WORKER)[0] is Kind.INVALID


# --- the head and ext -------------------------------------------------------------------------------------
def test_an_append_names_a_head_or_takes_any() -> None:
    """With the expected head and with the extension it is taken; with both and with neither it is not."""
    decode_request(line(append()), CLIENT)
    decode_request(line(append(ext=AT_HEAD, args__expected_head_digest=...)), CLIENT)
    kind, detail = refused(append(ext=AT_HEAD))
    assert (kind, "leave one of them out" in detail) == (Kind.INVALID, True)
    kind, detail = refused(append(args__expected_head_digest=...))
    assert (kind, "dev.tallystick.append" in detail) == (Kind.INVALID, True)


@pytest.mark.parametrize(
    "value", [{}, {"at_head": False}, {"at_head": "true"}, {"at_head": True, "x": 1}, None, []]
)
def test_a_wrong_extension_of_ours_is_invalid(value: object) -> None:
    """A member of ours is as closed as the arguments."""
    kind, detail = refused(append(ext={"dev.tallystick.append": value}, args__expected_head_digest=...))
    assert (kind, "$.ext['dev.tallystick.append']" in detail) == (Kind.INVALID, True)


def test_an_extension_of_another_operation_is_invalid() -> None:
    """Nothing that means something to us is ignored: whoever sent it meant that."""
    assert refused(append(ext={"dev.tallystick.lease": {"term_seconds": 60}}))[0] is Kind.INVALID


@pytest.mark.parametrize(
    "key",
    ["com.example.x", "dev.tallysticks.append", "dev.kovee.x", "dev.tallystick-x.y", "dev.tallystick.later"],
)
def test_a_foreign_extension_is_left_alone(key: str) -> None:
    """Members of others are kept as they came, whatever they hold."""
    request = decode_request(line(append(ext={key: [None, {"a": 1.5}]})), CLIENT)
    assert request.ext == {key: [None, {"a": 1.5}]}
    assert request.extensions == {}


@pytest.mark.parametrize("key", ["x", "", "X.y", ".x", "x.", "x..y", "x.y\n"])
def test_an_extension_without_a_namespace_is_invalid(key: str) -> None:
    """Keys of ext are reverse-domain names."""
    kind, detail = refused(append(ext={key: 1}))
    assert (kind, "$.ext" in detail, "reverse-domain" in detail) == (Kind.INVALID, True, True)


@pytest.mark.parametrize("term", [10, 86_400, 60.0])
def test_a_claim_may_name_its_lease(term: float) -> None:
    """A term of ten seconds to a day."""
    request = SPECIMENS["invocation_claim on the worker socket"].request
    typed = decode_request(line({**request, "ext": {"dev.tallystick.lease": {"term_seconds": term}}}), WORKER)
    assert typed.extension("dev.tallystick.lease") == LeaseExtension(term_seconds=int(term))


# --- replies ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("revision", "cursor", "expected"),
    [
        (None, None, b'{"outcome":"ok","result":{"a":1}}'),
        (3, None, b'{"outcome":"ok","result":{"a":1},"revision":3}'),
        (0, "kc1.a.b", b'{"outcome":"ok","result":{"a":1},"revision":0,"event_cursor":"kc1.a.b"}'),
        (None, 'a"\\', b'{"outcome":"ok","result":{"a":1},"event_cursor":"a\\"\\\\"}'),
    ],
)
def test_an_ok_reply_is_written_in_order(revision: int | None, cursor: str | None, expected: bytes) -> None:
    """Outcome, result, revision, cursor, without blanks; and it decodes to what went in."""
    encoded = encode_ok(b'{"a":1}', revision, cursor)
    assert encoded == expected
    reply = decode_reply(encoded)
    assert (reply.outcome, reply.result) == ("ok", {"a": 1})
    assert json.loads(encoded).get("revision") == revision
    assert json.loads(encoded).get("event_cursor") == cursor


def test_a_stored_result_is_served_as_it_stands() -> None:
    """The result's bytes go out untouched, so that a replay is the same bytes."""
    stored = b'{ "b" : 1.0 , "a":"\\u00e9" }'
    assert stored in encode_ok(stored, 1, None)


OK = {"outcome": "ok", "result": {}}
PROBLEM = {"outcome": "problem", "problem": {"type": "urn:kovee:error:internal"}}


@pytest.mark.parametrize(
    "reply",
    [
        {},
        [],
        None,
        {"outcome": "ok"},
        {"outcome": "OK", "result": {}},
        {"outcome": "problem"},
        {"result": {}},
        {**OK, "x": 1},
        {**OK, "problem": PROBLEM["problem"]},
        {**OK, "revision": -1},
        {**OK, "revision": None},
        {**OK, "revision": "1"},
        {**OK, "event_cursor": ""},
        {**OK, "event_cursor": "c" * 4_097},
        {**PROBLEM, "result": {}},
        {**PROBLEM, "result": None},
        {**PROBLEM, "revision": 1},
        {**PROBLEM, "event_cursor": "c"},
        {"outcome": "problem", "problem": {"type": "urn:kovee:error:internal", "status": 400}},
        {"outcome": "problem", "problem": None},
    ],
)
def test_what_is_no_reply_is_refused(reply: object) -> None:
    """A reply is one of the two arms, closed, and nothing between them."""
    with pytest.raises(Misshapen):
        decode_reply(line(reply))


@pytest.mark.parametrize("result", [None, {}, [], 7, "x", False])
def test_a_result_may_be_any_value(result: object) -> None:
    """Null too: what a result holds is the operation's business."""
    assert decode_reply(line({"outcome": "ok", "result": result})).result == result


def test_a_result_is_typed_or_refused() -> None:
    """A client gets the record, or a fault with the place inside the reply."""
    reply = decode_reply(line({"outcome": "ok", "result": {"term_seconds": 60, "remaining_seconds": 59}}))
    assert reply.typed(LeaseTerm) == LeaseTerm(term_seconds=60, remaining_seconds=59)
    with pytest.raises(Misshapen) as fault:
        reply.typed(Stopping)
    assert fault.value.path == "$.result"


def test_a_reply_may_be_longer_than_a_request() -> None:
    """A page of more than 256 items and of half a megabyte is a right reply; the same is no right request."""
    page = line({"outcome": "ok", "result": ["x" * 1_000] * 500})
    assert len(decode_reply(page).result) == 500
    assert refused(page)[0] is Kind.INVALID
    with pytest.raises(ValueError, match="1048576"):
        decode_reply(b" " * 1_048_577)


def test_a_problem_reply_carries_its_problem() -> None:
    """What the door sends, the client reads."""
    problem = not_found("project", "proj-1").problem
    reply = decode_reply(encode_problem(problem))
    assert (reply.outcome, reply.problem) == ("problem", problem)


# --- nothing but refusals ---------------------------------------------------------------------------------
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.sampled_from(sorted(SPECIMENS)), st.data())
def test_any_change_is_taken_or_refused(name: str, data: st.DataObject) -> None:
    """Whatever stands anywhere in a request, it becomes a request or a refusal, and nothing else."""
    entry = SPECIMENS[name]
    request: Any = copy.deepcopy(entry.request)
    inner, key = request, data.draw(st.sampled_from(sorted(request)))
    while isinstance(inner[key], dict | list) and inner[key] and data.draw(st.booleans()):
        inner = inner[key]
        key = data.draw(st.sampled_from(sorted(inner) if isinstance(inner, dict) else range(len(inner))))
    inner[key] = data.draw(json_values)
    try:
        decode_request(line(request), entry.socket)
    except Refusal as refusal:
        decode_reply(encode_problem(refusal.problem))


@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode), st.sampled_from(Socket))
def test_any_bytes_are_refused(raw: bytes, socket: Socket) -> None:
    """Bytes that are no request get a refusal that can be sent."""
    with pytest.raises(Refusal) as refusal:
        decode_request(raw, socket)
    assert decode_reply(encode_problem(refusal.value.problem)).outcome == "problem"
