r"""Words: how a text is cut into what an index holds and a query asks for.

One function cuts for all who index, so that both sides always mean the same words. A form says how:

``text``
    The normal form is NFKC, case-folded, without what cannot be seen, and without marks after Latin, Greek
    and Cyrillic letters (café = cafe); elsewhere marks belong to their word. Its words are the runs of
    letters, digits and ``_``. Where words are joined by one of ``. - / : @ + # \`` without space, the whole
    is one token more, and so is each part of a camelCase word. Han, kana, Hangul, Thai, Lao and Khmer are
    taken by the character: each is a token, and each pair side by side.
``name``
    The whole normal form of a name is one token: NFKC, case-folded, without controls and what cannot be
    seen, white space to single spaces, ends cut. It keeps its marks: other marks are another name.

A token longer than 64 bytes is cut, and of one text at most 4,096 different tokens are taken: words first,
each where it first stands, then what is joined, then parts. An index holds none of these, but keyed tokens
(`Tokens`), the first bytes of BLAKE2b (RFC 7693) under a key, over form and token.

Promises: any text is cut, lone surrogates and NULs too; the only error is a query that is refused
(`NoQuery`). Does not: stem, correct, or keep anything of what it has seen. The normal form is that of the
interpreter's Unicode (`UNICODE`): an index that was made under another has to be made anew.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import blake2b
from itertools import chain, islice, pairwise
from operator import add
from string import ascii_letters, digits
from typing import Final, Literal, NamedTuple
from unicodedata import category, name, normalize, unidata_version

from tallystick.protocol import limits

Form = Literal["text", "name", "id"]
"""What a token was made from; ids of things are keyed like words, and never meet one."""

UNICODE: Final = unidata_version
TOKEN_BYTES: Final = 5
"""Of a keyed token: so short that an index stays small, so long that two of a million words rarely meet; a
hit is checked against its text."""


class Words(NamedTuple):
    """The tokens of a text with how often each stands there, in the order of the text's words.

    ``is_partial`` says that the text has more different tokens than are taken.
    """

    counts: dict[str, int]
    is_partial: bool


# --- normal forms -------------------------------------------------------------------------------------------
_CASED_AT: Final = (
    *((0x0041, 0x02E4), (0x0370, 0x052F), (0x1C80, 0x1C8F), (0x1D00, 0x1FFF), (0x2126, 0x2188)),
    *((0x2C60, 0x2C7F), (0xA640, 0xA7FF), (0xAB30, 0xAB6F), (0x10780, 0x107BA), (0x1DF00, 0x1DFFF)),
)
"""Between these code points lie all Latin, Greek and Cyrillic letters."""
_UNSPACED: Final = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1100, 0x11FF),  # Hangul jamo
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),  # Han: iteration mark, closing mark, zero
    (0x3021, 0x3029),  # Han: numerals
    (0x3031, 0x303C),  # kana repeat marks, Han numerals
    (0x3041, 0x30FF),  # kana
    (0x31F0, 0x31FF),  # kana
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),  # Han
    (0xA960, 0xA97F),  # Hangul jamo
    (0xAC00, 0xD7FF),  # Hangul
    (0xF900, 0xFAFF),  # Han
    (0x1AFF0, 0x1B16F),  # kana
    (0x20000, 0x323AF),  # Han
)
"""First and last code points of the scripts of which each character is a token."""
_MARKS_AT: Final = ((0x0300, 0x1E94B), (0xE0100, 0xE01EF))
"""Between these code points lie all marks."""
_FORMATS_AT: Final = ((0x00AD, 0x1D17A), (0xE0001, 0xE007F))
"""Between these code points lie all format characters."""
_JOINERS: Final = r"[-./:@+#\\]"


_SELECTORS: Final = ((0x034F, 0x034F), (0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
"""Marks that draw nothing by themselves: the grapheme joiner, and selectors of a variant."""
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
"""Controls that are no white space."""


def normal(text: str) -> str:
    """The normal form of a text. What is equal in it is equal to a search."""
    return text.lower() if text.isascii() else _flat(_seen(text))


def normal_name(text: str) -> str:
    """The normal form of a name, its one token, which is never cut; "" where nothing of it can be seen."""
    return " ".join(_folded(_seen(_CONTROLS.sub("", text))).split())


def _seen(text: str) -> str:
    """NFKC, without what cannot be seen."""
    return text if text.isascii() else normalize("NFKC", _scripts().unseen.sub("", text))


def _folded(seen: str) -> str:
    return normalize("NFKC", seen.casefold())


def _flat(seen: str) -> str:
    """The normal form of what `_seen` gave."""
    return normalize("NFKC", _scripts().marks.sub("", normalize("NFD", _folded(seen))))


class _Scripts(NamedTuple):
    """What is looked for in a normal form that is not ASCII."""

    unseen: re.Pattern[str]
    """Format characters and selectors."""
    marks: re.Pattern[str]
    """Marks after a Latin, Greek or Cyrillic letter."""
    words: re.Pattern[str]
    """A run of an unspaced script, its first group; or a word."""
    joined: re.Pattern[str]
    """Words with one joiner between each and the next."""


@cache
def _scripts() -> _Scripts:
    """Made where a text first needs it: it takes some milliseconds."""
    marks = [code for code in _within(_MARKS_AT) if category(chr(code))[0] == "M"]
    formats = (code for code in _within(_FORMATS_AT) if category(chr(code)) == "Cf")
    unseen = sorted({*formats, *_within(_SELECTORS)})
    unspaced = [code for code in _within(_UNSPACED) if chr(code).isalnum() or category(chr(code))[0] == "M"]
    cased = [code for code in _within(_CASED_AT) if _is_cased(code)]
    own, others = _ranges(unspaced), _ranges(sorted({*marks} - {*unspaced}))
    mark = _ranges(marks)
    in_run = rf"[\w{mark}]"
    # A class with hundreds of ranges is slow to refuse what is in none of them, so others stand before it.
    return _Scripts(
        unseen=re.compile(f"[{_ranges(unseen)}]"),
        marks=re.compile(rf"[^\x00-\u02ff](?<=[{_ranges(cased)}].)(?<=[{mark}])[{mark}]*+"),
        words=re.compile(rf"([{own}]++)|[^\W{own}][^\W{own}]*+(?:[{others}]++[^\W{own}]*+)*+"),
        joined=re.compile(rf"(?<!{in_run})\w{in_run}*+(?:{_JOINERS}\w{in_run}*+)++"),
    )


def _within(spans: Iterable[tuple[int, int]]) -> Iterable[int]:
    return chain.from_iterable(range(first, last + 1) for first, last in spans)


def _is_cased(code: int) -> bool:
    """Whether it is a Latin, Greek or Cyrillic letter."""
    return chr(code).isalpha() and name(chr(code), "").startswith(("LATIN", "GREEK", "CYRILLIC"))


def _ranges(codes: Iterable[int]) -> str:
    """Rising code points as the inside of a character class."""
    found: list[list[int]] = []
    for code in codes:
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in found)


# --- cutting ------------------------------------------------------------------------------------------------
_ASCII_WORD: Final = re.compile(r"\w++", re.ASCII)
_ASCII_SPACED: Final = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}
_ASCII_JOINED: Final = re.compile(rf"\b\w++(?:{_JOINERS}\w++)++", re.ASCII)
_HUMP: Final = re.compile(r"[A-Z](?:(?<=[a-z][A-Z])|(?<=[A-Z0-9][A-Z])(?=[a-z]))")
"""The first letter of a further part of a camelCase word: fooBar, HTTPServer, utf8Decoder."""
_IN_WORD: Final = frozenset(f"{ascii_letters}{digits}_")


def words(text: str) -> Words:
    """The tokens of a text in the form ``text``."""
    seen = _seen(text)
    flat = seen.lower() if seen.isascii() else _flat(seen)
    counts = Counter(chain(_runs(flat), _joined(flat), _parts(seen)))
    # A character has 4 bytes of UTF-8 at most, and one in ASCII.
    if max(map(len, counts), default=0) > limits.WORD_BYTES_MAX // (1 if flat.isascii() else 4):
        counts = _cut(counts)
    if len(counts) <= limits.TEXT_WORD_ITEMS_MAX:
        return Words(dict(counts), is_partial=False)
    return Words(dict(islice(counts.items(), limits.TEXT_WORD_ITEMS_MAX)), is_partial=True)


def sequence(text: str) -> list[str]:
    """The words of a text as they follow each other, each character of an unspaced script by itself."""
    return _sequence(normal(text))


def _sequence(flat: str) -> list[str]:
    if flat.isascii():
        return [_short(word) for word in _ascii_words(flat)]
    found: list[str] = []
    for match in _scripts().words.finditer(flat):
        found.extend(match[0] if match.lastindex else (_short(match[0]),))
    return found


def stand_together(words_of_text: list[str], phrase: tuple[str, ...]) -> bool:
    """Whether the words of a phrase stand side by side in a text; both are made by `sequence`."""
    length, first = len(phrase), phrase[0]
    at = -1
    for _ in range(words_of_text.count(first)):
        at = words_of_text.index(first, at + 1)
        if tuple(words_of_text[at : at + length]) == phrase:
            return True
    return False


def _runs(flat: str) -> Iterable[str]:
    """The words of a normal form; of unspaced scripts each character and each pair."""
    if flat.isascii():
        return _ascii_words(flat)
    found: list[str] = []
    for match in _scripts().words.finditer(flat):
        run = match[0]
        if match.lastindex is None:
            found.append(run)
        else:
            found.extend(run)
            found.extend(map(add, run, run[1:]))
    return found


def _ascii_words(flat: str) -> list[str]:
    """Much faster than the expression, and the same."""
    return flat.translate(_ASCII_SPACED).split()


def _joined(flat: str) -> list[str]:
    """Words that are joined, each chain of them as one token."""
    return (_ASCII_JOINED if flat.isascii() else _scripts().joined).findall(flat)


def _parts(seen: str) -> Iterator[str]:
    """The parts of camelCase words, in normal form."""
    shape = seen if seen.isascii() else seen.translate(_SHAPE)
    last = 0
    while hump := _HUMP.search(shape, last):
        first = hump.start()
        while first > last and shape[first - 1] in _IN_WORD:
            first -= 1
        cuts = [first]
        word = _ASCII_WORD.match(shape, first)
        assert word is not None
        last = word.end()
        cuts.extend(each.start() for each in _HUMP.finditer(shape, first, last))
        for start, end in pairwise((*cuts, last)):
            yield from filter(None, normal(seen[start:end]).split("_"))


class _Shape(dict[int, str]):
    """A table for `str.translate` that shows what of a word each code point is, and judges each once."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        kind = "A" if char.isupper() else "a" if char.islower() else "0" if char.isdigit() else " "
        self[code] = shape = char if char == "_" else kind
        return shape


_SHAPE: Final = _Shape()


def _cut(counts: Counter[str]) -> Counter[str]:
    """The same with each token no longer than it may be."""
    cut: Counter[str] = Counter()
    for word, count in counts.items():
        cut[_short(word)] += count
    return cut


def _short(word: str) -> str:
    if len(word) * 4 <= limits.WORD_BYTES_MAX:
        return word
    return word.encode()[: limits.WORD_BYTES_MAX].decode(errors="ignore")


# --- queries ------------------------------------------------------------------------------------------------
class NoQuery(ValueError):
    """A query that asks for nothing, or for too much; the text says which, and what to do."""


class Term(NamedTuple):
    """A part of a query. A text that it fits has all of `tokens`, and in it the words of `phrase`, where
    there are any, stand side by side.
    """

    tokens: tuple[str, ...]
    phrase: tuple[str, ...]


class Query(NamedTuple):
    """What a text must be: fitted by all of `wanted`, and by none of `unwanted`.

    `better` are tokens that need not be there: a text that has what the query joins or writes in camelCase is
    a better hit than one that has its words apart.
    """

    wanted: tuple[Term, ...]
    unwanted: tuple[Term, ...]
    better: tuple[str, ...]


_QUERY: Final = re.compile(
    r"""(?:(?<!\S)(?P<no>-))?"(?P<phrase>[^"]*+)"|(?<!\S)-(?=\w|[^\x00-\x7f])(?P<out>[^\s"]++)|(?P<word>[^\s"]++|")"""
)


def parse_query(query: str) -> Query:
    """A query's words. ``"…"`` asks for words side by side, a leading ``-`` rules out a word or phrase;
    nothing else has a meaning of its own. A quotation mark without its twin is none. Raises `NoQuery`.
    """
    wanted: dict[Term, None] = {}
    unwanted: dict[Term, None] = {}
    plain: list[str] = []
    for match in _QUERY.finditer(_seen(query)):
        if match["word"] is not None:
            plain.append(match["word"])
            wanted.update((Term((token,), ()), None) for token in _tokens(normal(match["word"])))
            continue
        flat = normal(match["phrase"] if match["out"] is None else match["out"])
        side_by_side = tuple(_sequence(flat))
        term = Term(_tokens(flat), side_by_side if len(side_by_side) > 1 else ())
        if term.tokens:
            (unwanted if match["no"] or match["out"] else wanted)[term] = None
    asked = {token for term in (*wanted, *unwanted) for token in term.tokens}
    if not wanted:
        raise NoQuery("the query has no word to look for; letters, digits and _ make words")
    if len(asked) > limits.QUERY_WORD_ITEMS_MAX:
        raise NoQuery(
            f"the query has {len(asked)} words; ask for at most {limits.QUERY_WORD_ITEMS_MAX} of them"
        )
    better = dict.fromkeys(
        _short(each) for word in plain for each in (*_joined(normal(word)), *_parts(_seen(word)))
    )
    return Query(tuple(wanted), tuple(unwanted), tuple(each for each in better if each not in asked))


def _tokens(flat: str) -> tuple[str, ...]:
    """What has to be there, each once: of unspaced scripts the pairs alone where there are any, since a text
    that has a pair has its characters.
    """
    if flat.isascii():
        found: Iterable[str] = _ascii_words(flat)
    else:
        found = chain.from_iterable(_asked(match) for match in _scripts().words.finditer(flat))
    return tuple(dict.fromkeys(map(_short, found)))


def _asked(match: re.Match[str]) -> Iterable[str]:
    run = match[0]
    return map(add, run, run[1:]) if match.lastindex and len(run) > 1 else (run,)


# --- keyed tokens -------------------------------------------------------------------------------------------
class Tokens:
    """Makes keyed tokens of one form. `key` has 1 to 64 bytes; a token has `size` bytes.

    Who has tokens without the key sees which are equal, and of none what it says. Forms are keyed apart.
    """

    def __init__(self, key: bytes, form: Form, size: int = TOKEN_BYTES) -> None:
        if not key:
            raise ValueError("the key of an index is empty; it has 1 to 64 bytes")
        self._begun = blake2b(form.encode() + b"\0", key=key)
        self._size = size

    def of(self, words_of_text: Iterable[str]) -> list[bytes]:
        """The keyed tokens of these, in their order."""
        copy, size, found = self._begun.copy, self._size, []
        for word in words_of_text:
            begun = copy()
            begun.update(word.encode(errors="surrogatepass"))
            found.append(begun.digest()[:size])
        return found
