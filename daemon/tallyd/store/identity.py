"""Who a store is: its id, its installation's id, its epoch, and the check values of its keys.

They are rows of ``store_meta``, written in the transaction that makes the store. The *epoch* changes when
the store goes on from another state than the one it was last known in: a copy that was put back, a backup.
Cursors, snapshots and attempts of an older epoch are then answered by name instead of wrongly.

====================  ====================================================================
``store_id``          text, ``store-<32 hex digits>``; names the store's files elsewhere
``installation_id``   text, ``inst-<32 hex digits>`` (KCP 1.9)
``epoch_number``      text, decimal, from 1
``epoch_nonce``       16 random bytes: two epochs of one number are still two
``key_check_<kind>``  32 bytes
``abandoned_<n>``     what was known of the log that epoch n did not go on from: a marker
====================  ====================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import apsw
import msgspec

from tallyd.store.keys import KINDS

EPOCH_NONCE_BYTES: Final = 16
_ID_BYTES: Final = 16


class Epoch(msgspec.Struct, frozen=True):
    """A stretch of the log that goes on from itself."""

    number: int
    nonce: bytes


class Identity(msgspec.Struct, frozen=True):
    """Who the store is."""

    store_id: str
    installation_id: str
    epoch: Epoch


def new_identity(random: Callable[[int], bytes]) -> Identity:
    """The identity of a store that is being made. All of it is random: none of it must say when."""
    return Identity(
        store_id=f"store-{random(_ID_BYTES).hex()}",
        installation_id=f"inst-{random(_ID_BYTES).hex()}",
        epoch=Epoch(1, random(EPOCH_NONCE_BYTES)),
    )


def read_identity(connection: apsw.Connection) -> Identity | None:
    """Who the store is, or None where the database holds none yet."""
    if not connection.table_exists("main", "store_meta"):
        return None
    rows = _rows(connection)
    if "store_id" not in rows:
        return None
    return Identity(
        store_id=rows["store_id"].decode(),
        installation_id=rows["installation_id"].decode(),
        epoch=Epoch(int(rows["epoch_number"]), rows["epoch_nonce"]),
    )


def write_identity(connection: apsw.Connection, identity: Identity) -> None:
    """In the transaction that makes the store."""
    _put(connection, "store_id", identity.store_id.encode())
    _put(connection, "installation_id", identity.installation_id.encode())
    write_epoch(connection, identity.epoch)


def write_epoch(connection: apsw.Connection, epoch: Epoch) -> None:
    """In the transaction that begins the epoch."""
    _put(connection, "epoch_number", str(epoch.number).encode())
    _put(connection, "epoch_nonce", epoch.nonce)


def write_abandoned(connection: apsw.Connection, epoch: Epoch, marker: bytes) -> None:
    """Keep what was last known of the log that ``epoch`` does not go on from: nothing else will know it."""
    _put(connection, f"abandoned_{epoch.number}", marker)


def read_checks(connection: apsw.Connection) -> dict[str, bytes]:
    """The check value of each kind of key that has one."""
    rows = _rows(connection)
    return {kind: rows[f"key_check_{kind}"] for kind in KINDS if f"key_check_{kind}" in rows}


def write_checks(connection: apsw.Connection, checks: Mapping[str, bytes]) -> None:
    """Check values of keys that had none."""
    for kind, value in checks.items():
        _put(connection, f"key_check_{kind}", value)


def _rows(connection: apsw.Connection) -> dict[str, bytes]:
    """All of the table: it has a dozen rows, and one more for each epoch."""
    rows = connection.execute("SELECT name, value FROM store_meta").fetchall()
    return dict(msgspec.convert(rows, list[tuple[str, bytes]]))


def _put(connection: apsw.Connection, name: str, value: bytes) -> None:
    connection.execute(
        "INSERT INTO store_meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value ="
        " excluded.value",
        (name, value),
    ).fetchall()
