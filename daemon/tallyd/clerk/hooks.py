"""Crash hooks for tests: the process calls abort() at a named point of a named command.

``TALLYD_ABORT=<phase>:<operation>[@worker|@client][#<n>]`` fires once, at the n-th command of that kind that
this process executes. Replays do not count, nor do refusals, unless they change the state. Hooks work only
under ``tallyd --test-hooks``; without it the variable is a start-up error. At ``before_commit`` the command
is complete and the rows of its batch are written, but not committed; at ``after_commit`` the batch is
durable, and nobody has been answered.
"""

from __future__ import annotations

import os
import re
from typing import Final, Protocol

from tallystick.protocol.operation import Socket

BEFORE_COMMIT: Final = "before_commit"
AFTER_COMMIT: Final = "after_commit"
AFTER_SEAL_TXN: Final = "after_seal_txn"
"""In a finalize: its first transaction is durable, and no byte is sealed yet."""
AFTER_SEAL: Final = "after_seal"
"""In a finalize: the sealed file is on the disk, and its second transaction has not begun."""
_OUTSIDE: Final = frozenset({AFTER_SEAL_TXN, AFTER_SEAL})

_ARM: Final = re.compile(r"([a-z_:]+):([a-z0-9_]+)(?:@(worker|client))?(?:#([1-9][0-9]*))?\Z")


class Hooks(Protocol):
    """What the clerk says about its progress."""

    def executed(self, operation: str, socket: Socket) -> None: ...
    def reached(self, phase: str) -> None: ...
    def passed(self, phase: str, operation: str, socket: Socket) -> None: ...


class NoHooks:
    """For production: nothing happens."""

    def executed(self, operation: str, socket: Socket) -> None:
        pass

    def reached(self, phase: str) -> None:
        pass

    def passed(self, phase: str, operation: str, socket: Socket) -> None:
        pass


class AbortHook:
    """Aborts the process at one point of one command, or at one step of a start."""

    def __init__(self, armed: str) -> None:
        """Raises ValueError where the text names no point."""
        match = _ARM.match(armed)
        if match is None:
            raise ValueError(f"TALLYD_ABORT={armed!r} is not <phase>:<operation>[@worker|@client][#<n>]")
        self._phase, self._operation, self._socket = match[1], match[2], match[3]
        self._left = int(match[4] or 1)
        self._due = False

    def executed(self, operation: str, socket: Socket) -> None:
        if self._phase not in _OUTSIDE:
            self._count(operation, socket)

    def passed(self, phase: str, operation: str, socket: Socket) -> None:
        """A point outside the store, of an operation that has effects there. Such operations are counted
        here.
        """
        if phase == self._phase:
            self._count(operation, socket)
            self.reached(phase)

    def _count(self, operation: str, socket: Socket) -> None:
        if operation == self._operation and self._socket in (None, str(socket)):
            self._left -= 1
            self._due = self._due or self._left == 0

    def reached(self, phase: str) -> None:
        if self._due and phase == self._phase:
            os.abort()

    def step(self, name: str) -> None:
        """A step of a first start or of an upgrade: ``TALLYD_ABORT=start:<step>``, each ``:`` as ``_``."""
        if self._phase == "start" and name.replace(":", "_") == self._operation:
            os.abort()
