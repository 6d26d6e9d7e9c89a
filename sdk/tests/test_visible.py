"""What others wrote cannot act on a terminal, and nothing in it is invisible."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.protocol.visible import is_hidden, visible, visible_block, visible_json

JOINERS = dict.fromkeys(map(ord, "\u200c\u200d"))
"""Those that may be left in their place."""

ACTING = {
    "escape": "\x1b[2J",
    "carriage return": "\rapproved",
    "backspace": "\x08\x08",
    "C1 control": "\x9b31m",
    "delete": "\x7f",
    "right-to-left override": "\u202eexe.txt",
    "isolate": "\u2066\u2069",
    "Arabic letter mark": "\u061c",
    "zero width space": "pass\u200bword",
    "zero width joiner": "\u200d",
    "byte order mark": "\ufeff",
    "soft hyphen": "\u00ad",
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "no-break space": "\u00a0",
    "variation selector": "\ufe0f",
    "variation selector supplement": "\U000e0100",
    "tag letter": "\U000e0041",
    "Hangul filler": "\u3164",
    "halfwidth Hangul filler": "\uffa0",
    "combining grapheme joiner": "\u034f",
    "braille blank": "\u2800",
    "Mongolian vowel separator": "\u180e",
    "private use": "\ue000",
    "unassigned": "\u0378",
    "noncharacter": "\ufffe",
    "lone surrogate": "\ud800",
    "interlinear annotation": "\ufff9",
}


@pytest.mark.parametrize("name", ACTING)
def test_what_acts_or_cannot_be_seen_is_spelled_out(name: str) -> None:
    """Each such character is written as its code point, and nothing of it is left."""
    text = ACTING[name]
    shown = visible_block(text)
    assert not any(is_hidden(ord(char)) for char in shown if char not in "\n\t")
    hidden = [char for char in text if is_hidden(ord(char))]
    assert hidden
    assert all(f"\\u{{{ord(char):x}}}" in shown for char in hidden)


@pytest.mark.parametrize(
    "text", ["plain", "é à ü", "漢字　仮名", "עברית", "العربية", "Ω→∞ €", "e\u0301", "🙂", "\\n"]
)
def test_what_people_write_is_left_alone(text: str) -> None:
    """Letters of every script, marks, symbols and the two usual spaces are shown as they are."""
    assert visible(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "👩\u200d🔬", "❤\ufe0f", "❤\ufe0e", "🏳\ufe0f\u200d🌈", "👩🏽\u200d💻", "1\ufe0f\u20e3", "ℹ\ufe0f",
        "\u0915\u094d\u200d\u0937", "\u09b0\u200d\u09cd\u09af", "می\u200cخواهم", "\u1820\u180b",
    ],
    ids=ascii,
)  # fmt: skip
def test_joiners_are_left_where_they_decide_what_is_drawn(text: str) -> None:
    """Inside an emoji, and between letters that are joined, they belong to what is seen."""
    assert visible(text) == visible_block(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "pay\u200dpal", "pay\ufe0fpal", "\u200d🔬", "👩\u200d", "👩\u200dx", "👩\u200d\u200d🔬",
        "❤\ufe0f\ufe0f", "1\ufe0f2", "ا\u200cب", "می\u200c", "\u0915\u200d\u0937", "a\u180b", "🏽\ufe0f",
        "葛\U000e0100", "🏴\U000e0067\U000e007f", "می\u200c\u200cخ",
    ],
    ids=ascii,
)  # fmt: skip
def test_joiners_that_change_nothing_are_spelled_out(text: str) -> None:
    """Where they draw nothing they could only hide something: outside of emoji, doubled, after letters that
    join to nothing. So are tags and the selectors of ideographs, which fonts ignore.
    """
    assert visible(text) != text
    assert "\\u{" in visible(text)


def test_a_line_has_no_newline_and_a_block_keeps_it() -> None:
    """In a line's cell a newline or tab would forge another cell; in a block it is layout."""
    assert visible("a\nb\tc") == "a\\u{a}b\\u{9}c"
    assert visible_block("a\nb\tc") == "a\nb\tc"
    assert visible_block("a\r\nb") == "a\\u{d}\nb"


@given(st.text(), st.text())
def test_two_texts_never_look_the_same(one: str, other: str) -> None:
    """The spelling is injective: what is read can be traced to one text only."""
    assert (visible(one) == visible(other)) == (one == other)


def test_a_spelling_that_somebody_wrote_is_no_spelling_of_ours() -> None:
    """A text that contains our spelling is told apart from the character itself."""
    assert visible("\\u{202e}") != visible("\u202e")


@given(st.text())
def test_every_hidden_character_is_spelled_in_every_form(text: str) -> None:
    """No form lets a control, format, private, unassigned or separator character through."""
    for shown in (visible(text).translate(JOINERS), visible_json(json.dumps(text, ensure_ascii=False))):
        categories = {unicodedata.category(char) for char in shown if char != "\u3000"}
        assert not categories & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
        assert all(char == " " for char in shown if unicodedata.category(char) == "Zs" and char != "\u3000")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_keeps_its_value(text: str) -> None:
    """JSON that was made visible says what it said before, beyond the basic plane too."""
    document = json.dumps({"text": text}, ensure_ascii=False, separators=(",", ":"))
    assert json.loads(visible_json(document)) == {"text": text}
