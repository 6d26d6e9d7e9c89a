"""The verifier: our vectors, OpenSSH's own `ssh-keygen`, and an executor that trusts no daemon."""

from __future__ import annotations

import base64
import fcntl
import json
import shutil
import subprocess
import sys
import threading
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, Final

import pytest
import signed_vectors
import soft_keys
from hypothesis import given
from hypothesis import strategies as st

from tallystick.protocol.statements import Strength, VerdictStatement, make_statement, parse_statement
from tallystick.verifying import (
    AllowedSigner,
    Approval,
    BadKey,
    BadSignature,
    BadSigners,
    Demand,
    Evidence,
    NotApproved,
    UsedBefore,
    armored,
    bare,
    note_use,
    parse_allowed_signers,
    parse_public_key,
    read_allowed_signers,
    verify_signature,
    verify_verdict,
)

VECTORS: dict[str, Any] = json.loads(signed_vectors.FILE.read_text())
TEXTS = {each["name"]: each["text"].encode() for each in VECTORS["good_statements"]}
LINES = {each["name"]: each["line"] for each in VECTORS["public_keys"]}
KEYS = soft_keys.load()
FILE_KEYS = [name for name, key in KEYS.items() if not key.is_sk and name != "rsa-2048"]
SK_KEYS = [name for name, key in KEYS.items() if key.is_sk]
PURPOSE = "verdict@tallystick"


def named(vectors: list[dict[str, Any]]) -> pytest.MarkDecorator:
    """A parameter for each vector, under its name."""
    return pytest.mark.parametrize("vector", [pytest.param(each, id=each["name"]) for each in vectors])


# --- vectors ----------------------------------------------------------------------------------------------
@named(VECTORS["public_keys"])
def test_a_public_key_is_what_its_vector_says(vector: dict[str, Any]) -> None:
    """A key that may sign has the fingerprint and rank; any other is refused for its fault."""
    if "fault" not in vector:
        key = parse_public_key(vector["line"])
        assert (key.fingerprint, key.rank) == (vector["fingerprint"], vector["rank"])
        return
    with pytest.raises(BadKey) as refused:
        parse_public_key(vector["line"])
    assert refused.value.fault == vector["fault"], refused.value


@named(VECTORS["signatures"])
def test_a_signature_is_what_its_vector_says(vector: dict[str, Any]) -> None:
    """A right one has rank, flags and counter; a wrong one is refused for the one thing that is wrong."""
    before = vector.get("counter_before", 0)
    signature, message = vector["signature"].encode(), TEXTS[vector["message"]]
    key = parse_public_key(LINES[vector["key"]])
    if "fault" not in vector:
        found = verify_signature(signature, message, vector["namespace"], key, counter_before=before)
        assert found == (vector["rank"], key.fingerprint, vector["flags"], vector["counter"])
        return
    with pytest.raises(BadSignature) as refused:
        verify_signature(signature, message, vector["namespace"], key, counter_before=before)
    assert refused.value.fault == vector["fault"], refused.value


def test_a_signature_has_one_bare_form() -> None:
    """Armored, in base64 or bare, it is kept as the same bytes, and written as `ssh-keygen` writes it."""
    for vector in VECTORS["signatures"]:
        if "fault" not in vector:
            blob = bare(vector["signature"].encode())
            assert bare(blob) == bare(armored(blob)) == blob
            assert armored(blob) == soft_keys.armored(blob)


@pytest.mark.parametrize("name", ["ed25519", "sk-ecdsa", "rsa-3072"])
def test_no_byte_of_a_signature_is_without_meaning(name: str) -> None:
    """Whichever byte is another, the signature is refused."""
    message = b"message"
    right = KEYS[name].sign(message, PURPOSE)
    key = parse_public_key(LINES[name])
    for at in range(len(right)):
        wrong = right[:at] + bytes([right[at] ^ 0x01]) + right[at + 1 :]
        with pytest.raises(BadSignature):
            verify_signature(wrong, message, PURPOSE, key)


@given(st.data())
def test_any_bytes_are_judged(data: st.DataObject) -> None:
    """A signature or key that was cut, filled or changed anywhere is refused as one, and in no other way."""
    name = data.draw(st.sampled_from([*FILE_KEYS, *SK_KEYS]))
    right = KEYS[name].sign(b"message", PURPOSE)
    wrong = changed(data, right)
    with pytest.raises(BadSignature) if wrong != right else nullcontext():
        verify_signature(wrong, b"message", PURPOSE, parse_public_key(LINES[name]))
    blob = changed(data, KEYS[name].blob)
    line = f"{KEYS[name].type} {base64.b64encode(blob).decode()}"
    with suppress(BadKey):
        assert parse_public_key(line).blob == blob
    with suppress(BadKey, BadSignature):
        verify_signature(right, b"other", PURPOSE, parse_public_key(line))
        raise AssertionError("a key verified a message that nobody signed")


def changed(data: st.DataObject, right: bytes) -> bytes:
    """The bytes with some replaced, put in or taken out."""
    start = data.draw(st.integers(0, len(right)))
    end = data.draw(st.integers(start, min(len(right), start + 5)))
    return right[:start] + data.draw(st.binary(max_size=5)) + right[end:]


# --- ssh-keygen -------------------------------------------------------------------------------------------
class Keygen:
    """`ssh-keygen` in a directory of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def run(self, *arguments: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Runs it; with the arguments given, and what it reads."""
        return subprocess.run(
            ["ssh-keygen", *arguments], cwd=self.directory, input=data, capture_output=True, check=False
        )

    def sign(self, private: str, message: bytes) -> bytes:
        """The signature of a message by a private key's file."""
        done = self.run("-q", "-Y", "sign", "-f", private, "-n", PURPOSE, data=message)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def takes(self, line: str, signature: bytes, message: bytes) -> bool:
        """Whether it verifies a signature as one of the key of a line."""
        (self.directory / "signers").write_text(f"ada {line}\n")
        (self.directory / "signature").write_bytes(signature)
        options = ("-Y", "verify", "-f", "signers", "-I", "ada", "-n", PURPOSE, "-s", "signature")
        return self.run(*options, data=message).returncode == 0


@pytest.fixture
def keygen(tmp_path: Path) -> Keygen:
    """Of this machine's OpenSSH."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("this system does not have ssh-keygen")
    return Keygen(tmp_path)


@pytest.mark.parametrize("name", FILE_KEYS)
def test_what_ssh_keygen_signs_is_verified(keygen: Keygen, name: str) -> None:
    """With a key of each type, and of no other bytes."""
    private = keygen.directory / "key"
    private.write_bytes(KEYS[name].openssh_file())
    private.chmod(0o600)
    (keygen.directory / "key.pub").write_text(KEYS[name].line + "\n")
    message = TEXTS["verdict"]
    signature = keygen.sign("key", message)
    key = parse_public_key((keygen.directory / "key.pub").read_text())
    assert verify_signature(signature, message, PURPOSE, key) == (3, key.fingerprint, None, None)
    shown = keygen.run("-l", "-f", "key.pub").stdout.decode()
    assert key.fingerprint in shown.split()
    with pytest.raises(BadSignature, match="not one of"):
        verify_signature(signature, message + b" ", PURPOSE, key)


@pytest.mark.parametrize(
    ("kind", "bits"),
    [("ed25519", "256"), ("ecdsa", "256"), ("ecdsa", "384"), ("ecdsa", "521"), ("rsa", "3072")],
)
def test_a_key_that_ssh_keygen_made_signs(keygen: Keygen, kind: str, bits: str) -> None:
    """Keys of its own, with its own comment, as a person makes them."""
    made = keygen.run("-q", "-t", kind, "-b", bits, "-N", "", "-C", "ada's laptop", "-f", "own")
    assert made.returncode == 0, made.stderr
    key = parse_public_key((keygen.directory / "own.pub").read_text())
    signature = keygen.sign("own", b"message\n")
    assert verify_signature(signature, b"message\n", PURPOSE, key).rank == 3
    assert armored(bare(signature)) == signature


TOUCHLESS: Final = {"touch", "flags", "counter"}
LAXER: Final = {"something behind", "two of them", "a space in a line", "CRLF", "version 0"}
"""What `ssh-keygen` takes besides: text behind the armor, white space in it, and a version below 1."""


def test_ssh_keygen_agrees_on_every_signature(keygen: Keygen) -> None:
    """It takes what we take, and of what we refuse nothing but what a security key says of its touch, flags
    and counter, which it does not look at, and what `LAXER` names.
    """
    taken = set()
    for vector in VECTORS["signatures"]:
        signature, message = vector["signature"].encode(), TEXTS[vector["message"]]
        if not signature.startswith(b"-----BEGIN") and "fault" not in vector:
            signature = armored(signature)  # it reads files, which are armored
        if keygen.takes(LINES[vector["key"]], signature, message):
            taken.add(vector["name"])
    good = {each["name"] for each in VECTORS["signatures"] if "fault" not in each}
    of_touch = {each["name"] for each in VECTORS["signatures"] if each.get("fault") in TOUCHLESS}
    assert good - taken == set()
    assert of_touch - taken == set()
    assert {name.partition(": ")[2] for name in taken - good - of_touch} <= LAXER


@pytest.mark.parametrize("name", SK_KEYS)
def test_a_signature_without_a_touch_is_refused_though_ssh_keygen_takes_it(keygen: Keygen, name: str) -> None:
    """The device signed, nobody was there: `ssh-keygen -Y verify` says good, and we do not."""
    message = TEXTS["verdict"]
    signature = armored(KEYS[name].sign(message, PURPOSE, flags=0))
    assert keygen.takes(KEYS[name].line, signature, message)
    with pytest.raises(BadSignature, match="without a touch"):
        verify_signature(signature, message, PURPOSE, parse_public_key(KEYS[name].line))


# --- a list of signers ------------------------------------------------------------------------------------
ED, P256, SK, SK2 = (KEYS[name].line for name in ("ed25519", "ecdsa-256", "sk-ed25519", "sk-ecdsa"))


def test_a_list_of_signers_is_read(tmp_path: Path) -> None:
    """Comments and empty lines are nothing; a signer may have several keys; namespaces are kept."""
    path = tmp_path / "allowed_signers"
    path.write_text(
        f"# who may approve\n\nada {SK} laptop\nada\t{ED}\n  bob@example.org "
        f'namespaces="verdict@tallystick,git" {P256}\n'
    )
    found = read_allowed_signers(str(path))
    assert [(each.principal, each.key.type, each.namespaces) for each in found] == [
        ("ada", "sk-ssh-ed25519@openssh.com", None),
        ("ada", "ssh-ed25519", None),
        ("bob@example.org", "ecdsa-sha2-nistp256", ("verdict@tallystick", "git")),
    ]


@pytest.mark.parametrize(
    "line",
    [
        f"cert-authority {ED}",
        f"ada cert-authority {ED}",
        f'ada valid-before="20300101" {ED}',
        f'ada namespaces="*" {ED}',
        f'ada namespaces="" {ED}',
        f"ada,bob {ED}",
        f"* {ED}",
        f"!ada {ED}",
        f'"ada" {ED}',
        ED,
        "ada",
        "ada ssh-ed25519",
        f"ada {KEYS['rsa-2048'].line}",
        f"ada {ED[:-4]}",
        f"zoe {SK}",
        "ada ssh-ed25519-cert-v01@openssh.com AAAA",
        f"ad\udcff {ED}",
    ],
)
def test_a_line_that_means_something_else_is_refused(line: str) -> None:
    """Patterns, lists, authorities, other options, weak or doubled keys: the line is named."""
    text = f"ada {SK}\n# next\n{line}\n".encode(errors="surrogateescape")
    with pytest.raises(BadSigners, match="Line 3 ") as refused:
        parse_allowed_signers(text)
    assert refused.value.number == 3


# --- a verdict --------------------------------------------------------------------------------------------
FIRST = parse_statement(TEXTS["verdict"])
assert isinstance(FIRST, VerdictStatement)
STATEMENT: VerdictStatement = FIRST
SIGNERS = parse_allowed_signers(f"ada {SK}\nada {ED}\nbob {SK2}\neve {P256}\n".encode())
DEMAND = Demand("deploy", "api", STATEMENT.digest, STATEMENT.manifest, "ssh-sk")
NOW = STATEMENT.expires - 1


def signed(name: str, statement: VerdictStatement = STATEMENT, namespace: str = PURPOSE) -> Evidence:
    """Evidence by a key; the statement names the key that signs it."""
    text = make_statement(statement._replace(key=KEYS[name].fingerprint))
    return Evidence(text, soft_keys.armored(KEYS[name].sign(text, namespace)))


def refusal(evidence: list[Evidence], demand: Demand = DEMAND, now: float = NOW) -> str:
    """The fault for which it is not approved."""
    with pytest.raises(NotApproved) as refused:
        verify_verdict(evidence, SIGNERS, demand, now)
    return refused.value.fault


def test_an_approval_by_a_signer_of_the_list_is_one() -> None:
    """Exactly what is demanded was approved, in time, by a key that is strong enough."""
    found = verify_verdict([signed("sk-ed25519")], SIGNERS, DEMAND, NOW)
    assert found == Approval(STATEMENT._replace(key=KEYS["sk-ed25519"].fingerprint), ("ada",))


@pytest.mark.parametrize(
    ("fault", "demand"),
    [
        ("gate", {"gate": "deploy2"}),
        ("subject", {"subject": "web"}),
        ("digest", {"digest": "git:" + "0" * 40}),
        ("manifest", {"manifest": None}),
        ("manifest", {"manifest": "sha256:" + "0" * 64}),
        ("quorum", {"quorum": 2}),
        ("space", {"space": "space-2"}),
    ],
)
def test_what_is_demanded_and_was_not_approved_is_refused(fault: str, demand: dict[str, Any]) -> None:
    """A difference in any member is named."""
    assert refusal([signed("sk-ed25519")], DEMAND._replace(**demand)) == fault


def test_a_gate_that_is_weaker_than_what_is_demanded_is_refused() -> None:
    """Also where the key that signed happens to be strong enough."""
    weak: Strength = "ssh"
    weaker = STATEMENT._replace(minimum=weak)
    assert refusal([signed("sk-ed25519", weaker)]) == "minimum"
    assert verify_verdict([signed("ecdsa-256", weaker)], SIGNERS, DEMAND._replace(minimum=weak), NOW)


def test_a_key_that_is_weaker_than_its_gate_is_refused() -> None:
    """A gate of security keys is not opened by a key of a file, whatever is demanded."""
    assert refusal([signed("ecdsa-256")], DEMAND._replace(minimum="ssh")) == "minimum"


def test_an_approval_ends_with_its_time() -> None:
    """At the second that the statement names it is over, by the clock of who asks."""
    assert refusal([signed("sk-ed25519")], now=STATEMENT.expires) == "expires"


def test_a_quorum_counts_signers_and_not_keys() -> None:
    """Two keys of one signer are one; what the gate asks counts where less is demanded."""
    two = STATEMENT._replace(quorum=2, minimum="ssh")
    demand = DEMAND._replace(minimum="ssh")
    assert refusal([signed("sk-ed25519", two), signed("ed25519", two)], demand) == "quorum"
    assert refusal([signed("sk-ed25519", two)] * 2, demand) == "quorum"
    found = verify_verdict([signed("sk-ecdsa", two), signed("sk-ed25519", two)], SIGNERS, demand, NOW)
    assert found.principals == ("ada", "bob")
    one = [signed("sk-ecdsa"), signed("sk-ed25519")]
    assert verify_verdict(one, SIGNERS, DEMAND._replace(quorum=2), NOW).principals == ("ada", "bob")
    assert refusal(one[:1], DEMAND._replace(quorum=2)) == "quorum"


def test_statements_of_two_openings_make_no_quorum() -> None:
    """One approved one opening, the other another: nothing was approved by two."""
    two = STATEMENT._replace(quorum=2)
    for other in ({"opening": "open-" + "0" * 32}, {"leaf": "0" * 64}, {"round": 2}, {"store": "0" * 32}):
        evidence = [signed("sk-ed25519", two), signed("sk-ecdsa", two._replace(**other))]
        assert refusal(evidence) == "opening"


def test_a_reject_by_a_signer_of_the_list_is_one() -> None:
    """Whatever else was approved."""
    reject = STATEMENT._replace(decision="reject", comment="sha256:" + "0" * 64)
    assert refusal([signed("sk-ed25519"), signed("sk-ecdsa", reject)]) == "rejected"


def test_keys_that_are_not_in_the_list_count_for_nothing() -> None:
    """A stranger's approval makes no quorum, a stranger's reject stops none, and noise is passed over."""
    reject = STATEMENT._replace(decision="reject", comment="sha256:" + "0" * 64)
    noise = [Evidence(b"", b""), Evidence(b"x", b"SSHSIG"), signed("ed25519-other", reject)]
    assert refusal([signed("ed25519-other"), *noise]) == "quorum"
    assert refusal([]) == "quorum"
    assert verify_verdict([*noise, signed("sk-ed25519")], SIGNERS, DEMAND, NOW).principals == ("ada",)


def test_a_signer_signs_for_their_own_key_and_purpose() -> None:
    """A statement that names another key, one made in another namespace, or not signed at all, is refused."""
    text = make_statement(STATEMENT._replace(key=KEYS["sk-ecdsa"].fingerprint))
    key = KEYS["sk-ed25519"]
    assert refusal([Evidence(text, key.sign(text, PURPOSE))]) == "key"
    with pytest.raises(BadSignature, match="namespace"):
        verify_verdict([signed("sk-ed25519", namespace="gate@tallystick")], SIGNERS, DEMAND, NOW)
    with pytest.raises(BadSignature, match="not one of"):
        verify_verdict([signed("sk-ed25519")._replace(statement=text)], SIGNERS, DEMAND, NOW)
    untouched = key.sign(signed("sk-ed25519").statement, PURPOSE, flags=0)
    with pytest.raises(BadSignature, match="touch"):
        verify_verdict([signed("sk-ed25519")._replace(signature=untouched)], SIGNERS, DEMAND, NOW)


def test_what_is_signed_is_a_verdict() -> None:
    """Another statement, or any other text, approves nothing, though it was signed as a verdict."""
    for text in (TEXTS["gate"], TEXTS["verdict"] + b"\n", b"approved\n"):
        assert refusal([Evidence(text, KEYS["sk-ed25519"].sign(text, PURPOSE))]) == "statement"


def test_a_key_that_the_list_keeps_for_other_things_approves_nothing() -> None:
    """`namespaces` of the list is obeyed."""
    signers: tuple[AllowedSigner, ...] = parse_allowed_signers(f'ada namespaces="git" {SK}\n'.encode())
    with pytest.raises(NotApproved, match="does not let ada's key sign verdicts"):
        verify_verdict([signed("sk-ed25519")], signers, DEMAND, NOW)


# --- what was used ----------------------------------------------------------------------------------------
OPENING = "open-01a22cbc0b577000a56913c17b389b6e"
OTHER = "open-" + "f" * 32


def test_an_opening_is_used_once(tmp_path: Path) -> None:
    """The second time it is refused by name; another opening is not; the file is the owner's alone."""
    path = tmp_path / "used"
    note_use(str(path), OPENING)
    with pytest.raises(UsedBefore, match=f"{OPENING} was used before"):
        note_use(str(path), OPENING)
    note_use(str(path), OTHER)
    assert path.read_text() == f"{OPENING}\n{OTHER}\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_of_many_at_once_one_uses_it(tmp_path: Path) -> None:
    """Sixteen ask at one moment: one goes on, fifteen are told."""
    start, outcomes = threading.Barrier(16), []

    def ask() -> None:
        start.wait()
        try:
            note_use(str(tmp_path / "used"), OPENING)
            outcomes.append("used")
        except UsedBefore:
            outcomes.append("refused")

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["refused"] * 15 + ["used"]


def test_who_asks_waits_for_who_notes(tmp_path: Path) -> None:
    """While another has the file nothing is read from it, so what the other notes is seen."""
    path, outcomes = tmp_path / "used", []

    def ask() -> None:
        with pytest.raises(UsedBefore):
            note_use(str(path), OPENING)
        outcomes.append("refused")

    with path.open("wb", buffering=0) as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join(timeout=0.2)
        assert thread.is_alive()
        other.write(f"{OPENING}\n".encode())
    thread.join()
    assert outcomes == ["refused"]


@pytest.mark.parametrize("length", [1, 5, 20, 36])
def test_a_line_that_a_crash_cut_short_is_no_use(tmp_path: Path, length: int) -> None:
    """It is taken off, and what it would have been can still be used."""
    path = tmp_path / "used"
    path.write_text(f"{OTHER}\n{OPENING[:length]}")
    note_use(str(path), OPENING)
    assert path.read_text() == f"{OTHER}\n{OPENING}\n"


def test_a_last_line_without_its_end_is_a_use(tmp_path: Path) -> None:
    """As an editor may leave it."""
    path = tmp_path / "used"
    path.write_text(OPENING)
    with pytest.raises(UsedBefore):
        note_use(str(path), OPENING)
    note_use(str(path), OTHER)
    assert path.read_text() == f"{OPENING}\n{OTHER}\n"


@pytest.mark.parametrize("text", ["hello\n", f"{OPENING}\n\n", "hello", f"{OPENING}x", f"{OPENING}\r\n"])
def test_a_file_of_something_else_is_left_alone(tmp_path: Path, text: str) -> None:
    """It is refused, and stays as it was."""
    path = tmp_path / "used"
    path.write_bytes(text.encode())
    with pytest.raises(ValueError, match="no file of used openings"):
        note_use(str(path), OTHER)
    assert path.read_bytes() == text.encode()


def test_what_is_no_opening_is_not_noted(tmp_path: Path) -> None:
    """Two lines in one, or another id: refused before a file is made."""
    for wrong in ("", "verd-" + "0" * 32, f"{OPENING}\n{OTHER}"):
        with pytest.raises(ValueError, match="no opening's id"):
            note_use(str(tmp_path / "used"), wrong)
    assert not (tmp_path / "used").exists()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """Who can make a link at the place cannot choose which file is written."""
    (tmp_path / "used").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="used"):
        note_use(str(tmp_path / "used"), OPENING)
    assert not (tmp_path / "elsewhere").exists()


# --- what it takes ----------------------------------------------------------------------------------------
def test_all_but_the_verifier_starts_without_cryptography() -> None:
    """Where `cryptography` cannot be imported, every other module of the SDK can."""
    program = """
import importlib, pkgutil, sys
sys.modules["cryptography"] = None
import tallystick
for module in pkgutil.walk_packages(tallystick.__path__, "tallystick."):
    try:
        importlib.import_module(module.name)
    except ImportError:
        print(module.name)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["tallystick.verifying"]
