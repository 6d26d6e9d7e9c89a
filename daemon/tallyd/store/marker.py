"""The marker: how far the log was known to reach, kept beside the database and once more elsewhere.

``store.json`` in the data directory, and a copy of it in the state directory, ``<store id>.json``, each one
line of JSON::

    {"version":1,"store_id":"store-…","epoch":1,"epoch_nonce":"<32 hex>","position":57,"leaf":"<64 hex>",
     "data_dir":"/home/ada/.local/share/tally"}

``position`` is a position of the log that is on the disk, and ``leaf`` the leaf there; a log without rows has
position -1 and an empty leaf. At start the log must have that leaf at that position. Where it has not, the
database is older than what was acknowledged: a copy was put back, or the write-ahead log was lost. The copy
finds out what the marker cannot, a whole data directory put back, and by ``data_dir`` one that is gone.

A marker never names a row that is not on the disk yet. It may be older than the log's end: if a copy of the
store is put back that is older than the log and newer than the marker, nobody notices.
"""

from __future__ import annotations

import os
from typing import Final, NamedTuple

import apsw
import msgspec

from tallyd.store.files import Disk, read_regular, write_durable
from tallyd.store.identity import Epoch, Identity
from tallyd.store.refusals import ExitCode, StartRefused

VERSION: Final = 1
BEFORE_FIRST: Final = -1
NO_LOG: Final = (BEFORE_FIRST, b"")
"""Position and leaf of the last row of a log that has none."""
_BYTES_MAX: Final = 65_536
"""Far more than one has; a file of any other length is not one."""


class Marker(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of a store from outside its database."""

    version: int
    store_id: str
    epoch: int
    epoch_nonce: str
    position: int
    leaf: str
    data_dir: str


class Unreadable(NamedTuple):
    """A marker that is there and says nothing: what is wrong with it."""

    path: str
    reason: str


class _Version(msgspec.Struct):
    version: int


def make(identity: Identity, data_dir: str, position: int, leaf: bytes) -> Marker:
    """The marker of a log that reaches to ``position``."""
    return Marker(
        version=VERSION,
        store_id=identity.store_id,
        epoch=identity.epoch.number,
        epoch_nonce=identity.epoch.nonce.hex(),
        position=position,
        leaf=leaf.hex(),
        data_dir=place_of(data_dir),
    )


def place_of(data_dir: str) -> str:
    """A data directory as markers name it: its real path, with bytes that are no UTF-8 escaped."""
    return os.fsencode(os.path.realpath(data_dir)).decode("utf-8", "backslashreplace")


def encode(marker: Marker) -> bytes:
    """A line of JSON."""
    return msgspec.json.encode(marker) + b"\n"


def write(disk: Disk, path: str, marker: Marker) -> None:
    """Make the marker durable at ``path``, in the place of the one before. Raises OSError."""
    write_durable(disk, path, encode(marker))


def read(path: str) -> Marker | Unreadable | None:
    """The marker at ``path``; None where there is none. Raises StartRefused for one of a newer program."""
    try:
        found = read_regular(path, _BYTES_MAX)
    except OSError as error:
        return Unreadable(path, str(error.strerror))
    if found is None:
        return None
    try:
        version = msgspec.json.decode(found[0], type=_Version).version
        if version > VERSION:
            raise StartRefused(
                ExitCode.NEWER_SCHEMA,
                f"{path} was written by a newer tallyd (version {version}, this program knows {VERSION})."
                " Use the newer program",
            )
        return msgspec.json.decode(found[0], type=Marker)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Unreadable(path, str(error))


def stores_known_at(state_dir: str, data_dir: str) -> list[tuple[str, Marker]]:
    """The copies, with their paths, that say that their store is in ``data_dir``."""
    place = place_of(data_dir)
    known: list[tuple[str, Marker]] = []
    for name in sorted(os.listdir(state_dir)):
        if name.startswith("store-") and name.endswith(".json"):
            path = os.path.join(state_dir, name)
            found = read(path)
            if isinstance(found, Marker) and found.data_dir == place:
                known.append((path, found))
    return known


def end_of_log(connection: apsw.Connection) -> tuple[int, bytes]:
    """Position and leaf of the log's last row; (-1, b"") where there is none."""
    rows = connection.execute("SELECT position, leaf FROM log ORDER BY position DESC LIMIT 1").fetchall()
    return msgspec.convert(rows[0], tuple[int, bytes]) if rows else NO_LOG


def contradiction(connection: apsw.Connection, identity: Identity, marker: Marker) -> str | None:
    """What the marker knows and the database does not bear out; None where the log goes on from the marker.

    A marker of an older epoch contradicts nothing: the newer epoch is how the break was accepted.
    """
    epoch: Epoch = identity.epoch
    if marker.store_id != identity.store_id:
        return f"is of store {marker.store_id}, and the database is store {identity.store_id}"
    if marker.epoch < epoch.number:
        return None
    if marker.epoch > epoch.number:
        return f"knows epoch {marker.epoch}, and the database is in epoch {epoch.number}"
    if marker.epoch_nonce != epoch.nonce.hex():
        return f"knows another epoch {marker.epoch} than the database is in"
    if marker.position == BEFORE_FIRST:
        return None
    rows = connection.execute("SELECT leaf FROM log WHERE position = ?", (marker.position,)).fetchall()
    if not rows:
        return f"knows position {marker.position} of the log, which ends at {end_of_log(connection)[0]}"
    if msgspec.convert(rows[0][0], bytes).hex() != marker.leaf:
        return f"knows another entry at position {marker.position} than the log has"
    return None
