"""The strict parser: vectors, ours and KCP's; the fast accept against the reader; what it may not say."""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tallystick.protocol.ijson import Cap, JsonValue, NotStrict, _accept, parse, read

VECTORS: dict[str, Any] = json.loads((Path(__file__).parent / "vectors" / "ijson.json").read_text())
CLASSES = {vector["error_class"] for vector in VECTORS["refused"]}


def text_of(vector: dict[str, Any]) -> bytes:
    """The bytes that a vector describes."""
    if "text" in vector:
        return str(vector["text"]).encode()
    if "hex" in vector:
        return bytes.fromhex(vector["hex"])
    if "members" in vector:
        return json.dumps({f"m{number}": number for number in range(vector["members"])}).encode()
    if "hexparts" in vector:
        return b"".join(bytes.fromhex(part) * count for part, count in vector["hexparts"])
    return "".join(part * count for part, count in vector["parts"]).encode()


def kcp_text_of(given: dict[str, Any]) -> bytes | None:
    """The bytes of one of KCP's vectors over raw text; None for one of another kind."""
    if "raw" in given:
        return str(given["raw"]).encode()
    if given.get("synthetic") == "json_synth":
        return f"{given['prefix']}{given['repeat'] * given['count']}{given['suffix']}".encode()
    if given.get("synthetic") == "oversized_request":
        frame = '{{"version":"0.1","op":"diagnose","realm_id":"realm-0001","args":{{"pad":"{}"}}}}'
        return frame.format("a" * (int(given["target_bytes"]) - len(frame.format("")))).encode()
    return None


def error_class_of(raw: bytes, cap: Cap) -> str | None:
    """The class of the refusal, None if there is none."""
    try:
        parse(raw, cap)
    except NotStrict as error:
        return error.error_class
    return None


def fast_outcome(raw: bytes, cap: Cap) -> str | None:
    """What the fast accept makes of a text: the value's repr (it tells 1, 1.0 and True apart), or None."""
    try:
        return repr(_accept(raw, cap))
    except (ValueError, StopIteration, RecursionError):
        return None


def read_outcome(raw: bytes, cap: Cap) -> str | None:
    """The same of the reader."""
    try:
        return repr(read(raw, cap))
    except NotStrict:
        return None


@pytest.mark.parametrize("vector", VECTORS["accepted"], ids=lambda vector: vector["name"])
def test_a_strict_text_is_read(vector: dict[str, Any]) -> None:
    """A strict text gives the value that every other JSON reader gives, at once and by the reader."""
    raw, cap = text_of(vector), Cap(vector.get("cap", "request"))
    expected = json.loads(raw)
    assert parse(raw, cap) == expected
    assert read_outcome(raw, cap) == repr(expected)
    assert fast_outcome(raw, cap) == (None if "deferred" in vector else repr(expected))


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda vector: vector["name"])
def test_a_text_that_is_not_strict_is_refused(vector: dict[str, Any]) -> None:
    """A refusal names the class, the byte and the place of the fault, and what to do (cases 66, 67 and
    70).
    """
    with pytest.raises(NotStrict) as caught:
        parse(text_of(vector), Cap(vector.get("cap", "request")))
    assert (caught.value.error_class, caught.value.offset) == (vector["error_class"], vector["offset"])
    assert caught.value.detail == str(caught.value)
    if "place" in vector:
        assert f"({vector['place']})" in caught.value.detail


@pytest.mark.parametrize(
    "vector",
    [vector for vector in VECTORS["refused"] if vector["error_class"] != "oversize"],
    ids=lambda vector: vector["name"],
)
def test_the_fast_accept_refuses_what_is_not_strict(vector: dict[str, Any]) -> None:
    """What must be refused is refused before the reader is asked; size is judged before both (case 68)."""
    assert fast_outcome(text_of(vector), Cap(vector.get("cap", "request"))) is None


def test_kcps_texts(kcp_data: Path) -> None:
    """Each of KCP's vectors over raw text is accepted or refused as it says, with the class that it names."""
    judged, wrong = 0, []
    for path in sorted((kcp_data / "vectors" / "envelope").glob("*.json")):
        vector = json.loads(path.read_text())
        raw = kcp_text_of(vector["input"])
        if raw is None:
            continue
        judged += 1
        expected = vector["expected"]
        got = error_class_of(raw, Cap.REPLY if vector["input"].get("cap") == "response" else Cap.REQUEST)
        if (got is None) != expected["valid"] or expected.get("error_class", got) != got:
            wrong.append((path.name, expected, got))
    assert wrong == []
    assert judged >= 23


@pytest.mark.parametrize("frames_left", range(30, 90, 7))
def test_a_caller_near_the_recursion_limit(frames_left: int) -> None:
    """The value, and the class of a refusal, do not depend on how deep the caller stands."""
    nested, deeper = b"[" * 64 + b"]" * 64, b"[" * 65 + b"]" * 65

    def descend(frames: int) -> tuple[JsonValue, str | None]:
        return descend(frames - 1) if frames else (parse(nested), error_class_of(deeper, Cap.REQUEST))

    frame, depth = sys._getframe(), 0
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    assert descend(sys.getrecursionlimit() - depth - frames_left) == (json.loads(nested), "over-depth")


@pytest.mark.parametrize(
    "template",
    [
        '{"args":{"credential":"SECRET"}',
        '{"args":{"credential":SECRET}}',
        '{"args":{"credential":"SECRET\\ud800"}}',
        '{"SECRET":1,"SECRET":2}',
        '{"args":{"SECRET":[NaN]}}',
        '["SECRET" "SECRET"]',
        '"SECRET',
        "SECRET",
        "{} SECRET",
    ],
)
def test_a_refusal_does_not_repeat_the_text(template: str) -> None:
    """What was refused may be a credential: neither the message nor the exception's repr shows it."""
    secret = "kC9+7/xY=="
    with pytest.raises(NotStrict) as caught:
        parse(template.replace("SECRET", secret).encode())
    assert secret not in f"{caught.value.detail}{caught.value!r}{caught.value.__cause__!r}"


def test_a_long_place_is_cut() -> None:
    """A fault under a thousand containers is described in a sentence, not in kilobytes."""
    with pytest.raises(NotStrict) as caught:
        parse(b'{"abcdefghijklmnopqrstuvwxyz":' * 1_000 + b"!")
    assert len(caught.value.detail) < 600


# --- both ways agree ----------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**54), 2**54)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["payload", "\ud800", "\U0001d11e"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3) | st.sampled_from(["payload", "a"]), inner, max_size=4)
    ),
    max_leaves=12,
)
PIECES = (
    rb'" \ \u \ud800 \udc00 \uD83D\uDE00 \n [ ] { } , : "a": "a":1, true null NaN Infinity -Infinity '.split()
    + b"1e20 1e-400 9007199254740991 9007199254740992 .0 e5 - -0 0 99999999999999999999".split()
    + [b"\x00", b"\x1f", b"\xff", b"\xc3\xa9", b" ", b"\t", b"\r\n", b"\x0b", b"\xc2\xa0", b"\xef\xbb\xbf"]
)
EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 3), st.sampled_from(PIECES) | st.binary(max_size=2)), max_size=4
)


@st.composite
def edited_texts(draw: st.DrawFn) -> bytes:
    """JSON texts in several styles of writing, with a few bytes put in, left out or replaced."""
    indent = draw(st.sampled_from([None, None, 1]))
    separators = draw(st.sampled_from([None, (",", ":")]))
    text = json.dumps(draw(VALUES), ensure_ascii=draw(st.booleans()), indent=indent, separators=separators)
    raw = text.encode("utf-8", "surrogatepass")
    for place, cut, piece in draw(EDITS):
        start = int(place * len(raw))
        raw = raw[:start] + piece + raw[start + cut :]
    return raw


@given(edited_texts(), st.sampled_from(Cap))
def test_both_ways_agree(raw: bytes, cap: Cap) -> None:
    """The fast accept and the reader accept the same texts, with the values that two other readers find."""
    expected = read_outcome(raw, cap)
    assert fast_outcome(raw, cap) == expected
    if expected is not None:
        assert expected == repr(json.loads(raw)) == repr(msgspec.json.decode(raw))


@given(edited_texts(), st.sampled_from(Cap))
def test_a_refusal_is_well_formed(raw: bytes, cap: Cap) -> None:
    """Whatever the bytes, what is refused is refused with a known class, a byte of the text, a sentence."""
    assume(read_outcome(raw, cap) is None)
    with pytest.raises(NotStrict) as caught:
        parse(raw, cap)
    assert caught.value.error_class in CLASSES
    assert 0 <= caught.value.offset <= len(raw)
    assert caught.value.detail.endswith(".")


@given(st.binary(max_size=60), st.sampled_from(Cap))
def test_any_bytes(raw: bytes, cap: Cap) -> None:
    """Both ways agree on bytes that were never JSON."""
    assert fast_outcome(raw, cap) == read_outcome(raw, cap)


@given(
    st.sampled_from([("[", "]"), ('{"a":', "}"), ("[0,", "]"), ('{"b":[', "]}")]),
    st.integers(20, 80),
    st.integers(250, 260),
    st.sampled_from(Cap),
)
def test_both_ways_count_alike(around: tuple[str, str], depth: int, items: int, cap: Cap) -> None:
    """Near the limits of depth and of items both ways draw the line at the same place."""
    inner = "[" + ",".join(["0"] * items) + "]"
    raw = (around[0] * depth + inner + around[1] * depth).encode()
    assert fast_outcome(raw, cap) == read_outcome(raw, cap)
