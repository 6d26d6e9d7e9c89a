"""Which tasks this session holds: their claims' ids, in a file that its user alone can read.

There is one file for what TALLY_SESSION names, and one for the person where it names nothing; each is of one
actor. A claim's id is a secret: it is never printed but as JSON that was asked for, and never in argv.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tally_cli.calling import Call
from tally_cli.exits import Exit
from tally_cli.trouble import Trouble
from tallystick.calls.tasks import ClaimRef
from tallystick.protocol.ijson import JsonValue, parse

_FIELDS: Final = ("project_id", "task_id", "claim_id")


def session() -> str | None:
    """What the session calls itself, where it does: the label of its claims."""
    return os.environ.get("TALLY_SESSION") or None


class Held:
    """The claims of one session, oldest first."""

    def __init__(self, call: Call) -> None:
        named = f"{call.actor}\n{session() or ''}"
        self._directory = os.path.join(call.paths.state_dir, "claims")
        self._path = os.path.join(self._directory, f"{hashlib.sha256(named.encode()).hexdigest()[:32]}.json")

    def all(self) -> list[ClaimRef]:
        try:
            with open(self._path, "rb") as file:
                found = parse(file.read())
        except FileNotFoundError:
            return []
        assert isinstance(found, list)
        return [_claim(each) for each in found]

    def add(self, claim: ClaimRef) -> None:
        with self._changing() as claims:
            claims[:] = [*(each for each in claims if each.task_id != claim.task_id), claim]

    def drop(self, claim: ClaimRef) -> None:
        with self._changing() as claims:
            claims[:] = [each for each in claims if each.claim_id != claim.claim_id]

    def one(self, wanted: str | None) -> ClaimRef:
        """The claim that is meant: of the task of that id or its beginning; without one, the session's only
        one. Raises `Trouble`.
        """
        claims = self.all()
        if wanted is None and session() is None:
            words = "Name the task: without TALLY_SESSION all sessions of this user hold tasks together."
            raise Trouble(Exit.USAGE, "usage", f"{words} `tally task list --state claimed` shows them.")
        found = [each for each in claims if wanted is None or each.task_id.startswith(wanted)]
        if len(found) == 1:
            return found[0]
        if not found:
            what = "no task" if wanted is None else f"no task {wanted}"
            words = f"This session holds {what}; `tally task list` says who does."
            raise Trouble(Exit.PROBLEM, "not-found", words)
        named = ", ".join(each.task_id for each in found)
        words = f"This session holds {len(found)} such tasks; name one: {named}."
        raise Trouble(Exit.USAGE, "usage", words)

    @contextmanager
    def _changing(self) -> Iterator[list[ClaimRef]]:
        """The claims, written back and on the disk when the block is left. Sessions come one at a time."""
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        lock = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            claims = self.all()
            yield claims
            self._write(claims)
        finally:
            os.close(lock)

    def _write(self, claims: list[ClaimRef]) -> None:
        import json

        aside = f"{self._path}.part"
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump([dict(zip(_FIELDS, each, strict=True)) for each in claims], file)
            file.flush()
            os.fsync(file.fileno())
        os.rename(aside, self._path)


def _claim(value: JsonValue) -> ClaimRef:
    assert isinstance(value, dict)
    return ClaimRef(*(str(value[name]) for name in _FIELDS))
