"""The four secrets of a store: key files outside the database, and proof that they are the right ones.

==========  ===============================================================
cursor      authenticates cursors
objects     wraps the key of each body
attempts    makes attempt ids that nobody can guess
audit       keys the digests in the audit detail
==========  ===============================================================

Each is 32 random bytes in a file of mode 0600, ``keys/<kind>.key``. Where systemd passes credentials
(``CREDENTIALS_DIRECTORY``), a file ``tally-<kind>.key`` there is used instead; nothing is ever written there.

The database holds a *check value* of each, HMAC-SHA-256(key, "tallystick key check v1" ‖ kind ‖ store id),
which tells whether a file is the one that the store was made with, and does not reveal the key. A key that
has a check value is never made again: a new key in the place of a lost one would leave every body unreadable,
and the start would look like a success. A key without a check value is made: at a first start, and when a
later version needs a further kind.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from collections.abc import Callable, Mapping
from typing import Final, NoReturn

from tallyd.store.files import Disk, read_regular, write_durable
from tallyd.store.refusals import ExitCode, StartRefused

KEY_BYTES: Final = 32
KINDS: Final = ("cursor", "objects", "attempts", "audit")

_FILE_BYTES_MAX: Final = 4_096
"""Enough to say how long a wrong file is."""
_CHECK_CONTEXT: Final = b"tallystick key check v1"
_RESTORE: Final = "Put the file back from a backup of the keys; it cannot be made anew"


class Keys:
    """The secrets of a store, each of 32 bytes. Neither ``repr`` nor pickling shows them."""

    __slots__ = KINDS

    def __init__(self, *, cursor: bytes, objects: bytes, attempts: bytes, audit: bytes) -> None:
        self.cursor = cursor
        self.objects = objects
        self.attempts = attempts
        self.audit = audit

    def __repr__(self) -> str:
        return "Keys(redacted)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("keys are not to be copied out of the process")


def check_value(key: bytes, kind: str, store_id: str) -> bytes:
    """What the database keeps of a key: 32 bytes."""
    return hmac.digest(key, _CHECK_CONTEXT + kind.encode() + store_id.encode(), hashlib.sha256)


class KeyFiles:
    """Where the key files are, and how they are read and minted."""

    def __init__(
        self, disk: Disk, keys_dir: str, credentials_dir: str | None, random: Callable[[int], bytes]
    ) -> None:
        self._disk = disk
        self._keys_dir = keys_dir
        self._credentials_dir = credentials_dir
        self._random = random

    def load(self, store_id: str, checks: Mapping[str, bytes]) -> Keys:
        """The store's keys. ``checks`` holds the check values of the database; kinds without one are minted.

        Raises StartRefused for a key that is lost, is not the store's, or lies open to others.
        """
        found = _keys({kind: self._load(kind, store_id, checks.get(kind)) for kind in KINDS})
        if len(checks) < len(KINDS):
            self._settle()
        return found

    def mint(self) -> Keys:
        """The keys of a store that is being made: those of an interrupted first start, else new ones."""
        found = _keys({kind: self._read(kind) or self._mint(kind) for kind in KINDS})
        self._settle()
        return found

    def _settle(self) -> None:
        """Put names on the disk that an interrupted start may have renamed and not synced."""
        self._disk.sync_directory(self._keys_dir)

    def _load(self, kind: str, store_id: str, check: bytes | None) -> bytes:
        key = self._read(kind)
        if check is None:
            return key or self._mint(kind)
        if key is None:
            raise StartRefused(
                ExitCode.LOST_KEY,
                f"the key file {self._path(kind)} is missing; the store was made with it. {_RESTORE}",
            )
        if not hmac.compare_digest(check_value(key, kind, store_id), check):
            raise StartRefused(
                ExitCode.WRONG_KEY,
                f"the key file {self._path(kind)} is not the one that store {store_id} was made with."
                f" {_RESTORE}",
            )
        return key

    def _path(self, kind: str) -> str:
        if self._credentials_dir is not None:
            given = os.path.join(self._credentials_dir, f"tally-{kind}.key")
            if os.path.lexists(given):
                return given
        return os.path.join(self._keys_dir, f"{kind}.key")

    def _read(self, kind: str) -> bytes | None:
        path = self._path(kind)
        try:
            found = read_regular(path, _FILE_BYTES_MAX)
        except OSError as error:
            raise StartRefused(
                ExitCode.BAD_DIRECTORY, f"the key file {path} cannot be read: {error.strerror}. {_RESTORE}"
            ) from error
        if found is None:
            return None
        key, status = found
        if len(key) != KEY_BYTES:
            raise StartRefused(
                ExitCode.WRONG_KEY,
                f"the key file {path} has {len(key)} bytes instead of {KEY_BYTES}. {_RESTORE}",
            )
        # What systemd passes has the owner and mode that systemd gives it.
        if os.path.dirname(path) == self._keys_dir:
            _check_private(path, status)
        return key

    def _mint(self, kind: str) -> bytes:
        key = self._random(KEY_BYTES)
        write_durable(self._disk, os.path.join(self._keys_dir, f"{kind}.key"), key)
        return key


def _keys(found: Mapping[str, bytes]) -> Keys:
    return Keys(
        cursor=found["cursor"], objects=found["objects"], attempts=found["attempts"], audit=found["audit"]
    )


def _check_private(path: str, status: os.stat_result) -> None:
    uid, mode = os.geteuid(), stat.S_IMODE(status.st_mode)
    if status.st_uid != uid:
        raise StartRefused(
            ExitCode.BAD_DIRECTORY,
            f"the key file {path} belongs to uid {status.st_uid}, and tallyd runs as uid {uid}."
            f" Run: chown {uid} {path}",
        )
    if mode & 0o077:
        raise StartRefused(
            ExitCode.BAD_DIRECTORY,
            f"the key file {path} has mode {mode:04o}, so that others can read it. Run: chmod 600 {path}",
        )
