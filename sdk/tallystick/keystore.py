"""Idempotency keys kept before the first try, so that a client that dies does not do a thing twice.

A client that makes a key, sends a command and dies before the reply has lost the key, and whoever starts it
again makes another one: the same command under two keys is done twice. So the whole request, key and all,
is written here and is on the disk *before* its first byte leaves; a client that starts again finds what was
never answered (``pending``) and sends those very bytes again (``Client.resume``).

- One file for each actor and each daemon, mode 0600, in the state directory (``path_for``). A request is
  never sent again as another actor, nor to another daemon, nor to another store: each line names the store.
- A write costs one append and one sync. When it is answered, its line is overwritten in place: the content
  goes, and key, time and a digest of the request keyed with the file's own random secret remain, for seven
  days at most. That is not synced on its own: if a power cut undoes it, the request is sent once more, and
  answered from the store.
- What stands in the file in the clear is content that may be secret, until its reply. Who can read the
  owner's files can read it, and can test guesses against the digests.
- Several processes may use it at once: it is locked (``flock``) while a line is written. Lines are checked
  (``journal``): a torn one is a request that never left, and is ignored.
- Above ``COMPACT_BYTES`` it is rewritten aside and renamed, without what is old.

A caller who owns keys of its own, and will give them again after its own restart, needs none of this: it
opens its client with ``key_store=None``.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from tallystick import journal
from tallystick.core import Request, Surface
from tallystick.errors import KeyStoreError

if TYPE_CHECKING:
    from tallystick.paths import Paths

KEEP_SECONDS: Final = 7 * 86_400
"""How long an answered key is remembered: as long as the daemon keeps results, at least."""
KEEP_ANSWERED_MAX: Final = 4_096
"""Answered keys that a rewritten file keeps: a client that writes all day must not fill the disk with them.
"""
COMPACT_BYTES: Final = 1 << 20
"""A file that is larger is rewritten: it is read as a whole where a caller gives a key of its own."""
_FORMAT: Final = "tallystick-keys"
_NO_DIGEST: Final = "0" * 64
"""As long as a digest."""


class Pending(NamedTuple):
    """A request whose answer never came: ``stored_at`` is seconds since 1970, ``store`` the id of the store
    that it is for, "" where an older SDK did not write it down.
    """

    request: Request
    stored_at: float
    store: str = ""

    @property
    def operation(self) -> str:
        """What was asked."""
        return self.request.operation

    @property
    def key(self) -> str:
        """The idempotency key that it goes under."""
        return self.request.key or ""


class Slot(NamedTuple):
    """Where a recorded request stands, for ``settle``; ``was_there``: an earlier call may have sent it."""

    line: journal.Line
    was_there: bool


def path_for(paths: Paths, actor: str) -> str:
    """The key store of an actor at the daemon whose sockets are in ``paths.runtime_dir``."""
    name = "".join(c if c.isalnum() or c in "-_." else f"%{ord(c):02x}" for c in actor)
    daemon = hashlib.sha256(os.fsencode(paths.runtime_dir)).hexdigest()[:16]
    return os.path.join(paths.state_dir, f"keys-{name}-{daemon}.log")


def actor_of(path: str) -> str:
    """Whose key store stands at the path. Raises OSError, also where it says nobody's."""
    with open(path, "rb") as file:
        first = next(journal.lines(file.readline(journal.LINE_BYTES_MAX)), None)
    actor = None if first is None else first.members.get("actor")
    if not isinstance(actor, str):
        raise OSError(0, "its first line does not say whose key store it is")
    return actor


class KeyStore:
    """The key store at ``path``, of one actor. Nothing is opened before it is used; safe to share by
    threads."""

    def __init__(self, path: str, *, actor: str) -> None:
        self.path = path
        self.actor = actor
        self._lock = threading.Lock()  # guards all below; the file's own lock guards the file
        self._descriptor: int | None = None
        self._pid = os.getpid()
        self._compact_at = COMPACT_BYTES
        self._secret = b""

    def record(self, request: Request, *, store: str = "", may_be_there: bool = False) -> Slot:
        """Make the request durable, for that store. ``may_be_there``: its key is the caller's, who may have
        recorded it before.

        Raises ``KeyStoreError``.
        """
        assert request.key is not None
        members: dict[str, object] = {
            "state": "open",
            "surface": request.surface,
            "operation": request.operation,
            "key": request.key,
            "at": time.time_ns() // 1_000_000,
            "wait": request.wait_seconds,
            "store": store,
            "request": request.line.decode(),
        }
        with self._file() as found:
            if may_be_there and (known := _find(journal.read(found), request, store)) is not None:
                journal.sync(found)  # who wrote it may have died before this
                return Slot(known, True)
            descriptor = self._compact(found) if os.fstat(found).st_size >= self._compact_at else found
            encoded = _open_line(members)
            offset = journal.append(descriptor, encoded)
            journal.sync(descriptor)
            return Slot(journal.Line(offset, len(encoded), members), False)

    def settle(self, slot: Slot) -> None:
        """The request was answered, or surely never left: its content goes, its key is remembered."""
        with self._file() as descriptor:
            line = slot.line
            if not _stands(descriptor, line):  # rewritten meanwhile, or settled by who resumed it
                found = _find(journal.read(descriptor), _request(line.members), _store(line))
                if found is None:
                    return
                line = found
            digest = self._digest(str(line.members["request"]))
            answered = journal.encode(_answered(line.members, digest), line.length)
            journal.write(descriptor, answered, line.offset)

    def pending(self) -> list[Pending]:
        """What was recorded and never settled, oldest first; also what other processes are sending right
        now."""
        if not os.path.exists(self.path):
            return []
        with self._file() as descriptor:
            found = [line for line in journal.lines(journal.read(descriptor)) if _is_open(line)]
        return [
            Pending(_request(line.members), float(cast(int, line.members["at"])) / 1000, _store(line))
            for line in found
        ]

    def slot(self, pending: Pending) -> Slot | None:
        """Where a pending request stands, None where it was settled."""
        with self._file() as descriptor:
            line = _find(journal.read(descriptor), pending.request, pending.store)
            return None if line is None else Slot(line, True)

    def forget(self, matches: Callable[[str, str], bool]) -> int:
        """Overwrite the pending requests that match, of which ``matches`` is given the line and the store's
        id; how many they were. On the disk when it returns, and without a digest to test guesses with.
        """
        if not os.path.exists(self.path):
            return 0
        with self._file() as descriptor:
            with suppress(FileNotFoundError):  # what a crash left of a rewriting
                os.unlink(f"{self.path}.new")
            found = [line for line in journal.lines(journal.read(descriptor)) if _is_open(line)]
            hit = [line for line in found if matches(str(line.members["request"]), _store(line))]
            for line in hit:
                kept = journal.encode(_answered(line.members, _NO_DIGEST), line.length)
                journal.write(descriptor, kept, line.offset)
            journal.sync(descriptor)
            return len(hit)

    def close(self) -> None:
        """Close the file; a later use opens it again."""
        self._after_fork()
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    # --- the file
    @contextmanager
    def _file(self) -> Iterator[int]:
        """The descriptor of the file at the path, locked; made with its directory where there is none."""
        self._after_fork()
        with self._lock:
            try:
                self._open_locked()
                assert self._descriptor is not None
                try:
                    yield self._descriptor
                finally:
                    fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            except OSError as error:
                raise KeyStoreError(self._words(error)) from error

    def _after_fork(self) -> None:
        """After a fork the child shares its parent's open file and lock: it lets go of them.

        Closing its copy releases nothing of the parent's. The lock among threads is made anew, since a
        thread of the parent may have held it when it was copied.
        """
        if self._pid == os.getpid():
            return
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._lock, self._descriptor, self._pid = threading.Lock(), None, os.getpid()

    def _open_locked(self) -> None:
        while True:
            if self._descriptor is None:
                os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
                self._descriptor = journal.open_private(self.path)
                self._secret = b""
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            if journal.is_at(self._descriptor, self.path):
                break
            os.close(self._descriptor)  # rewritten by another process
            self._descriptor = None
        if not self._secret:
            self._read_header(self._descriptor)

    def _read_header(self, descriptor: int) -> None:
        first = next(journal.lines(journal.read(descriptor)), None)
        if first is None:
            secret = os.urandom(32)
            journal.append(descriptor, self._header(secret))
            journal.sync(descriptor)
            journal.sync_directory(os.path.dirname(self.path))
            self._secret = secret
            return
        if first.members.get("format") != _FORMAT or first.members.get("version") != 1:
            raise OSError(0, "it is not a key store that this version can read")
        if first.members.get("actor") != self.actor:
            raise OSError(0, f"it belongs to the actor {first.members.get('actor')}, not to {self.actor}")
        self._secret = bytes.fromhex(str(first.members.get("secret")))

    def _header(self, secret: bytes) -> bytes:
        header = {"format": _FORMAT, "version": 1, "actor": self.actor, "secret": secret.hex()}
        return journal.encode(header)

    def _compact(self, descriptor: int) -> int:
        """The file rewritten without what is old; returns its descriptor, which is the store's from now on.
        """
        oldest = (time.time() - KEEP_SECONDS) * 1000
        found = list(journal.lines(journal.read(descriptor)))
        answered = [line for line in found if line.members.get("state") == "done"]
        recent = [line for line in answered if cast(int, line.members["at"]) >= oldest][-KEEP_ANSWERED_MAX:]
        kept = [journal.encode(line.members) for line in recent]
        kept += [_open_line(line.members) for line in found if _is_open(line)]
        content = self._header(self._secret) + b"".join(kept)
        self._descriptor = journal.replace(self.path, content)
        os.close(descriptor)
        self._compact_at = max(COMPACT_BYTES, 2 * len(content))
        return self._descriptor

    def _digest(self, request: str) -> str:
        return hashlib.blake2b(request.encode(), key=self._secret, digest_size=32).hexdigest()

    def _words(self, error: OSError) -> str:
        return (
            f"the key store {self.path} cannot be used: {error.strerror or error}. Nothing was sent. Make its"
            " directory writable, or name another with TALLY_STATE_DIR. A caller that keeps its own keys can"
            " do without it: key_store=None."
        )


def _is_open(line: journal.Line) -> bool:
    return line.members.get("state") == "open"


def _open_line(members: dict[str, object]) -> bytes:
    """A pending request's line, with room for the one that will be written over it."""
    room = len(journal.encode(_answered(members, _NO_DIGEST)))
    return journal.encode(members, max(room, len(journal.encode(members))))


def _answered(members: dict[str, object], digest: str) -> dict[str, object]:
    """What is kept of a request once it was answered."""
    kept = {name: members[name] for name in ("surface", "operation", "key", "at")}
    return {"state": "done", **kept, "digest": digest}


def _request(members: dict[str, object]) -> Request:
    return Request(
        cast(Surface, members["surface"]),
        str(members["operation"]),
        str(members["key"]),
        str(members["request"]).encode(),
        float(cast(float, members["wait"])),
    )


def _store(line: journal.Line) -> str:
    return str(line.members.get("store", ""))


def _find(data: bytes, request: Request, store: str) -> journal.Line | None:
    """The open line of exactly this request to that store."""
    request = request._replace(redacted=())  # which no line has
    if request.key is None or f'"key":{json.dumps(request.key)}'.encode() not in data:
        return None  # nearly always, and faster than reading line by line
    for line in journal.lines(data):
        if _is_open(line) and _request(line.members) == request and _store(line) == store:
            return line
    return None


def _stands(descriptor: int, line: journal.Line) -> bool:
    found = next(journal.lines(os.pread(descriptor, line.length, line.offset)), None)
    return found is not None and found.members == line.members
