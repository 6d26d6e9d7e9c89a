"""Signers: the keys of persons, by which they sign verdicts.

What is sent is signed first: ``tallystick.protocol.statements`` makes the statement of it, from what
``signer_list`` says. Adding and revoking are the owner's (``Forbidden`` to others).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from tallystick.calls.descriptors import items, read, write
from tallystick.calls.values import ReadOptions, WriteOptions, page_arguments
from tallystick.core import Read, Write
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol.families.signers import Key, KeyPage


def signer_add(
    public_key: str,
    name: str,
    signature: str,
    *,
    signer: str | None = None,
    endorsement: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[Key]:
    """Register a key of a person. ``public_key`` is the line of its .pub file.

    ``signature`` is the key's own, of a ``SignerStatement``; ``endorsement`` is the same statement signed by
    a key that is there already: all but the first key of a keyring need one. Without ``signer`` it is the
    first key of somebody new.
    """
    arguments = {
        "public_key": public_key,
        "name": name,
        "signature": signature,
        "signer": signer,
        "endorsement": endorsement,
    }
    return Write("tallystick_signer_add", arguments, "signers.Key", **options)


def signer_revoke(key_id: str, reason: str, endorsement: str, **options: Unpack[WriteOptions]) -> Write[Key]:
    """Revoke a key, by a signature of an active key of at least its rank; it may be its own.

    ``reason`` is a token, such as ``lost``.
    """
    arguments = {"key_id": key_id, "reason": reason, "endorsement": endorsement}
    return Write("tallystick_signer_revoke", arguments, "signers.Key", **options)


def signer_list(
    *,
    limit: int = limits.PAGE_ITEMS_MAX,
    after: str | None = None,
    snapshot: str | None = None,
    **options: Unpack[ReadOptions],
) -> Read[KeyPage]:
    """A page of the keys, revoked ones too, and what the next statement about keys has to name."""
    return Read(
        "tallystick_signer_list", page_arguments(limit, after, snapshot), "signers.KeyPage", **options
    )


# --- methods ----------------------------------------------------------------------------------------------
class SignersMethods:
    """The methods of the clients."""

    signer_add = write(signer_add)
    signer_revoke = write(signer_revoke)
    signer_list = read(signer_list)
    signers = items(signer_list)
