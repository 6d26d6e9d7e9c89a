"""The canonical bytes of a value (RFC 8785, JCS): what every digest is taken over.

What it promises: two values that a strict I-JSON reader would call equal have the same bytes, on every
machine and in every version. Members stand in the order of their names' UTF-16 code units, numbers in
ECMAScript's shortest form, strings with the fewest escapes. A value that is not I-JSON has no canonical
bytes: ``ValueError`` says where.

How: ``msgspec``'s sorted encoder already writes these bytes, except for doubles, for integers that are not
safe, for names outside ASCII (it sorts by code point) and for Python types that are not JSON's. A walk over
the value finds out whether any of these is there; a Struct's fields that leave no room for them are not
walked into, but trusted to hold what they declare. What the walk does not pass is written by ``_Writer``,
which is the definition. The tests hold the two against each other.

What it does not do: read JSON (``ijson``), or put bounds on size.
"""

import re
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import inspect

from tallystick.protocol.limits import CANONICAL_DEPTH_MAX, SAFE_INTEGER_MAX


def canonical(value: object) -> bytes:
    """RFC 8785 bytes of None, bool, int, float, str, list, tuple, dict and Structs, nested as they may be.

    A Struct stands for its wire form: UNSET members, and defaults where it omits them, are left out. Raises
    ``ValueError`` with the path of what is not I-JSON: an integer (or a double with an integer's value)
    outside ±(2^53−1), NaN, infinity, a lone surrogate, a name that is not a string, another type, nesting
    deeper than ``CANONICAL_DEPTH_MAX`` (so also a cycle).
    """
    if _is_plain(value, CANONICAL_DEPTH_MAX - 1):
        try:
            encoded = _encode(value)
        except (ValueError, TypeError):
            pass  # what stands in a typed Struct against its type; the writer says where
        else:
            # Integers are judged together, by their digits: two scans in C instead of a comparison for each.
            # Ids have long runs of digits too: only where there is one does the slower look tell them apart.
            if _LONG_DIGITS not in encoded.translate(_DIGITS_TO_ZERO) or not _LONG_INTEGER.search(encoded):
                return encoded
    parts: list[str] = []
    _Writer(parts).write(value)
    return "".join(parts).encode()


# --- the fast way ----------------------------------------------------------------------------------------

_encode: Final = msgspec.json.Encoder(order="sorted").encode
_LONG_DIGITS: Final = b"0" * len(str(SAFE_INTEGER_MAX))
_DIGITS_TO_ZERO: Final = bytes(0x30 if 0x30 <= byte <= 0x39 else 0x20 for byte in range(256))
_LONG_INTEGER: Final = re.compile(rb"(?:^|[:,\[])-?[0-9]{%d}" % len(_LONG_DIGITS))
"""The beginning of a long number, or of what looks like one inside a string."""
_SCALARS: Final = frozenset({str, int, bool, type(None)})


def _is_plain(value: object, depth_max: int) -> bool:
    """Whether the encoder's bytes are canonical, long integers aside. ``depth_max``: containers inside."""
    members: Iterable[object]
    if isinstance(value, dict):
        try:
            if not "".join(value).isascii():
                return False
        except TypeError:  # a name that is not a string
            return False
        members = value.values()
    elif isinstance(value, (list, tuple)):
        members = value
    elif type(value) in _SCALARS:
        return True
    else:
        fields = _open_fields(type(value))
        if fields is None:
            return False
        members = [member for name in fields if (member := getattr(value, name)) is not msgspec.UNSET]
    for member in members:
        if type(member) not in _SCALARS and (depth_max == 0 or not _is_plain(member, depth_max - 1)):
            return False
    return True


def _open_fields(kind: type[object]) -> tuple[str, ...] | None:
    """The fields of a Struct class that leave room for what the encoder writes in its own way.

    None of any other class, and of one whose members have names outside ASCII.
    """
    if kind not in _OPEN_FIELDS:
        try:
            _OPEN_FIELDS[kind] = _find_open_fields(kind)
        except (TypeError, NameError):  # annotations that msgspec does not understand, or cannot resolve
            _OPEN_FIELDS[kind] = None
    return _OPEN_FIELDS[kind]


def _find_open_fields(kind: type[object]) -> tuple[str, ...] | None:
    info = inspect.type_info(kind) if issubclass(kind, msgspec.Struct) else None
    if not isinstance(info, inspect.StructType) or not _has_ascii_names(info):
        return None
    return tuple(field.name for field in info.fields if not _has_plain_type(field.type, frozenset({kind})))


_OPEN_FIELDS: Final[dict[type[object], tuple[str, ...] | None]] = {}
"""Answers already found, by class; as many as there are classes of values."""
_PLAIN_TYPES: Final = (
    inspect.StrType,
    inspect.IntType,
    inspect.BoolType,
    inspect.NoneType,
    inspect.EnumType,  # msgspec knows those of strings and of integers alone
)
_LIST_TYPES: Final = (inspect.ListType, inspect.VarTupleType)


def _has_plain_type(info: inspect.Type, seen: frozenset[type]) -> bool:
    if isinstance(info, inspect.Metadata):
        return _has_plain_type(info.type, seen)
    if isinstance(info, inspect.LiteralType):
        return all(type(choice) in _SCALARS for choice in info.values)
    if isinstance(info, _LIST_TYPES):
        return _has_plain_type(info.item_type, seen)
    if isinstance(info, inspect.UnionType):
        return all(_has_plain_type(choice, seen) for choice in info.types)
    if isinstance(info, inspect.StructType):
        if info.cls in seen or not _has_ascii_names(info):
            return False  # a record that can hold its own kind has no bound on its depth
        inner = seen | {info.cls}
        return all(_has_plain_type(field.type, inner) for field in info.fields)
    return isinstance(info, _PLAIN_TYPES)


def _has_ascii_names(info: inspect.StructType) -> bool:
    return "".join([info.tag_field or "", *(field.encode_name for field in info.fields)]).isascii()


# --- the definition --------------------------------------------------------------------------------------

_ESCAPED: Final = re.compile(r'["\\\x00-\x1f]')
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SHORT_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}
_SHOWN_NAME: Final = re.compile(r"[A-Za-z$_][A-Za-z0-9_.$-]{0,63}\Z")
_PATH_STEPS_MAX: Final = 12
"""Steps of a path that are shown."""


class _Writer:
    """Appends the text of one value to ``parts``; ``path`` is where it stands."""

    def __init__(self, parts: list[str]) -> None:
        self.parts = parts
        self.path: list[str] = []

    def write(self, value: object) -> None:
        if value is None:
            self.parts.append("null")
        elif value is True or value is False:
            self.parts.append("true" if value else "false")
        elif isinstance(value, str):
            self.parts.append(self._string(value))
        elif isinstance(value, int):
            self.parts.append(self._integer(value))
        elif isinstance(value, float):
            self.parts.append(self._double(value))
        elif isinstance(value, dict):
            self._object(value)
        elif isinstance(value, (list, tuple)):
            self._list(value)
        elif isinstance(value, msgspec.Struct):
            self._struct(value)
        else:
            raise self._refusal(f"a {type(value).__name__}, which JSON does not have")

    def _object(self, value: dict[object, object]) -> None:
        names: list[str] = []
        for name in value:
            if not isinstance(name, str):
                raise self._refusal(f"a name of a member that is a {type(name).__name__}; names are strings")
            names.append(name)
        self._open("{")
        for position, name in enumerate(sorted(names, key=_utf16)):
            self.path.append(f'["{name}"]' if _SHOWN_NAME.match(name) else "[?]")
            self.parts.append(f"{',' if position else ''}{self._string(name)}:")
            self.write(value[name])
            self.path.pop()
        self.parts.append("}")

    def _list(self, value: list[object] | tuple[object, ...]) -> None:
        self._open("[")
        for position, item in enumerate(value):
            self.path.append(f"[{position}]")
            self.parts.append("," if position else "")
            self.write(item)
            self.path.pop()
        self.parts.append("]")

    def _struct(self, value: msgspec.Struct) -> None:
        try:
            members = msgspec.to_builtins(value)
        except (RecursionError, TypeError) as error:
            raise self._refusal(f"a {type(value).__name__} that has no JSON form ({error})") from None
        self.write(members)

    def _open(self, bracket: str) -> None:
        if len(self.path) == CANONICAL_DEPTH_MAX:
            raise self._refusal(f"nested deeper than {CANONICAL_DEPTH_MAX} containers")
        self.parts.append(bracket)

    def _string(self, value: str) -> str:
        if _SURROGATE.search(value):
            raise self._refusal("a string with half of a surrogate pair")
        return f'"{_ESCAPED.sub(_escape, value)}"'

    def _integer(self, value: int) -> str:
        if not -SAFE_INTEGER_MAX <= value <= SAFE_INTEGER_MAX:
            raise self._refusal(f"an integer outside ±{SAFE_INTEGER_MAX}; send it as a string")
        return int.__repr__(value)

    def _double(self, value: float) -> str:
        if not -SAFE_INTEGER_MAX <= value <= SAFE_INTEGER_MAX:
            raise self._refusal("a double that is not finite, or an integer that is not safe")
        return ecmascript_number(value)

    def _refusal(self, what: str) -> ValueError:
        return ValueError(f"Not I-JSON at ${''.join(self.path[:_PATH_STEPS_MAX])}: {what}.")


def _utf16(name: str) -> bytes:
    """The sort key of RFC 8785 section 3.2.3; a lone surrogate passes, to be refused when it is written."""
    return name.encode("utf-16-be", "surrogatepass")


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return _SHORT_ESCAPES.get(char) or f"\\u{ord(char):04x}"


def ecmascript_number(value: float) -> str:
    """A finite double as ECMAScript's Number::toString writes it (RFC 8785 section 3.2.2.3).

    Python's ``repr`` finds the same shortest digits; what differs is where the point and the exponent go.
    """
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(digits) - len(fraction) + int(exponent or 0)  # digits before the decimal point
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        return f"{sign}{digits}{'0' * (point - len(digits))}"
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{point - 1:+d}"
