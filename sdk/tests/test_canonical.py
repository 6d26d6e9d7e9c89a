"""The canonical writer: an ECMAScript engine's answers, the fast way against the writer, the refusals."""

import datetime
import enum
import json
import re
import struct
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Struct, UnsetType

from tallystick.protocol.canonical import _Writer, canonical, ecmascript_number
from tallystick.protocol.ijson import Cap, parse
from tallystick.protocol.limits import CANONICAL_DEPTH_MAX, SAFE_INTEGER_MAX

VECTORS: dict[str, Any] = json.loads((Path(__file__).parent / "vectors" / "canonical.json").read_text())


class Posture(enum.StrEnum):
    """A closed set, as records have them."""

    ASSERTED = "asserted"


class Part(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A typed record with an optional member."""

    text: str
    language: str | UnsetType = UNSET


class Typed(Struct, frozen=True, omit_defaults=True, kw_only=True, rename={"kind_": "kind"}):
    """A record that leaves no room for free-form values."""

    kind_: str
    revision: Annotated[int, msgspec.Meta(ge=0)]
    parts: list[Part]
    posture: Posture | UnsetType = UNSET
    rationale: str | None = None


class Free(Struct, frozen=True, kw_only=True):
    """A record with a free-form member."""

    schema_ref: str
    value: Any


class Chain(Struct, frozen=True):
    """A typed record in a record of its kind."""

    inner: "Chain | None" = None


class Share(enum.Enum):
    """A set of doubles, which msgspec does not describe."""

    WHOLE = 1.0


class Odd(Struct):
    """A record with a member that msgspec does not describe."""

    share: Share


class Cyclic(Struct):
    """A record that can hold itself."""

    inner: Any = None


def written(value: object) -> bytes:
    """What the writer, which is the definition, makes of a value."""
    parts: list[str] = []
    _Writer(parts).write(value)
    return "".join(parts).encode()


def nested(depth: int) -> object:
    """A list in a list, so deep."""
    value: object = 0
    for _ in range(depth):
        value = [value]
    return value


def nested_chain(depth: int) -> Chain:
    """Records in records, so deep."""
    chain = Chain()
    for _ in range(depth - 1):
        chain = Chain(inner=chain)
    return chain


# --- what it writes -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("vector", VECTORS["values"], ids=lambda vector: vector["name"])
def test_canonical_bytes(vector: dict[str, Any]) -> None:
    """The bytes are those that an ECMAScript engine writes with sorted members, by both ways."""
    value = json.loads(vector["text"])  # whatever double it is: `ijson` would not take them all
    assert canonical(value).decode() == vector["canonical"]
    assert written(value).decode() == vector["canonical"]


def test_doubles() -> None:
    """Doubles look as ECMAScript writes them."""
    doubles = [(struct.unpack(">d", bytes.fromhex(bits))[0], text) for bits, text in VECTORS["doubles"]]
    assert len(doubles) >= 200
    assert [canonical(value).decode() for value, _ in doubles] == [text for _, text in doubles]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_written_double_is_the_same_double(value: float) -> None:
    """ECMAScript's form reads back as the same double, without Python's padding of points and exponents."""
    text = ecmascript_number(value)
    assert float(text) == value
    assert not re.search(r"\.0$|e[+-]0|\.e|e\d", text)


@pytest.mark.parametrize("plane", range(17))
def test_every_character(plane: int) -> None:
    """Each character outside the surrogates is written as it is, or by its shortest escape, by both ways."""
    short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
    points = [point for point in range(plane << 16, (plane + 1) << 16) if not 0xD800 <= point <= 0xDFFF]
    text = "".join(map(chr, points))
    escaped = "".join(short.get(char) or (f"\\u{ord(char):04x}" if char < " " else char) for char in text)
    assert canonical(text) == written(text) == f'"{escaped}"'.encode()


def test_a_struct_stands_for_its_wire_form() -> None:
    """Members have their wire names; UNSET and omitted defaults are left out; null where null was put."""
    value = Typed(kind_="claim", revision=1, parts=[Part(text="a"), Part(text="b", language="de")])
    expected = b'{"kind":"claim","parts":[{"text":"a"},{"language":"de","text":"b"}],"revision":1}'
    assert canonical(value) == written(value) == expected
    assert canonical({"a": [value]}) == b'{"a":[' + expected + b"]}"
    asserted = Typed(kind_="claim", revision=1, parts=[], posture=Posture.ASSERTED)
    assert canonical(asserted) == b'{"kind":"claim","parts":[],"posture":"asserted","revision":1}'


def test_a_struct_with_a_free_form_member() -> None:
    """Doubles and names beyond ASCII inside a record are written canonically too."""
    value = Free(schema_ref="s", value={"｡": 10.0, "𝄞": [1e-7]})
    assert canonical(value).decode() == '{"schema_ref":"s","value":{"𝄞":[1e-7],"｡":10}}'
    assert canonical({"x": value}) == b'{"x":' + canonical(value) + b"}"


def test_strings_and_integers_of_enumerations() -> None:
    """Members of string and integer enumerations stand for their values, also outside of records."""
    number = enum.IntEnum("number", {"ONE": 1})
    assert canonical([Posture.ASSERTED, number.ONE]) == b'["asserted",1]'
    assert canonical({Posture.ASSERTED: Posture.ASSERTED}) == b'{"asserted":"asserted"}'


def test_a_struct_that_cannot_be_described() -> None:
    """A record whose type says nothing about its members is written by what they hold."""
    assert canonical([Odd(share=Share.WHOLE)]) == b'[{"share":1}]'


def test_tuples_are_lists() -> None:
    """A tuple is written as a list."""
    assert canonical((1, ("a",), [])) == b'[1,["a"],[]]'


def test_long_digits_in_text_are_no_integers() -> None:
    """Digits in strings, however many, are text, also where they stand as a number would."""
    digits = "9" * 40
    for text in (digits, f"space-{digits}", f":{digits}", f",-{digits}", f"[{digits}"):
        assert canonical({"id": text}) == written({"id": text}) == b'{"id":"' + text.encode() + b'"}'


# --- what it refuses ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("value", "place"),
    [
        (SAFE_INTEGER_MAX + 1, "$:"),
        ({"a": [-SAFE_INTEGER_MAX - 1]}, '$["a"][0]:'),
        ([10**5000], "$[0]:"),
        ([0.5, 2.0**53], "$[1]:"),
        (float("nan"), "$:"),
        ({"x": float("-inf")}, '$["x"]:'),
        ({"s": "a\ud800"}, '$["s"]:'),
        ({"a": {"\udfff": 1}}, '$["a"][?]:'),
        ({1: 2}, "$:"),
        ([{None: 2}], "$[0]:"),
        ([b"bytes"], "$[0]:"),
        ({"a": {1, 2}}, '$["a"]:'),
        ([datetime.date(2026, 1, 1)], "$[0]:"),
        ([UNSET], "$[0]:"),
        (nested(CANONICAL_DEPTH_MAX + 1), "nested deeper"),
        ([nested(CANONICAL_DEPTH_MAX - 1), [0.5], nested(CANONICAL_DEPTH_MAX)], "nested deeper"),
        (Chain(inner=Chain(inner=nested_chain(CANONICAL_DEPTH_MAX))), "nested deeper"),
        (nested(100_000), "nested deeper"),
        (Typed(kind_="k", revision=SAFE_INTEGER_MAX + 1, parts=[]), '$["revision"]:'),
        ({"r": Typed(kind_="k", revision=0, parts=[Part(text="\ud800")])}, '$["r"]["parts"][0]["text"]:'),
        (Free(schema_ref="s", value=[float("nan")]), '$["value"][0]:'),
    ],
    ids=lambda value: value if isinstance(value, str) else "value",
)
def test_what_is_not_i_json_is_refused(value: object, place: str) -> None:
    """A value without canonical bytes is refused with its place, and quickly however deep it is (case 67)."""
    with pytest.raises(ValueError, match="Not I-JSON") as caught:
        canonical(value)
    assert place in str(caught.value)


def test_a_cycle_is_refused() -> None:
    """A container that holds itself ends in ValueError."""
    ring: list[object] = []
    ring.append(ring)
    record = Cyclic()
    record.inner = record
    for value in (ring, {"a": ring}, record):
        with pytest.raises(ValueError, match="Not I-JSON"):
            canonical(value)


def test_the_deepest_value() -> None:
    """Nesting up to the limit is written, of lists and of records."""
    chain = nested_chain(CANONICAL_DEPTH_MAX)
    assert (
        canonical(chain)
        == b'{"inner":' * (CANONICAL_DEPTH_MAX - 1) + b'{"inner":null' + b"}" * CANONICAL_DEPTH_MAX
    )
    assert (
        canonical(nested(CANONICAL_DEPTH_MAX))
        == b"[" * CANONICAL_DEPTH_MAX + b"0" + b"]" * CANONICAL_DEPTH_MAX
    )


def test_a_refusal_does_not_show_the_value() -> None:
    """What is refused may be content: the message names the place and not the text."""
    with pytest.raises(ValueError, match="Not I-JSON") as caught:
        canonical({"a": {"my secret is 42": "my secret\ud800"}})
    assert "secret" not in str(caught.value)


# --- properties ---------------------------------------------------------------------------------------------
STRICT_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-SAFE_INTEGER_MAX, SAFE_INTEGER_MAX)
    | st.floats(-SAFE_INTEGER_MAX, SAFE_INTEGER_MAX)
    | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3) | st.text("az｡\ue000\U0001d11e", max_size=2), inner, max_size=5)
    ),
    max_leaves=15,
)


def oracle(value: object) -> str:
    """RFC 8785 by the standard library, slowly."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{oracle(name)}:{oracle(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(oracle, value)) + "]"
    if isinstance(value, float):
        return ecmascript_number(value)
    return json.dumps(value, ensure_ascii=False)


@given(STRICT_VALUES)
def test_both_ways_write_the_same(value: object) -> None:
    """The fast way, the writer and the standard library write the same bytes, also inside a record."""
    assert canonical(value) == written(value) == oracle(value).encode()
    record = Free(schema_ref="s", value=value)
    assert canonical([record]) == written([record])


@given(STRICT_VALUES)
def test_canonical_bytes_are_strict_and_stay(value: object) -> None:
    """Canonical bytes are strict I-JSON for the same value, and canonical again."""
    once = canonical(value)
    read = parse(once, Cap.REPLY)
    assert read == value
    assert canonical(read) == once


@given(STRICT_VALUES, st.randoms(use_true_random=False))
def test_the_order_of_members_does_not_matter(value: object, random: Any) -> None:
    """The same members in another order have the same bytes."""

    def shuffled(part: object) -> object:
        if isinstance(part, dict):
            names = list(part)
            random.shuffle(names)
            return {name: shuffled(part[name]) for name in names}
        return [shuffled(item) for item in part] if isinstance(part, list) else part

    assert canonical(shuffled(value)) == canonical(value)
