r"""Makes text of others safe to show: what acts on a terminal or cannot be seen is written as ``\u{202e}``.

People read what agents write before they approve it. Control characters move the cursor and rewrite the
screen, bidirectional controls reorder what is read, and invisible characters carry text that only a machine
reads. So each character is judged by its Unicode general category: controls (Cc), format characters with the
bidirectional controls and tags (Cf), surrogates (Cs), private use (Co), unassigned (Cn), line and paragraph
separators (Zl, Zp) and every space but U+0020 (Zs) are written as their code points. So are the characters
of other categories that draw nothing, in `_BLANK`.

Some of them are shown as they are where they belong to what is seen: the joiner and the variation selector
inside an emoji, and in joined scripts the joiners that decide how letters are drawn (`_belongs`; RFC 5892,
A.1 and A.2, says where). Everywhere else, and in JSON, they are spelled.

What it promises: the result holds none of these elsewhere, and two different texts never look the same
because of them (a backslash that begins such a spelling is itself spelled). What it does not do: confusable
letters of different scripts, and piles of combining marks, which are visible.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Final
from unicodedata import category, combining, lookup, name

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_KEPT_SPACES: Final = frozenset({0x20, 0x3000})
"""U+3000 is the space of Chinese and Japanese prose: as wide as a letter, and not to be mistaken."""
_BLANK: Final = frozenset(
    {
        0x034F,  # combining grapheme joiner
        0x115F, 0x1160, 0x3164, 0xFFA0,  # Hangul fillers
        0x17B4, 0x17B5,  # Khmer inherent vowels
        0x180B, 0x180C, 0x180D, 0x180F,  # Mongolian variation selectors
        0x2800,  # braille blank
        *range(0xFE00, 0xFE10),  # variation selectors
        *range(0xE0100, 0xE01F0),  # variation selectors supplement
        0x1D159,  # musical symbol null notehead
    }
)  # fmt: skip
"""Marks, letters and symbols that draw nothing by themselves."""


def is_hidden(code: int) -> bool:
    """Whether the code point cannot be seen, or acts instead of being shown."""
    return code in _BLANK or (category(chr(code)) in _HIDDEN and code not in _KEPT_SPACES)


# --- what belongs to what is seen ---------------------------------------------------------------------------
NON_JOINER: Final = "\u200c"
JOINER: Final = "\u200d"
TEXT_SELECTOR: Final = "\ufe0e"
EMOJI_SELECTOR: Final = "\ufe0f"
_MONGOLIAN_SELECTORS: Final = "\u180b\u180c\u180d"
_CONTEXTUAL: Final = re.compile(
    f"[{NON_JOINER}{JOINER}{TEXT_SELECTOR}{EMOJI_SELECTOR}{_MONGOLIAN_SELECTORS}]"
)
_VIRAMA: Final = 9
"""The canonical combining class of viramas."""
_KEYCAP: Final = "\u20e3"
_MORE_PICTORIAL: Final = frozenset("‼⁉〰〽ℹ↔↕↖↗↘↙↩↪▪▫▶◀◻◼◽◾➡⤴⤵⬅⬆⬇")
"""Emoji that are no "other symbols" by their general category."""


def is_pictorial(char: str) -> bool:
    """Whether the character can be an emoji, or part of one: a symbol, or the colour of a skin."""
    return category(char) == "So" or char in _MORE_PICTORIAL or 0x1F3FB <= ord(char) <= 0x1F3FF


@cache
def _joins(char: str, form: str) -> bool:
    """Whether a letter of a joined script has that form (INITIAL, FINAL): Unicode has a name for it then."""
    try:
        lookup(f"{name(char)} {form} FORM")
    except (KeyError, ValueError):
        return False
    return True


def _belongs(text: str, at: int) -> bool:
    """Whether the joiner or selector at that place changes how the characters around it are drawn."""
    char, before, after = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if not before:
        return False
    if char in (TEXT_SELECTOR, EMOJI_SELECTOR):
        is_keycap = before in "0123456789#*" and after == _KEYCAP
        return is_keycap or (is_pictorial(before) and not 0x1F3FB <= ord(before) <= 0x1F3FF)
    if char in _MONGOLIAN_SELECTORS:
        return name(before, "").startswith("MONGOLIAN LETTER")
    if combining(before) == _VIRAMA or (char == JOINER and after and combining(after) == _VIRAMA):
        return bool(after) and category(after)[0] in "LM"
    if char == NON_JOINER:
        return bool(after) and _joins(before, "INITIAL") and _joins(after, "FINAL")
    is_emoji = is_pictorial(before) or (before == EMOJI_SELECTOR and _belongs(text, at - 1))
    return is_emoji and bool(after) and is_pictorial(after)


class _Spelled(dict[int, str | int]):
    """A table for `str.translate` that judges each code point once."""

    def __init__(self, spell: Callable[[int], str], keep: str) -> None:
        super().__init__({ord(char): char for char in keep})
        self._spell = spell

    def __missing__(self, code: int) -> str | int:
        self[code] = shown = self._spell(code) if is_hidden(code) else code
        return shown


def _as_escape(code: int) -> str:
    return f"\\u{{{code:x}}}"


def _as_json(code: int) -> str:
    """A JSON string's own escape; beyond the BMP that is a surrogate pair (RFC 8259, section 7)."""
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD800 + ((code - 0x10000) >> 10):04x}\\u{0xDC00 + ((code - 0x10000) & 0x3FF):04x}"


_CELL: Final = _Spelled(_as_escape, "")
_BLOCK: Final = _Spelled(_as_escape, "\n\t")
_JSON: Final = _Spelled(_as_json, "")


def visible(text: str) -> str:
    """`text` for one line: newlines and tabs are spelled as well."""
    return _shown(text, _CELL)


def visible_block(text: str) -> str:
    """`text` of several lines: newlines and tabs are kept."""
    return _shown(text, _BLOCK)


def _shown(text: str, table: _Spelled) -> str:
    text = text.replace("\\u{", "\\u{5c}u{")
    if not _CONTEXTUAL.search(text):
        return text.translate(table)
    kept = {found.start() for found in _CONTEXTUAL.finditer(text) if _belongs(text, found.start())}
    return "".join(char if at in kept else char.translate(table) for at, char in enumerate(text))


def visible_json(document: str) -> str:
    """A compact JSON document with the same value, and nothing hidden in its strings.

    Outside of strings compact JSON has only visible ASCII, so what is hidden stands in a string, where JSON
    has an escape for it.
    """
    return document.translate(_JSON)
