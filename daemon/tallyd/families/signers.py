"""Signers: the keys of persons, added and revoked by signatures. Of the realm, and the owner's to send.

| state  | may become |
|--------|------------|
| active | revoked    |

The first key of a keyring is taken on trust. Each further one is endorsed by an active key of at least its
rank (of the highest rank that there is, where it is the first of its own), and a further key of somebody by
one of theirs. So whoever reaches the owner's socket cannot make themselves a signer once a person is one.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import UNSET

from tallyd.admission import Admission
from tallyd.families.shared.family import Family, read, write
from tallyd.families.shared.results import Served, check_revision, optional
from tallyd.ledger import ids, keys, log, pages, skeleton, times
from tallyd.ledger.keys import ACTIVE, KeyRow, Proof
from tallyd.ledger.transaction import Applied, Event, Transaction
from tallyd.ledger.view import View
from tallystick import verifying
from tallystick.protocol import limits
from tallystick.protocol.canonical import canonical
from tallystick.protocol.envelope import Request
from tallystick.protocol.families.signers import (
    ADDED,
    OPERATIONS,
    REVOKED,
    TALLYSTICK_SIGNER_ADD,
    TALLYSTICK_SIGNER_LIST,
    TALLYSTICK_SIGNER_REVOKE,
    TallystickSignerAddArgs,
    TallystickSignerListArgs,
    TallystickSignerRevokeArgs,
)
from tallystick.protocol.problems import invalid, not_found, stale_revision, unauthenticated
from tallystick.protocol.statements import SignerStatement
from tallystick.verifying import BadKey, PublicKey

EVENT_SCHEMA: Final = "schema:tallystick-signer-event-v1"


# --- the record ---------------------------------------------------------------------------------------------
def record(view: View, row: KeyRow, by: str, recorded_ms: int, reason: str | None) -> bytes:
    """Skeleton of a key's record."""
    said: dict[str, object] = {
        "key_id": row.key_id,
        "realm_id": ids.REALM_ID,
        "revision": row.revision,
        "state": row.state,
        "keyring": row.keyring,
        "signer": row.signer_id,
        "name": skeleton.place(skeleton.NAME, row.name),
        "public_key": f"{row.public.type} {base64.b64encode(row.public_key).decode()}",
        "type": row.public.type,
        "fingerprint": row.public.fingerprint,
        "by": by,
        "at": times.rfc3339(recorded_ms),
    }
    if row.endorsed_by is not None:
        endorser = keys.key_at(view, row.endorsed_by)
        assert endorser is not None
        said["endorsed_by"] = endorser.key_id
    if reason is not None:
        said["reason"] = reason
    return skeleton.encode(said)


def _shown(view: View, row: KeyRow) -> bytes:
    """The record of a key as it is now."""
    added = view.log_row(row.position)
    reason = None
    if row.state != ACTIVE:
        payload = view.log_row(row.last_event).payload
        assert payload is not None
        reason = msgspec.json.decode(payload, type=dict[str, Any])["reason"]
    return record(view, row, str(added.author), added.recorded_ms, reason)


# --- adding -------------------------------------------------------------------------------------------------
def add(tx: Transaction, request: Request[TallystickSignerAddArgs], admission: Admission) -> Applied:
    """``tallystick_signer_add``."""
    args = request.args
    if request.meta is not None and request.meta.expected_revision is not UNSET:
        raise invalid("$.meta.expected_revision: what is made has no revision yet; leave it out")
    public, there = _public(args.public_key), keys.of_keyring(tx)
    _check_room(public, there)
    signer = _signer(args, public, there)
    statement = _statement(tx, "add", public, signer)
    own = keys.verified(args.signature, statement, public, 0, "$.args.signature")
    proof = _endorsed(tx, args, statement, public, there)
    name, _ = tx.seal(canonical(args.name))
    row = KeyRow(
        position=tx.position,
        id=tx.new_id(),
        keyring=keys.keyring(tx),
        signer=signer,
        name=name,
        public_key=public.blob,
        rank=public.rank,
        state=ACTIVE,
        revision=1,
        statement=keys.composed(statement),
        signature=verifying.bare(args.signature.encode()),
        endorsed_by=None if proof is None else proof.key.position,
        endorsement=None if proof is None else proof.signature,
        counter=own.counter or 0,
        last_event=tx.event_position,
    )
    tx.insert("signer_keys", **{field: getattr(row, field) for field in row.__struct_fields__})
    if proof is not None:
        keys.counted(tx, proof)
    tx.emit(_event(row, ADDED, row.id, record(tx, row, admission.author, tx.now_ms, None)))
    return Applied(revision=1)


def _public(line: str) -> PublicKey:
    try:
        return verifying.parse_public_key(line)
    except BadKey as fault:
        raise invalid(f"$.args.public_key: {fault}") from None


def _check_room(public: PublicKey, there: list[KeyRow]) -> None:
    for row in there:
        if row.public_key == public.blob:
            raise invalid(
                f"$.args.public_key is {row.key_id}, which is {row.state}; a key is added once, and one that "
                "was revoked stays so: make another"
            )
    if sum(row.state == ACTIVE for row in there) >= limits.SIGNER_KEYS_MAX:
        raise invalid(f"{limits.SIGNER_KEYS_MAX} keys are active, the most that may be; revoke one first")


def _signer(args: TallystickSignerAddArgs, public: PublicKey, there: list[KeyRow]) -> bytes:
    """Whose key it is: of the signer that is named, or of somebody new. Raises Refusal ``not-found``."""
    named = optional(args.signer)
    new = hashlib.sha256(public.blob).digest()[:16]
    if named is None:
        return new
    digits = ids.digits(keys.SIGNER, named)
    if digits is None or all(row.signer != digits for row in there):
        raise not_found("signer", named)
    return digits


def _statement(view: View, action: Any, public: PublicKey, signer: bytes) -> SignerStatement:
    return SignerStatement(
        store=keys.store(view),
        epoch=view.epoch,
        keyring=keys.keyring(view),
        action=action,
        key=public.fingerprint,
        type=public.type,
        signer=ids.text(keys.SIGNER, signer),
        after=keys.last_leaf(view),
    )


def _endorsed(
    view: View,
    args: TallystickSignerAddArgs,
    statement: SignerStatement,
    public: PublicKey,
    there: list[KeyRow],
) -> Proof | None:
    """Who vouches for a new key; None for the first of a keyring. Raises Refusal ``unauthenticated``, or
    ``invalid`` for an endorsement where nobody can give one.
    """
    at = "$.args.endorsement"
    if not there:
        if args.endorsement is not UNSET:
            raise invalid(f"{at}: there is no key yet that could endorse this one; leave it out")
        return None
    if args.endorsement is UNSET:
        raise unauthenticated(
            "the keyring has a key already: have the same statement signed by it too, and send that as "
            "endorsement"
        )
    endorser = keys.signed_by(view, args.endorsement, at)
    least = min(public.rank, max(row.rank for row in there))
    if endorser.rank < least:
        raise unauthenticated(f"{at}: {endorser.key_id} is weaker than the new key; endorse it with another")
    theirs = [row for row in there if row.signer_id == statement.signer]
    if theirs and endorser.signer_id != statement.signer:
        raise unauthenticated(
            f"{at}: a further key of {statement.signer} is endorsed by one of their own, and "
            f"{endorser.key_id} is another's"
        )
    return keys.prove(args.endorsement, statement, endorser, at)


# --- revoking -----------------------------------------------------------------------------------------------
def revoke(tx: Transaction, request: Request[TallystickSignerRevokeArgs], _admission: Admission) -> Applied:
    """``tallystick_signer_revoke``: by a key of at least its rank, itself too."""
    args = request.args
    row = keys.key(tx, args.key_id)
    if row is None:
        raise not_found("key", args.key_id)
    check_revision(request, row.revision, f"key {row.key_id}")
    if row.state != ACTIVE or row.keyring != keys.keyring(tx):
        raise stale_revision(row.revision, f"key {row.key_id} is {row.state} already, or of an old keyring")
    endorser = keys.signed_by(tx, args.endorsement, "$.args.endorsement")
    if endorser.rank < row.rank:
        raise unauthenticated(
            f"$.args.endorsement: {endorser.key_id} is weaker than {row.key_id}; sign with one of its rank"
        )
    statement = _statement(tx, "revoke", row.public, row.signer)
    keys.counted(tx, keys.prove(args.endorsement, statement, endorser, "$.args.endorsement"))
    row = msgspec.structs.replace(
        row, state="revoked", revision=row.revision + 1, last_event=tx.event_position
    )
    tx.update(
        "signer_keys",
        {"position": row.position},
        state=row.state,
        revision=row.revision,
        last_event=row.last_event,
    )
    told = {"key_id": row.key_id, "signer": row.signer_id, "keyring": row.keyring, "reason": args.reason}
    tx.emit(_event(row, REVOKED, tx.new_id(), skeleton.encode(told)))
    added = tx.log_row(row.position)
    shown = record(tx, row, str(added.author), added.recorded_ms, args.reason)
    return Applied(result=shown, revision=row.revision)


def _event(row: KeyRow, type_: str, digits: bytes, payload: bytes) -> Event:
    return Event(
        event_id=digits,
        type=type_,
        schema_ref=EVENT_SCHEMA,
        resource=row.key_id,
        resource_revision=row.revision,
        stream=log.REALM_STREAM,
        project=None,
        classification="class-default",
        payload=payload,
    )


# --- the list -----------------------------------------------------------------------------------------------
def list_(view: View, request: Request[TallystickSignerListArgs], _admission: Admission) -> Served:
    """``tallystick_signer_list``: for whoever is known; a person's keys are no secret."""
    asked = pages.ask("list:signers", request.args)
    snapshot = pages.open_page(view, asked, "signer_keys")
    beside = {"keyring": keys.keyring(view), "last_leaf": keys.last_leaf(view)}
    return Served(pages.page(view, asked, snapshot, _rows(view, snapshot), beside=lambda: beside))


def _rows(view: View, snapshot: pages.Snapshot) -> Iterator[tuple[int, bytes]]:
    rows = view.db.execute(
        f"SELECT {keys.COLUMNS} FROM signer_keys WHERE position > ? AND position <= ? ORDER BY position",
        (snapshot.after, snapshot.bound),
    )
    for values in rows:
        row = KeyRow(*values)
        yield row.position, view.render_with_marks(_shown(view, row))


FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        write(TALLYSTICK_SIGNER_ADD, add),
        write(TALLYSTICK_SIGNER_REVOKE, revoke),
        read(TALLYSTICK_SIGNER_LIST, list_),
    ),
)
