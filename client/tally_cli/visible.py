r"""Makes text of others safe to show: what acts on a terminal or cannot be seen is written as ``\u{202e}``.

People read what agents write before they approve it. Control characters move the cursor and rewrite the
screen, bidirectional controls reorder what is read, and invisible characters carry text that only a machine
reads. So each character is judged by its Unicode general category: controls (Cc), format characters with the
bidirectional controls and tags (Cf), surrogates (Cs), private use (Co), unassigned (Cn), line and paragraph
separators (Zl, Zp) and every space but U+0020 (Zs) are written as their code points. So are the characters
of other categories that draw nothing, in `_BLANK`.

What it promises: the result holds none of these, and two different texts never look the same because of them
(a backslash that begins such a spelling is itself spelled). What it does not do: confusable letters of
different scripts, and piles of combining marks, which are visible.
"""

from collections.abc import Callable
from typing import Final
from unicodedata import category

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
    return text.replace("\\u{", "\\u{5c}u{").translate(_CELL)


def visible_block(text: str) -> str:
    """`text` of several lines: newlines and tabs are kept."""
    return text.replace("\\u{", "\\u{5c}u{").translate(_BLOCK)


def visible_json(document: str) -> str:
    """A compact JSON document with the same value, and nothing hidden in its strings.

    Outside of strings compact JSON has only visible ASCII, so what is hidden stands in a string, where JSON
    has an escape for it.
    """
    return document.translate(_JSON)
