"""The wire's scalars and arguments: exact bounds, whole numbers, distinct items, parts, times that exist."""

import time
from typing import Annotated, Any, get_args

import msgspec
import pytest
from expected import entry_of
from hypothesis import given
from hypothesis import strategies as st

from tallystick.protocol import limits, shapes
from tallystick.protocol.arguments import AppendExtension, PageArgs
from tallystick.protocol.families.assistants import AssistantRevisionRegisterArgs
from tallystick.protocol.families.contributions import ContributionAppendArgs
from tallystick.protocol.families.emissions import ModelCompleteArgs
from tallystick.protocol.families.grants import SpaceAccessGrantCreateArgs
from tallystick.protocol.families.service import DiagnoseArgs, HelloArgs
from tallystick.protocol.families.work import InvocationProgress
from tallystick.protocol.parts import ContributionPart
from tallystick.protocol.shapes import Misshapen, convert

DIGEST = "0123456789abcdef" * 4


def is_taken(value: object, shape: Any) -> bool:
    try:
        convert(value, shape)
    except Misshapen:
        return False
    return True


def as_sent(value: msgspec.Struct) -> object:
    """`value` as it would be read from the wire."""
    return msgspec.json.decode(msgspec.json.encode(value))


# --- scalars ----------------------------------------------------------------------------------------------
BOUNDS: list[tuple[str, Any, list[Any], list[Any]]] = [
    (
        "identifier",
        shapes.Identifier,
        ["!", "~", "a" * 128],
        ["", "a" * 129, "a b", "é", "a\n", "\x7f", 1, None],
    ),
    ("selector", shapes.Selector, ["*", "a" * 256], ["", "a" * 257, "a b", "a\n"]),
    ("display name", shapes.DisplayName, ["a", "𝄞" * 256, " ", "\n"], ["", "a" * 257, None]),
    ("free text", shapes.FreeText, ["", "𝄞" * 4_096], ["a" * 4_097]),
    ("inline text", shapes.InlineText, ["", "𝄞" * 65_536], ["a" * 65_537]),
    ("model prompt", shapes.ModelPrompt, ["a", "𝄞" * 131_072], ["", "a" * 131_073]),
    ("model system", shapes.ModelSystem, ["", "𝄞" * 16_384], ["a" * 16_385]),
    ("cursor", shapes.Cursor, ["a", "a" * 4_096], ["", "a" * 4_097]),
    (
        "media type",
        shapes.MediaType,
        ["a/b", "text/x.y+z", "!#$%&'*+.^_`|~-/0", "a/" + "b" * 126],
        ["", "a", "a/", "/b", "a/b/c", "a/b;c", "a /b", "a/b\n", "a/" + "b" * 127],
    ),
    (
        "language tag",
        shapes.LanguageTag,
        ["e", "en", "en-GB", "a" * 8 + "-1", "de-" + "-".join(["a1"] * 20)],
        ["", "en-", "-en", "1", "en_GB", "a" * 9, "en-" + "a" * 9, "en\n", "a" + "-aaaaaaaa" * 8],
    ),
    ("digest", shapes.DigestHex, [DIGEST], ["", DIGEST[1:], DIGEST + "0", DIGEST.upper(), DIGEST[:-1] + "g"]),
    (
        "status token",
        shapes.StatusToken,
        ["a", "a_1", "a" * 64],
        ["", "A", "1a", "_a", "a-b", "a" * 65, "a\n"],
    ),
    ("feature id", shapes.FeatureId, ["a", "a" * 128], ["", "a" * 129, "A", "a.b", "a\n"]),
    (
        "event type",
        shapes.EventType,
        ["a.b.v1", "dev.kovee.space.contribution-appended.v12", "a." + "b" * 123 + ".v1"],
        [
            "a.v1",
            "a.b",
            "a.b.v0",
            "a.b.v01",
            "A.b.v1",
            "a.-b.v1",
            "a.b-.v1",
            "a.1b.v1",
            "a.b.v1\n",
            "a..b.v1",
            "a." + "b" * 124 + ".v1",
        ],
    ),
    (
        "event type prefix",
        shapes.EventTypePrefix,
        ["a", "dev.kovee", "dev.-", "dev." + "a" * 124],
        ["", ".", "dev.", "dev..x", "Dev", "1", "dev\n", "dev." + "a" * 125],
    ),
    (
        "ext key",
        shapes.ExtKey,
        ["a.b", "dev.example.1-x"],
        ["", "a", "a.", ".a", "a..b", "A.b", "1.b", "a.b\n"],
    ),
    (
        "version",
        shapes.ProtocolVersion,
        ["0.1", "10.0"],
        ["", "0", "0.", "01.1", "0.01", "0.1.0", "v0.1", "0.1\n"],
    ),
    (
        "traceparent",
        shapes.Traceparent,
        [f"00-{'a' * 32}-{'b' * 16}-01"],
        ["", f"00-{'A' * 32}-{'b' * 16}-01", f"00-{'a' * 32}-{'b' * 16}", f"00-{'a' * 32}-{'b' * 16}-01\n"],
    ),
    ("safe integer", shapes.SafeInt, [0, 2**53 - 1, 0.0, -0.0, 7.0], [-1, 2**53, 0.5, True, "1", None]),
    ("positive integer", shapes.PositiveInt, [1, 2**53 - 1], [0, -1, 2**53, True]),
    ("page limit", shapes.PageLimit, [1, 512, 5.0], [0, 513, True, "1", 1.5]),
    ("lease term", shapes.LeaseTermSeconds, [10, 86_400], [9, 86_401]),
]


@pytest.mark.parametrize(("name", "shape", "good", "bad"), BOUNDS, ids=[row[0] for row in BOUNDS])
def test_a_scalar_has_exactly_its_bounds(name: str, shape: Any, good: list[Any], bad: list[Any]) -> None:
    """What stands at a bound is taken, and what is one past it is refused."""
    assert [value for value in good if not is_taken(value, shape)] == [], name
    assert [value for value in bad if is_taken(value, shape)] == [], name


@pytest.mark.parametrize("value", [1.0, 5e1, 512.0])
def test_a_whole_number_is_an_integer_however_it_is_written(value: float) -> None:
    """JSON has one sort of number: 50.0 and 5e1 are the integer 50, and come out as an int."""
    found = convert({"limit": value}, PageArgs)
    assert (type(found.limit), found.limit) == (int, value)


def test_whole_numbers_are_integers_at_any_depth() -> None:
    """Also inside lists of objects, and without a change to what else is there."""
    part = {"object_ref": "contrib-1", "object_revision": 2.0}
    data = {"schema_ref": "s", "value": {"ratio": 0.5, "count": 2.0}}
    args = convert(
        {"space_id": "s", "branch_id": "b", "kind": "claim", "body_parts": [part, data], "fence_epoch": 1.0},
        ContributionAppendArgs,
    )
    assert type(args.body_parts[0].object_revision) is int
    assert args.body_parts[1].value == {"ratio": 0.5, "count": 2}
    assert args.fence_epoch == 1


# --- times ------------------------------------------------------------------------------------------------
def days_in(year: int, month: int) -> int:
    """Days of a month in the proleptic Gregorian calendar, from its rule."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


@given(st.integers(0, 9_999), st.integers(0, 13), st.integers(0, 32))
def test_a_day_is_taken_exactly_if_it_exists(year: int, month: int, day: int) -> None:
    """Month lengths and leap years, for every year that four digits can write."""
    exists = 1 <= month <= 12 and 1 <= day <= days_in(year, month)
    assert is_taken(f"{year:04}-{month:02}-{day:02}T00:00:00Z", shapes.Timestamp) == exists


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-31T09:00:00Z",
        "2026-01-31T09:00:60Z",
        "2026-12-31T23:59:59.999999999999Z",
        "2026-01-31T09:00:00+23:59",
        "2026-01-31T09:00:00-00:00",
        "0000-02-29T00:00:00Z",
        "2000-02-29T00:00:00Z",
        "9999-12-31T23:59:60.1-12:00",
    ],
)
def test_a_time_of_rfc_3339_is_taken(text: str) -> None:
    """Seconds from 00 to 60, fractions of any length, and Z or an offset."""
    assert is_taken(text, shapes.Timestamp)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tomorrow",
        "2026-01-31",
        "2026-01-31T09:00Z",
        "2026-01-31T09:00:00",
        "2026-01-31 09:00:00Z",
        "2026-01-31t09:00:00z",
        "2026-01-31T24:00:00Z",
        "2026-01-31T09:60:00Z",
        "2026-01-31T09:00:61Z",
        "2026-01-31T09:00:00.Z",
        "2026-01-31T09:00:00,5Z",
        "2026-01-31T09:00:00+24:00",
        "2026-01-31T09:00:00+1:00",
        "2026-01-31T09:00:00+01",
        "2026-01-31T09:00:00Z\n",
        "+2026-01-31T09:00:00Z",
        "12026-01-31T09:00:00Z",
        "2026-02-29T09:00:00Z",
        "1900-02-29T09:00:00Z",
        "2026-04-31T09:00:00Z",
        "٢٠٢٦-01-31T09:00:00Z",
    ],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    """No other form of ISO 8601, no digits of other scripts, no days and hours that do not exist."""
    assert not is_taken(text, shapes.Timestamp)


# --- lists and sets ---------------------------------------------------------------------------------------
HELLO = entry_of("hello").examples[0].args
REGISTER = entry_of("assistant_revision_register").examples[0].args
MANIFEST: dict[str, Any] = REGISTER["manifest"]
MANIFEST_SETS = (
    "supported_worker_protocols",
    "skills",
    "requested_capabilities",
    "model_profiles",
    "tool_profiles",
)


@pytest.mark.parametrize(
    ("shape", "value", "member"),
    [
        *(
            (
                AssistantRevisionRegisterArgs,
                {**REGISTER, "manifest": {**MANIFEST, name: ["a", "b", "a"]}},
                f"manifest.{name}",
            )
            for name in MANIFEST_SETS
        ),
        (
            AssistantRevisionRegisterArgs,
            {**REGISTER, "manifest": {**MANIFEST, "security_profiles": ["secure", "secure"]}},
            "manifest.security_profiles",
        ),
        (
            AssistantRevisionRegisterArgs,
            {**REGISTER, "signature_refs": ["a", "a"]},
            "signature_refs",
        ),
        (HelloArgs, {**HELLO, "supported_versions": ["0.1", "0.1"]}, "supported_versions"),
        (HelloArgs, {**HELLO, "requested_features": ["a", "b", "a"]}, "requested_features"),
        (DiagnoseArgs, {"checks": ["a", "a"]}, "checks"),
    ],
)
def test_a_set_has_distinct_items(shape: Any, value: Any, member: str) -> None:
    """An item that stands twice is refused, and the path leads to its list."""
    with pytest.raises(Misshapen) as fault:
        convert(value, shape, "$.args")
    assert fault.value.path == f"$.args.{member}"


def test_a_manifest_is_taken_as_it_is() -> None:
    """With empty lists, with distinct items, and with anything in the members that are free in form."""
    nothing: dict[str, object] = {"runtime": {}, "network_policy": {}, "attention_proposals": []}
    least = dict.fromkeys(("default_timeout", "max_concurrency"), 0)
    no_resources = dict.fromkeys(MANIFEST["resource_limits"], 0)
    free = {"runtime": {"a": [None]}, "network_policy": {"b": 0.5}, "attention_proposals": [{}, {}]}
    empty = {**MANIFEST, **nothing, **least, "resource_limits": no_resources}
    empty |= {name: [] for name in MANIFEST_SETS}
    full = {**MANIFEST, **free, **{name: ["a", "b"] for name in MANIFEST_SETS}}
    for manifest in (empty, full):
        value = {**REGISTER, "manifest": manifest}
        assert as_sent(convert(value, AssistantRevisionRegisterArgs)) == value


@pytest.mark.parametrize("size", [0, 1, 256, 257])
def test_a_grant_allows_1_to_256_actions(size: int) -> None:
    """A grant of nothing is none, and its list is a request's list."""
    grant = {"space_id": "s", "subject_ref": "a", "allowed_actions": ["read"] * size}
    assert is_taken(grant, SpaceAccessGrantCreateArgs) == (1 <= size <= 256)


@pytest.mark.parametrize("size", [0, 1, 256, 257])
def test_a_list_in_a_request_holds_256_items(size: int) -> None:
    """An append has 1 to 256 parts, and up to 256 references."""
    part = {"media_type": "text/plain", "text": ""}
    base = {"space_id": "s", "branch_id": "b", "kind": "claim"}
    parts = {**base, "body_parts": [part] * size}
    refs = {**base, "body_parts": [part], "subject_refs": ["r"] * size}
    assert is_taken(parts, ContributionAppendArgs) == (1 <= size <= 256)
    assert is_taken(refs, ContributionAppendArgs) == (size <= 256)


def test_closed_sets_are_kcps() -> None:
    """The kinds and states that KCP closes, written again by hand."""
    assert get_args(shapes.ContributionKind) == (
        "utterance",
        "goal",
        "question",
        "claim",
        "observation",
        "evidence",
        "proposal",
        "critique",
        "synthesis",
        "result",
        "decision_reference",
        "system_notice",
    )
    assert get_args(shapes.RelationKind) == (
        "addresses",
        "supports",
        "challenges",
        "refines",
        "qualifies",
        "supersedes",
        "depends_on",
        "derived_from",
        "produced_by",
        "quotes",
        "evaluates",
    )
    assert get_args(shapes.EpistemicPosture) == ("asserted", "tentative", "observed", "reported", "contested")
    assert get_args(shapes.InvocationState) == (
        "queued",
        "claimed",
        "running",
        "waiting_commitment",
        "waiting_human",
        "waiting_resource",
        "succeeded",
        "failed",
        "canceled",
        "ambiguous",
    )
    assert get_args(shapes.ParticipantKind) == (
        "principal",
        "assistant_deployment",
        "service",
        "peer_projection",
    )
    assert get_args(shapes.ParticipantRole) == ("steward", "contributor", "observer")
    assert get_args(shapes.ParticipantStatus) == ("proposed", "active", "muted", "revoked")
    assert get_args(shapes.GrantStatus) == ("active", "revoked", "expired")
    assert get_args(shapes.PreparedChangeState) == ("prepared", "confirmed", "canceled", "stale")
    assert get_args(shapes.EffectiveChange) == ("narrowing", "widening", "incomparable")
    assert get_args(shapes.ReactionState) == ("present", "removed")
    assert get_args(shapes.LensKind) == (
        "stream",
        "workbench",
        "pulse",
        "branch_compare",
        "ensemble",
        "provenance",
        "custom",
    )
    assert get_args(shapes.UploadState) == (
        "prepared",
        "uploading",
        "sealing",
        "sealed",
        "verifying",
        "completed",
        "rejected",
        "expired",
        "aborted",
    )
    assert get_args(shapes.ArtifactState) == (
        "pending",
        "verifying",
        "scanning",
        "available",
        "quarantined",
        "rejected",
        "unavailable",
        "erased",
    )
    assert get_args(shapes.ConcurrencyPolicy) == ("serial-branch", "parallel-independent", "causal-keyed")


# --- digests with their class -----------------------------------------------------------------------------
OPEN_DIGEST = {"class": "portable_public", "algorithm": "sha-256", "value_hex": DIGEST}
KEYED_DIGEST = {
    "class": "local_erasure_safe",
    "algorithm": "hmac-sha-256",
    "key_ref": "key-1",
    "value_hex": DIGEST,
}
CALL = {"attempt_id": "att-1", "fence_epoch": 1, **entry_of("model_complete").examples[0].args}


def test_a_digest_is_open_or_keyed() -> None:
    """Each of the two is taken where a digest stands, and encodes as it came."""
    for digest in (OPEN_DIGEST, KEYED_DIGEST):
        call = {**CALL, "subject_digest": digest}
        assert as_sent(convert(call, ModelCompleteArgs)) == call


@pytest.mark.parametrize(
    ("digest", "path", "words"),
    [
        ({**OPEN_DIGEST, "key_ref": "key-1"}, "", "no member `key_ref`"),
        ({**OPEN_DIGEST, "class": "local_erasure_safe"}, ".class", "one of ciphertext_public"),
        ({**KEYED_DIGEST, "class": "portable_public"}, ".class", "local_erasure_safe"),
        ({**KEYED_DIGEST, "algorithm": "sha-256"}, ".class", "one of ciphertext_public"),
        ({**OPEN_DIGEST, "algorithm": "md5"}, ".algorithm", "one of sha-256 or one of hmac-sha-256"),
        ({**OPEN_DIGEST, "algorithm": None}, ".algorithm", "is null"),
        ({**OPEN_DIGEST, "value_hex": "x"}, ".value_hex", "64 lowercase hexadecimal digits"),
        ({"class": "portable_public", "value_hex": DIGEST}, "", "`algorithm` is missing"),
        ({"class": "local_erasure_safe", "algorithm": "hmac-sha-256"}, "", "is missing"),
        (DIGEST, "", "algorithm (which is hmac-sha-256)"),
    ],
)
def test_a_digest_of_no_class_is_refused(digest: object, path: str, words: str) -> None:
    """Mixed, unkeyed with a key or keyed without one: the path leads there, and no value is repeated."""
    with pytest.raises(Misshapen) as fault:
        convert({**CALL, "subject_digest": digest}, ModelCompleteArgs, "$.args")
    assert fault.value.path == f"$.args.subject_digest{path}"
    assert words in fault.value.detail
    assert "md5" not in str(fault.value)


def test_a_step_may_come_without_its_reply() -> None:
    """Progress lists a step whose reply does not fit; it is done all the same."""
    value = {"invocation_id": "inv-1", "steps": [{"operation": "contribution_append", "operation_key": "k"}]}
    found = convert(value, InvocationProgress)
    assert found.steps[0].reply is msgspec.UNSET
    assert as_sent(found) == value


# --- parts of a body --------------------------------------------------------------------------------------
PARTS: list[tuple[str, dict[str, Any], set[str]]] = [
    ("text", {"media_type": "text/plain", "text": "", "language": "en"}, {"language"}),
    ("data", {"schema_ref": "s", "value": None}, set()),
    ("artifact", {"artifact_ref": "art-1", "title": "t"}, {"title"}),
    (
        "reference",
        {"object_ref": "contrib-1", "object_revision": 1, "digest": DIGEST},
        {"object_revision", "digest"},
    ),
    (
        "mention",
        {"target_kind": "assistant_alias", "target_ref": "a", "target_revision": 0, "display_text": "A"},
        set(),
    ),
]
each_part = pytest.mark.parametrize(("name", "part", "optional"), PARTS, ids=[row[0] for row in PARTS])


@each_part
def test_a_part_is_told_by_its_members(name: str, part: dict[str, Any], optional: set[str]) -> None:
    """Each of the five is taken, with and without what may be left out, and encodes as it came."""
    for chosen in (part, {k: v for k, v in part.items() if k not in optional}):
        found = convert(chosen, ContributionPart)
        assert found.shape == name
        assert msgspec.to_builtins(found) == chosen


@each_part
def test_a_part_needs_all_its_members(name: str, part: dict[str, Any], optional: set[str]) -> None:
    """Without one that it needs it is refused, and the refusal names its shape or that it has none."""
    for member in part.keys() - optional:
        with pytest.raises(Misshapen, match=f"{name} part|has no member"):
            convert({k: v for k, v in part.items() if k != member}, ContributionPart)


@each_part
def test_a_part_is_of_one_shape(name: str, part: dict[str, Any], optional: set[str]) -> None:
    """With any member of another shape it is refused."""
    others = [(k, v) for other, members, _ in PARTS if other != name for k, v in members.items()]
    taken = [k for k, v in others if is_taken({**part, k: v}, ContributionPart)]
    assert (taken, optional & set(taken)) == ([], set())


def test_a_value_may_be_null_and_nothing_else_may() -> None:
    """A data part's value is any JSON value, null too; a null elsewhere is not the same as leaving it out."""
    assert convert({"schema_ref": "s", "value": None}, ContributionPart).value is None
    assert not is_taken({"media_type": "a/b", "text": "", "language": None}, ContributionPart)
    assert not is_taken({"artifact_ref": "a", "title": None}, ContributionPart)


# --- extensions of ours -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "value", [{}, {"at_head": False}, {"at_head": 1}, {"at_head": True, "x": 1}, [True], True]
)
def test_the_append_extension_says_at_head_and_nothing_else(value: object) -> None:
    """Only {"at_head": true} is taken: false would mean the same as leaving it out."""
    assert is_taken({"at_head": True}, AppendExtension)
    assert not is_taken(value, AppendExtension)


# --- what a refusal says ----------------------------------------------------------------------------------
APPEND = {"space_id": "s", "branch_id": "b", "kind": "claim", "body_parts": [{"artifact_ref": "a"}]}


@pytest.mark.parametrize(
    ("value", "path", "words"),
    [
        ({**APPEND, "kind": "rumour"}, "$.args.kind", "one of claim, critique"),
        ({**APPEND, "space_id": "a b"}, "$.args.space_id", "1 to 128 visible ASCII characters"),
        ({**APPEND, "space_id": 7}, "$.args.space_id", "is an integer"),
        ({**APPEND, "schema_ref": None}, "$.args.schema_ref", "is null"),
        ({**APPEND, "fence_epoch": -1}, "$.args.fence_epoch", "from 0 to 9007199254740991"),
        ({**APPEND, "body_parts": []}, "$.args.body_parts", "a list of 1 to 256 items"),
        ({**APPEND, "body_parts": [{}]}, "$.args.body_parts[0]", "text {media_type, text, language?}"),
        ({**APPEND, "body_parts": [7]}, "$.args.body_parts[0]", "is an integer"),
        ({**APPEND, "subject_refs": ["a", ""]}, "$.args.subject_refs[1]", "an identifier"),
        ({**APPEND, "surprise": 1}, "$.args", "no member `surprise`"),
        ({k: v for k, v in APPEND.items() if k != "kind"}, "$.args", "`kind` is missing"),
        ([*APPEND], "$.args", "is a list"),
    ],
)
def test_a_refusal_names_the_place_and_what_is_allowed(value: object, path: str, words: str) -> None:
    """The path leads to the value, and the words say what may stand there."""
    with pytest.raises(Misshapen) as fault:
        convert(value, ContributionAppendArgs, "$.args")
    assert fault.value.path == path
    assert words in fault.value.detail


SECRET = "hunter2-and-more"


@pytest.mark.parametrize(
    "value",
    [
        {**APPEND, "kind": SECRET},
        {**APPEND, "space_id": SECRET + " "},
        {**APPEND, "body_parts": [{"media_type": SECRET, "text": SECRET}]},
        {**APPEND, "body_parts": [{"artifact_ref": "a", "text": SECRET}]},
        {**APPEND, "body_parts": SECRET},
        {**APPEND, "epistemic_posture": [SECRET]},
    ],
)
def test_a_refusal_repeats_no_value(value: object) -> None:
    """What a client sent may be a secret, so a detail holds names of members and never a value."""
    with pytest.raises(Misshapen) as fault:
        convert(value, ContributionAppendArgs)
    assert SECRET not in str(fault.value)


def test_a_refusal_of_a_strange_name_is_short_and_printable() -> None:
    """A member's name is somebody else's text: cut, and without what a terminal would obey."""
    name = "\x1b[31m` - at `$.args.kind`" + "x" * 100_000
    with pytest.raises(Misshapen) as fault:
        convert({**APPEND, name: 1}, ContributionAppendArgs, "$.args")
    assert fault.value.path == "$.args"
    assert fault.value.detail.isprintable()
    assert len(fault.value.detail) < 1_000


STRINGS = {name: shape for name, shape, *_ in BOUNDS if get_args(shape)[0] is str}


@pytest.mark.parametrize("name", [*STRINGS])
def test_no_string_costs_more_than_its_length(name: str) -> None:
    """A hostile string of a whole request's length is judged in well under a tenth of a second."""
    size = limits.REQUEST_BYTES_MAX
    hostile = [
        "a" * size,
        "a-" * (size // 2),
        "a.b" * (size // 3),
        "a.b-c" * (size // 5),
        "a." * (size // 2) + "!",
    ]
    start = time.process_time()
    for text in (*hostile, "2026-01-31T09:00:00." + "9" * size, "\n" * size, " " * size):
        is_taken(text, STRINGS[name])
    assert time.process_time() - start < 0.8


def test_annotations_are_the_scalars() -> None:
    """The table of scalars above is of annotated builtins, so that a struct's field checks what it says."""
    assert all(type(shape) is type(Annotated[int, 0]) for _, shape, *_ in BOUNDS)
