"""Secrets in texts: one function that takes them out, and one list of what they look like.

``redact`` gives a text with each find replaced by ``[REDACTED:<rule>]``, and says which rules found how many.
What comes out can go in again and is not changed: what surrounds a marker is looked at as any text is.
``redact_value`` does so for all texts in a JSON value. ``places`` is for what cannot be rewritten, a label or
a manifest: it says which rule finds something at which place.

The list is ``secrets.json``, beside this module; its head says what a rule is. It is read when the first
text comes, and a rule's pattern is compiled when a text first holds one of its hints. A text without any
costs a few substring tests.

What this does not promise: it finds what looks like a secret, and a password that looks like a word is none
to it. Nothing here keeps, logs or shows what was found; errors and results name rules, counts and places.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from typing import Final, Literal, NamedTuple, TypeAlias, cast

Policy: TypeAlias = Literal["redact", "refuse", "keep"]
"""What becomes of a text with a secret in it: the secret is taken out, the request is refused, or nothing."""

DENSE: Final = "dense"
"""In the place of a whole text in which finds uncovered finds, ``PASSES_MAX`` times over."""
SCALARS_MIN: Final = 8
"""A shorter text holds no find of any rule: the shortest are a URL's password and what leads to it."""
PASSES_MAX: Final = 8
"""Times that a text is looked at again since something was taken out of it; two are what nearly all take."""
LONG_RUN: Final = 16
"""Characters between two spaces that a find has at least, unless its rule is marked `short`."""
_ASSIGNMENT: Final = "assignment"
_PATH: Final = os.path.join(os.path.dirname(__file__), "secrets.json")
_JOINT: Final = "·"
_NAME: Final = re.compile(
    r"(?:password|passwd|passphrase|secret|token|api[_-]?key)(?:[_-]?key)?\Z", re.IGNORECASE
)
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}\Z")


class Find(NamedTuple):
    """How often one rule found something."""

    rule: str
    times: int


class Place(NamedTuple):
    """Where a rule found something, as a JSON path."""

    rule: str
    path: str


class Rule:
    """One kind of secret; its patterns are compiled when they are first needed."""

    def __init__(self, members: Mapping[str, object]) -> None:
        self.id: str = str(members["id"])
        self.hints: tuple[str, ...] = _texts(members["hint"])
        self.pattern: str = str(members["pattern"])
        self.allow: tuple[str, ...] = _texts(members["allow"])
        self.is_short = "short" in members
        self.group = int(str(members["group"]))
        self.min_entropy = float(str(members.get("min_entropy", 0)))
        self.examples = tuple(text.replace(_JOINT, "") for text in _texts(members["examples"]))
        self.counterexamples = _texts(members["counterexamples"])

    @cached_property
    def _finds(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    @cached_property
    def _allows(self) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{each})" for each in self.allow) or r"(?!)", re.DOTALL)

    def found(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the secrets of this kind begin and end, from left to right."""
        for match in self._finds.finditer(text):
            if self._is_secret(match[self.group]):
                yield match.span(self.group)

    def _is_secret(self, value: str) -> bool:
        if "[REDACTED:" in value and not any(map(str.isalnum, _marker().sub("", value))):
            return False
        return self._allows.fullmatch(value) is None and _entropy(value) >= self.min_entropy


def _texts(value: object) -> tuple[str, ...]:
    assert isinstance(value, list), "a rule's list"
    return tuple(map(str, value))


@cache
def rules() -> tuple[Rule, ...]:
    """The list of the day, read once."""
    with open(_PATH, encoding="utf-8") as file:
        return tuple(map(Rule, json.load(file)["rules"]))


@cache
def _marker() -> re.Pattern[str]:
    """The markers that this list makes; any other text in such brackets is text."""
    return re.compile(rf"\[REDACTED:(?:{'|'.join([DENSE, *(re.escape(rule.id) for rule in rules())])})\]")


@cache
def _hinted(short_alone: bool) -> tuple[tuple[str, Rule], ...]:
    return tuple((hint, rule) for rule in rules() if rule.is_short or not short_alone for hint in rule.hints)


def _suspected(text: str) -> list[Rule]:
    """The rules of which a hint stands in the text, in the order of the list.

    Nearly all finds are long; where no word of the text is, only the hints of the other rules are looked for.
    """
    longest = len(max(text.split(), key=len, default=""))
    folded = text.lower()
    hits = [rule for hint, rule in _hinted(longest < LONG_RUN) if hint in folded]
    return list(dict.fromkeys(hits)) if hits else hits


def _entropy(value: str) -> float:
    """Bits a character, by how often each occurs (Shannon)."""
    total = len(value)
    counts = [value.count(character) for character in set(value)]
    return -sum(count / total * math.log2(count / total) for count in counts)


# --- texts ------------------------------------------------------------------------------------------------
def redact(text: str) -> tuple[str, tuple[Find, ...]]:
    """The text without its secrets, and what was found; the text itself where nothing was."""
    if len(text) < SCALARS_MIN or not (suspected := _suspected(text)):
        return text, ()
    counts: dict[str, int] = {}
    for _ in range(PASSES_MAX):
        before = text
        for rule in suspected:
            text = _without(text, rule, counts)
        if text == before:
            return text, _finds(counts)
        suspected = _suspected(text)
    return f"[REDACTED:{DENSE}]", _finds({**counts, DENSE: 1})


def _without(text: str, rule: Rule, counts: dict[str, int]) -> str:
    pieces, end = [], 0
    for start, stop in rule.found(text):
        pieces += [text[end:start], f"[REDACTED:{rule.id}]"]
        end = stop
        counts[rule.id] = counts.get(rule.id, 0) + 1
    return text if not pieces else "".join([*pieces, text[end:]])


def _finds(counts: Mapping[str, int]) -> tuple[Find, ...]:
    return tuple(Find(rule, count) for rule, count in sorted(counts.items()))


def added(*finds: tuple[Find, ...]) -> tuple[Find, ...]:
    """Several results as one: a rule stands once, in the order of their names."""
    counts: dict[str, int] = {}
    for rule, count in (find for each in finds for find in each):
        counts[rule] = counts.get(rule, 0) + count
    return _finds(counts)


# --- JSON values ------------------------------------------------------------------------------------------
def redact_value(value: object) -> tuple[object, tuple[Find, ...]]:
    """The same for all texts in a JSON value, names of members among them.

    A member whose name says that it is a secret (``{"password": …}``) is judged as an assignment is. Two
    names that become the same are told apart by a number. The value is not changed: where nothing is found it
    is what comes back.
    """
    texts: list[str] = []
    _gather(value, texts)
    if not _suspected("\n".join(texts)):  # one look for all of them: nearly always the last
        return value, ()
    counts: dict[str, int] = {}
    clean = _cleaned(value, counts)
    return (clean, _finds(counts)) if counts else (value, ())


def redact_arguments(
    arguments: Mapping[str, object], texts: Iterable[str]
) -> tuple[dict[str, object], tuple[Find, ...]]:
    """A request's arguments with those named in ``texts`` redacted (``Operation.texts``: a name with a dot in
    it is a member inside an argument). Where nothing is found they are as they were.
    """
    clean: dict[str, object] = dict(arguments)
    finds: list[tuple[Find, ...]] = []
    for name in texts:
        outer, _, inner = name.partition(".")
        value = clean.get(outer)
        if inner and isinstance(value, Mapping):
            clean[outer], found = redact_arguments(value, (inner,))
        elif not inner and outer in clean:
            whole, found = redact_value({outer: value})
            clean |= cast("dict[str, object]", whole)
        else:
            continue
        finds.append(found)
    return clean, added(*finds)


def words(finds: Iterable[Find]) -> str:
    """What was found, for people: ``jwt, assignment (3 times)``."""
    return ", ".join(rule if times == 1 else f"{rule} ({times} times)" for rule, times in finds)


def _gather(value: object, texts: list[str]) -> None:
    """Adds all texts of a JSON value, names of members among them."""
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, list | tuple):
        for each in value:
            _gather(each, texts)
    elif isinstance(value, Mapping):
        for name, member in value.items():
            texts.append(str(name))
            _gather(member, texts)


def _cleaned(value: object, counts: dict[str, int]) -> object:
    if isinstance(value, str):
        text, finds = redact(value)
        for rule, count in finds:
            counts[rule] = counts.get(rule, 0) + count
        return text
    if isinstance(value, list | tuple):
        return [_cleaned(each, counts) for each in value]
    if not isinstance(value, Mapping):
        return value
    clean: dict[object, object] = {}
    for name, member in value.items():
        new = _cleaned(name, counts)
        while new != name and new in clean:
            new = f"{new} {len(clean)}"
        clean[new] = _assigned(name, _cleaned(member, counts), counts)
    return clean


def _assigned(name: object, member: object, counts: dict[str, int]) -> object:
    """A member as `name=member` is judged."""
    if not (isinstance(name, str) and isinstance(member, str) and len(name) <= 128 and _NAME.search(name)):
        return member
    text, finds = redact(f"{name}={member}")
    if not text.startswith(f"{name}=") or not any(rule == _ASSIGNMENT for rule, _ in finds):
        return member
    for rule, count in finds:
        counts[rule] = counts.get(rule, 0) + count
    return text[len(name) + 1 :]


def places(value: object, path: str = "$") -> list[Place]:
    """Where in a label or a JSON value which rule finds something; never what.

    A member is named in the path where its name is plain and holds no secret itself, else by its number.
    """
    if isinstance(value, list | tuple):
        return [found for index, each in enumerate(value) for found in places(each, f"{path}[{index}]")]
    if not isinstance(value, Mapping):
        return [Place(rule, path) for rule, _ in redact_value(value)[1]]
    found: list[Place] = []
    for index, (name, member) in enumerate(value.items()):
        in_name = redact_value(name)[1]
        plain = not in_name and isinstance(name, str) and _PLAIN_NAME.match(name)
        inner = f"{path}.{name}" if plain else f"{path}.<member {index}>"
        found += [Place(rule, inner) for rule, _ in in_name]
        found += places(member, inner) or [
            Place(r, inner) for r, _ in redact_value({name: member})[1] if not in_name
        ]
    return found
