"""A second reader of statements, public keys and signatures, written from docs/verdicts.md and OpenSSH's
pages.

It shares no code with the product: what the page says and what the product does are held together. It uses
the standard library, and ``cryptography`` for the mathematics alone. As a program, with a file in the form of
``vectors/signed.json``, it judges every vector and says where it finds another verdict than the file.
"""

from __future__ import annotations

import calendar
import json
import re
import struct
import sys
import time
from base64 import b64decode, b64encode
from collections.abc import Callable
from hashlib import sha256, sha512
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


class Bad(Exception):
    """Refused; the text is the line of a statement, or the fault of a key or signature."""


# --- statements -------------------------------------------------------------------------------------------
Word = tuple[str, str, str]
"""What stands before a field (nothing, behind another field), the field, and what its word looks like."""
HEX: Final = "[0-9a-f]"
NUMBER: Final = "[1-9][0-9]*"
LABEL: Final = r"[\x21-\x7e]{1,128}"
SHA: Final = f"none|sha256:{HEX}{{64}}"
STRENGTHS: Final = "peer|credential|ssh|ssh-sk"
TYPES: Final = {
    "ssh-ed25519": 3,
    "ssh-rsa": 3,
    "ecdsa-sha2-nistp256": 3,
    "ecdsa-sha2-nistp384": 3,
    "ecdsa-sha2-nistp521": 3,
    "sk-ssh-ed25519@openssh.com": 4,
    "sk-ecdsa-sha2-nistp256@openssh.com": 4,
}
STORE: Final[list[list[Word]]] = [[("store", "store", f"{HEX}{{32}}")], [("epoch", "epoch", NUMBER)]]
SPACE: Final[list[Word]] = [("space", "space", LABEL)]
GATE: Final[Word] = ("gate", "gate", "[a-z][a-z0-9_-]{0,63}")
KEYRING: Final[list[Word]] = [("keyring", "keyring", NUMBER)]
KEY: Final[list[Word]] = [("key", "key", "SHA256:[A-Za-z0-9+/]{43}")]
SIGNER: Final[list[Word]] = [("signer", "signer", f"signer-{HEX}{{32}}")]
AFTER: Final[list[Word]] = [("after", "after", f"{HEX}{{64}}")]
LINES: Final[dict[str, list[list[Word]]]] = {
    "verdict": [
        *STORE,
        [("project", "project", LABEL)],
        SPACE,
        [
            GATE,
            ("revision", "gate_revision", NUMBER),
            ("minimum", "minimum", STRENGTHS),
            ("quorum", "quorum", NUMBER),
        ],
        [("opening", "opening", f"open-{HEX}{{32}}"), ("round", "round", NUMBER)],
        [("leaf", "leaf", f"{HEX}{{64}}")],
        [("opened-by", "opened_by", LABEL)],
        [("expires", "expires", "....-..-..T..:..:..Z")],
        [("subject", "subject_kind", "commit|manifest|decision"), ("", "subject", LABEL)],
        [("digest", "digest", f"git:{HEX}{{40}}({HEX}{{24}})?|(sha256|content):{HEX}{{64}}")],
        [("manifest", "manifest", SHA)],
        [("decision", "decision", "approve|reject")],
        [("comment", "comment", SHA)],
        KEYRING,
        KEY,
        SIGNER,
    ],
    "signer": [
        *STORE,
        KEYRING,
        [("action", "action", "add|revoke")],
        KEY,
        [("type", "type", "|".join(map(re.escape, TYPES)))],
        SIGNER,
        AFTER,
    ],
    "gate": [
        *STORE,
        SPACE,
        [GATE, ("revision", "revision", NUMBER)],
        [("minimum", "minimum", STRENGTHS)],
        [("quorum", "quorum", NUMBER)],
        [("owner", "owner", "yes|no")],
        [("agents", "agents", f"none|agent-{HEX}{{32}}(,agent-{HEX}{{32}})*")],
        [("signers", "signers", f"none|signer-{HEX}{{32}}(,signer-{HEX}{{32}})*")],
        [("term-seconds", "term_seconds", NUMBER)],
        [("rounds-max", "rounds_max", NUMBER)],
        [("state", "state", "active|retired")],
        AFTER,
    ],
}
KINDS: Final = {"commit": "git", "manifest": "sha256", "decision": "content"}


def read_statement(text: str) -> tuple[str, dict[str, Any]]:
    """The form and the fields of a statement; `Bad` with the name of the first line that is wrong."""
    if len(text.encode()) > 4096:
        raise Bad("")
    *lines, rest = text.split("\n")
    title = re.fullmatch("tallystick (verdict|signer|gate) v1", lines[0] if lines else "")
    if title is None:
        raise Bad("tallystick")
    wanted = LINES[title[1]]
    fields: dict[str, Any] = {}
    for number, words in enumerate(wanted, start=1):
        line = words[0][0]
        found = lines[number].split(" ") if number < len(lines) else []
        for before, field, pattern in words:
            if before and (not found or found.pop(0) != before):
                raise Bad(line)
            if not found or not re.fullmatch(pattern, found[0]):
                raise Bad(line)
            fields[field] = _value(field, pattern, found.pop(0), line)
        if found:
            raise Bad(line)
    if len(lines) != len(wanted) + 1 or rest:
        raise Bad(wanted[-1][0][0])
    _fit(fields)
    return title[1], fields


def write_statement(form: str, fields: dict[str, Any]) -> str:
    """The statement of these fields; `Bad` with the name of the first line that one does not fit."""
    text = f"tallystick {form} v1\n"
    for words in LINES[form]:
        parts = []
        for before, field, pattern in words:
            word = _word(field, fields[field])
            if not re.fullmatch(pattern, word) or _value(field, pattern, word, words[0][0]) != fields[field]:
                raise Bad(words[0][0])
            parts += [before, word] if before else [word]
        text += " ".join(parts) + "\n"
    _fit(fields)
    return text


def _fit(fields: dict[str, Any]) -> None:
    if "digest" in fields and fields["digest"].split(":")[0] != KINDS[fields["subject_kind"]]:
        raise Bad("digest")


def _value(field: str, pattern: str, word: str, line: str) -> Any:
    if pattern == NUMBER:
        if int(word) >= 2**53:
            raise Bad(line)
        return int(word)
    if field == "expires":
        try:
            seconds = calendar.timegm(time.strptime(word, "%Y-%m-%dT%H:%M:%SZ"))
        except ValueError:
            raise Bad(line) from None
        if seconds < 0 or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)) != word:
            raise Bad(line)
        return seconds
    if pattern == SHA:
        return None if word == "none" else word
    if field == "owner":
        return word == "yes"
    if field in {"agents", "signers"}:
        items = [] if word == "none" else word.split(",")
        if any(a >= b for a, b in pairwise(items)):
            raise Bad(line)
        return items
    if field == "key" and b64encode(b64decode(word[7:] + "=")).decode() != word[7:] + "=":
        raise Bad(line)
    return word


def _word(field: str, value: Any) -> str:
    """What a field is written as; of a value of another type nothing, which no word looks like."""
    if field == "expires":
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(value)) if type(value) is int else ""
    if field == "owner":
        return ("yes" if value else "no") if isinstance(value, bool) else ""
    if field in {"agents", "signers"}:
        return ",".join(value) or "none"
    if field in {"manifest", "comment"} and value is None:
        return "none"
    if isinstance(value, str):
        return value
    return str(value) if type(value) is int else ""


# --- keys and signatures ----------------------------------------------------------------------------------
CURVES: Final[dict[str, tuple[ec.EllipticCurve, int, hashes.HashAlgorithm]]] = {
    "nistp256": (ec.SECP256R1(), 32, hashes.SHA256()),
    "nistp384": (ec.SECP384R1(), 48, hashes.SHA384()),
    "nistp521": (ec.SECP521R1(), 66, hashes.SHA512()),
}


def cut(data: bytes, shape: str) -> list[Any]:
    """What stands in all of the bytes: ``s`` a string, ``i`` four bytes of a number, ``b`` one."""
    found: list[Any] = []
    try:
        for letter in shape:
            size = struct.unpack_from(">I", data)[0] if letter == "s" else 0
            form = {"s": f">4x{size}s", "i": ">I", "b": ">B"}[letter]
            found += struct.unpack_from(form, data)
            data = data[struct.calcsize(form) :]
    except struct.error:
        raise Bad("malformed") from None
    if data:
        raise Bad("malformed")
    return found


def positive(data: bytes) -> int:
    """A number above 0 in SSH's shortest form."""
    if not data or data[0] > 0x7F or (data[0] == 0 and (len(data) == 1 or data[1] < 0x80)):
        raise Bad("malformed")
    return int.from_bytes(data, "big")


def plain(text: str, fault: str) -> bytes:
    """The bytes of base64 in its one form."""
    try:
        data = b64decode(text, validate=True)
    except ValueError:
        raise Bad(fault) from None
    if not data or b64encode(data).decode() != text:
        raise Bad(fault)
    return data


def read_key(line: str) -> tuple[str, bytes, Any, bytes]:
    """Type, bytes, mathematics and application of a public key's line."""
    match = re.fullmatch(r"(\S+)[ \t]+(\S+)([ \t].*)?\n?", line)
    if match is None:
        raise Bad("line")
    kind = match[1]
    if kind not in TYPES:
        raise Bad("type")
    blob = plain(match[2], "line")
    shape = "sss" if kind == "ssh-rsa" or "ecdsa" in kind else "ss"
    inner, *parts = cut(blob, shape + ("s" if TYPES[kind] == 4 else ""))
    if inner.decode("latin-1") != kind:
        raise Bad("malformed")
    application = parts.pop() if TYPES[kind] == 4 else b""
    return kind, blob, _numbers(kind, parts), application


def _numbers(kind: str, parts: list[bytes]) -> Any:
    if "ecdsa" in kind:
        name = parts[0].decode("latin-1")
        if name not in CURVES or name not in kind or len(parts[1]) != 1 + 2 * CURVES[name][1]:
            raise Bad("malformed")
        x, y = parts[1][1 : 1 + CURVES[name][1]], parts[1][1 + CURVES[name][1] :]
        numbers = ec.EllipticCurvePublicNumbers(
            int.from_bytes(x, "big"), int.from_bytes(y, "big"), CURVES[name][0]
        )
        try:
            return numbers.public_key() if parts[1][0] == 4 else _refuse("malformed")
        except ValueError:
            raise Bad("malformed") from None
    if kind == "ssh-rsa":
        e, n = positive(parts[0]), positive(parts[1])
        if not 2**3071 <= n < 2**16384:
            raise Bad("weak")
        if e < 3 or e % 2 == 0 or n % 2 == 0:
            raise Bad("malformed")
        return rsa.RSAPublicNumbers(e, n).public_key()
    return Ed25519PublicKey.from_public_bytes(parts[0]) if len(parts[0]) == 32 else _refuse("malformed")


def _refuse(fault: str) -> Any:
    raise Bad(fault)


def unarmor(text: str) -> bytes:
    """The bytes of a signature that is armored, or base64 in one piece."""
    if len(text) > 8192:
        raise Bad("armor")
    if text.startswith("-----BEGIN SSH SIGNATURE-----\n"):
        head, _, tail = text.removesuffix("\n").rpartition("\n")
        if tail != "-----END SSH SIGNATURE-----" or "\n" not in head or "\n\n" in head:
            raise Bad("armor")
        text = head.partition("\n")[2].replace("\n", "")
    return plain(text, "armor")


def judge_signature(text: str, message: bytes, namespace: str, line: str, before: int) -> dict[str, Any]:
    """Rank, flags and counter of a signature, or `Bad`."""
    kind, blob, public, application = read_key(line)
    data = unarmor(text)
    if data[:6] != b"SSHSIG":
        raise Bad("magic")
    if data[6:10] != b"\0\0\0\1":
        raise Bad("version" if len(data) >= 10 else "malformed")
    key, purpose, reserved, name, outer = cut(data[10:], "sssss")
    for fault, right in (
        ("key", key == blob),
        ("namespace", purpose == namespace.encode()),
        ("reserved", reserved == b""),
        ("hash", name in (b"sha256", b"sha512")),
    ):
        if not right:
            raise Bad(fault)
    digest = (sha256 if name == b"sha256" else sha512)(message).digest()
    signed = b"SSHSIG" + b"".join(
        struct.pack(">I", len(each)) + each for each in (purpose, b"", name, digest)
    )
    made = cut(outer[: 4 + int.from_bytes(outer[:4], "big")], "s")[0].decode("latin-1")
    if made not in (["rsa-sha2-256", "rsa-sha2-512"] if kind == "ssh-rsa" else [kind]):
        raise Bad("signature-type")
    _, raw, *touch = cut(outer, "ssbi" if TYPES[kind] == 4 else "ss")
    if touch:
        signed = sha256(application).digest() + outer[-5:] + sha256(signed).digest()
    try:
        _mathematics(kind, made, public, raw, signed)
    except InvalidSignature:
        raise Bad("signature") from None
    if not touch:
        return {"rank": TYPES[kind], "flags": None, "counter": None}
    flags, counter = touch
    if not flags & 1:
        raise Bad("touch")
    if flags & 0xC0:
        raise Bad("flags")
    if counter <= before and not counter == before == 0:
        raise Bad("counter")
    return {"rank": TYPES[kind], "flags": flags, "counter": counter}


def _mathematics(kind: str, made: str, public: Any, raw: bytes, signed: bytes) -> None:
    if kind == "ssh-rsa":
        if len(raw) * 8 != -(-public.key_size // 8) * 8:
            raise Bad("malformed")
        public.verify(raw, signed, padding.PKCS1v15(), getattr(hashes, f"SHA{made[-3:]}")())
    elif "ecdsa" in kind:
        r, s = (positive(each) for each in cut(raw, "ss"))
        curve = next(each for each in CURVES.values() if each[0].name == public.curve.name)
        public.verify(utils.encode_dss_signature(r, s), signed, ec.ECDSA(curve[2]))
    else:
        if len(raw) != 64:
            raise Bad("malformed")
        public.verify(raw, signed)


# --- a file of vectors ------------------------------------------------------------------------------------
def differences(vectors: dict[str, Any]) -> list[str]:
    """Of each vector that this program judges otherwise than the file says: its name, and what was found."""
    texts = {each["name"]: each["text"] for each in vectors["good_statements"]}
    lines = {each["name"]: each["line"] for each in vectors["public_keys"]}
    found: list[tuple[str, Any, Any]] = []
    for each in vectors["good_statements"]:
        fields, text = (each["form"], each["fields"]), each["text"]
        found.append((each["name"], _outcome(read_statement, text), fields))
        found.append((each["name"], _outcome(write_statement, *fields), text))
        found.append((each["name"], sha256(text.encode()).hexdigest(), each["sha256"]))
    found += [(each["name"], _outcome(read_statement, each["text"]), each["line"])
              for each in vectors["bad_statements"]]  # fmt: skip
    found += [(each["name"], _outcome(write_statement, each["form"], each["fields"]), each["line"])
              for each in vectors["unmakeable"]]  # fmt: skip
    for each in vectors["public_keys"]:
        wanted = each.get("fault") or {"fingerprint": each["fingerprint"], "rank": each["rank"]}
        found.append((each["name"], _outcome(_key_of, each["line"]), wanted))
    for each in vectors["signatures"]:
        message, line = texts[each["message"]].encode(), lines[each["key"]]
        before = each.get("counter_before", 0)
        judged = _outcome(judge_signature, each["signature"], message, each["namespace"], line, before)
        wanted = each.get("fault") or {name: each[name] for name in ("rank", "flags", "counter")}
        found.append((each["name"], judged, wanted))
    return [f"{name}: {judged!r}, not {wanted!r}" for name, judged, wanted in found if judged != wanted]


def _key_of(line: str) -> dict[str, Any]:
    kind, blob, _, _ = read_key(line)
    return {
        "fingerprint": "SHA256:" + b64encode(sha256(blob).digest()).decode().rstrip("="),
        "rank": TYPES[kind],
    }


def _outcome(judge: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return judge(*arguments)
    except Bad as bad:
        return str(bad)


if __name__ == "__main__":
    sys.exit("\n".join(differences(json.loads(Path(sys.argv[1]).read_text()))) or 0)
