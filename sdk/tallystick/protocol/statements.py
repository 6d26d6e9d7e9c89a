"""The statements that people sign: what each says, line by line, made here and read back here.

A statement is text, so that who signs it can be shown what they sign, and nothing else. It is ASCII 0x20 to
0x7e, one line each in a fixed order: a name, one space, the rest, LF. There are three, and ``FORMS`` has the
lines of each as they stand, with the record's fields in braces:

- ``VerdictStatement`` (``tallystick verdict v1``): a yes or no to one opening of a gate;
- ``SignerStatement`` (``tallystick signer v1``): a key is added to the keyring, or revoked;
- ``GateStatement`` (``tallystick gate v1``): the rules of a gate as they will be.

What it promises: a record has exactly one text and a text exactly one record, so that nothing can be read in
two ways. Nothing that a field holds can make a second line or a further word: each field has a grammar
without white space, and ``StatementError`` names the line that one does not fit. ``make_statement`` and
``parse_statement`` refuse the same things.

What it does not do: sign or verify (``tallystick.verifying``), or know whether what a statement says is true.
"""

import hashlib
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple, NoReturn, TypeAlias

from tallystick.protocol.canonical import canonical
from tallystick.protocol.limits import IDENTIFIER_BYTES_MAX, SAFE_INTEGER_MAX, STATEMENT_BYTES_MAX

Strength: TypeAlias = Literal["peer", "credential", "ssh", "ssh-sk"]

RANKS: Final[dict[Strength, int]] = {"peer": 1, "credential": 2, "ssh": 3, "ssh-sk": 4}
"""How strongly a verdict was authenticated; from 3 on it is signed."""
KEY_RANKS: Final[dict[str, int]] = {
    "ssh-ed25519": 3,
    "ecdsa-sha2-nistp256": 3,
    "ecdsa-sha2-nistp384": 3,
    "ecdsa-sha2-nistp521": 3,
    "ssh-rsa": 3,
    "sk-ssh-ed25519@openssh.com": 4,
    "sk-ecdsa-sha2-nistp256@openssh.com": 4,
}
"""The types of keys that may sign, by OpenSSH's names, and the rank of what they sign."""


class StatementError(ValueError):
    """Something could not stand in a statement: ``line`` is the name of the line where, ``number`` its number
    from 1. Of what is longer than a statement may be, the line is "" and the number 0.
    """

    def __init__(self, line: str, number: int, what: str) -> None:
        self.line = line
        self.number = number
        where = f"Line {number} of the statement ({line})" if number else "The statement"
        super().__init__(f"{where} {what}.")


class VerdictStatement(NamedTuple):
    """A verdict on one opening. Ids, labels and digests as the record has them."""

    store: str
    epoch: int
    project: str
    space: str
    gate: str
    gate_revision: int
    """With ``minimum`` and ``quorum``: the rules that the opening froze."""
    minimum: Strength
    quorum: int
    opening: str
    round: int
    leaf: str
    """The log's leaf of the opening, 64 hex digits: nobody knew it before the opening was made."""
    opened_by: str
    expires: int
    """The end of the opening's time, in seconds since 1970."""
    subject_kind: Literal["commit", "manifest", "decision"]
    subject: str
    digest: str
    """``git:``, ``sha256:`` or ``content:`` and lowercase hex, by the kind of subject."""
    manifest: str | None
    """``sha256:`` and 64 hex digits; None where the opening has no manifest."""
    decision: Literal["approve", "reject"]
    comment: str | None
    """As ``comment_digest`` gives it; None where nothing was said."""
    keyring: int
    key: str
    """The fingerprint of the key that signs, as ``ssh-keygen -l`` shows it."""
    signer: str


class SignerStatement(NamedTuple):
    """A key becomes one of a signer's keys, or ceases to be one."""

    store: str
    epoch: int
    keyring: int
    action: Literal["add", "revoke"]
    key: str
    """The fingerprint of the key that is added or revoked, whoever signs."""
    type: str
    """One of ``KEY_RANKS``."""
    signer: str
    after: str
    """The leaf of the newest event about keys, 64 hex digits: the statement is good until the next."""


class GateStatement(NamedTuple):
    """A gate's rules as they will be after the change that is signed."""

    store: str
    epoch: int
    space: str
    gate: str
    revision: int
    """The gate's revision before the change."""
    minimum: Strength
    quorum: int
    owner: bool
    """Whether the owner decides."""
    agents: tuple[str, ...]
    """Agents that decide, sorted, each once."""
    signers: tuple[str, ...]
    """Signers that decide, sorted, each once; none named: any."""
    term_seconds: int
    rounds_max: int
    state: Literal["active", "retired"]
    after: str
    """The leaf of the gate's newest event, 64 hex digits: the statement is good until the next."""


Statement: TypeAlias = VerdictStatement | SignerStatement | GateStatement


VERDICT_NAMESPACE: Final = "verdict@tallystick"
SIGNER_NAMESPACE: Final = "signer@tallystick"
GATE_NAMESPACE: Final = "gate@tallystick"
"""What each statement is signed in; a signature made in one namespace is none in another."""


class Form(NamedTuple):
    """How one kind of statement looks: its record, the namespace that its signatures are made in, its
    lines.
    """

    record: type[Statement]
    namespace: str
    lines: tuple[str, ...]


FORMS: Final = (
    Form(
        VerdictStatement,
        VERDICT_NAMESPACE,
        (
            "tallystick verdict v1",
            "store {store}",
            "epoch {epoch}",
            "project {project}",
            "space {space}",
            "gate {gate} revision {gate_revision} minimum {minimum} quorum {quorum}",
            "opening {opening} round {round}",
            "leaf {leaf}",
            "opened-by {opened_by}",
            "expires {expires}",
            "subject {subject_kind} {subject}",
            "digest {digest}",
            "manifest {manifest}",
            "decision {decision}",
            "comment {comment}",
            "keyring {keyring}",
            "key {key}",
            "signer {signer}",
        ),
    ),
    Form(
        SignerStatement,
        SIGNER_NAMESPACE,
        (
            "tallystick signer v1",
            "store {store}",
            "epoch {epoch}",
            "keyring {keyring}",
            "action {action}",
            "key {key}",
            "type {type}",
            "signer {signer}",
            "after {after}",
        ),
    ),
    Form(
        GateStatement,
        GATE_NAMESPACE,
        (
            "tallystick gate v1",
            "store {store}",
            "epoch {epoch}",
            "space {space}",
            "gate {gate} revision {revision}",
            "minimum {minimum}",
            "quorum {quorum}",
            "owner {owner}",
            "agents {agents}",
            "signers {signers}",
            "term-seconds {term_seconds}",
            "rounds-max {rounds_max}",
            "state {state}",
            "after {after}",
        ),
    ),
)


# --- making and reading -----------------------------------------------------------------------------------
def make_statement(record: Statement) -> bytes:
    """The bytes that are shown and signed. Raises ``StatementError``, which names the line, where a field of
    the record could not stand on it.
    """
    form = next(form for form in FORMS if form.record is type(record))
    return _text(form, record._asdict())


def parse_statement(data: bytes) -> Statement:
    """The record of a statement's bytes. Raises ``StatementError``, which names the first line that is wrong,
    missing, too much or out of its place.
    """
    if len(data) > STATEMENT_BYTES_MAX:
        raise _too_long(len(data))
    # Latin-1 gives each byte one character, and no grammar has one above 0x7e.
    lines = data.decode("latin-1").split("\n")
    form = next((form for form in FORMS if form.lines[0] == lines[0]), None)
    if form is None:
        raise StatementError("tallystick", 1, "is not the first line of a statement that this version knows")
    fields: dict[str, Any] = {}
    for number, template in enumerate(form.lines, start=1):
        line = lines[number - 1] if number < len(lines) else ""  # the last has no LF: it is no line
        fields.update(_read_line(template, number, line))
    if len(lines) != len(form.lines) + 1 or lines[-1]:
        raise StatementError(
            _name(form.lines[-1]), len(form.lines), "is the last; nothing follows it but its LF"
        )
    if _text(form, fields) != data:
        raise AssertionError("a statement was read that would be written in another way")
    return form.record(**fields)


def namespace(record: Statement) -> str:
    """The namespace in which a statement is signed."""
    return next(form.namespace for form in FORMS if form.record is type(record))


def comment_digest(nonce: str, text: str) -> str:
    """What a verdict's statement says of its comment: ``sha256:`` and the digest of the canonical JSON
    {"nonce", "text"}. With the nonce (32 lowercase hex digits) nobody can test a guess of the text once both
    are erased.
    """
    if re.fullmatch("[0-9a-f]{32}", nonce) is None:
        raise ValueError("The nonce of a comment is not 32 lowercase hexadecimal digits: draw one at random.")
    return "sha256:" + hashlib.sha256(canonical({"nonce": nonce, "text": text})).hexdigest()


def _text(form: Form, fields: dict[str, Any]) -> bytes:
    lines = [
        _FIELD.sub(lambda match: _write(match[1], fields[match[1]], template, number), template)  # noqa: B023
        for number, template in enumerate(form.lines, start=1)
    ]
    _check_digest(fields, form)
    data = "".join(f"{line}\n" for line in lines).encode("ascii")
    if len(data) > STATEMENT_BYTES_MAX:
        raise _too_long(len(data))
    return data


def _write(field: str, value: object, template: str, number: int) -> str:
    grammar = _GRAMMARS[field]
    word = grammar.write(value)
    if word is None or grammar.pattern.fullmatch(word) is None or grammar.read(word) != value:
        _refuse(field, template, number)
    return word


def _read_line(template: str, number: int, line: str) -> dict[str, Any]:
    match = _PATTERNS[template].fullmatch(line)
    if match is None:
        raise StatementError(_name(template), number, f"is not of the form: {template}")
    fields: dict[str, Any] = {}
    for field, word in match.groupdict().items():
        grammar = _GRAMMARS[field]
        value = grammar.read(word) if grammar.pattern.fullmatch(word) else None
        if grammar.write(value) != word:
            _refuse(field, template, number)
        fields[field] = value
    return fields


def _check_digest(fields: dict[str, Any], form: Form) -> None:
    """A digest is of the kind of its subject."""
    if form.record is not VerdictStatement:
        return
    prefix = _DIGEST_OF[fields["subject_kind"]]
    if not fields["digest"].startswith(prefix):
        number = form.lines.index("digest {digest}") + 1
        raise StatementError(
            "digest", number, f"has not the digest of a {fields['subject_kind']}, {prefix}<hex>"
        )


def _name(template: str) -> str:
    return template.partition(" ")[0]


def _refuse(field: str, template: str, number: int) -> NoReturn:
    raise StatementError(
        _name(template), number, f"cannot have this {field}, which must be {_GRAMMARS[field].words}"
    )


def _too_long(size: int) -> StatementError:
    return StatementError("", 0, f"has {size} bytes, and may have {STATEMENT_BYTES_MAX}; name fewer deciders")


# --- what may stand in a line -----------------------------------------------------------------------------
class _Grammar(NamedTuple):
    """A field: its one written form, and the functions between that and the record's value. ``write`` gives
    None of a value that has no written form; ``read`` is asked only what fits the pattern.
    """

    pattern: re.Pattern[str]
    words: str
    read: Callable[[str], Any] = str
    write: Callable[[Any], str | None] = lambda value: value if isinstance(value, str) else None


def _one_of(*choices: str) -> _Grammar:
    return _Grammar(re.compile("|".join(map(re.escape, choices))), "one of " + ", ".join(choices))


def _read_time(word: str) -> int | None:
    try:
        return int(datetime.strptime(f"{word}+0000", "%Y-%m-%dT%H:%M:%SZ%z").timestamp())
    except ValueError:  # no such day
        return None


def _write_time(value: Any) -> str | None:
    if type(value) is not int or not 0 <= value < _YEAR_10000:
        return None
    return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _read_number(word: str) -> int | None:
    return number if (number := int(word)) <= SAFE_INTEGER_MAX else None


def _or_none(grammar: _Grammar) -> _Grammar:
    return _Grammar(
        re.compile(f"none|{grammar.pattern.pattern}"),
        f"none, or {grammar.words}",
        lambda word: None if word == "none" else grammar.read(word),
        lambda value: "none" if value is None else grammar.write(value),
    )


def _set_of(item: str, words: str) -> _Grammar:
    """Ids sorted, each once, commas between; ``none`` for no id."""
    return _Grammar(re.compile(f"none|{item}(?:,{item})*"), words, _read_set, _write_set)


def _read_set(word: str) -> tuple[str, ...] | None:
    items = () if word == "none" else tuple(word.split(","))
    return items if list(items) == sorted(set(items)) else None


def _write_set(value: Any) -> str | None:
    if not isinstance(value, tuple) or not all(isinstance(item, str) for item in value):
        return None
    return ",".join(value) if value else "none"


_YEAR_10000: Final = 253_402_300_800
"""The second after the last that four digits of a year can name."""
_DIGEST_OF: Final = {"commit": "git:", "manifest": "sha256:", "decision": "content:"}
_FIELD: Final = re.compile(r"\{(\w+)\}")
_PATTERNS: Final = {
    template: re.compile(_FIELD.sub(r"(?P<\1>[!-~]+)", template)) for form in FORMS for template in form.lines
}
"""Each line with a word of any visible characters for each field; its names have no special character."""

_LABEL: Final = _Grammar(
    re.compile(f"[!-~]{{1,{IDENTIFIER_BYTES_MAX}}}"),
    f"1 to {IDENTIFIER_BYTES_MAX} visible ASCII characters, no space",
)
_LEAF: Final = _Grammar(re.compile("[0-9a-f]{64}"), "64 lowercase hexadecimal digits")
_NUMBER: Final = _Grammar(
    re.compile(f"[1-9][0-9]{{0,{len(str(SAFE_INTEGER_MAX)) - 1}}}"),
    f"an integer from 1 to {SAFE_INTEGER_MAX}, in decimal",
    _read_number,
    lambda value: str(value) if type(value) is int else None,
)
_SHA256: Final = _Grammar(re.compile("sha256:[0-9a-f]{64}"), "sha256: and 64 lowercase hexadecimal digits")
_GRAMMARS: Final[dict[str, _Grammar]] = {
    "store": _Grammar(re.compile("[0-9a-f]{32}"), "32 lowercase hexadecimal digits"),
    "epoch": _NUMBER,
    "project": _LABEL,
    "space": _LABEL,
    "gate": _Grammar(
        re.compile("[a-z][a-z0-9_-]{0,63}"), "a lowercase letter, then at most 63 of a-z, 0-9, _ and -"
    ),
    "gate_revision": _NUMBER,
    "revision": _NUMBER,
    "minimum": _one_of(*RANKS),
    "quorum": _NUMBER,
    "opening": _Grammar(
        re.compile("open-[0-9a-f]{32}"), "an opening's id: open- and 32 lowercase hexadecimal digits"
    ),
    "round": _NUMBER,
    "leaf": _LEAF,
    "after": _LEAF,
    "opened_by": _LABEL,
    "expires": _Grammar(
        re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"),
        "whole seconds from 1970 to 9999, written as 2026-05-04T09:30:00Z",
        _read_time,
        _write_time,
    ),
    "subject_kind": _one_of(*_DIGEST_OF),
    "subject": _LABEL,
    "digest": _Grammar(
        re.compile("git:(?:[0-9a-f]{40}|[0-9a-f]{64})|(?:sha256|content):[0-9a-f]{64}"),
        "git: and 40 or 64, or sha256: or content: and 64 lowercase hexadecimal digits",
    ),
    "manifest": _or_none(_SHA256),
    "comment": _or_none(_SHA256),
    "decision": _one_of("approve", "reject"),
    "keyring": _NUMBER,
    "key": _Grammar(
        # 43 characters carry 258 bits for the digest's 256: the last character's lowest two are 0.
        re.compile("SHA256:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]"),
        "a key's fingerprint: SHA256: and 43 characters of base64, as ssh-keygen -l shows it",
    ),
    "type": _one_of(*KEY_RANKS),
    "signer": _Grammar(
        re.compile("signer-[0-9a-f]{32}"), "a signer's id: signer- and 32 lowercase hexadecimal digits"
    ),
    "action": _one_of("add", "revoke"),
    "owner": _Grammar(
        re.compile("yes|no"),
        "yes or no",
        lambda word: word == "yes",
        lambda value: ("yes" if value else "no") if isinstance(value, bool) else None,
    ),
    "agents": _set_of("agent-[0-9a-f]{32}", "none, or agents' ids, sorted, each once, commas between"),
    "signers": _set_of("signer-[0-9a-f]{32}", "none, or signers' ids, sorted, each once, commas between"),
    "term_seconds": _NUMBER,
    "rounds_max": _NUMBER,
    "state": _one_of("active", "retired"),
}
