"""Statements: one text for each record, one record for each text, by our vectors and by a second program."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import signed_judge
import signed_vectors
from hypothesis import given
from hypothesis import strategies as st

from tallystick.protocol import statements
from tallystick.protocol.limits import STATEMENT_BYTES_MAX
from tallystick.protocol.statements import (
    FORMS,
    GateStatement,
    SignerStatement,
    Statement,
    StatementError,
    VerdictStatement,
    comment_digest,
    make_statement,
    namespace,
    parse_statement,
)

VECTORS: dict[str, Any] = json.loads(signed_vectors.FILE.read_text())
RECORDS: dict[str, type[Statement]] = {
    "verdict": VerdictStatement,
    "signer": SignerStatement,
    "gate": GateStatement,
}


def record_of(vector: dict[str, Any]) -> Statement:
    """The record of a vector's fields; JSON has lists where records have tuples."""
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in vector["fields"].items()
    }
    return RECORDS[vector["form"]](**fields)


def named(vectors: list[dict[str, Any]]) -> pytest.MarkDecorator:
    """A parameter for each vector, under its name."""
    return pytest.mark.parametrize("vector", [pytest.param(each, id=each["name"]) for each in vectors])


VERDICT = record_of(VECTORS["good_statements"][0])


def test_the_example_is_what_it_has_always_been() -> None:
    """The first verdict of the vectors is 703 bytes of one known digest: old signatures stay good."""
    text = make_statement(VERDICT)
    assert len(text) == 703
    digest = "c25acfcd43789f4b091706805a07da1907e597c5ed75825ce57d809d5807f1cb"
    assert hashlib.sha256(text).hexdigest() == digest


@named(VECTORS["good_statements"])
def test_a_record_and_its_text_are_one(vector: dict[str, Any]) -> None:
    """The record gives the text, and the text the record."""
    text = vector["text"].encode()
    assert make_statement(record_of(vector)) == text
    assert parse_statement(text) == record_of(vector)
    assert namespace(record_of(vector)) == f"{vector['form']}@tallystick"


@named(VECTORS["bad_statements"])
def test_what_is_not_quite_a_statement_is_refused(vector: dict[str, Any]) -> None:
    """A line that is changed, missing, doubled or out of its place is named."""
    with pytest.raises(StatementError) as refused:
        parse_statement(vector["text"].encode())
    assert refused.value.line == vector["line"]
    assert vector["line"] in str(refused.value)


@named(VECTORS["unmakeable"])
def test_what_could_not_stand_on_a_line_is_refused(vector: dict[str, Any]) -> None:
    """The line is named, and no statement is made."""
    with pytest.raises(StatementError) as refused:
        make_statement(record_of(vector))
    assert refused.value.line == vector["line"]
    assert f"({vector['line']})" in str(refused.value)


def test_a_statement_of_other_bytes_is_refused() -> None:
    """Bytes that are no text at all are refused as a line that is wrong is."""
    text = make_statement(VERDICT).replace(b"commit api", b"commit \xff")
    with pytest.raises(StatementError, match="subject"):
        parse_statement(text)


def test_a_gate_of_too_many_deciders_is_refused() -> None:
    """What would be longer than a person is asked to read is not made, and says how long it would be."""
    gate = record_of(next(each for each in VECTORS["good_statements"] if each["form"] == "gate"))
    assert isinstance(gate, GateStatement)
    many = tuple(f"agent-{number:032x}" for number in range(200))
    with pytest.raises(StatementError, match=f"may have {STATEMENT_BYTES_MAX}"):
        make_statement(gate._replace(agents=many))


@given(st.sampled_from(FORMS), st.data())
def test_no_label_makes_a_second_line(form: statements.Form, data: st.DataObject) -> None:
    """Whatever text any field holds: it is refused by its line, or it stands on that line, and the statement
    has the lines that it always has and says what the record said.
    """
    first = record_of(
        next(each for each in VECTORS["good_statements"] if RECORDS[each["form"]] is form.record)
    )
    field = data.draw(st.sampled_from(first._fields))
    text = data.draw(st.one_of(st.text(), st.text(st.characters(max_codepoint=0x7F)), statement_pieces()))
    value: Any = (text,) if isinstance(getattr(first, field), tuple) else text
    record = first._replace(**{field: value})
    names = [line.split(" ")[0].encode() for line in form.lines]
    try:
        made = make_statement(record)
    except StatementError as error:
        made, refused = b"", error.line.encode()
    if not made:
        assert refused in names
        return
    assert [line.split(b" ")[0] for line in made.split(b"\n")] == [*names, b""]
    assert set(made) <= {0x0A, *range(0x20, 0x7F)}
    assert parse_statement(made) == record


def statement_pieces() -> st.SearchStrategy[str]:
    """Text that is made of a statement's own words, line breaks of all kinds among them."""
    breaks = ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", " ", "\t", "\u00a0", ""]
    words = ["api", "decision approve", "subject commit web", "none", "{subject}", "\\n", "%0a", "a" * 128]
    return st.lists(st.sampled_from([*breaks, *words]), max_size=6).map("".join)


@given(st.data())
def test_no_two_texts_are_one_statement(data: st.DataObject) -> None:
    """A good text with bytes replaced, put in or taken out is refused, or is the text of what it now says."""
    text = data.draw(st.sampled_from([each["text"].encode() for each in VECTORS["good_statements"]]))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 3)))
    changed = text[:start] + data.draw(st.binary(max_size=3)) + text[end:]
    try:
        record = parse_statement(changed)
    except StatementError:
        return
    assert make_statement(record) == changed


def test_a_comments_digest_is_over_its_canonical_json() -> None:
    """The digest covers nonce and text; another of either is another digest."""
    nonce = "00112233445566778899aabbccddeeff"
    over = b'{"nonce":"00112233445566778899aabbccddeeff","text":"No \\"tests\\",\\nF\xc3\xbc\xc3\x9fe"}'
    assert comment_digest(nonce, 'No "tests",\nFüße') == "sha256:" + hashlib.sha256(over).hexdigest()
    assert len({comment_digest(nonce, "a"), comment_digest(nonce, "b"), comment_digest("0" * 32, "a")}) == 3


@pytest.mark.parametrize("nonce", ["", "0" * 31, "0" * 33, "A" * 32, "0" * 31 + "\n"])
def test_a_comment_without_a_nonce_has_no_digest(nonce: str) -> None:
    """A nonce that is not 32 lowercase hexadecimal digits is refused."""
    with pytest.raises(ValueError, match="nonce"):
        comment_digest(nonce, "text")


def test_a_second_program_judges_every_vector_alike() -> None:
    """A program without our code derives each good statement, and refuses each bad one for the same fault."""
    assert signed_judge.differences(VECTORS) == []


def test_the_second_program_has_none_of_our_code() -> None:
    """It runs where the product cannot be imported, over a file that has a wrong vector, and finds it."""
    block = "import sys, runpy; sys.modules['tallystick'] = None; sys.argv = sys.argv[1:];"
    run = f"{block} runpy.run_path(sys.argv[0], run_name='__main__')"
    program = Path(signed_judge.__file__)
    right = subprocess.run(
        [sys.executable, "-c", run, program, signed_vectors.FILE], capture_output=True, text=True, check=False
    )
    assert (right.returncode, right.stdout, right.stderr) == (0, "", "")


def test_the_second_program_finds_a_wrong_vector() -> None:
    """A vector that says otherwise than it is, of each kind, is found by name."""
    wrong = {kind: [dict(each) for each in VECTORS[kind]] for kind in VECTORS if kind != "about"}
    wrong["good_statements"][1]["fields"] = {**wrong["good_statements"][1]["fields"], "epoch": 7}
    wrong["bad_statements"][0]["line"] = "leaf"
    wrong["unmakeable"][0]["line"] = "leaf"
    wrong["public_keys"][0]["rank"] = 4
    wrong["signatures"][0]["rank"] = 4
    changed = [wrong[kind][1 if kind == "good_statements" else 0]["name"] for kind in wrong]
    found = [line.partition(": ")[0] for line in signed_judge.differences(wrong)]
    assert [name for name in changed if not any(name.startswith(each) for each in found)] == []


def test_the_vectors_are_what_their_program_writes() -> None:
    """The file has every vector that the program makes, and no other; there are at least 60."""
    assert signed_vectors.FILE.read_text() == signed_vectors.text()
    bad = sum(len(VECTORS[kind]) for kind in ("bad_statements", "unmakeable"))
    bad += sum("fault" in each for kind in ("public_keys", "signatures") for each in VECTORS[kind])
    assert bad >= 60
