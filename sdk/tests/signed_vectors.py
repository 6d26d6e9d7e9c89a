"""Writes ``vectors/signed.json``: statements, public keys and signatures, good and bad, and what each is.

``python sdk/tests/signed_vectors.py`` writes the file; the suite holds the file against what it would write.
Every bad vector is a good one with one thing changed, and says what a verifier has to name: the line of a
statement, the fault of a key or a signature. Nothing of ours is imported: ``soft_keys`` signs, and all else
is text.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import soft_keys
from soft_keys import SoftKey, Wrong, mpint, string

FILE: Final = Path(__file__).parent / "vectors" / "signed.json"
Vector = dict[str, Any]

STORE: Final = "0123456789abcdef0123456789abcdef"
LEAF: Final = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
KEY: Final = "SHA256:TVBri7VerKKnp9q62c3AGFG7c4QXrxqTEueFGznMx8E"
SIGNER: Final = "signer-5f1c0a7712d94be88f3ab1c6d27e9034"
AGENT: Final = "agent-01a22d36a03a7000b375a24da8ef9b82"
SHA: Final = "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"

FIELDS: Final[dict[str, dict[str, Any]]] = {
    "verdict": {
        "store": STORE,
        "epoch": 1,
        "project": "proj-01a22cbc0a0370009fa76255ed553701",
        "space": "space-01a22cbc0a0370009fa76255ed553794",
        "gate": "deploy",
        "gate_revision": 2,
        "minimum": "ssh-sk",
        "quorum": 1,
        "opening": "open-01a22cbc0b577000a56913c17b389b6e",
        "round": 1,
        "leaf": LEAF,
        "opened_by": AGENT,
        "expires": 1777887000,
        "subject_kind": "commit",
        "subject": "api",
        "digest": "git:3f2a9c0d5e6b7a8190b1c2d3e4f5061728394a5b",
        "manifest": f"sha256:{SHA}",
        "decision": "approve",
        "comment": None,
        "keyring": 1,
        "key": KEY,
        "signer": SIGNER,
    },
    "signer": {
        "store": STORE,
        "epoch": 3,
        "keyring": 2,
        "action": "add",
        "key": KEY,
        "type": "sk-ssh-ed25519@openssh.com",
        "signer": SIGNER,
        "after": LEAF,
    },
    "gate": {
        "store": STORE,
        "epoch": 1,
        "space": "space-01a22cbc0a0370009fa76255ed553794",
        "gate": "deploy",
        "revision": 2,
        "minimum": "ssh-sk",
        "quorum": 2,
        "owner": False,
        "agents": [],
        "signers": [SIGNER, "signer-6f1c0a7712d94be88f3ab1c6d27e9034"],
        "term_seconds": 86400,
        "rounds_max": 3,
        "state": "active",
        "after": LEAF,
    },
}
TEXTS: Final = {
    "verdict": f"""tallystick verdict v1
store {STORE}
epoch 1
project proj-01a22cbc0a0370009fa76255ed553701
space space-01a22cbc0a0370009fa76255ed553794
gate deploy revision 2 minimum ssh-sk quorum 1
opening open-01a22cbc0b577000a56913c17b389b6e round 1
leaf {LEAF}
opened-by {AGENT}
expires 2026-05-04T09:30:00Z
subject commit api
digest git:3f2a9c0d5e6b7a8190b1c2d3e4f5061728394a5b
manifest sha256:{SHA}
decision approve
comment none
keyring 1
key {KEY}
signer {SIGNER}
""",
    "signer": f"""tallystick signer v1
store {STORE}
epoch 3
keyring 2
action add
key {KEY}
type sk-ssh-ed25519@openssh.com
signer {SIGNER}
after {LEAF}
""",
    "gate": f"""tallystick gate v1
store {STORE}
epoch 1
space space-01a22cbc0a0370009fa76255ed553794
gate deploy revision 2
minimum ssh-sk
quorum 2
owner no
agents none
signers {SIGNER},signer-6f1c0a7712d94be88f3ab1c6d27e9034
term-seconds 86400
rounds-max 3
state active
after {LEAF}
""",
}
OTHER_FIELDS: Final[list[tuple[str, dict[str, Any], dict[str, str]]]] = [
    (
        "verdict",
        {"decision": "reject", "comment": f"sha256:{SHA}", "manifest": None},
        {"decision approve": "decision reject", "comment none": f"comment sha256:{SHA}",
         f"manifest sha256:{SHA}": "manifest none"},
    ),
    (
        "verdict",
        {"subject_kind": "decision", "subject": "dec-1", "digest": f"content:{SHA}", "round": 2**53 - 1},
        {"subject commit api": "subject decision dec-1", "round 1": "round 9007199254740991",
         "git:3f2a9c0d5e6b7a8190b1c2d3e4f5061728394a5b": f"content:{SHA}"},
    ),
    (
        "verdict",
        {"subject_kind": "manifest", "subject": "!~{x}%s", "digest": f"sha256:{SHA}", "expires": 0},
        {"subject commit api": "subject manifest !~{x}%s", "2026-05-04T09:30": "1970-01-01T00:00",
         "git:3f2a9c0d5e6b7a8190b1c2d3e4f5061728394a5b": f"sha256:{SHA}"},
    ),
    (
        "verdict",
        {"digest": f"git:{SHA}", "expires": 253402300799, "opened_by": "prin-owner"},
        {"git:3f2a9c0d5e6b7a8190b1c2d3e4f5061728394a5b": f"git:{SHA}", AGENT: "prin-owner",
         "2026-05-04T09:30:00": "9999-12-31T23:59:59"},
    ),
    ("signer", {"action": "revoke", "type": "ssh-rsa"},
     {"action add": "action revoke", "type sk-ssh-ed25519@openssh.com": "type ssh-rsa"}),
    (
        "gate",
        {"owner": True, "agents": [AGENT], "signers": [], "state": "retired", "minimum": "peer"},
        {"owner no": "owner yes", "agents none": f"agents {AGENT}", "minimum ssh-sk": "minimum peer",
         f"signers {SIGNER},signer-6f1c0a7712d94be88f3ab1c6d27e9034": "signers none",
         "state active": "state retired"},
    ),
]  # fmt: skip
CHANGES: Final = [
    # form, the line's name, what stands there, what is put there
    ("verdict", "tallystick", "verdict v1", "verdict v2"),
    ("verdict", "tallystick", "tallystick verdict", "Tallystick verdict"),
    ("verdict", "store", STORE, STORE.upper()),
    ("verdict", "store", STORE, STORE[:-1]),
    ("verdict", "epoch", "epoch 1", "epoch 0"),
    ("verdict", "epoch", "epoch 1", "epoch 01"),
    ("verdict", "epoch", "epoch 1", "epoch -1"),
    ("verdict", "epoch", "epoch 1", "epoch +1"),
    ("verdict", "epoch", "epoch 1", "epoch 9007199254740992"),
    ("verdict", "epoch", "epoch 1", "epoch  1"),
    ("verdict", "epoch", "epoch 1", "epoch 1 "),
    ("verdict", "epoch", "epoch 1", " epoch 1"),
    ("verdict", "epoch", "epoch 1", "epoch\t1"),
    ("verdict", "epoch", "epoch 1\n", "epoch 1\r\n"),
    ("verdict", "epoch", "epoch 1", "epoch \u0661"),
    ("verdict", "project", "proj-0", "proj- 0"),
    ("verdict", "project", "proj-01a22cbc0a0370009fa76255ed553701", "p" * 129),
    ("verdict", "space", "space space-", "space späce-"),
    ("verdict", "space", "space space-", "space \u202espace-"),
    ("verdict", "space", "space space-", "space \x7fspace-"),
    ("verdict", "space", "space space-", "space \x1b[2Kspace-"),
    ("verdict", "space", "space space-", "space \x00space-"),
    ("verdict", "gate", "gate deploy", "gate Deploy"),
    ("verdict", "gate", "gate deploy", "gate " + "d" * 65),
    ("verdict", "gate", "revision 2", "revision 0"),
    ("verdict", "gate", "minimum ssh-sk", "minimum strong"),
    ("verdict", "gate", "quorum 1", "quorum one"),
    ("verdict", "gate", " quorum 1", ""),
    ("verdict", "gate", "revision 2 minimum ssh-sk", "minimum ssh-sk revision 2"),
    ("verdict", "opening", "open-0", "0"),
    ("verdict", "opening", " round 1", ""),
    ("verdict", "leaf", LEAF, LEAF.upper()),
    ("verdict", "leaf", LEAF, LEAF + "00"),
    ("verdict", "opened-by", "opened-by", "opened_by"),
    ("verdict", "opened-by", f"opened-by {AGENT}", "opened-by "),
    ("verdict", "expires", "09:30:00Z", "09:30:00.000Z"),
    ("verdict", "expires", "09:30:00Z", "09:30:00+00:00"),
    ("verdict", "expires", "09:30:00Z", "09:30:60Z"),
    ("verdict", "expires", "09:30:00Z", "24:30:00Z"),
    ("verdict", "expires", "2026-05-04", "2026-02-29"),
    ("verdict", "expires", "2026-05-04", "1969-12-31"),
    ("verdict", "expires", "T09:30:00Z", "t09:30:00z"),
    ("verdict", "subject", "commit api", "branch api"),
    ("verdict", "subject", "commit api", "commit api two"),
    ("verdict", "subject", "commit api", "commit "),
    ("verdict", "subject", "commit api", "commit " + "a" * 129),
    ("verdict", "digest", "subject commit api", "subject manifest api"),
    ("verdict", "digest", "subject commit api", "subject decision api"),
    ("verdict", "digest", "git:3f", "git:3F"),
    ("verdict", "digest", "git:3f", "git:f"),
    ("verdict", "digest", "git:3f2a9c0d5e6b7a8190b1c2d3e4f5061728394a5b", f"sha256:{SHA}"),
    ("verdict", "manifest", f"manifest sha256:{SHA}", "manifest None"),
    ("verdict", "manifest", "manifest sha256:", "manifest sha512:"),
    ("verdict", "manifest", f"manifest sha256:{SHA}", f"manifest {SHA}"),
    ("verdict", "decision", "approve", "Approve"),
    ("verdict", "decision", "approve", "approved"),
    ("verdict", "comment", "comment none", "comment looks-good"),
    ("verdict", "comment", "comment none", "comment null"),
    ("verdict", "comment", "comment none", "comment"),
    ("verdict", "keyring", "keyring 1", "keyring 0"),
    ("verdict", "key", "SHA256:", "MD5:"),
    ("verdict", "key", "Mx8E", "Mx8F"),
    ("verdict", "key", "Mx8E", "Mx8E="),
    ("verdict", "key", "Mx8E", "Mx8"),
    ("verdict", "signer", "signer-5", "signer-g"),
    ("verdict", "signer", "9034\n", "9034"),
    ("verdict", "signer", "9034\n", "9034\n\n"),
    ("verdict", "signer", "9034\n", "9034\nsubject commit web\n"),
    ("verdict", "signer", "9034\n", "9034\n "),
    ("signer", "tallystick", "signer v1", "signer v0"),
    ("signer", "action", "action add", "action rotate"),
    ("signer", "type", "sk-ssh-ed25519@openssh.com", "ssh-dss"),
    ("signer", "type", "sk-ssh-ed25519@openssh.com", "ssh-ed25519-cert-v01@openssh.com"),
    ("signer", "type", "sk-ssh-ed25519@openssh.com", "webauthn-sk-ecdsa-sha2-nistp256@openssh.com"),
    ("signer", "after", f"after {LEAF}", "after none"),
    ("gate", "gate", "gate deploy", "gate 1deploy"),
    ("gate", "gate", "revision 2", "revision 2 minimum ssh-sk"),
    ("gate", "owner", "owner no", "owner false"),
    ("gate", "agents", "agents none", "agents "),
    ("gate", "agents", "agents none", f"agents {SIGNER}"),
    ("gate", "agents", "agents none", f"agents none,{AGENT}"),
    ("gate", "signers", f"{SIGNER},signer-6f", "signer-6f1c0a7712d94be88f3ab1c6d27e9035,signer-6f"),
    ("gate", "signers", f"{SIGNER},signer-6f", f"{SIGNER},{SIGNER},signer-6f"),
    ("gate", "signers", f"{SIGNER},", f"{SIGNER}, "),
    ("gate", "signers", f"{SIGNER},", f"{SIGNER},,"),
    ("gate", "term-seconds", "86400", "1d"),
    ("gate", "term-seconds", "86400", "86_400"),
    ("gate", "term-seconds", "86400", "86400.0"),
    ("gate", "rounds-max", "rounds-max 3", "rounds-max 0"),
    ("gate", "state", "state active", "state paused"),
]
UNMAKEABLE: Final[list[tuple[str, str, str, Any]]] = [
    # form, the line's name, the field, what cannot stand there
    ("verdict", "subject", "subject", "api\ndecision approve"),
    ("verdict", "subject", "subject", "api\r"),
    ("verdict", "subject", "subject", "api web"),
    ("verdict", "subject", "subject", "api\u2028web"),
    ("verdict", "subject", "subject", "\u202eapi"),
    ("verdict", "subject", "subject", "api\u00a0"),
    ("verdict", "subject", "subject", ""),
    ("verdict", "subject", "subject", None),
    ("verdict", "gate", "gate", "deploy revision 3"),
    ("verdict", "gate", "minimum", "none"),
    ("verdict", "gate", "quorum", 0),
    ("verdict", "gate", "quorum", True),
    ("verdict", "gate", "quorum", "1"),
    ("verdict", "gate", "gate_revision", -1),
    ("verdict", "opened-by", "opened_by", "agent\x00"),
    ("verdict", "project", "project", "p" * 129),
    ("verdict", "expires", "expires", 253402300800),
    ("verdict", "expires", "expires", -1),
    ("verdict", "expires", "expires", "2026-05-04T09:30:00Z"),
    ("verdict", "manifest", "manifest", "none"),
    ("verdict", "comment", "comment", "looks good"),
    ("verdict", "digest", "digest", f"content:{SHA}"),
    ("verdict", "key", "key", KEY + "="),
    ("gate", "agents", "agents", [f"{AGENT}\nsigners none"]),
    ("gate", "signers", "signers", [SIGNER, SIGNER]),
    ("gate", "owner", "owner", 1),
    ("gate", "owner", "owner", "yes"),
    ("signer", "type", "type", "ssh-dss"),
]


def good_statements() -> Iterator[Vector]:
    """Each form, and what else may stand in it."""
    for form, text in TEXTS.items():
        yield _statement(form, form, FIELDS[form], text)
    for number, (form, fields, changes) in enumerate(OTHER_FIELDS, start=1):
        text = TEXTS[form]
        for old, new in changes.items():
            text = _changed(text, old, new)
        yield _statement(f"{form}, other values {number}", form, FIELDS[form] | fields, text)


def _statement(name: str, form: str, fields: dict[str, Any], text: str) -> Vector:
    return {
        "name": name,
        "form": form,
        "fields": fields,
        "text": text,
        "bytes": len(text),
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }


def _changed(text: str, old: str, new: str) -> str:
    assert old in text, old
    return text.replace(old, new, 1)


def bad_statements() -> Iterator[Vector]:
    """Each line changed, missing, doubled, in the place of the next; ``line`` is the first that is wrong."""
    for form, line, old, new in CHANGES:
        yield {"name": f"{form}: {line}: {new!r:.60}", "text": _changed(TEXTS[form], old, new), "line": line}
    for form, text in TEXTS.items():
        lines = text.splitlines(keepends=True)
        names = [line.split(" ")[0] for line in lines]
        for at, name in enumerate(names):
            after = names[at + 1] if at + 1 < len(names) else name
            missing = lines[:at] + lines[at + 1 :]
            yield {"name": f"{form}: {name} missing", "text": "".join(missing), "line": name}
            doubled = lines[: at + 1] + lines[at:]
            yield {"name": f"{form}: {name} doubled", "text": "".join(doubled), "line": after}
            if after != name:
                swapped = [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]]
                yield {"name": f"{form}: {name} after {after}", "text": "".join(swapped), "line": name}
    yield {"name": "nothing", "text": "", "line": "tallystick"}
    yield {"name": "a byte order mark", "text": "\ufeff" + TEXTS["verdict"], "line": "tallystick"}
    many = ",".join(f"agent-{number:032x}" for number in range(1, 120))
    yield {
        "name": "gate: longer than 4096 bytes",
        "text": TEXTS["gate"].replace("agents none", f"agents {many}"),
        "line": "",
    }


def unmakeable() -> Iterator[Vector]:
    """Fields of which no statement is made."""
    for form, line, field, value in UNMAKEABLE:
        yield {
            "name": f"{form}: {field} = {value!r:.60}",
            "form": form,
            "fields": FIELDS[form] | {field: value},
            "line": line,
        }


# --- keys -------------------------------------------------------------------------------------------------
def public_keys(keys: dict[str, SoftKey]) -> Iterator[Vector]:
    """Public keys that may sign, and lines that are none or may not."""
    for name, key in keys.items():
        if name != "rsa-2048":
            good = {"fingerprint": key.fingerprint, "rank": 4 if key.is_sk else 3}
            yield {"name": name, "line": key.line, **good}
            yield {"name": f"{name}, with a comment", "line": f"{key.line} ada@example.org laptop\n", **good}
    for name, kind, blob, fault in _bad_blobs(keys):
        yield {"name": name, "line": f"{kind} {base64.b64encode(blob).decode()}", "fault": fault}
    padded = keys["ecdsa-256"].line
    yield {"name": "key: base64 of another form", "line": _bits_behind(padded), "fault": "line"}
    line = keys["ed25519"].line
    for name, text in (
        ("no line", ""),
        ("a type alone", "ssh-ed25519"),
        ("base64 broken off", line[:-1]),
        ("base64 with a space inside", line[:40] + " " + line[40:]),
        ("base64 with a stray character", line[:40] + "_" + line[41:]),
        ("two lines", line + "\n" + line),
        ("a space before the type", " " + line),
    ):
        fault = "malformed" if "space inside" in name else "line"
        yield {"name": f"key: {name}", "line": text, "fault": fault}


def _bad_blobs(keys: dict[str, SoftKey]) -> Iterator[tuple[str, str, bytes, str]]:
    ed, p256, rsa, sk = (keys[name] for name in ("ed25519", "ecdsa-256", "rsa-3072", "sk-ed25519"))
    for kind in (
        "ssh-dss",
        "ssh-ed25519-cert-v01@openssh.com",
        "sk-ssh-ed25519-cert-v01@openssh.com",
        "webauthn-sk-ecdsa-sha2-nistp256@openssh.com",
        "rsa-sha2-512",
        "ssh-ed448",
    ):
        yield f"key: of type {kind}", kind, string(kind.encode()) + ed.blob[15:], "type"
    yield "key: RSA of 2048 bits", "ssh-rsa", keys["rsa-2048"].blob, "weak"
    numbers = rsa.private.public_key().public_numbers()
    rsa_parts = {
        "of 3071 bits": (numbers.e, numbers.n >> 1 | 1, "weak"),
        "of 16385 bits": (numbers.e, (1 << 16384) + 1, "weak"),
        "with the exponent 1": (1, numbers.n, "malformed"),
        "with an even exponent": (65536, numbers.n, "malformed"),
        "with an even modulus": (numbers.e, numbers.n - 1, "malformed"),
    }
    for name, (e, n, fault) in rsa_parts.items():
        yield f"key: RSA {name}", "ssh-rsa", string(b"ssh-rsa") + mpint(e) + mpint(n), fault
    for name, e_bytes in (
        ("with a zero before the exponent", b"\0\1\0\1"),
        ("with a negative exponent", b"\xff\xff"),
        ("without exponent", b""),
    ):
        yield (
            f"key: RSA {name}",
            "ssh-rsa",
            string(b"ssh-rsa") + string(e_bytes) + mpint(numbers.n),
            "malformed",
        )
    head, curve = string(b"ecdsa-sha2-nistp256"), string(b"nistp256")
    point = p256.blob[-65:]
    compressed = bytes([2 + point[-1] % 2]) + point[1:33]
    for name, blob in (
        ("of another type inside", string(b"ssh-ed25519") + curve + string(point)),
        ("of another curve", head + string(b"nistp384") + string(point)),
        ("with a compressed point", head + curve + string(compressed)),
        ("with a point off the curve", head + curve + string(point[:-1] + bytes([point[-1] ^ 1]))),
        ("with a point that is short", head + curve + string(point[:-1])),
        ("with a point at infinity", head + curve + string(b"\0")),
        ("with something behind", p256.blob + b"\0"),
        ("broken off", p256.blob[:-1]),
    ):
        yield f"key: ECDSA {name}", "ecdsa-sha2-nistp256", blob, "malformed"
    for name, blob in (
        ("of 31 bytes", string(b"ssh-ed25519") + string(b"\1" * 31)),
        ("of 33 bytes", string(b"ssh-ed25519") + string(b"\1" * 33)),
        ("with something behind", ed.blob + b"\0"),
        ("with a length that is too long", ed.blob[:15] + (2**32 - 1).to_bytes(4, "big") + ed.blob[19:]),
    ):
        yield f"key: Ed25519 {name}", "ssh-ed25519", blob, "malformed"
    kind = "sk-ssh-ed25519@openssh.com"
    yield "key: sk without application", kind, sk.blob[: -len(string(soft_keys.APPLICATION))], "malformed"
    yield "key: sk with something behind", kind, sk.blob + b"\0", "malformed"
    yield "key: Ed25519 with an application", "ssh-ed25519", ed.blob + string(b"ssh:"), "malformed"


def _bits_behind(text: str) -> str:
    """Base64 that ends with one ``=``, with a bit set that means nothing."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    assert text[-1] == "="
    return text[:-2] + alphabet[alphabet.index(text[-2]) + 1] + "="


# --- signatures -------------------------------------------------------------------------------------------
PURPOSE: Final = "verdict@tallystick"


def signatures(keys: dict[str, SoftKey]) -> Iterator[Vector]:
    """Signatures over ``verdict`` and other statements; ``counter_before`` is the last counter seen."""
    message = TEXTS["verdict"].encode()
    for name, key in keys.items():
        if name == "rsa-2048":
            continue
        for digest in ("sha256", "sha512"):
            yield _signature(f"{name}, {digest}", name, key, key.sign(message, PURPOSE, digest))
        blob = key.sign(message, PURPOSE)
        yield _signature(f"{name}: other bytes signed", name, key, blob, fault="signature", message="signer")
        foreign = key.sign(message, "file")
        yield _signature(f"{name}: foreign namespace", name, key, foreign, fault="namespace")
        for fault, changed in _changed_signatures(key, message):
            yield _signature(f"{name}: {fault[1]}", name, key, changed, fault=fault[0])
    yield from _rsa_and_ecdsa(keys, message)
    yield from _security_keys(keys, message)
    yield from _armors(keys, message)


def _signature(
    name: str,
    key_name: str,
    key: SoftKey,
    blob: bytes,
    *,
    text: str | None = None,
    fault: str | None = None,
    message: str = "verdict",
    flags: int = 1,
    counter: int = 1,
    before: int = 0,
) -> Vector:
    vector: Vector = {"name": name, "key": key_name, "namespace": PURPOSE, "message": message}
    vector["signature"] = text if text is not None else soft_keys.armored(blob).decode()
    if before:
        vector["counter_before"] = before
    if fault is not None:
        return vector | {"fault": fault}
    touch = {"flags": flags, "counter": counter} if key.is_sk else {"flags": None, "counter": None}
    return vector | {"rank": 4 if key.is_sk else 3, **touch}


def _changed_signatures(key: SoftKey, message: bytes) -> Iterator[tuple[tuple[str, str], bytes]]:
    """Each field of a signature, in turn."""

    def signed(wrong: Wrong, digest: str = "sha512") -> bytes:
        return key.sign(message, PURPOSE, digest, wrong=wrong)

    right = signed(soft_keys.RIGHT)
    public = len(string(key.blob))
    yield ("magic", "magic SSHSIH"), signed(Wrong(magic=b"SSHSIH"))
    yield ("magic", "no magic"), signed(Wrong(magic=b""))
    yield ("version", "version 0"), signed(Wrong(version=0))
    yield ("version", "version 2"), signed(Wrong(version=2))
    yield ("reserved", "reserved not empty, and signed"), signed(Wrong(reserved=b"x"))
    yield ("hash", "hash sha384"), signed(soft_keys.RIGHT, "sha384")
    yield ("hash", "hash sha1"), signed(soft_keys.RIGHT, "sha1")
    yield ("key", "another public key"), signed(Wrong(public=string(b"ssh-ed25519") + string(b"\1" * 32)))
    yield ("key", "the public key with a byte behind"), signed(Wrong(public=key.blob + b"\0"))
    yield ("signature-type", "type ssh-dss"), signed(Wrong(type="ssh-dss"))
    yield (
        ("signature-type", "type of webauthn"),
        signed(Wrong(type="webauthn-sk-ecdsa-sha2-nistp256@openssh.com")),
    )
    yield ("malformed", "a byte behind"), signed(Wrong(behind=b"\0"))
    yield ("malformed", "a byte behind the innermost part"), signed(Wrong(inner_behind=b"\0"))
    yield ("malformed", "a byte behind the numbers"), signed(Wrong(raw_behind=b"\0"))
    yield ("malformed", "the last byte missing"), right[:-1]
    yield ("malformed", "broken off after the version"), right[:10]
    yield ("malformed", "broken off in the magic's version"), right[:8]
    yield ("malformed", "broken off after the public key"), right[: 10 + public]
    yield ("malformed", "a length of 4 GiB"), right[:10] + b"\xff" * 4 + right[14:]


def _rsa_and_ecdsa(keys: dict[str, SoftKey], message: bytes) -> Iterator[Vector]:
    rsa, p256, sk = keys["rsa-3072"], keys["ecdsa-256"], keys["sk-ecdsa"]
    blob = rsa.sign(message, PURPOSE, rsa_hash="sha256")
    yield _signature("rsa: rsa-sha2-256", "rsa-3072", rsa, blob)
    blob = rsa.sign(message, PURPOSE, rsa_hash="sha256", wrong=Wrong(type="rsa-sha2-512"))
    yield _signature("rsa: another hash than it says", "rsa-3072", rsa, blob, fault="signature")
    blob = rsa.sign(message, PURPOSE, rsa_hash="sha1", wrong=Wrong(type="ssh-rsa"))
    yield _signature("rsa: SHA-1", "rsa-3072", rsa, blob, fault="signature-type")
    for name, key in (("ecdsa-256", p256), ("sk-ecdsa", sk)):
        for what, numbers in (
            ("r is 0", string(b"") + mpint(1)),
            ("r is a zero byte", string(b"\0") + mpint(1)),
            ("s is negative", mpint(1) + string(b"\xff")),
            ("r with a zero in front", string(b"\0\1") + mpint(1)),
            ("s missing", mpint(1)),
        ):
            yield _signature(
                f"{name}: {what}", name, key, _with_raw(key, message, numbers), fault="malformed"
            )
        yield _signature(
            f"{name}: r and s are 1", name, key, _with_raw(key, message, mpint(1) * 2), fault="signature"
        )
    right = p256.sign(message, PURPOSE)
    renamed = right.replace(b"ecdsa-sha2-nistp256", b"ecdsa-sha2-nistp384")
    yield _signature("ecdsa-256: renamed 384", "ecdsa-256", p256, renamed, fault="key")
    ed = keys["ed25519"]
    yield _signature(
        "a key's twin", "ed25519-other", keys["ed25519-other"], ed.sign(message, PURPOSE), fault="key"
    )
    flipped = bytearray(ed.sign(message, PURPOSE))
    flipped[-1] ^= 1
    yield _signature("ed25519: one bit", "ed25519", ed, bytes(flipped), fault="signature")


def _with_raw(key: SoftKey, message: bytes, numbers: bytes) -> bytes:
    """A signature with other numbers in place of its own."""
    right = key.sign(message, PURPOSE)
    kind = string(key.type.encode())
    start = right.rindex(kind)
    behind = right[-5:] if key.is_sk else b""
    return right[: start - 4] + string(kind + string(numbers) + behind)


def _security_keys(keys: dict[str, SoftKey], message: bytes) -> Iterator[Vector]:
    for name in ("sk-ed25519", "sk-ecdsa"):
        key = keys[name]

        def signed(flags: int, counter: int, key: SoftKey = key) -> bytes:
            return key.sign(message, PURPOSE, flags=flags, counter=counter)

        for flags in (0x01, 0x05, 0x3F):
            yield _signature(f"{name}: flags {flags:#04x}", name, key, signed(flags, 1), flags=flags)
        for flags in (0x00, 0x04, 0x3E):
            yield _signature(f"{name}: flags {flags:#04x}", name, key, signed(flags, 1), fault="touch")
        for flags in (0x41, 0x81, 0xC1, 0xC5):
            yield _signature(f"{name}: flags {flags:#04x}", name, key, signed(flags, 1), fault="flags")
        for before, counter in ((0, 0), (0, 1), (7, 8), (0, 2**32 - 1), (2**31, 2**32 - 1)):
            what = f"{name}: counter {counter} after {before}"
            yield _signature(what, name, key, signed(1, counter), counter=counter, before=before)
        for before, counter in ((7, 7), (7, 6), (7, 0), (2**32 - 1, 0), (2**32 - 1, 2**32 - 1)):
            what = f"{name}: counter {counter} after {before}"
            yield _signature(what, name, key, signed(1, counter), fault="counter", before=before)
        touched = bytearray(signed(0, 1))
        touched[-5] = 1
        yield _signature(f"{name}: touch written in", name, key, bytes(touched), fault="signature")
        counted = bytearray(signed(1, 7))
        counted[-1] = 9
        yield _signature(
            f"{name}: counter written in", name, key, bytes(counted), fault="signature", before=8
        )
    software = keys["ed25519"].sign(message, PURPOSE, wrong=Wrong(inner_behind=b"\1\0\0\0\1"))
    yield _signature("ed25519: flags and counter", "ed25519", keys["ed25519"], software, fault="malformed")
    plain = keys["sk-ed25519"].sign(message, PURPOSE)
    start = plain.rindex(string(b"sk-ssh-ed25519@openssh.com"))
    without = plain[: start - 4] + string(plain[start:-5])
    yield _signature("sk-ed25519: no counter", "sk-ed25519", keys["sk-ed25519"], without, fault="malformed")


def _armors(keys: dict[str, SoftKey], message: bytes) -> Iterator[Vector]:
    key = keys["ed25519"]
    blob = key.sign(message, PURPOSE)
    text, armor = base64.b64encode(blob).decode(), soft_keys.armored(blob).decode()
    odd = next(
        base64.b64encode(blob + b"\0" * fill).decode() for fill in range(3) if (len(blob) + fill) % 3 == 2
    )
    text_of_odd = _bits_behind(odd)
    yield _signature("armor: base64 of another form", "ed25519", key, blob, text=text_of_odd, fault="armor")
    for name, good in (
        ("base64 in one piece", text),
        ("armor of one line", armor.split("\n")[0] + f"\n{text}\n" + armor.split("\n")[-2]),
        ("armor without its last line break", armor[:-1]),
    ):
        yield _signature(f"armor: {name}", "ed25519", key, blob, text=good)
    for name, bad in (
        ("nothing", ""),
        ("an empty armor", armor.split("\n")[0] + "\n" + armor.split("\n")[-2] + "\n"),
        ("another kind", armor.replace("SSH SIGNATURE", "PGP SIGNATURE")),
        ("something before", "\n" + armor),
        ("something behind", armor + "x\n"),
        ("two of them", armor + armor),
        ("no end", armor[: armor.index("-----END")]),
        ("CRLF", armor.replace("\n", "\r\n")),
        ("a space in a line", armor.replace("U1NIU0lH", "U1NIU0lH ")),
        ("a line break in the base64 alone", text[:70] + "\n" + text[70:]),
        ("padding that is not needed", text + "===="),
        ("longer than 8192 bytes", "U1NIU0lH" * 1100),
    ):
        yield _signature(f"armor: {name}", "ed25519", key, blob, text=bad, fault="armor")


def everything() -> dict[str, Any]:
    """The whole file."""
    keys = soft_keys.load()
    return {
        "about": "Statements, public keys and signatures, good and bad, made for this project by "
        "sdk/tests/signed_vectors.py. The keys are test keys, known to everybody. `line` and `fault` are "
        "what a verifier names; a signature's `key` and `message` are names of a good public key and a good "
        "statement above.",
        "good_statements": list(good_statements()),
        "bad_statements": list(bad_statements()),
        "unmakeable": list(unmakeable()),
        "public_keys": list(public_keys(keys)),
        "signatures": list(signatures(keys)),
    }


def text() -> str:
    """The bytes of the file."""
    return json.dumps(everything(), indent=1, ensure_ascii=True) + "\n"


if __name__ == "__main__":
    FILE.write_text(text())
