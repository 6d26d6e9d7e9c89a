"""Signers: the keys of persons, by which verdicts are signed."""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.arguments import Args, Content, PageArgs
from tallystick.protocol.operation import (
    LISTS,
    TALLYSTICK_COORDINATION,
    Mode,
    Placement,
    RowEffect,
)
from tallystick.protocol.records import Page, Record
from tallystick.protocol.shapes import (
    DigestHex,
    DisplayName,
    Identifier,
    PositiveInt,
    SafeInt,
    StatusToken,
    Timestamp,
)

PublicKeyLine = Annotated[str, Meta(min_length=1, max_length=limits.SIGNATURE_BYTES_MAX)]
"""A public key as a .pub file has it, on one line."""
Signature = Annotated[str, Meta(min_length=1, max_length=limits.SIGNATURE_BYTES_MAX)]
"""A signature of OpenSSH's, armored, or its base64 in one piece."""


# --- records ------------------------------------------------------------------------------------------------
class Key(Record, frozen=True, kw_only=True):
    """A key of a person. `signer` is the person: all of their keys have the same. What they are called is
    content.

    `endorsed_by` is the key that vouched for it; the first of a keyring has none, and was taken on trust.
    `reason` says why it was revoked.
    """

    key_id: Identifier
    realm_id: Identifier
    revision: SafeInt
    state: Literal["active", "revoked"]
    keyring: PositiveInt
    signer: Identifier
    name: DisplayName
    public_key: PublicKeyLine
    type: Identifier
    fingerprint: Identifier
    endorsed_by: Identifier | UnsetType = UNSET
    reason: StatusToken | UnsetType = UNSET
    by: Identifier
    at: Timestamp


class KeyPage(Page, frozen=True, kw_only=True):
    """The result of `tallystick_signer_list`, revoked keys among them.

    `last_leaf` is the log's leaf of the newest event about keys: what the next statement about a key has as
    `after`, in the keyring `keyring`.
    """

    items: tuple[Key, ...]
    keyring: PositiveInt
    last_leaf: DigestHex


# --- arguments ----------------------------------------------------------------------------------------------
class TallystickSignerAddArgs(Args, frozen=True, kw_only=True):
    """A public key, whose it is, and its own signature of the statement that says so; and, but for the first
    key of a keyring, the signature of the same statement by a key that is there already.

    Without `signer` it is the first key of somebody new.
    """

    public_key: PublicKeyLine
    name: Content[DisplayName]
    signer: Identifier | UnsetType = UNSET
    signature: Signature
    endorsement: Signature | UnsetType = UNSET


class TallystickSignerRevokeArgs(Args, frozen=True, kw_only=True):
    """Which key, why, and the signature of the statement that says so, by a key of at least its rank."""

    key_id: Identifier
    reason: StatusToken
    endorsement: Signature


class TallystickSignerListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of the keys."""


# --- operations ---------------------------------------------------------------------------------------------
ADDED: Final = "dev.tallystick.signer.added.v1"
REVOKED: Final = "dev.tallystick.signer.revoked.v1"
PROVED: Final = RowEffect("signer_keys", "update", None, ("counter", "state", "revision", "last_event"))
"""The keys that signed, and the one that is revoked."""

TALLYSTICK_SIGNER_ADD: Final = TALLYSTICK_COORDINATION.write(
    "tallystick_signer_add",
    TallystickSignerAddArgs,
    Key,
    "Register a key of a person, by which they sign verdicts.",
    mode=Mode.OWNER,
    surface="operator",
    project=Placement.FORBIDDEN,
    event=ADDED,
    rows=(
        RowEffect("bodies", "insert"),
        RowEffect("object_keys", "insert"),
        RowEffect("signer_keys", "insert"),
        RowEffect("signer_keys", "update", None, ("counter",)),
    ),
)
TALLYSTICK_SIGNER_REVOKE: Final = TALLYSTICK_COORDINATION.write(
    "tallystick_signer_revoke",
    TallystickSignerRevokeArgs,
    Key,
    "Revoke a key: nothing that it signs counts any more.",
    mode=Mode.OWNER,
    surface="operator",
    project=Placement.FORBIDDEN,
    event=REVOKED,
    rows=(PROVED,),
)
TALLYSTICK_SIGNER_LIST: Final = TALLYSTICK_COORDINATION.read(
    "tallystick_signer_list",
    TallystickSignerListArgs,
    KeyPage,
    "The keys of persons, a page at a time, in the order in which they were added.",
    mode=Mode.READ_REALM,
    project=Placement.FORBIDDEN,
    problems=LISTS,
)

OPERATIONS: Final = (TALLYSTICK_SIGNER_ADD, TALLYSTICK_SIGNER_REVOKE, TALLYSTICK_SIGNER_LIST)
