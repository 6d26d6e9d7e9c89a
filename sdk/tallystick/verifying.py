"""Whether a signed verdict is what it says: all that a stranger needs, who trusts no daemon, in one file.

Read from the top: ``verify_verdict`` is what somebody asks who is about to run something, and
``verify_signature`` what the daemon asks of each verdict, key and gate. What is signed is a statement
(``protocol.statements``). How it is signed is OpenSSH's: a signature as ``ssh-keygen -Y sign`` writes it
(PROTOCOL.sshsig), with a key of a file or of a security key (PROTOCOL.u2f).

What it promises: a signature passes only if every byte of it has one meaning and that meaning is right.
Magic, version, namespace, an empty reserved field, the hash, the very key, the signature's type, all lengths,
nothing behind; and of a security key that it was touched, which ``ssh-keygen -Y verify`` does not ask. Each
refusal is an error with a ``fault``, one word of the lists below, and a sentence.

What it does not do: it does not know whether a person read what they signed, whether a security key is real
(there is no attestation), or whether somebody rejected since: that is the daemon's word. It opens no file but
the two that it is given. ``cryptography`` does the mathematics; no other module of the SDK imports it.
"""

from __future__ import annotations

import base64
import binascii
import fcntl
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256, SHA384, SHA512, HashAlgorithm

from tallystick.errors import TallyError
from tallystick.protocol.limits import SIGNATURE_BYTES_MAX
from tallystick.protocol.statements import (
    KEY_RANKS,
    RANKS,
    VERDICT_NAMESPACE,
    StatementError,
    Strength,
    VerdictStatement,
    parse_statement,
)

RSA_BITS_MIN: Final = 3_072
RSA_BITS_MAX: Final = 16_384
"""What OpenSSH takes at most."""


# --- what goes wrong --------------------------------------------------------------------------------------
KeyFault: TypeAlias = Literal["line", "type", "malformed", "weak"]
"""Of a public key: not a line of one; a type that may not sign; not whole, or not a key; too short."""
SignatureFault: TypeAlias = Literal[
    "armor",  # neither armored, nor base64, nor bare
    "magic",
    "version",
    "malformed",  # a length that is wrong, bytes missing or behind, a number in another form
    "key",  # made with another key
    "namespace",  # made for another purpose
    "reserved",
    "hash",
    "signature-type",  # not one that this key makes
    "signature",  # it was not made with this key over these bytes
    "touch",  # nobody touched the security key
    "flags",  # the security key signed more than what an SSH signature holds
    "counter",  # the security key's counter went back: the key may have been copied
]
VerdictFault: TypeAlias = Literal[
    "statement",  # not a verdict's statement
    "key",  # the statement names another key than the one that signed it
    "rejected",
    "opening",  # statements of several openings, or of several forms of one
    "space",
    "gate",
    "subject",
    "digest",
    "manifest",
    "minimum",
    "expires",
    "quorum",
]


class VerificationError(TallyError):
    """The root of what this module raises; ``fault`` is the word for what was wrong."""

    fault: str

    def __init__(self, fault: str, text: str) -> None:
        self.fault = fault
        super().__init__(text)


class BadKey(VerificationError):
    """A public key that cannot sign here."""

    def __init__(self, fault: KeyFault, text: str) -> None:
        super().__init__(fault, f"The public key {text}.")


class BadSignature(VerificationError):
    """A signature that proves nothing."""

    def __init__(self, fault: SignatureFault, text: str) -> None:
        super().__init__(fault, f"The signature {text}.")


class BadSigners(VerificationError):
    """A list of signers that cannot be used; ``number`` is the line, from 1."""

    def __init__(self, number: int, text: str) -> None:
        self.number = number
        super().__init__("signers", f"Line {number} of the list of signers {text}.")


class NotApproved(VerificationError):
    """What was signed does not allow what is about to be done."""

    def __init__(self, fault: VerdictFault, text: str) -> None:
        super().__init__(fault, f"Not approved: {text}.")


class UsedBefore(VerificationError):
    """The opening is in the file of those that were used: each allows one run."""

    def __init__(self, opening: str, path: str) -> None:
        self.opening = opening
        super().__init__("used", f"{opening} was used before ({path}): open the gate again for another run.")


# --- a verdict --------------------------------------------------------------------------------------------
class Evidence(NamedTuple):
    """One verdict as it was signed: the statement's bytes, and the signature, armored or bare."""

    statement: bytes
    signature: bytes


class Demand(NamedTuple):
    """What is about to be done and under which rule, all of it from the asker's own knowledge."""

    gate: str
    subject: str
    digest: str
    manifest: str | None
    """``sha256:`` and 64 hex digits; None demands that the opening had none."""
    minimum: Strength
    quorum: int = 1
    """How many signers at least. Where the gate's own quorum is higher, that is asked."""
    space: str | None = None
    """The id of the gate's space; None for a list of signers who decide in one space alone."""


class Approval(NamedTuple):
    """What ``verify_verdict`` found: one opening, and who approved it."""

    statement: VerdictStatement
    """The first that counted; the others say the same of the opening."""
    principals: tuple[str, ...]
    """Who approved it, by the names of the list of signers, sorted."""


def verify_verdict(
    evidence: Iterable[Evidence], signers: Sequence[AllowedSigner], demand: Demand, now: float
) -> Approval:
    """That the signers of the list approved exactly this, as strongly and as many as is demanded.

    ``now`` is in seconds since 1970. Evidence of keys that the list does not have is passed over, whatever it
    says. Raises ``NotApproved``; ``BadSignature`` where a key of the list is named and did not sign that. Who
    runs something after this also calls ``note_use``: an old approval can be shown again.
    """
    counted: dict[str, VerdictStatement] = {}
    for each in evidence:
        signer = _signer_of(each, signers)
        if signer is None:
            continue
        statement = _verified(each, signer)
        first = next(iter(counted.values()), statement)
        if _opening_of(statement) != _opening_of(first):
            raise NotApproved("opening", "the statements are not all of one opening")
        _demand(statement, signer, demand, now)
        counted[signer.principal] = statement
    if not counted:
        raise NotApproved("quorum", "nobody of the list of signers gave a verdict on this")
    first = next(iter(counted.values()))
    wanted = max(demand.quorum, first.quorum)
    if len(counted) < wanted:
        raise NotApproved("quorum", f"{', '.join(sorted(counted))} approved, and it takes {wanted} signers")
    return Approval(first, tuple(sorted(counted)))


def _signer_of(evidence: Evidence, signers: Sequence[AllowedSigner]) -> AllowedSigner | None:
    try:
        blob = signing_key(evidence.signature)
    except BadSignature:
        return None  # it names no key at all, so none of the list
    return next((signer for signer in signers if signer.key.blob == blob), None)


def _verified(evidence: Evidence, signer: AllowedSigner) -> VerdictStatement:
    verify_signature(evidence.signature, evidence.statement, VERDICT_NAMESPACE, signer.key)
    try:
        statement = parse_statement(evidence.statement)
    except StatementError as error:
        what = str(error).removesuffix(".")
        raise NotApproved("statement", f"{signer.principal} signed what is no statement: {what}") from None
    if not isinstance(statement, VerdictStatement):
        raise NotApproved("statement", f"{signer.principal} signed a statement that is no verdict")
    if signer.namespaces is not None and VERDICT_NAMESPACE not in signer.namespaces:
        raise NotApproved("key", f"the list of signers does not let {signer.principal}'s key sign verdicts")
    if statement.key != signer.key.fingerprint:
        raise NotApproved("key", f"{signer.principal} signed a statement that names the key {statement.key}")
    return statement


def _opening_of(statement: VerdictStatement) -> VerdictStatement:
    """The statement without what is each decider's own."""
    return statement._replace(key="", signer="", comment=None, decision="approve")


def _demand(statement: VerdictStatement, signer: AllowedSigner, demand: Demand, now: float) -> None:
    if statement.decision != "approve":
        raise NotApproved("rejected", f"{signer.principal} rejected {statement.opening}")
    if demand.space is not None and statement.space != demand.space:
        raise NotApproved("space", f"{statement.space} was approved in, and {demand.space} is demanded")
    compared: tuple[tuple[VerdictFault, str, str], ...] = (
        ("gate", statement.gate, demand.gate),
        ("subject", statement.subject, demand.subject),
        ("digest", statement.digest, demand.digest),
        ("manifest", statement.manifest or "none", demand.manifest or "none"),
    )
    for fault, approved, wanted in compared:
        if approved != wanted:
            raise NotApproved(fault, f"the {fault} {approved} was approved, and {wanted} is demanded")
    if RANKS[statement.minimum] < RANKS[demand.minimum]:
        raise NotApproved("minimum", f"the gate takes {statement.minimum}, and {demand.minimum} is demanded")
    if signer.key.rank < RANKS[statement.minimum]:
        raise NotApproved("minimum", f"{signer.principal}'s key is weaker than {statement.minimum}")
    if now >= statement.expires:
        raise NotApproved("expires", f"the time of {statement.opening} is over; open the gate again")


# --- a signature ------------------------------------------------------------------------------------------
class Verified(NamedTuple):
    """What a signature proves. ``flags`` and ``counter`` are those of a security key, else None."""

    rank: int
    """3: the key signed these bytes. 4: and its device was touched for it."""
    fingerprint: str
    flags: int | None
    counter: int | None


def verify_signature(
    signature: bytes, message: bytes, namespace: str, key: PublicKey, *, counter_before: int = 0
) -> Verified:
    """That this key signed this message for this purpose. Raises ``BadSignature``.

    ``counter_before`` is the counter of the last signature that was taken of a security key: the new one has
    to be above it, unless both are 0, as of a device that does not count. 0 for who remembers none.
    """
    parts = _parse_signature(bare(signature))
    if parts.key != key.blob:
        raise BadSignature("key", f"was made with another key than {key.fingerprint}")
    if parts.namespace != namespace.encode():
        raise BadSignature("namespace", f"was not made in the namespace {namespace}")
    if parts.reserved:
        raise BadSignature("reserved", "has something in the reserved field, which has no meaning yet")
    if parts.hash not in _HASHES:
        raise BadSignature("hash", "is over another hash than sha256 or sha512")
    digest = _HASHES[parts.hash](message).digest()
    signed = _MAGIC + b"".join(map(_string, (parts.namespace, b"", parts.hash, digest)))
    touched = _verify_raw(parts.signature, signed, key)
    if touched is None:
        return Verified(key.rank, key.fingerprint, None, None)
    _check_touch(touched, counter_before)
    return Verified(key.rank, key.fingerprint, touched.flags, touched.counter)


def signing_key(signature: bytes) -> bytes:
    """The bytes of the public key that a signature says it was made with: which key to ask
    ``verify_signature`` about. Raises ``BadSignature``.
    """
    return _parse_signature(bare(signature)).key


def bare(signature: bytes) -> bytes:
    """A signature's own bytes: of an armored one, of its base64 in one piece, or of itself. So each signature
    has one form to be kept in. Raises ``BadSignature``.
    """
    if len(signature) > SIGNATURE_BYTES_MAX:
        raise BadSignature("armor", f"has more than {SIGNATURE_BYTES_MAX} bytes")
    if signature.startswith(_MAGIC):
        return signature
    match = _ARMOR.fullmatch(signature)
    text = signature if match is None else match[1].replace(b"\n", b"")
    blob = _from_base64(text)
    if blob is None:
        raise BadSignature("armor", "is neither armored as ssh-keygen writes it, nor base64, nor bare")
    return blob


def armored(signature: bytes) -> bytes:
    """A signature as ``ssh-keygen`` writes and reads it in a file; ``signature`` as ``bare`` takes it."""
    text = base64.b64encode(bare(signature))
    lines = [text[start : start + 70] for start in range(0, len(text), 70)]
    return b"\n".join([_BEGIN, *lines, _END, b""])


class _Parts(NamedTuple):
    key: bytes
    namespace: bytes
    reserved: bytes
    hash: bytes
    signature: bytes


class _Touch(NamedTuple):
    flags: int
    counter: int


_MAGIC: Final = b"SSHSIG"
_BEGIN: Final = b"-----BEGIN SSH SIGNATURE-----"
_END: Final = b"-----END SSH SIGNATURE-----"
_ARMOR: Final = re.compile(_BEGIN + rb"\n((?:[A-Za-z0-9+/=]+\n)+)" + _END + rb"\n?")
_HASHES: Final = {b"sha256": hashlib.sha256, b"sha512": hashlib.sha512}
_USER_PRESENT: Final = 0x01
_MORE_DATA: Final = 0xC0
"""Attested credential data, or extensions, stand behind the counter: what was signed is not what we have."""


def _parse_signature(blob: bytes) -> _Parts:
    if not blob.startswith(_MAGIC):
        raise BadSignature("magic", "does not begin with SSHSIG")
    reader = _Reader(blob[len(_MAGIC) :])
    try:
        version = reader.uint32()
        if version != 1:
            raise BadSignature("version", f"has version {version}; 1 is the only one there is")
        parts = _Parts(*(reader.string() for _ in _Parts._fields))
        reader.end()
    except _Malformed as error:
        raise BadSignature("malformed", f"is not whole: {error}") from None
    return parts


def _verify_raw(signature: bytes, signed: bytes, key: PublicKey) -> _Touch | None:
    """The innermost part: a type, a signature, and of a security key flags and counter."""
    reader = _Reader(signature)
    try:
        kind = reader.string().decode("latin-1")
        if kind not in _SIGNATURE_TYPES.get(key.type, (key.type,)):
            raise BadSignature("signature-type", f"is of a type that a key of type {key.type} does not make")
        raw = reader.string()
        touch = _Touch(reader.byte(), reader.uint32()) if key.rank == RANKS["ssh-sk"] else None
        reader.end()
        public, application = _public(key)
        if touch is not None:
            signed = _sha256(application) + bytes([touch.flags]) + _uint32(touch.counter) + _sha256(signed)
        _check(public, kind, raw, signed)
    except _Malformed as error:
        raise BadSignature("malformed", f"is not whole: {error}") from None
    except InvalidSignature:
        raise BadSignature("signature", f"is not one of {key.fingerprint} over these bytes") from None
    return touch


def _check(public: _Public, kind: str, raw: bytes, signed: bytes) -> None:
    if isinstance(public, Ed25519PublicKey):
        if len(raw) != 64:
            raise _Malformed("an Ed25519 signature has 64 bytes")
        public.verify(raw, signed)
    elif isinstance(public, rsa.RSAPublicKey):
        if len(raw) != (public.key_size + 7) // 8:
            raise _Malformed("an RSA signature is as long as its key")
        public.verify(raw, signed, padding.PKCS1v15(), SHA256() if kind == "rsa-sha2-256" else SHA512())
    else:
        reader = _Reader(raw)
        r, s = reader.mpint(), reader.mpint()
        reader.end()
        public.verify(encode_dss_signature(r, s), signed, ec.ECDSA(_CURVE_HASHES[public.curve.name]))


def _check_touch(touch: _Touch, counter_before: int) -> None:
    if not touch.flags & _USER_PRESENT:
        raise BadSignature("touch", "was made without a touch of the security key")
    if touch.flags & _MORE_DATA:
        raise BadSignature("flags", f"has the flags 0x{touch.flags:02x}: more was signed than it holds")
    if touch.counter <= counter_before and (touch.counter, counter_before) != (0, 0):
        raise BadSignature(
            "counter", f"has the counter {touch.counter} after {counter_before}: the key may have been copied"
        )


# --- a public key -----------------------------------------------------------------------------------------
class PublicKey(NamedTuple):
    """An OpenSSH public key, checked: ``parse_public_key`` makes it."""

    type: str
    blob: bytes

    @property
    def fingerprint(self) -> str:
        """``SHA256:…``, as ``ssh-keygen -l`` shows it."""
        return fingerprint(self.blob)

    @property
    def rank(self) -> int:
        """Of what it signs: 3, or 4 with a security key."""
        return KEY_RANKS[self.type]


def fingerprint(blob: bytes) -> str:
    """The name of a public key by its bytes."""
    return "SHA256:" + base64.b64encode(_sha256(blob)).rstrip(b"=").decode()


def parse_public_key(line: str) -> PublicKey:
    """The key of a line as ``ssh-keygen`` writes it into a .pub file: type, base64, and a comment or none.
    Raises ``BadKey``.
    """
    match = _KEY_LINE.fullmatch(line)
    if match is None:
        raise BadKey("line", "is not one line of type and base64, as in the file that ends in .pub")
    kind = match["type"]
    if kind not in KEY_RANKS:
        raise BadKey("type", f"is of a type that may not sign; use one of {', '.join(KEY_RANKS)}")
    blob = _from_base64(match["blob"].encode())
    if blob is None:
        raise BadKey("line", "is not in base64 of one form")
    key = PublicKey(kind, blob)
    try:
        _public(key)
    except _Malformed as error:
        raise BadKey("malformed", f"is not whole: {error}") from None
    return key


_Public: TypeAlias = Ed25519PublicKey | ec.EllipticCurvePublicKey | rsa.RSAPublicKey

_KEY_LINE: Final = re.compile(r"(?P<type>[!-~]+)[ \t]+(?P<blob>[!-~]+)(?:[ \t].*)?\n?")
_SIGNATURE_TYPES: Final = {"ssh-rsa": ("rsa-sha2-256", "rsa-sha2-512")}
"""Every other key makes signatures of its own type."""
_CURVES: Final[dict[bytes, ec.EllipticCurve]] = {
    b"nistp256": ec.SECP256R1(),
    b"nistp384": ec.SECP384R1(),
    b"nistp521": ec.SECP521R1(),
}
_CURVE_HASHES: Final[dict[str, HashAlgorithm]] = {
    "secp256r1": SHA256(),
    "secp384r1": SHA384(),
    "secp521r1": SHA512(),
}


def _public(key: PublicKey) -> tuple[_Public, bytes]:
    """What ``cryptography`` verifies with, and the application of a security key, b"" of any other."""
    reader = _Reader(key.blob)
    if reader.string() != key.type.encode():
        raise _Malformed("its bytes are of another type than it says")
    public: _Public
    try:
        if "ed25519" in key.type:
            public = Ed25519PublicKey.from_public_bytes(reader.string())
        elif key.type == "ssh-rsa":
            public = _rsa(exponent=reader.mpint(), modulus=reader.mpint())
        else:
            public = _ecdsa(key.type, reader.string(), reader.string())
    except ValueError:
        raise _Malformed("its numbers are no key of this type") from None
    application = reader.string() if key.rank == RANKS["ssh-sk"] else b""
    reader.end()
    return public, application


def _rsa(exponent: int, modulus: int) -> rsa.RSAPublicKey:
    if not RSA_BITS_MIN <= modulus.bit_length() <= RSA_BITS_MAX:
        raise BadKey(
            "weak",
            f"has {modulus.bit_length()} bits; RSA has {RSA_BITS_MIN} to {RSA_BITS_MAX} here: make another",
        )
    if modulus % 2 == 0:
        raise _Malformed("its modulus is even")
    return rsa.RSAPublicNumbers(exponent, modulus).public_key()


def _ecdsa(kind: str, curve: bytes, point: bytes) -> ec.EllipticCurvePublicKey:
    if curve not in _CURVES or curve.decode() not in kind:
        raise _Malformed("its curve is another than its type says")
    if not point.startswith(b"\x04"):
        raise _Malformed("its point is not in the uncompressed form")
    return ec.EllipticCurvePublicKey.from_encoded_point(_CURVES[curve], point)


# --- who may sign -----------------------------------------------------------------------------------------
class AllowedSigner(NamedTuple):
    """One line of a list of signers."""

    principal: str
    key: PublicKey
    namespaces: tuple[str, ...] | None
    """What its signatures may be for; None: anything."""


_ALLOWED_LINE: Final = re.compile(
    r'(?P<principal>[^ \t]+)[ \t]+(?:namespaces="(?P<namespaces>[^"]*)"[ \t]+)?(?P<key>(?P<type>[^ \t]+).*)'
)
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]*")
"""Without the characters that OpenSSH reads as patterns, lists or quotes."""


def read_allowed_signers(path: str) -> tuple[AllowedSigner, ...]:
    """``parse_allowed_signers`` of a file. Raises ``OSError`` too."""
    with open(path, "rb") as file:
        return parse_allowed_signers(file.read())


def parse_allowed_signers(data: bytes) -> tuple[AllowedSigner, ...]:
    """The lines of an ``allowed_signers`` file of OpenSSH's, of which we take less: one principal a line, by
    name; no option but ``namespaces``, a list of names; no certificates. A signer with several keys has
    several lines. A key stands once, since two names for it would count as two signers. Raises
    ``BadSigners``, with the line: a list of which a part is not understood says something else than its
    author meant.
    """
    found: list[AllowedSigner] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        try:
            text = line.decode().strip(" \t")
        except UnicodeDecodeError:
            raise BadSigners(number, "is not UTF-8") from None
        if not text or text.startswith("#"):
            continue
        signer = _allowed_signer(number, text)
        if any(signer.key.blob == other.key.blob for other in found):
            raise BadSigners(number, "has a key that stands in an earlier line: each key is one signer's")
        found.append(signer)
    return tuple(found)


def _allowed_signer(number: int, text: str) -> AllowedSigner:
    match = _ALLOWED_LINE.fullmatch(text)
    if match is None:
        raise BadSigners(number, 'is not of the form: principal [namespaces="…"] type base64')
    principal = match["principal"]
    if _PLAIN_NAME.fullmatch(principal) is None or principal.lower() == "cert-authority":
        raise BadSigners(number, "does not begin with the name of one signer, without patterns and lists")
    namespaces = None if match["namespaces"] is None else tuple(match["namespaces"].split(","))
    if namespaces is not None and not all(_PLAIN_NAME.fullmatch(name) for name in namespaces):
        raise BadSigners(number, "has namespaces that are no list of names, with commas between")
    if match["type"] not in KEY_RANKS:
        raise BadSigners(
            number, f"has an option, or a type of key, that is not taken here; types: {', '.join(KEY_RANKS)}"
        )
    try:
        key = parse_public_key(match["key"])
    except BadKey as error:
        raise BadSigners(number, f"has a key that cannot be used. {str(error).removesuffix('.')}") from None
    return AllowedSigner(principal, key, namespaces)


# --- what was used ----------------------------------------------------------------------------------------
_OPENING: Final = re.compile(rb"open-[0-9a-f]{32}")
_ANY_ID: Final = b"open-" + b"0" * 32
"""What the beginning of an id is made a whole one with."""


def note_use(path: str, opening: str) -> None:
    """Notes in the file at ``path`` that an opening is used now, and returns when that is on the disk; raises
    ``UsedBefore`` where it stands there already. So of an approval that is shown again, by whomever, comes no
    second run, and a process that dies in between has used it.

    The file has an opening's id a line; it is made where it is not there, mode 0600, and locked meanwhile
    (``flock``). A last line that a crash cut short is taken off: its run never began. Raises ``ValueError``
    of what is no opening's id, or of a file that holds anything else, and ``OSError``.
    """
    line = opening.encode()
    if _OPENING.fullmatch(line) is None:
        raise ValueError("What is to be noted as used is no opening's id: open- and 32 hexadecimal digits.")
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    with open(os.open(path, flags, 0o600), "r+b", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        before = _whole_lines(file.read(), path)
        if line in before.split(b"\n"):
            raise UsedBefore(opening, path)
        file.truncate(len(before))
        added = line + b"\n" if before.endswith(b"\n") or not before else b"\n" + line + b"\n"
        if file.write(added) != len(added):
            raise OSError(f"{path}: the disk took a part of the line alone; make room and try again.")
        os.fsync(file)
    _sync_directory(path)


def _whole_lines(data: bytes, path: str) -> bytes:
    """The file without the beginning of an id at its end. A whole id without its LF, as an editor may leave
    it, is a line.
    """
    *lines, last = data.split(b"\n")
    for number, line in enumerate(lines, start=1):
        if _OPENING.fullmatch(line) is None:
            raise ValueError(f"{path}: line {number} is no opening's id: this is no file of used openings.")
    if _OPENING.fullmatch(last):
        return data
    if _OPENING.fullmatch(last + _ANY_ID[len(last) :]) is None:
        raise ValueError(f"{path}: its end is no opening's id: this is no file of used openings.")
    return data[: len(data) - len(last)]


def _sync_directory(path: str) -> None:
    """So that a power cut does not take a new file away."""
    directory = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


# --- bytes ------------------------------------------------------------------------------------------------
class _Malformed(Exception):
    """Bytes that are not what their format says; the text says what."""


class _Reader:
    """Reads the types of SSH (RFC 4251, section 5) from bytes, one after the other, to the end."""

    def __init__(self, data: bytes) -> None:
        self._rest = data

    def _take(self, count: int) -> bytes:
        if count > len(self._rest):
            raise _Malformed(f"{count - len(self._rest)} bytes are missing")
        taken, self._rest = self._rest[:count], self._rest[count:]
        return taken

    def byte(self) -> int:
        return self._take(1)[0]

    def uint32(self) -> int:
        return int.from_bytes(self._take(4), "big")

    def string(self) -> bytes:
        return self._take(self.uint32())

    def mpint(self) -> int:
        """A number above 0 in its shortest form."""
        data = self.string()
        number = int.from_bytes(data, "big", signed=True)
        if number <= 0 or len(data) != number.bit_length() // 8 + 1:
            raise _Malformed("a number is not above 0, or not in its shortest form")
        return number

    def end(self) -> None:
        if self._rest:
            raise _Malformed(f"{len(self._rest)} bytes stand behind its end")


def _uint32(number: int) -> bytes:
    return number.to_bytes(4, "big")


def _string(data: bytes) -> bytes:
    return _uint32(len(data)) + data


def _sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _from_base64(text: bytes) -> bytes | None:
    """The bytes; None of anything but the one form that they have in base64 (RFC 4648, section 4)."""
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
    return data if text and base64.b64encode(data) == text else None
