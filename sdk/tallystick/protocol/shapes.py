"""The scalar types of the wire (KCP appendix A), and the function that turns parsed JSON into typed data.

Every scalar is an ``Annotated`` builtin whose bounds msgspec enforces, so a struct's fields are its grammar.
Patterns are anchored at both ends (``^…\\Z``): msgspec searches, and ``$`` would let a newline through. The
calendar (month lengths, leap years, second 60) is in the pattern of `Timestamp`, so whoever holds one has it
checked.

`convert` raises `Misshapen`, which names the place as a JSON path and says what is allowed there; it repeats
no value, only member names, cut and made printable. What it does not do: strict JSON (`ijson`), and rules
that need more than the value itself (the operations).
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, inspect

from . import limits

AnyJson: TypeAlias = Any
"""Any JSON value, as a member of a struct: msgspec knows no recursive alias, and `ijson` has judged it."""
JsonObject: TypeAlias = dict[str, Any]
"""An object of any members, as a member of a struct: what KCP leaves open."""

_PATTERN_WORDS: Final[dict[str, str]] = {}


def _worded(pattern: str, words: str) -> str:
    """`pattern`, remembered with the words that explain it to whoever broke it."""
    _PATTERN_WORDS[pattern] = words
    return pattern


# --- strings ----------------------------------------------------------------------------------------------
Identifier = Annotated[
    str,
    Meta(
        pattern=_worded(
            rf"^[\x21-\x7e]{{1,{limits.IDENTIFIER_BYTES_MAX}}}\Z",
            f"an identifier: 1 to {limits.IDENTIFIER_BYTES_MAX} visible ASCII characters, no space",
        )
    ),
]
Selector = Annotated[
    str,
    Meta(
        pattern=_worded(
            rf"^[\x21-\x7e]{{1,{limits.SELECTOR_BYTES_MAX}}}\Z",
            f"a selector: 1 to {limits.SELECTOR_BYTES_MAX} visible ASCII characters, no space",
        )
    ),
]
DisplayName = Annotated[str, Meta(min_length=1, max_length=limits.DISPLAY_NAME_SCALARS_MAX)]
FreeText = Annotated[str, Meta(max_length=limits.FREE_TEXT_SCALARS_MAX)]
InlineText = Annotated[str, Meta(max_length=limits.INLINE_TEXT_SCALARS_MAX)]
ShortText = Annotated[str, Meta(min_length=1, max_length=limits.FREE_TEXT_SCALARS_MAX)]
LongText = Annotated[str, Meta(min_length=1, max_length=limits.INLINE_TEXT_SCALARS_MAX)]
Repository = Annotated[str, Meta(min_length=1, max_length=limits.REPOSITORY_CHARS_MAX)]
"""A repository's label; which characters may stand in it is checked by ``places``."""
PlacePath = Annotated[str, Meta(min_length=1, max_length=limits.PATH_BYTES_MAX)]
"""A path in a repository; its bytes and segments are checked by ``places``."""
ModelPrompt = Annotated[str, Meta(min_length=1, max_length=limits.MODEL_PROMPT_SCALARS_MAX)]
ModelSystem = Annotated[str, Meta(max_length=limits.MODEL_SYSTEM_SCALARS_MAX)]
Cursor = Annotated[str, Meta(min_length=1, max_length=limits.CURSOR_CHARS_MAX)]
"""Opaque; made by the ledger, checked by it."""
MediaType = Annotated[
    str,
    Meta(
        max_length=limits.MEDIA_TYPE_CHARS_MAX,
        pattern=_worded(
            r"^[!#$%&'*+.^_`|~a-zA-Z0-9-]+/[!#$%&'*+.^_`|~a-zA-Z0-9-]+\Z",
            f"a media type token/token (RFC 9110), at most {limits.MEDIA_TYPE_CHARS_MAX} characters",
        ),
    ),
]
LanguageTag = Annotated[
    str,
    Meta(
        max_length=limits.LANGUAGE_TAG_CHARS_MAX,
        pattern=_worded(
            r"^[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})*\Z",
            f"a language tag (BCP 47), at most {limits.LANGUAGE_TAG_CHARS_MAX} characters",
        ),
    ),
]
ArtifactChunk = Annotated[
    str,
    Meta(
        max_length=4 * -(-limits.ARTIFACT_CHUNK_BYTES_MAX // 3),
        pattern=_worded(
            r"^[A-Za-z0-9+/]*={0,2}\Z",
            f"base64 (RFC 4648, section 4) of at most {limits.ARTIFACT_CHUNK_BYTES_MAX} bytes, in one piece",
        ),
    ),
]
"""Whether its end is whole is seen when it is decoded."""
DigestHex = Annotated[str, Meta(pattern=_worded(r"^[0-9a-f]{64}\Z", "64 lowercase hexadecimal digits"))]
StatusToken = Annotated[
    str,
    Meta(
        pattern=_worded(
            r"^[a-z][a-z0-9_]{0,63}\Z",
            "a token: a lowercase letter, then at most 63 lowercase letters, digits or underscores",
        )
    ),
]
FeatureId = Annotated[
    str,
    Meta(
        pattern=_worded(
            r"^[a-z][a-z0-9_]{0,127}\Z",
            "a bundle's name: a lowercase letter, then at most 127 lowercase letters, digits or underscores",
        )
    ),
]
EventType = Annotated[
    str,
    Meta(
        max_length=limits.EVENT_TYPE_CHARS_MAX,
        pattern=_worded(
            r"^[a-z][a-z0-9]*(\.[a-z][a-z0-9]*(-[a-z0-9]+)*)+\.v[1-9][0-9]*\Z",
            "an event type: a reverse-domain name that ends in .v and a major version, at most "
            f"{limits.EVENT_TYPE_CHARS_MAX} characters",
        ),
    ),
]
EventTypePrefix = Annotated[
    str,
    Meta(
        max_length=limits.EVENT_TYPE_CHARS_MAX,
        pattern=_worded(
            r"^[a-z][a-z0-9]*(\.[a-z0-9-]+)*\Z",
            "whole leading segments of an event type, without a dot at the end, at most "
            f"{limits.EVENT_TYPE_CHARS_MAX} characters",
        ),
    ),
]
DecisionKey = Annotated[
    str,
    Meta(
        max_length=limits.DECISION_KEY_CHARS_MAX,
        pattern=_worded(
            r"^[a-z0-9][a-z0-9_-]*(\.[a-z0-9][a-z0-9_-]*){0,7}\Z",
            "a key: one to eight segments of lowercase letters, digits, - and _, with dots between, at most "
            f"{limits.DECISION_KEY_CHARS_MAX} characters, such as db.engine",
        ),
    ),
]
GateName = Annotated[
    str,
    Meta(
        pattern=_worded(
            r"^[a-z][a-z0-9_-]{0,63}\Z",
            "a gate's name: a lowercase letter, then at most 63 lowercase letters, digits, _ and -",
        )
    ),
]
ExtKey = Annotated[
    str,
    Meta(
        pattern=_worded(
            r"^[a-z][a-z0-9]*(\.[a-z0-9-]+)+\Z", "a reverse-domain name, such as com.example.hint"
        )
    ),
]
ProtocolVersion = Annotated[
    str,
    Meta(
        pattern=_worded(
            r"^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\Z", "a version: major.minor, without leading zeros"
        )
    ),
]
Traceparent = Annotated[
    str,
    Meta(
        pattern=_worded(
            r"^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}\Z",
            "a W3C traceparent: version-traceid-parentid-flags in lowercase hexadecimal digits",
        )
    ),
]

# by 4 and not by 100, or by 400
_LEAP_YEAR: Final = r"(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_DATE: Final = (
    r"(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    r"|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    rf"|{_LEAP_YEAR}-02-29)"
)
Timestamp = Annotated[
    str,
    Meta(
        pattern=_worded(
            rf"^{_DATE}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]+)?"
            r"(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])\Z",
            "a time of RFC 3339, with seconds and an offset, on a day that exists: 2026-01-31T09:00:00Z",
        )
    ),
]

# --- numbers ----------------------------------------------------------------------------------------------
SafeInt = Annotated[int, Meta(ge=0, le=limits.SAFE_INTEGER_MAX)]
PositiveInt = Annotated[int, Meta(ge=1, le=limits.SAFE_INTEGER_MAX)]
PageLimit = Annotated[int, Meta(ge=1, le=limits.PAGE_ITEMS_MAX)]
ArtifactReadBytes = Annotated[int, Meta(ge=1, le=limits.ARTIFACT_READ_BYTES_MAX)]
LeaseTermSeconds = Annotated[int, Meta(ge=limits.LEASE_TERM_SECONDS_MIN, le=limits.LEASE_TERM_SECONDS_MAX)]
WaitMs = Annotated[int, Meta(ge=0, le=limits.WAIT_MS_MAX)]

# --- closed sets ------------------------------------------------------------------------------------------
ContributionKind = Literal[
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
]
EpistemicPosture = Literal["asserted", "tentative", "observed", "reported", "contested"]
RelationKind = Literal[
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
]
MentionTarget = Literal["principal", "assistant_alias"]
ProjectStatus = Literal["active", "suspended", "archived"]
SpaceVisibility = Literal["project", "restricted"]
SpaceStatus = Literal["open", "frozen", "archived"]
InvocationState = Literal[
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
]
SecurityProfile = Literal["developer", "confined", "secure"]
CheckStatus = Literal["pass", "warn", "fail"]
PreparedChangeState = Literal["prepared", "confirmed", "canceled", "stale"]
EffectiveChange = Literal["narrowing", "widening", "incomparable"]
ParticipantKind = Literal["principal", "assistant_deployment", "service", "peer_projection"]
ParticipantRole = Literal["steward", "contributor", "observer"]
ParticipantStatus = Literal["proposed", "active", "muted", "revoked"]
GrantStatus = Literal["active", "revoked", "expired"]
LensKind = Literal["stream", "workbench", "pulse", "branch_compare", "ensemble", "provenance", "custom"]
ReactionState = Literal["present", "removed"]
DispositionKind = Literal["withdraw", "supersede", "redact", "retract"]
WithheldReason = Literal["above_ceiling", "not_visible"]
UploadState = Literal[
    "prepared",
    "uploading",
    "sealing",
    "sealed",
    "verifying",
    "completed",
    "rejected",
    "expired",
    "aborted",
]
ArtifactState = Literal[
    "pending",
    "verifying",
    "scanning",
    "available",
    "quarantined",
    "rejected",
    "unavailable",
    "erased",
]
ConcurrencyPolicy = Literal["serial-branch", "parallel-independent", "causal-keyed"]
ModelCallState = Literal["completed", "failed", "ambiguous"]

# --- lists ------------------------------------------------------------------------------------------------
Identifiers = Annotated[tuple[Identifier, ...], Meta(max_length=limits.LIST_ITEMS_MAX)]
"""A list of identifiers in a request."""
EventTypePrefixes = Annotated[tuple[EventTypePrefix, ...], Meta(max_length=limits.LIST_ITEMS_MAX)]


# --- from parsed JSON to types ----------------------------------------------------------------------------
class Misshapen(ValueError):
    """A value without its declared shape. `path` is a JSON path; `detail` says what is allowed there."""

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(f"{path}: {detail}")
        self.path = path
        self.detail = detail


def member_fault(member: str, message: str) -> ValueError:
    """What a struct's ``__post_init__`` raises about one of its members, so that the path leads to it."""
    return ValueError(f".{member}: {message}")


def refuse_repeats(member: str, items: Iterable[str]) -> None:
    """Raise a fault of `member` unless its `items` are distinct (JSON Schema's uniqueItems)."""
    seen: set[str] = set()
    for item in items:
        if item in seen:
            raise member_fault(member, "its items must be distinct, and one is there twice")
        seen.add(item)


T = TypeVar("T")


def convert(value: object, shape: type[T], at: str = "$") -> T:
    """`value`, as `ijson.parse` gives it, as a `shape`; `at` is the JSON path of `value`.

    A whole number written as 1.0 or 1e2 is an integer to JSON Schema and to RFC 8785, and so it is here.
    Raises `Misshapen`.
    """
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        if "got `float`" not in str(error):
            raise _misshapen(str(error), shape, at) from None
    try:
        return msgspec.convert(_whole_numbers(value), shape)
    except msgspec.ValidationError as error:
        raise _misshapen(str(error), shape, at) from None


def _whole_numbers(value: object) -> object:
    """`value` with each whole float as an int. Its recursion is bounded by the depth that `ijson` admits."""
    if type(value) is dict:
        return {name: _whole_numbers(member) for name, member in value.items()}
    if type(value) is list:
        return [_whole_numbers(item) for item in value]
    if type(value) is float and value.is_integer():
        return int(value)
    return value


# --- saying what was wrong --------------------------------------------------------------------------------
_SHOWN_CHARS_MAX: Final = limits.IDENTIFIER_BYTES_MAX
_PLACE: Final = re.compile(r" - at (`key` in )?`(\$[^`]*)`\Z")
_NAME: Final = "{name}"
_STEP: Final = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[\.\.\.\]|\{name\}")
_INDEX: Final = re.compile(r"\[[0-9]+\]")
_MEMBER_FAULT: Final = re.compile(r"^\.([a-z_]+): ", re.DOTALL)
_MISSING: Final = re.compile(r"^Object missing required field `([^`]*)`\Z")
_UNKNOWN: Final = re.compile(r"^Object contains unknown field `(.*)`\Z", re.DOTALL)
_MSGSPECS_WORDS: Final = ("Expected ", "Invalid enum value ", "Invalid value ", "Object ")


def shown(name: str) -> str:
    """A member name of somebody else's, fit for a message: printable ASCII, quoted, cut."""
    cut = name if len(name) <= _SHOWN_CHARS_MAX else name[:_SHOWN_CHARS_MAX] + "…"
    return "`" + "".join(c if (c.isascii() and c.isprintable()) or c == "…" else "�" for c in cut) + "`"


def _misshapen(message: str, shape: object, at: str) -> Misshapen:
    """msgspec's `message` about a value at `at` in our words: where, and what is allowed there."""
    place = _PLACE.search(message)
    inner = place.group(2)[1:] if place else ""
    kind = _INDEX.sub("[...]", inner)  # the same for every item of a list, so that the cache stays small
    text = message[: place.start()] if place else message
    if (unknown := _UNKNOWN.match(text)) is not None:
        return Misshapen(at + inner, f"there is no member {shown(unknown.group(1))}; {_allowed(shape, kind)}")
    if (missing := _MISSING.match(text)) is not None:
        member = missing.group(1)
        return Misshapen(
            at + inner, f"the member `{member}` is missing; it must be {_allowed(shape, f'{kind}.{member}')}"
        )
    if (fault := _MEMBER_FAULT.match(text)) is not None:
        return Misshapen(f"{at}{inner}.{fault.group(1)}", text[fault.end() :])
    if not text.startswith(_MSGSPECS_WORDS):
        return Misshapen(at + inner, text)  # said by a __post_init__ of ours
    if place is not None and place.group(1):
        return Misshapen(at + inner, f"the name of each member must be {_allowed(shape, kind + _NAME)}")
    got = re.search(r", got `([A-Za-z]+)`\Z", text)
    tail = f", and is {_JSON_NAMES.get(got.group(1), got.group(1))}" if got else ""
    return Misshapen(at + inner, f"it must be {_allowed(shape, kind)}{tail}")


_JSON_NAMES: Final = {
    "null": "null",
    "NoneType": "null",
    "bool": "true or false",
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "array": "a list",
    "object": "an object",
}


@lru_cache(maxsize=1024)
def _allowed(shape: object, inner: str) -> str:
    """What the type at the path `inner` inside `shape` admits, in words. Paths are the schema's, so few."""
    node = _bare(inspect.type_info(shape))
    for step in _STEP.finditer(inner):
        if step.group() == _NAME and isinstance(node, inspect.DictType):
            node = node.key_type
        else:
            node = _into(node, step.group(1))
    return _words(node)


def _bare(node: inspect.Type) -> inspect.Type:
    """A type without what is said of it beside its bounds, such as that it holds content."""
    return node.type if isinstance(node, inspect.Metadata) else node


def _into(node: inspect.Type, member: str | None) -> inspect.Type:
    """The type of a member of an object, or of the items of a list or map where `member` is none."""
    node = _bare(node)
    if isinstance(node, inspect.StructType) and member is not None:
        if node.tag_field == member:
            return inspect.LiteralType((node.tag,))
        for field in node.fields:
            if field.encode_name == member:
                return field.type
    if isinstance(node, inspect.UnionType):
        return _any_of([_into(one, member) for one in node.types])
    if isinstance(node, inspect.VarTupleType | inspect.ListType):
        return node.item_type
    if isinstance(node, inspect.DictType):
        return node.value_type
    return inspect.AnyType()


def _any_of(found: list[inspect.Type]) -> inspect.Type:
    """What the types of a union have at one place, each once; some may have nothing there."""
    known = [node for node in found if not isinstance(node, inspect.AnyType)]
    distinct = [node for place, node in enumerate(known) if node not in known[:place]]
    if len(distinct) > 1:
        return inspect.UnionType(tuple(distinct))
    return distinct[0] if distinct else inspect.AnyType()


def _words(node: inspect.Type) -> str:
    match _bare(node):
        case inspect.StructType(fields=fields, tag_field=tag_field, tag=tag):
            names = [f.encode_name if not f.required else f"{f.encode_name} (required)" for f in fields]
            if tag_field is not None:
                names.insert(0, f"{tag_field} (which is {tag})")
            if not names:
                return "an object without members"
            return f"an object of the members {', '.join(names)}"
        case inspect.LiteralType(values=values):
            return "one of " + ", ".join(str(v) for v in values)
        case inspect.StrType(pattern=str(pattern)):
            return _PATTERN_WORDS.get(pattern, f"a string that matches {pattern}")
        case inspect.StrType(min_length=low, max_length=high) if high is not None:
            return f"a string of {low or 0} to {high} characters"
        case inspect.StrType():
            return "a string"
        case inspect.IntType(ge=low, le=high) if low is not None and high is not None:
            return f"an integer from {low} to {high}"
        case inspect.IntType():
            return "an integer"
        case inspect.BoolType():
            return "true or false"
        case inspect.VarTupleType(min_length=low, max_length=high) if high is not None:
            return f"a list of {low or 0} to {high} items"
        case inspect.VarTupleType() | inspect.ListType():
            return "a list"
        case inspect.DictType():
            return "an object"
        case inspect.UnionType(types=types):
            return " or ".join(_words(t) for t in types)
        case inspect.NoneType():
            return "null"
        case _:
            return "any JSON value"
