"""Keys of persons, as rows, and what is signed by them: the look-ups and the one proof that families share.

A keyring is the keys that were added since the last reset of all. What is signed about keys names the newest
event about them (``last_leaf``), so it is good for one moment.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tallyd.ledger import ids
from tallyd.ledger.transaction import Transaction
from tallyd.ledger.view import View
from tallystick import verifying
from tallystick.protocol.problems import unauthenticated
from tallystick.protocol.statements import Statement, StatementError, make_statement, namespace
from tallystick.verifying import BadSignature, PublicKey, Verified

PREFIX: Final = "skey"
SIGNER: Final = "signer"
ACTIVE: Final = "active"


class KeyRow(msgspec.Struct, frozen=True):
    """A row of ``signer_keys``, its fields in the table's order."""

    position: int
    id: bytes
    keyring: int
    signer: bytes
    name: int
    public_key: bytes
    rank: int
    state: str
    revision: int
    statement: bytes
    signature: bytes
    endorsed_by: int | None
    endorsement: bytes | None
    counter: int
    last_event: int

    @property
    def key_id(self) -> str:
        return ids.text(PREFIX, self.id)

    @property
    def signer_id(self) -> str:
        return ids.text(SIGNER, self.signer)

    @property
    def public(self) -> PublicKey:
        """The key itself: its type stands at the beginning of its bytes."""
        size = int.from_bytes(self.public_key[:4], "big")
        return PublicKey(self.public_key[4 : 4 + size].decode(), self.public_key)


COLUMNS: Final = ", ".join(KeyRow.__struct_fields__)
_SELECT: Final = f"SELECT {COLUMNS} FROM signer_keys "


def key(view: View, key_id: str) -> KeyRow | None:
    """The key of that id, revoked or not, or None."""
    position = view.position_of(PREFIX, key_id)
    return None if position is None else key_at(view, position)


def key_at(view: View, position: int) -> KeyRow | None:
    """The key that was added at a position, or None."""
    row = view.db.execute(_SELECT + "WHERE position = ?", (position,)).fetchone()
    return None if row is None else KeyRow(*row)


def keyring(view: View) -> int:
    """The number of the keyring that is in use, from 1."""
    return view.number("SELECT max(keyring) FROM signer_keys") or 1


def of_keyring(view: View) -> list[KeyRow]:
    """All keys of the keyring, revoked ones too, in the order in which they were added."""
    rows = view.db.execute(_SELECT + "WHERE keyring = ? ORDER BY position", (keyring(view),))
    return [KeyRow(*values) for values in rows]


def last_leaf(view: View) -> str:
    """The leaf of the newest event about keys, or of the log's first row where there is none yet."""
    return view.log_row(view.number("SELECT max(last_event) FROM signer_keys")).leaf.hex()


def store(view: View) -> str:
    """The store, as statements name it."""
    return view.identity.store_id.removeprefix("store-")


# --- what is signed -----------------------------------------------------------------------------------------
class Proof(msgspec.Struct, frozen=True):
    """A signature that is right: the key, the statement's bytes, the signature's own, and what it proves."""

    key: KeyRow
    statement: bytes
    signature: bytes
    verified: Verified


def signed_by(view: View, signature: str, at: str) -> KeyRow:
    """The active key that a signature says it was made with. Raises Refusal ``unauthenticated`` where it
    names none.
    """
    try:
        public = verifying.signing_key(signature.encode())
    except BadSignature as fault:
        raise unauthenticated(f"{at}: {fault}") from None
    row = view.db.execute(
        _SELECT + "WHERE keyring = ? AND public_key = ? AND state = ?", (keyring(view), public, ACTIVE)
    ).fetchone()
    if row is None:
        raise unauthenticated(
            f"{at} was made with {verifying.fingerprint(public)}, which is no active key here; "
            "tallystick_signer_list has those that are"
        )
    return KeyRow(*row)


def composed(statement: Statement) -> bytes:
    """The bytes of a statement that the daemon makes from its own rows."""
    try:
        return make_statement(statement)
    except StatementError as fault:
        raise unauthenticated(f"nobody can sign this: {fault}") from None


def verified(signature: str, statement: Statement, public: PublicKey, before: int, at: str) -> Verified:
    """What a signature of a statement proves. Raises Refusal ``unauthenticated``."""
    try:
        return verifying.verify_signature(
            signature.encode(), composed(statement), namespace(statement), public, counter_before=before
        )
    except BadSignature as fault:
        raise unauthenticated(
            f"{at}: {fault} What is to be signed names the store, its epoch, and what is there now: make "
            "the statement anew"
        ) from None


def prove(signature: str, statement: Statement, signing: KeyRow, at: str) -> Proof:
    """That an active key signed a statement. The caller notes its counter (``counted``) when it writes.
    Raises Refusal ``unauthenticated``.
    """
    found = verified(signature, statement, signing.public, signing.counter, at)
    return Proof(signing, composed(statement), verifying.bare(signature.encode()), found)


def counted(tx: Transaction, proof: Proof) -> None:
    """Remembers how far a security key has counted: a copy of it would count anew."""
    counter = proof.verified.counter
    if counter is not None and counter != proof.key.counter:
        tx.update("signer_keys", {"position": proof.key.position}, counter=counter)
