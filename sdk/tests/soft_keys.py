"""Keys of the tests' own, and signatures made with them by hand, right ones and wrong ones.

The keys stand in ``vectors/signing_keys.json``, private halves and all: **test keys, known to everybody**.
Two of them are security keys in software: what a device would sign is put together here, with any flags and
any counter, touched or not.

Nothing of ours is imported: what the verifier reads is not written by the verifier's own code. The formats
are OpenSSH's PROTOCOL.sshsig and PROTOCOL.u2f.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any, Final, NamedTuple

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

KEYS_FILE: Final = Path(__file__).parent / "vectors" / "signing_keys.json"
APPLICATION: Final = b"ssh:"

_CURVES: Final[dict[str, tuple[bytes, hashes.HashAlgorithm]]] = {
    "secp256r1": (b"nistp256", hashes.SHA256()),
    "secp384r1": (b"nistp384", hashes.SHA384()),
    "secp521r1": (b"nistp521", hashes.SHA512()),
}


def string(data: bytes) -> bytes:
    """A string of SSH's: its length in four bytes, then itself."""
    return len(data).to_bytes(4, "big") + data


def mpint(number: int) -> bytes:
    """A number above 0 as SSH writes it: shortest form, the highest bit clear."""
    return string(number.to_bytes(number.bit_length() // 8 + 1, "big"))


class Wrong(NamedTuple):
    """What of a signature is made otherwise than it should be; the rest is right, so only that is wrong."""

    magic: bytes = b"SSHSIG"
    version: int = 1
    reserved: bytes = b""
    public: bytes | None = None
    type: str | None = None
    raw_behind: bytes = b""
    """Behind the signature's own numbers or bytes."""
    inner_behind: bytes = b""
    """Behind the innermost part, as flags and counter are."""
    behind: bytes = b""


RIGHT: Final = Wrong()


class SoftKey:
    """A private key; ``is_sk``: one whose signatures are those of a security key."""

    def __init__(self, type: str, private: Any) -> None:
        self.type = type
        self.private = private
        self.is_sk = type.startswith("sk-")

    @property
    def blob(self) -> bytes:
        """The public key as SSH writes it."""
        public = self.private.public_key()
        if isinstance(public, ed25519.Ed25519PublicKey):
            parts = string(public.public_bytes_raw())
        elif isinstance(public, rsa.RSAPublicKey):
            numbers = public.public_numbers()
            parts = mpint(numbers.e) + mpint(numbers.n)
        else:
            encoding, form = serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
            parts = string(_CURVES[public.curve.name][0]) + string(public.public_bytes(encoding, form))
        return string(self.type.encode()) + parts + (string(APPLICATION) if self.is_sk else b"")

    @property
    def line(self) -> str:
        """The public key as a .pub file has it, without a comment."""
        return f"{self.type} {base64.b64encode(self.blob).decode()}"

    @property
    def fingerprint(self) -> str:
        """As ``ssh-keygen -l`` shows it."""
        return "SHA256:" + base64.b64encode(hashlib.sha256(self.blob).digest()).decode().rstrip("=")

    def openssh_file(self) -> bytes:
        """The private key as ``ssh-keygen`` reads it; none of a security key, whose secret is in a device."""
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH
        pem: bytes = self.private.private_bytes(encoding, form, serialization.NoEncryption())
        return pem

    def sign(
        self,
        message: bytes,
        namespace: str,
        hash: str = "sha512",
        *,
        rsa_hash: str = "sha512",
        flags: int = 0x01,
        counter: int = 1,
        wrong: Wrong = RIGHT,
    ) -> bytes:
        """A signature, bare."""
        digest = hashlib.new(hash, message).digest()
        purpose = string(namespace.encode()) + string(wrong.reserved) + string(hash.encode())
        signed = b"SSHSIG" + purpose + string(digest)
        behind = b""
        if self.is_sk:
            behind = bytes([flags]) + counter.to_bytes(4, "big")
            signed = hashlib.sha256(APPLICATION).digest() + behind + hashlib.sha256(signed).digest()
        kind = f"rsa-sha2-{rsa_hash[3:]}" if self.type == "ssh-rsa" else self.type
        raw = self._raw(signed, rsa_hash) + wrong.raw_behind
        inner = string((wrong.type or kind).encode()) + string(raw) + behind + wrong.inner_behind
        public = string(self.blob if wrong.public is None else wrong.public)
        return (
            wrong.magic + wrong.version.to_bytes(4, "big") + public + purpose + string(inner) + wrong.behind
        )

    def _raw(self, signed: bytes, rsa_hash: str) -> bytes:
        private = self.private
        if isinstance(private, ed25519.Ed25519PrivateKey):
            return private.sign(signed)
        if isinstance(private, rsa.RSAPrivateKey):
            algorithm = {"sha1": hashes.SHA1(), "sha256": hashes.SHA256(), "sha512": hashes.SHA512()}
            return private.sign(signed, padding.PKCS1v15(), algorithm[rsa_hash])
        algorithm_of_curve = _CURVES[private.curve.name][1]
        r, s = decode_dss_signature(
            private.sign(signed, ec.ECDSA(algorithm_of_curve, deterministic_signing=True))
        )
        return mpint(r) + mpint(s)


def load() -> dict[str, SoftKey]:
    """The keys of the file, by name."""
    keys = json.loads(KEYS_FILE.read_text())["keys"]
    return {
        name: SoftKey(key["type"], serialization.load_der_private_key(base64.b64decode(key["private"]), None))
        for name, key in keys.items()
    }


def armored(blob: bytes) -> bytes:
    """A signature as ``ssh-keygen`` writes it."""
    text = base64.b64encode(blob).decode()
    lines = [text[start : start + 70] for start in range(0, len(text), 70)]
    return "\n".join(["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""]).encode()
