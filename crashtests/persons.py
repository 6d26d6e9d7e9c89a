"""Persons with keys of the tests' own: those that the prepared store has, and those that are made anew."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final

import soft_keys
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from harness.wire import Request, Wire, request
from soft_keys import SoftKey

from tallystick.protocol.operation import Socket
from tallystick.protocol.statements import (
    GATE_NAMESPACE,
    SIGNER_NAMESPACE,
    GateStatement,
    SignerStatement,
    make_statement,
)

JsonObject = dict[str, Any]
Ask = Callable[[str, JsonObject], JsonObject]
"""Gives the result of an operation that is of no project."""

KEYS: Final = soft_keys.load()
FIRST: Final = KEYS["ed25519"]
"""The first key of each keyring here."""
TOUCHED: Final = KEYS["sk-ed25519"]
LOST: Final = KEYS["ecdsa-256"]
ADDED: Final = KEYS["ecdsa-384"]


def new_key() -> SoftKey:
    """One that nobody had before."""
    return SoftKey("ssh-ed25519", Ed25519PrivateKey.generate())


def signer_of(key: SoftKey) -> str:
    """The signer whose first key it is."""
    return "signer-" + sha256(key.blob).hexdigest()[:32]


def signed(key: SoftKey, statement: bytes, namespace: str, counter: int = 1) -> str:
    return soft_keys.armored(key.sign(statement, namespace, counter=counter)).decode()


def about(key: SoftKey, store: str, leaf: str, action: str = "add") -> bytes:
    """The statement about somebody's first key, in a store's first epoch."""
    said: Any = action
    return make_statement(SignerStatement(store, 1, 1, said, key.fingerprint, key.type, signer_of(key), leaf))


def adding(key: SoftKey, by: SoftKey | None, store: str, leaf: str, counter: int = 1) -> JsonObject:
    """The arguments that add a key."""
    statement = about(key, store, leaf)
    args = {"public_key": key.line, "name": "Ada", "signature": signed(key, statement, SIGNER_NAMESPACE)}
    if by is not None:
        args["endorsement"] = signed(by, statement, SIGNER_NAMESPACE, counter)
    return args


def revoking(key_id: str, key: SoftKey, by: SoftKey, store: str, leaf: str, counter: int = 1) -> JsonObject:
    """The arguments that revoke a key."""
    endorsement = signed(by, about(key, store, leaf, "revoke"), SIGNER_NAMESPACE, counter)
    return {"key_id": key_id, "reason": "lost", "endorsement": endorsement}


def now(ask: Ask) -> tuple[str, str, bool]:
    """What a statement about keys names now: store and leaf; and whether there is a key already."""
    page = ask("tallystick_signer_list", {"limit": 1})
    store = ask("tallystick_status", {})["store_id"].removeprefix("store-")
    return store, page["last_leaf"], bool(page["items"])


def add_another(ask: Ask) -> tuple[JsonObject, SoftKey]:
    """The arguments that add a key which nobody had before, and the key; the first is added for it."""
    store, leaf, begun = now(ask)
    if not begun:
        ask("tallystick_signer_add", adding(FIRST, None, store, leaf))
        store, leaf, _ = now(ask)
    key = new_key()
    return adding(key, FIRST, store, leaf), key


def revoke_another(ask: Ask) -> JsonObject:
    """The arguments that revoke a key which was endorsed; one is added for it where there is none."""
    spare = _spare(ask)
    if spare is None:
        ask("tallystick_signer_add", add_another(ask)[0])
        spare = _spare(ask)
        assert spare is not None
    store, leaf, _ = now(ask)
    said = SignerStatement(store, 1, 1, "revoke", spare["fingerprint"], spare["type"], spare["signer"], leaf)
    endorsement = signed(FIRST, make_statement(said), SIGNER_NAMESPACE)
    return {"key_id": spare["key_id"], "reason": "lost", "endorsement": endorsement}


def _spare(ask: Ask) -> JsonObject | None:
    items = ask("tallystick_signer_list", {"limit": 200})["items"]
    return next((key for key in items if key["state"] == "active" and "endorsed_by" in key), None)


def made(client: Wire) -> dict[str, str]:
    """The keys of the prepared store, and what the next statement about keys names."""

    def ask(operation: str, args: JsonObject) -> JsonObject:
        return client.ask(_asked(operation, args)).result

    for key, by in ((FIRST, None), (TOUCHED, FIRST), (LOST, FIRST)):
        store, leaf, _ = now(ask)
        added = ask("tallystick_signer_add", adding(key, by, store, leaf))
    store, leaf, _ = now(ask)
    return {"store": store, "keys' leaf": leaf, "lost key": added["key_id"]}


def _asked(operation: str, args: JsonObject) -> Request:
    key = "w-" + sha256(repr(args).encode()).hexdigest()[:16]
    return request(Socket.CLIENT, operation, args, key=key)


# --- gates --------------------------------------------------------------------------------------------------
def weakening(space_id: str, gate: JsonObject, store: str, counter: int, state: str = "active") -> str:
    """The endorsement, by touch, that a gate asks for ``ssh`` alone, or that it is retired."""
    deciders = gate["deciders"]
    said: Any = {"minimum": "ssh" if state == "active" else gate["minimum"], "state": state}
    statement = GateStatement(
        store=store,
        epoch=1,
        space=space_id,
        gate=gate["name"],
        revision=gate["revision"],
        quorum=gate["quorum"],
        owner=deciders["owner"],
        agents=tuple(deciders["agents"]),
        signers=tuple(deciders["signers"]),
        term_seconds=gate["term_seconds"],
        rounds_max=gate["rounds_max"],
        after=gate["last_leaf"],
        **said,
    )
    return signed(TOUCHED, make_statement(statement), GATE_NAMESPACE, counter)


def made_gates(client: Wire, project: str, space_id: str, store: str) -> dict[str, str]:
    """An unsigned gate and a signed one, and the endorsements of what weakens the signed one."""
    for name, minimum in (("plain", "peer"), ("signed", "ssh-sk")):
        args = {"space_id": space_id, "name": name, "minimum": minimum}
        asked = request(Socket.CLIENT, "tallystick_gate_define", args, project=project, key=f"w-gate-{name}")
        assert client.ask(asked).ok
    page = {"space_id": space_id, "limit": 9}
    listed = client.ask(request(Socket.CLIENT, "tallystick_gate_list", page, project=project)).result["items"]
    gate = next(each for each in listed if each["name"] == "signed")
    return {
        "weakened": weakening(space_id, gate, store, 2),
        "retired": weakening(space_id, gate, store, 2, "retired"),
    }
