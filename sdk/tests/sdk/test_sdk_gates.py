"""Keys of persons and gates by the SDK, on the real daemon, signed by `ssh-keygen` as a person signs."""

from __future__ import annotations

import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest
import trio
from tallyd_process import Tallyd

from tallystick import Client, Unauthenticated
from tallystick.protocol.families.signers import Key
from tallystick.protocol.statements import (
    GateStatement,
    SignerStatement,
    Statement,
    make_statement,
    namespace,
)
from tallystick.trio_client import TrioClient
from tallystick.verifying import parse_public_key


class Person:
    """Somebody with a key in a file, which `ssh-keygen` made and signs with."""

    def __init__(self, directory: Path, name: str) -> None:
        self._file = directory / name
        self._run("-t", "ed25519", "-N", "", "-C", f"{name}@example.org", "-f", str(self._file))
        self.line = self._file.with_suffix(".pub").read_text()
        self.key = parse_public_key(self.line)

    def sign(self, statement: Statement) -> str:
        """Armored, over the bytes that are shown."""
        signed = self._run(
            "-Y",
            "sign",
            "-f",
            str(self._file),
            "-n",
            namespace(statement),
            data=make_statement(statement),
        )
        return signed.decode()

    def _run(self, *arguments: str, data: bytes = b"") -> bytes:
        command = ["ssh-keygen", "-q", *arguments]
        return subprocess.run(command, input=data, capture_output=True, check=True).stdout


@pytest.fixture
def ada(tmp_path: Path) -> Person:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("this system does not have ssh-keygen")
    return Person(tmp_path, "ada")


def store(client: Client) -> tuple[str, int]:
    """The store and its epoch, as statements name them."""
    status = client.status()
    return status.store_id.removeprefix("store-"), status.epoch.number


def add(client: Client, person: Person, by: Person | None = None) -> Key:
    """Their key, as somebody new's."""
    page = client.signer_list()
    name, epoch = store(client)
    signer = "signer-" + _digits(person)
    key = person.key
    statement = SignerStatement(
        name, epoch, page.keyring, "add", key.fingerprint, key.type, signer, page.last_leaf
    )
    endorsement = None if by is None else by.sign(statement)
    return client.signer_add(person.line, "Ada", person.sign(statement), endorsement=endorsement).value


def _digits(person: Person) -> str:
    return sha256(person.key.blob).hexdigest()[:32]


def test_a_person_signs_with_openssh_and_the_daemon_takes_it(
    tallyd: Tallyd, tmp_path: Path, ada: Person
) -> None:
    """A first key, an endorsed second, a gate that is weakened, a key that is revoked: what `ssh-keygen`
    signs of our statements is what the daemon composes from its own rows, also after it was killed.
    """
    bob = Person(tmp_path, "bob")
    with Client(tallyd.runtime_dir) as client:
        first = add(client, ada)
        with pytest.raises(Unauthenticated):
            add(client, bob, bob)
        second = add(client, bob, ada)
        assert second.endorsed_by == first.key_id
        project = client.project_create("kitchen").value
        space = client.space_create(project, "taps").value
        made = client.gate_define(space, "deploy", "ssh", deciders={"signers": [first.signer]}).value
        assert (made.minimum, made.deciders.signers) == ("ssh", (first.signer,))
        with pytest.raises(Unauthenticated):
            client.gate_retire(space, "deploy")
    tallyd.kill()
    tallyd.start()
    with Client(tallyd.runtime_dir) as client:
        (gate,) = client.gates(space)
        name, epoch = store(client)
        statement = GateStatement(
            store=name,
            epoch=epoch,
            space=space.space_id,
            gate="deploy",
            revision=gate.revision,
            minimum="ssh",
            quorum=1,
            owner=True,
            agents=(),
            signers=(first.signer,),
            term_seconds=gate.term_seconds,
            rounds_max=gate.rounds_max,
            state="retired",
            after=str(gate.last_leaf),
        )
        with pytest.raises(Unauthenticated):
            client.gate_retire(space, "deploy", endorsement=bob.sign(statement))
        assert client.gate_retire(space, "deploy", endorsement=ada.sign(statement)).value.state == "retired"
        page = client.signer_list()
        lost = SignerStatement(
            name, epoch, 1, "revoke", second.fingerprint, second.type, second.signer, page.last_leaf
        )
        gone = client.signer_revoke(second.key_id, "lost", ada.sign(lost)).value
        assert (gone.state, gone.reason) == ("revoked", "lost")
        assert [key.state for key in client.signers(limit=1)] == ["active", "revoked"]


def test_the_other_client_asks_the_same(tallyd: Tallyd) -> None:
    """Trio's client has the same methods."""

    async def ask() -> None:
        async with TrioClient(tallyd.runtime_dir) as client:
            assert (await client.signer_list()).items == ()
            project = (await client.project_create("kitchen")).value
            space = (await client.space_create(project, "taps")).value
            made = (await client.gate_define(space, "deploy", "peer")).value
            assert [each.gate_id for each in (await client.gate_list(space)).items] == [made.gate_id]

    trio.run(ask)
