"""Words: whatever is written is cut, found again by what it is made of, and keyed."""

import sys
from hashlib import blake2b
from unicodedata import category, combining, name, normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tallystick.protocol import limits, words
from tallystick.protocol.words import NoQuery, Query, Term, Tokens, parse_query

SAMPLES = [
    *(
        "",
        " ",
        "\0",
        "\ud800",
        "a\ud800b\udfff",
        '"',
        '""',
        "-",
        '-"',
        '-""',
        "AND",
        "NEAR(",
        "*",
        "C++",
        '"C++"',
    ),
    *(
        "OR NOT",
        "^a",
        "a:b",
        "'; DROP TABLE docs; --",
        "🙂",
        "1️⃣",
        "❤️",
        "漢字かな交じり文",
        "한국어 문서",
        "葛\U000e0100城",
    ),
    *(
        "ภาษาไทย",
        "ພາສາລາວ",
        "ភាសាខ្មែរ",
        "हिन्दी.पाठ",
        "עִבְרִית",
        "camelCase",
        "HTTPServer",
        "größeÄndern",
        "İstanbul",
    ),
    *(
        "ǰ",
        "ΐ",
        "ᾳ",
        "ﬁ",
        "½",
        "\u0345",
        "a\u0345\u0301",
        "\ufe0f",
        "co\u00adop",
        "a.b/c-d:e@f+g#h\\i",
        "..a..b..",
    ),
    *("snake_case", "x" * 300, "é" * 300, "字" * 100),
]
texts = st.one_of(
    st.text(st.characters(codec=None)),
    st.text(st.characters(codec=None, max_codepoint=0x2FF)),
    st.text(st.sampled_from("aBc1_ .-/:@+#\\\"'*éİß漢字カ한กิا\u0301\u0345\u00ad\ufe0f\u200d🙂\0\ud800\n")),
    st.sampled_from(SAMPLES),
    st.lists(st.sampled_from(SAMPLES), max_size=4).map(" ".join),
)


ASSIGNED = [char for char in map(chr, range(sys.maxunicode + 1)) if category(char) not in ("Cn", "Co", "Cs")]


# --- normal forms -------------------------------------------------------------------------------------------
@given(texts)
@example("e\u00ad\u0301")
def test_a_normal_form_is_its_own(text: str) -> None:
    """Making it normal again changes nothing: neither a text's nor a name's."""
    assert words.normal(words.normal(text)) == words.normal(text)
    assert words.normal_name(words.normal_name(text)) == words.normal_name(text)


def test_every_character_has_one_normal_form() -> None:
    """For each code point: normal again is the same, and upper and lower case are equal to a search."""
    for char in ASSIGNED:
        flat = words.normal(char)
        assert words.normal(flat) == flat
        if len(char.lower()) == 1 == len(char.upper()):
            assert words.normal(char.lower()) == flat


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Café", "cafe"),
        ("cafe\u0301", "cafe"),
        ("ÅNGSTRÖM", "angstrom"),
        ("Ελλάδα", "ελλαδα"),
        ("Йод", "иод"),
        ("STRASSE", "straße"),
        ("ｆｕｌｌ", "full"),
        ("ﬁle", "file"),
        ("²", "2"),
        ("co\u00adoperate", "cooperate"),
        ("pass\u200bword", "password"),
        ("葛\U000e0100", "葛"),
        ("e\ufe0f\u0301", "e"),
        ("が", "か\u3099"),
        ("ｶﾞ", "ガ"),
    ],
)
def test_what_reads_the_same_is_one_word(one: str, other: str) -> None:
    """Neither case, nor form, nor what cannot be seen, nor marks of three scripts tell words apart."""
    assert words.normal(one) == words.normal(other)


@pytest.mark.parametrize(("one", "other"), [("が", "か"), ("हि", "ह"), ("กิ", "ก"), ("עִ", "ע"), ("a", "а")])
def test_what_reads_otherwise_is_another_word(one: str, other: str) -> None:
    """Elsewhere marks belong to their word, and letters of two scripts are two."""
    assert words.normal(one) != words.normal(other)


def test_marks_are_dropped_after_three_scripts_alone() -> None:
    """Of all letters with a mark, Latin, Greek and Cyrillic ones lose it, and no other does."""
    for char in ASSIGNED:
        base = normalize("NFD", words.normal(char))
        if not base or category(base[0])[0] != "L" or combining(base[-1]):
            continue
        loses = name(base[-1], "").startswith(("LATIN", "GREEK", "CYRILLIC")) and base[-1].isalpha()
        assert (words.normal(f"{base}\u0331") == words.normal(base)) == loses, char


def test_a_name_keeps_its_marks_and_loses_what_cannot_be_seen() -> None:
    """A name is one token: white space to single spaces, ends cut, controls and format characters dropped."""
    assert words.normal_name("  Ｊosé\t\n\u00a0 MARÍA\0\u202e\x1b ") == "josé maría"
    assert words.normal_name("\u200b\0") == ""


# --- cutting ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The api, the API!", {"the": 2, "api": 2}),
        ("db.engine", {"db": 1, "engine": 1, "db.engine": 1}),
        (
            "see services/ledger/x.py.",
            {"see": 1, "services": 1, "ledger": 1, "x": 1, "py": 1, "services/ledger/x.py": 1},
        ),
        ("a..b C++ #c", {"a": 1, "b": 1, "c": 2}),
        ("max_tokens=4096", {"max_tokens": 1, "4096": 1}),
        ("fooBar", {"foobar": 1, "foo": 1, "bar": 1}),
        ("getHTTPResponse", {"gethttpresponse": 1, "get": 1, "http": 1, "response": 1}),
        ("utf8Decoder", {"utf8decoder": 1, "utf8": 1, "decoder": 1}),
        ("x_fooBar", {"x_foobar": 1, "x": 1, "foo": 1, "bar": 1}),
        ("größeÄndern", {"grosseandern": 1, "grosse": 1, "andern": 1}),
        ("3F2A9C HTML5 Word", {"3f2a9c": 1, "html5": 1, "word": 1}),
        ("東京都", {"東": 1, "京": 1, "都": 1, "東京": 1, "京都": 1}),
        ("Python3の本", {"python3": 1, "の": 1, "本": 1, "の本": 1}),
        ("한국", {"한": 1, "국": 1, "한국": 1}),
        ("हिन्दी.पाठ", {"हिन्दी": 1, "पाठ": 1, "हिन्दी.पाठ": 1}),
        ("❤️ 🙂 \0 \ud800 …", {}),
    ],
)
def test_a_text_is_cut(text: str, tokens: dict[str, int]) -> None:
    """Each word with how often it stands there, what is joined, parts, characters and pairs."""
    assert words.words(text) == words.Words(tokens, is_partial=False)


def test_words_stand_in_the_order_of_the_text() -> None:
    """First words, each where it first stands, then what is joined, then parts."""
    assert list(words.words("z a.b fooBar z c").counts) == ["z", "a", "b", "foobar", "c", "a.b", "foo", "bar"]


def test_the_text_as_a_whole_is_bounded() -> None:
    """Of a text with more different words than are taken, the first are, and it says so."""
    most = limits.TEXT_WORD_ITEMS_MAX
    assert words.words(" ".join(f"w{number}" for number in range(most))).is_partial is False
    cut = words.words(" ".join(f"w{number}" for number in range(most + 1)))
    assert (cut.is_partial, list(cut.counts)[-1], len(cut.counts)) == (True, f"w{most - 1}", most)


@given(texts)
def test_any_text_is_cut_into_tokens_that_fit(text: str) -> None:
    """No token is empty, longer than its limit, or changes when it is made normal, whatever the text."""
    for token, count in words.words(text).counts.items():
        assert 0 < len(token.encode()) <= limits.WORD_BYTES_MAX
        assert count > 0
        assert words.normal(token) == token


@pytest.mark.parametrize(
    "unit", ["a", "a.", "aB", "aB_", "é", "漢", "हि", "กิ", "a\u0301", '"', "-", "\ufe0f", "a\u05b0"]
)
def test_a_long_text_takes_no_more_than_its_length(unit: str) -> None:
    """A text of the largest size, of one unit over and over: nothing in it is tried again and again."""
    text = unit * (limits.INLINE_TEXT_SCALARS_MAX // len(unit))
    assert len(words.words(text).counts) <= limits.TEXT_WORD_ITEMS_MAX
    assert len(words.sequence(text)) <= len(text)


# --- queries ------------------------------------------------------------------------------------------------
def fits(text: str, query: Query) -> bool:
    """Whether a text is a hit."""
    counts, sequence = words.words(text).counts, words.sequence(text)

    def has(term: Term) -> bool:
        together = not term.phrase or words.stand_together(sequence, term.phrase)
        return all(token in counts for token in term.tokens) and together

    return all(map(has, query.wanted)) and not any(map(has, query.unwanted))


@given(texts)
def test_any_query_is_parsed_or_refused(query: str) -> None:
    """Whatever is asked is a query with something to look for, of bounded size, or the named refusal."""
    try:
        asked = parse_query(query)
    except NoQuery:
        return
    tokens = {token for term in (*asked.wanted, *asked.unwanted) for token in term.tokens}
    assert asked.wanted
    assert all(term.tokens for term in (*asked.wanted, *asked.unwanted))
    assert len(tokens) <= limits.QUERY_WORD_ITEMS_MAX


@given(texts)
def test_a_text_is_found_by_each_of_its_tokens(text: str) -> None:
    """By words, by characters and pairs, by what is joined and by parts, each also in quotation marks."""
    for token in words.words(text).counts:
        assert fits(text, parse_query(token))
    for token in words.sequence(text):
        assert fits(text, parse_query(f'"{token}"'))
        assert not fits(text, parse_query(f"{token} -{token}"))


@given(texts, st.integers(0, 20), st.integers(2, 5))
def test_a_text_is_found_by_its_words_side_by_side(text: str, first: int, count: int) -> None:
    """Any words in a row, written with spaces between, are a phrase of the text."""
    row = words.sequence(text)[first : first + count]
    if row:
        assert fits(text, parse_query(f'"{" ".join(row)}"'))


@given(texts, st.integers(0, 40), st.integers(1, 10))
def test_a_text_is_found_by_any_piece_of_an_unspaced_script(text: str, first: int, count: int) -> None:
    """A piece of Han, kana or Hangul finds the text, quoted or not."""
    piece = "東京都の会議で決定した内容を記録する한국어문서ガ"[first : first + count]
    if piece:
        whole = f"{text} 東京都の会議で決定した内容を記録する한국어문서ガ"
        assert fits(whole, parse_query(piece))
        assert fits(whole, parse_query(f'"{piece}"'))


@pytest.mark.parametrize(
    ("text", "query", "is_hit"),
    [
        ("one file, one writer", '"one writer"', True),
        ("one file, one writer", '"file writer"', False),
        ("one file, one writer", "writer file", True),
        ("one file, one writer", "file -writer", False),
        ("one file, one writer", 'file -"writer one"', True),
        ("one file, one writer", 'file -"one writer"', False),
        ("services/ledger/x.py", "services/ledger", True),
        ("services ledger", "services -services/ledger", False),
        ("ledger of services", "services -services/ledger", True),
        ("run it with --force", "--force", True),
        ("getUserName", "user", True),
        ("getusername", "getUserName", True),
        ("cats AND dogs", "AND", True),
        ("half an unclosed quote", 'an "unclosed', True),
        ("全角の引用", "＂全角の＂", True),
    ],
)
def test_a_query_finds(text: str, query: str, is_hit: bool) -> None:
    """All words have to be there, quoted ones side by side, and none that is ruled out."""
    assert fits(text, parse_query(query)) is is_hit


def test_what_is_joined_makes_a_better_hit() -> None:
    """A query demands its words alone; what it joins, and its parts, are told apart."""
    assert parse_query("db.engine fooBar").better == ("db.engine", "foo", "bar")
    assert parse_query("foo FOO bar") == Query((Term(("foo",), ()), Term(("bar",), ())), (), ())


@pytest.mark.parametrize("query", ["", " \n", "*", "++", '""', "-a", '-"a b"', "🙂", "\0", "\ud800", '-"'])
def test_a_query_without_a_word_is_refused(query: str) -> None:
    """What asks for nothing, or only rules out, is refused."""
    with pytest.raises(NoQuery, match="no word to look for"):
        parse_query(query)


def test_a_query_has_so_many_words_and_no_more() -> None:
    """Ruled out ones count; one that is asked twice is one."""
    most = limits.QUERY_WORD_ITEMS_MAX
    fitting = " ".join(f"w{number}" for number in range(most - 1)) + " -out w1"
    assert len(parse_query(fitting).wanted) == most - 1
    with pytest.raises(NoQuery, match=f"{most + 1} words"):
        parse_query(f"{fitting} more")


# --- keyed tokens -------------------------------------------------------------------------------------------
KEY = bytes(range(32))


def test_a_keyed_token_is_the_beginning_of_blake2b() -> None:
    """The first five bytes over form, a zero and the word, in UTF-8; a test may take more."""
    whole = blake2b(b"text\0" + "naïve".encode(), key=KEY).digest()
    assert Tokens(KEY, "text").of(["naïve"]) == [whole[:5]]
    assert Tokens(KEY, "text", size=16).of(["naïve"]) == [whole[:16]]


def test_forms_and_keys_are_told_apart() -> None:
    """One word has another token in each form and under each key; the order is that of the words."""
    makers = [Tokens(KEY, "text"), Tokens(KEY, "name"), Tokens(KEY, "id"), Tokens(bytes(32), "text")]
    assert len({maker.of(["word"])[0] for maker in makers}) == len(makers)
    assert makers[0].of(["a", "b", "\ud800"]) == [makers[0].of([each])[0] for each in ("a", "b", "\ud800")]


@pytest.mark.parametrize("key", [b"", bytes(65)])
def test_a_key_that_is_none_is_refused(key: bytes) -> None:
    """An empty key would key nothing, and BLAKE2b takes 64 bytes at most."""
    with pytest.raises(ValueError, match="key"):
        Tokens(key, "text")
