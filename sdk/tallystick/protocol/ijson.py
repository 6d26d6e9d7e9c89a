"""Strict I-JSON (RFC 7493): the only way in which bytes from a socket become values.

What it promises: a text that is accepted is JSON in UTF-8 without a byte order mark, without duplicate
names of members, without numbers that a reader would round, without lone surrogates, and within the
limits on size, nesting, values and list items. So two readers of it see the same value, and unpacking it
costs a bounded amount of memory. A text that is refused is refused with one class of error (KCP section
13), the byte where it is, and a sentence.

How: ``accept`` takes what ``json``'s C scanner with hooks takes (microseconds). Whatever it refuses is read
again by ``read``, an iterative parser in plain Python, which is the definition: it finds the class and the
place, and needs no recursion. The tests hold the two against each other. ``parse`` does the one and then the
other; whoever must not stand still for a quarter of a second, which the longest request can take to be
refused, does them apart.

Which class is reported where a text has several faults: ``oversize``, then ``invalid-utf8``, then the first
in the text of ``syntax``, ``trailing-data``, ``duplicate``, ``unsafe-integer``, ``non-finite``,
``unsafe-number`` and ``inexact-number``, and then ``unpaired-surrogate``, ``over-depth``, ``over-nodes``,
``over-list-items`` and ``over-inline-content``.

Which numbers are taken: those that a double gives back. A number with a fraction or an exponent becomes the
nearest double, and the shortest text of that double must denote the same number; else it would be rounded
without a word. It may be written differently when it comes back: ``1.50`` as ``1.5``.

What it does not do: know any shape (``shapes``, ``arguments`` and ``envelope`` do), or echo the text: what is
refused may be a credential.
"""

import json
import re
from enum import Enum
from json.scanner import make_scanner
from typing import Final, NoReturn, TypeAlias

from tallystick.protocol.limits import (
    DEPTH_MAX,
    INLINE_PAYLOAD_BYTES_MAX,
    LIST_ITEMS_MAX,
    NODES_MAX,
    REPLY_BYTES_MAX,
    REQUEST_BYTES_MAX,
    SAFE_INTEGER_MAX,
)

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"


class Cap(Enum):
    """Which limits hold: lists are bounded in requests alone, since a page of a reply is longer (KCP 1.3)."""

    REQUEST = "request"
    REPLY = "reply"


class NotStrict(ValueError):
    """A text that is not strict I-JSON.

    ``error_class`` is one of the classes in the module's docstring, ``offset`` the byte (from 0) where the
    fault is, ``detail`` a sentence that says what, where and what to do. It holds nothing of the text but
    plain names of members.
    """

    def __init__(self, error_class: str, offset: int, detail: str) -> None:
        super().__init__(detail)
        self.error_class = error_class
        self.offset = offset
        self.detail = detail


class NotAccepted(ValueError):
    """``accept`` refuses, and does not say why: ``read`` does."""


def parse(raw: bytes, cap: Cap = Cap.REQUEST) -> JsonValue:
    """The value of a JSON text (a line without its newline). Raises ``NotStrict``; nothing else."""
    try:
        return accept(raw, cap)
    except NotAccepted:
        return read(raw, cap)


def accept(raw: bytes, cap: Cap = Cap.REQUEST) -> JsonValue:
    """The same for a text that is strict, fast. Raises ``NotAccepted`` for any other, at once."""
    if len(raw) > _bytes_max(cap):
        raise NotAccepted
    try:
        return _accept(raw, cap)
    except (ValueError, StopIteration, RecursionError):
        # RecursionError: the text nests deeply, or the caller is near the limit; the reader needs no stack.
        raise NotAccepted from None


# --- the fast accept ----------------------------------------------------------------------------------------

_REQUEST: Final = Cap.REQUEST
_BLANKS: Final = " \t\n\r"
_SAFE_INTEGER_CHARS: Final = len(str(SAFE_INTEGER_MAX))
_COUNTED_BYTES_MAX: Final = 4_096
"""Up to here bytes are counted (measured: 1 µs for 900 bytes, a walk 3 µs; at 60 kB 57 against 3)."""
_EXPONENT_DIGITS_MAX: Final = 9
"""No text has 10 to that power digits, so no text with a longer exponent is within a double's reach."""
_SURROGATE_ESCAPE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


class _Refused(ValueError):
    """The fast accept refuses without a reason: the reader finds it."""


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Refused
    return members


def _integer(digits: str) -> int:
    # Judged by length first: int() of thousands of digits takes quadratic time. JSON has no leading zeros.
    if len(digits) > _SAFE_INTEGER_CHARS + 1:
        raise _Refused
    value = int(digits)
    if not -SAFE_INTEGER_MAX <= value <= SAFE_INTEGER_MAX:
        raise _Refused
    return value


def _double(digits: str) -> float:
    # Every double beyond 2^52 has an integer value, and infinity is beyond: one comparison says all.
    value = float(digits)
    if not -SAFE_INTEGER_MAX <= value <= SAFE_INTEGER_MAX or not _is_exact(digits, value):
        raise _Refused
    return value


def _is_exact(digits: str, value: float) -> bool:
    """Whether the text of a number and the shortest text of its double denote the same number."""
    shortest = repr(value)
    return digits == shortest or _decimal(digits) == _decimal(shortest)


def _decimal(digits: str) -> tuple[str, int]:
    """A number's digits without zeros at either end, and its power of ten; its sign is left out."""
    mantissa, _, exponent = digits.lower().partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    significant = (whole + fraction).strip("0")
    if not significant:
        return "", 0
    zeros = len(whole + fraction) - len((whole + fraction).rstrip("0"))
    return significant, _power(exponent) - len(fraction) + zeros


def _power(exponent: str) -> int:
    """The exponent; one of so many digits that no double has it is cut: ``int`` takes quadratic time."""
    digits = exponent.lstrip("+-").lstrip("0")[:_EXPONENT_DIGITS_MAX]
    return int(digits or "0") * (-1 if exponent.startswith("-") else 1)


def _constant(_name: str) -> NoReturn:
    raise _Refused


# The settings are read from any object that has them; typeshed asks for another scanner.
_scan: Final = make_scanner(
    json.JSONDecoder(  # type: ignore[arg-type]
        object_pairs_hook=_object, parse_int=_integer, parse_float=_double, parse_constant=_constant
    )
)


def _accept(raw: bytes, cap: Cap) -> JsonValue:
    """The value, or any of ValueError, StopIteration and RecursionError."""
    text = raw.decode().strip(_BLANKS)
    value: JsonValue
    value, end = _scan(text, 0)
    if end != len(text):
        raise _Refused
    if not (_is_small(raw) or _is_bounded(value, cap)):
        raise _Refused
    if b"\\" in raw and b"\\u" in raw and _SURROGATE_ESCAPE.search(raw):
        json.dumps(value, ensure_ascii=False).encode()  # a UnicodeEncodeError at a lone surrogate
    if len(raw) > INLINE_PAYLOAD_BYTES_MAX and isinstance(value, dict) and "payload" in value:
        raise _Refused  # only the reader knows how long a member's text is
    return value


def _is_small(raw: bytes) -> bool:
    """Whether a count of bytes shows that no limit of depth, values or items can be passed.

    What stands inside strings is counted too, so these are upper bounds. In a long text counting takes longer
    than a walk over its few values; most requests are short.
    """
    return (
        len(raw) <= _COUNTED_BYTES_MAX
        and raw.count(b"{") + raw.count(b"[") <= DEPTH_MAX
        and raw.count(b",") < LIST_ITEMS_MAX
    )


def _is_bounded(root: JsonValue, cap: Cap) -> bool:
    """Whether depth, values and list items are within the limits; level by level, so nothing recurses."""
    list_items_max = LIST_ITEMS_MAX if cap is _REQUEST else NODES_MAX
    nodes, depth = 1, 0
    level: list[JsonValue] = [root]
    while containers := [value for value in level if isinstance(value, (dict, list))]:
        depth += 1
        level = []
        for container in containers:
            if isinstance(container, dict):
                level.extend(container.values())
            elif len(container) > list_items_max:
                return False
            else:
                level.extend(container)
        nodes += len(level)
        if depth > DEPTH_MAX or nodes > NODES_MAX:
            return False
    return True


# --- the reader ---------------------------------------------------------------------------------------------

_BLANK: Final = frozenset(_BLANKS)
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)((?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
_PLAIN: Final = re.compile(r'[^"\\\x00-\x1f]*')
_HEX4: Final = re.compile(r"[0-9a-fA-F]{4}")
_LOW_SURROGATE: Final = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_SHOWN_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")
_SHOWN_KEY: Final = re.compile(r"[a-z][a-z0-9_.-]{0,63}\Z")
_ESCAPES: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LITERALS: Final[dict[str, tuple[str, bool | None]]] = {
    "t": ("true", True),
    "f": ("false", False),
    "n": ("null", None),
}
_NON_FINITE: Final = ("NaN", "Infinity", "-Infinity")
_PLACE_STEPS_MAX: Final = 12
"""Steps of a place that are shown; what is nested deeper is no help to a reader."""

_LATER_CLASSES: Final = (
    "unpaired-surrogate",
    "over-depth",
    "over-nodes",
    "over-list-items",
    "over-inline-content",
)
_ADVICE: Final = {
    "trailing-data": "text after the end of the JSON value; send exactly one value a line",
    "duplicate": "a member name that stands twice in one object; each name may stand once",
    "unsafe-integer": f"an integer outside ±{SAFE_INTEGER_MAX}; send it as a string",
    "non-finite": "a number that is not finite; JSON has neither NaN nor infinity: leave the member out",
    "unsafe-number": f"a number whose value is an integer outside ±{SAFE_INTEGER_MAX}; send it as a string",
    "inexact-number": "a number that a double cannot give back, and so would be rounded; send it as a string",
    "unpaired-surrogate": "half of a surrogate pair; escape both halves, or write the character in UTF-8",
    "over-depth": f"more than {DEPTH_MAX} containers inside each other; flatten the value",
    "over-nodes": f"more than {NODES_MAX} values in one text; send it in parts",
    "over-list-items": f"a list of more than {LIST_ITEMS_MAX} items; send it in parts",
    "over-inline-content": f"a payload of more than {INLINE_PAYLOAD_BYTES_MAX} bytes; keep it as an artifact",
}


def read(raw: bytes, cap: Cap = Cap.REQUEST) -> JsonValue:
    """The definition: the value of a text. Raises ``NotStrict``; takes a microsecond a byte."""
    if len(raw) > _bytes_max(cap):
        _refuse_oversize(raw, cap)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        detail = f"Not UTF-8 at byte {error.start}: encode the text as UTF-8."
        raise NotStrict("invalid-utf8", error.start, detail) from None
    return _Reader(text, cap).read()


def _bytes_max(cap: Cap) -> int:
    return REQUEST_BYTES_MAX if cap is _REQUEST else REPLY_BYTES_MAX


def _refuse_oversize(raw: bytes, cap: Cap) -> NoReturn:
    cap_bytes = _bytes_max(cap)
    hint = "send long content in parts or as an artifact" if cap is _REQUEST else "ask for a smaller page"
    detail = f"The {cap.value} is {len(raw)} bytes long and may be {cap_bytes}: {hint}."
    raise NotStrict("oversize", cap_bytes, detail)


class _Reader:
    """One pass over a text: faults of the token order are raised where they stand, later classes noted and
    raised at the end.

    ``containers`` are those open at ``position``, ``names`` the member being read in each, or None.
    """

    def __init__(self, text: str, cap: Cap) -> None:
        self.text = text
        self.position = 0
        self.list_items_max = LIST_ITEMS_MAX if cap is _REQUEST else len(text)
        self.containers: list[dict[str, JsonValue] | list[JsonValue]] = []
        self.names: list[str | None] = []
        self.nodes = 0
        self.payload_start = 0
        self.later: dict[str, tuple[int, str]] = {}

    def read(self) -> JsonValue:
        self._skip_space()
        root = self._value()
        while self.containers:
            self._step()
        self._skip_space()
        if self.position < len(self.text):
            self._fail("trailing-data", self.position)
        for error_class in _LATER_CLASSES:
            if error_class in self.later:
                raise self._fault(error_class, *self.later[error_class])
        return root

    def _step(self) -> None:
        """From the end of one value to the end of the next scalar or the opening of the next container."""
        container = self.containers[-1]
        is_object = isinstance(container, dict)
        char = self._skip_space()
        if char == ("}" if is_object else "]"):
            self.position += 1
            self._close()
            return
        if container:
            if char != ",":
                self._fail("syntax", self.position, "',' or '}'" if is_object else "',' or ']'")
            self.position += 1
            self._skip_space()
        if isinstance(container, dict):
            name = self._name(container)
            container[name] = self._value()
            self._measure_payload(name)
        else:
            container.append(None)
            if len(container) == self.list_items_max + 1:
                self._note("over-list-items", self.position)
            container[-1] = self._value()

    def _name(self, container: dict[str, JsonValue]) -> str:
        start = self.position
        if not self.text.startswith('"', start):
            self._fail("syntax", start, "a member name in double quotes")
        name = self._string()
        self.names[-1] = name
        if name in container:
            self._fail("duplicate", start)
        if self._skip_space() != ":":
            self._fail("syntax", self.position, "':'")
        self.position += 1
        self._skip_space()
        self.payload_start = self.position if len(self.containers) == 1 else self.payload_start
        return name

    def _value(self) -> JsonValue:
        """Reads a scalar, or opens a container."""
        self.nodes += 1
        if self.nodes == NODES_MAX + 1:
            self._note("over-nodes", self.position)
        char = self.text[self.position : self.position + 1]
        if char == '"':
            return self._string()
        if char == "{":
            return self._open({})
        if char == "[":
            return self._open([])
        if char in _LITERALS:
            word, value = _LITERALS[char]
            if self.text.startswith(word, self.position):
                self.position += len(word)
                return value
        return self._number()

    def _open(self, container: dict[str, JsonValue] | list[JsonValue]) -> JsonValue:
        if len(self.containers) == DEPTH_MAX:
            self._note("over-depth", self.position)
        self.position += 1
        self.containers.append(container)
        self.names.append(None)
        return container

    def _close(self) -> None:
        self.containers.pop()
        self.names.pop()
        if len(self.containers) == 1 and self.names[0] is not None:
            self._measure_payload(self.names[0])

    def _measure_payload(self, name: str) -> None:
        """Called at each end of a root member's value, and at its opening, where nothing is long yet."""
        if name != "payload" or len(self.containers) != 1:
            return
        size = len(self.text[self.payload_start : self.position].encode())
        if size > INLINE_PAYLOAD_BYTES_MAX:
            self._note("over-inline-content", self.payload_start)

    def _number(self) -> int | float:
        start = self.position
        match = _NUMBER.match(self.text, start)
        if match is None:
            non_finite = self.text.startswith(_NON_FINITE, start)
            self._fail("non-finite" if non_finite else "syntax", start, "a value")
        self.position = match.end()
        token, fraction = match.group(0, 1)
        if not fraction:
            # Judged by length first: int() of thousands of digits takes quadratic time.
            number = int(token) if len(token) <= _SAFE_INTEGER_CHARS + 1 else SAFE_INTEGER_MAX + 1
            if not -SAFE_INTEGER_MAX <= number <= SAFE_INTEGER_MAX:
                self._fail("unsafe-integer", start)
            return number
        value = float(token)
        if value in (float("inf"), float("-inf")):
            self._fail("non-finite", start)
        if value.is_integer() and abs(value) > SAFE_INTEGER_MAX:
            self._fail("unsafe-number", start)
        if not _is_exact(token, value):
            self._fail("inexact-number", start)
        return value

    def _string(self) -> str:
        """Reads from the opening quote past the closing one."""
        self.position += 1
        parts: list[str] = []
        while True:
            match = _PLAIN.match(self.text, self.position)
            assert match is not None
            parts.append(match.group())
            self.position = match.end()
            char = self.text[self.position : self.position + 1]
            if char == "\\":
                parts.append(self._escape())
            elif char == '"':
                self.position += 1
                return "".join(parts)
            elif char:
                self._fail("syntax", self.position, "control characters in strings to be escaped")
            else:
                self._fail("syntax", self.position, "the string's closing quote")

    def _escape(self) -> str:
        start = self.position
        char = self.text[start + 1 : start + 2]
        if char != "u":
            if char not in _ESCAPES:
                self._fail("syntax", start, r"one of the escapes \" \\ \/ \b \f \n \r \t \uXXXX")
            self.position = start + 2
            return _ESCAPES[char]
        match = _HEX4.match(self.text, start + 2)
        if match is None:
            self._fail("syntax", start, r"four hexadecimal digits after \u")
        self.position = match.end()
        unit = int(match.group(), 16)
        if not 0xD800 <= unit <= 0xDFFF:
            return chr(unit)
        low = _LOW_SURROGATE.match(self.text, self.position) if unit < 0xDC00 else None
        if low is None:
            self._note("unpaired-surrogate", start)
            return chr(unit)
        self.position = low.end()
        return chr(0x10000 + ((unit - 0xD800) << 10) + int(low.group(1), 16) - 0xDC00)

    def _skip_space(self) -> str:
        """Moves to the next character that is not blank, and returns it ("" at the end)."""
        char = self.text[self.position : self.position + 1]
        if char not in _BLANK:
            return char
        match = _SPACE.match(self.text, self.position)
        assert match is not None
        self.position = match.end()
        return self.text[self.position : self.position + 1]

    def _note(self, error_class: str, position: int) -> None:
        """Keeps the first fault of a class that is judged after the whole text."""
        if error_class not in self.later:
            self.later[error_class] = (position, self._place())

    def _fail(self, error_class: str, position: int, expected: str = "") -> NoReturn:
        raise self._fault(error_class, position, self._place(), expected)

    def _fault(self, error_class: str, position: int, place: str, expected: str = "") -> NotStrict:
        offset = len(self.text[:position].encode())
        what = _ADVICE.get(error_class) or f"not JSON, expected {expected}"
        if error_class == "syntax" and position >= len(self.text):
            what = f"the text ends too early, expected {expected}"
        return NotStrict(error_class, offset, f"At byte {offset} ({place}): {what}.")

    def _place(self) -> str:
        """A path such as ``$.args.body_parts[3].text``; a name that is not plain may be content: ``[?]``."""
        steps = ["$"]
        for container, name in zip(self.containers[:_PLACE_STEPS_MAX], self.names, strict=False):
            if isinstance(container, list):
                steps.append(f"[{max(len(container) - 1, 0)}]")
            elif name is None:
                break
            elif _SHOWN_NAME.match(name):
                steps.append(f".{name}")
            else:
                steps.append(f'["{name}"]' if _SHOWN_KEY.match(name) else "[?]")
        if len(self.containers) > _PLACE_STEPS_MAX:
            steps.append(" and deeper")
        return "".join(steps)
