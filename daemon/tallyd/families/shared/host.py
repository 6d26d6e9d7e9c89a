"""What a family may ask of the running daemon: what no row says, and what no command does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import msgspec

from tallyd.ledger.view import View
from tallyd.store.filesystem import FileSystem
from tallyd.vault import Vault
from tallystick.protocol.families.service import Status

T = TypeVar("T")

PASS = "pass"
WARN = "warn"
FAIL = "fail"

InSlice = Callable[[Callable[[], object]], object]
"""Runs one piece of reading as a short read transaction, when the store has room for it."""


class Found(msgspec.Struct, frozen=True):
    """What a check of ``diagnose`` found: one of the three words above, and what there is to say."""

    status: str
    detail: str


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check of ``diagnose``, which a family gives.

    ``is_protocols`` says that KCP has a check of that name. ``run`` reads through ``view`` in pieces, each
    inside ``in_slice``, and looks at files between two of them.
    """

    name: str
    is_protocols: bool = False
    run: Callable[[Host, View, InSlice], Found]


class Host(Protocol):
    """The daemon, as its families see it."""

    @property
    def vault(self) -> Vault:
        """The files of artifacts."""

    @property
    def file_system(self) -> FileSystem:
        """Where the store lies."""

    @property
    def checks(self) -> Sequence[Check]:
        """Every family's checks: KCP's first."""

    @property
    def policies_in_use(self) -> str:
        """A query for the policies that any row names, each once, in order."""

    @property
    def classifications_in_use(self) -> str:
        """The same for classifications."""

    def status(self) -> Status:
        """The daemon as it stands. On the loop."""

    def stop(self) -> None:
        """Begin to end. On the loop."""

    def is_busy(self, key: str) -> bool:
        """Whether the work between a command's two transactions goes on under that key."""

    def read(self, look: Callable[[View], T]) -> T:
        """One read transaction on a connection of its own. On a thread: it may wait for the gate."""

    def clean_copies(self) -> None:
        """Delete from the copies made before migrations what the store itself does not have any more. On a
        thread. Raises OSError or apsw.Error.
        """
