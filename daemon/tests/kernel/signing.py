"""Persons with keys in software: they sign what the daemon would compose, or something else."""

from __future__ import annotations

import hashlib
from typing import Any

import soft_keys
from soft_keys import SoftKey

from tallystick.protocol.statements import (
    GATE_NAMESPACE,
    SIGNER_NAMESPACE,
    GateStatement,
    SignerStatement,
    make_statement,
)

from .kernel import Json, Kernel

KEYS = soft_keys.load()


def signer_of(key: SoftKey) -> str:
    """The signer whose first key it is."""
    return "signer-" + hashlib.sha256(key.blob).hexdigest()[:32]


def armored(signature: bytes) -> str:
    return soft_keys.armored(signature).decode()


def keyring(kernel: Kernel) -> Json:
    """The page of keys."""
    found = kernel.read("tallystick_signer_list", {"limit": 100})
    assert found["outcome"] == "ok", found
    result: Json = found["result"]
    return result


def store(kernel: Kernel) -> str:
    return kernel.store.identity.store_id.removeprefix("store-")


def about_key(kernel: Kernel, key: SoftKey, /, **otherwise: Any) -> bytes:
    """The statement that adds a key, as things are now."""
    page = keyring(kernel)
    said: Json = {
        "store": store(kernel),
        "epoch": kernel.store.identity.epoch.number,
        "keyring": page["keyring"],
        "action": "add",
        "key": key.fingerprint,
        "type": key.type,
        "signer": signer_of(key),
        "after": page["last_leaf"],
    }
    return make_statement(SignerStatement(**{**said, **otherwise}))


def add_args(
    kernel: Kernel,
    key: SoftKey,
    by: SoftKey | None = None,
    /,
    *,
    signer: str | None = None,
    counter: int = 1,
    otherwise: Json | None = None,
) -> Json:
    """The arguments that add a key, endorsed by another. ``otherwise`` are lines that are signed as they are
    not.
    """
    statement = about_key(kernel, key, **{"signer": signer or signer_of(key), **(otherwise or {})})
    args = {
        "public_key": key.line,
        "name": f"who has {key.type}",
        "signature": armored(key.sign(statement, SIGNER_NAMESPACE, counter=counter)),
    }
    if signer is not None:
        args["signer"] = signer
    if by is not None:
        args["endorsement"] = armored(by.sign(statement, SIGNER_NAMESPACE, counter=counter))
    return args


def add_key(kernel: Kernel, name: str, by: str | None = None, **more: Any) -> Json:
    """A key of the tests' own, added; its record."""
    args = add_args(kernel, KEYS[name], None if by is None else KEYS[by], **more)
    return kernel.ok("tallystick_signer_add", args)


def revoke_args(kernel: Kernel, record: Json, key: SoftKey, by: SoftKey, counter: int = 9) -> Json:
    """The arguments that revoke a key."""
    statement = about_key(kernel, key, action="revoke", signer=record["signer"])
    signature = armored(by.sign(statement, SIGNER_NAMESPACE, counter=counter))
    return {"key_id": record["key_id"], "reason": "lost", "endorsement": signature}


# --- gates --------------------------------------------------------------------------------------------------
def gates(kernel: Kernel, space: Json) -> dict[str, Json]:
    """A space's gates as they are listed, by name."""
    found = kernel.read(
        "tallystick_gate_list", {"space_id": space["space_id"], "limit": 50}, project=space["project_id"]
    )
    assert found["outcome"] == "ok", found
    return {each["name"]: each for each in found["result"]["items"]}


def about_gate(kernel: Kernel, space: Json, name: str, /, **otherwise: Any) -> bytes:
    """The statement that changes a gate: its rules as they are, and otherwise as they will be."""
    gate = gates(kernel, space)[name]
    deciders = gate["deciders"]
    said: Json = {
        "store": store(kernel),
        "epoch": kernel.store.identity.epoch.number,
        "space": space["space_id"],
        "gate": name,
        "revision": gate["revision"],
        "minimum": gate["minimum"],
        "quorum": gate["quorum"],
        "owner": deciders["owner"],
        "agents": tuple(deciders["agents"]),
        "signers": tuple(deciders["signers"]),
        "term_seconds": gate["term_seconds"],
        "rounds_max": gate["rounds_max"],
        "state": gate["state"],
        "after": gate["last_leaf"],
    }
    return make_statement(GateStatement(**{**said, **otherwise}))


def endorsement(by: SoftKey, statement: bytes, counter: int = 1) -> str:
    """Its signature of a statement about a gate."""
    return armored(by.sign(statement, GATE_NAMESPACE, counter=counter))
