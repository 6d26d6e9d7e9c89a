"""What a batch is made of, and what each member of it is answered.

These are values that the service makes and the clerk reads. They decide nothing and write nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from tallyd.admission import Speaker
from tallyd.ledger.transaction import Idle, Transaction
from tallystick.protocol.envelope import AnyRequest, encode_problem
from tallystick.protocol.problems import Problem


class Command(msgspec.Struct, frozen=True, eq=False):
    """A well-formed command, and who sent it."""

    request: AnyRequest
    speaker: Speaker
    outside: object | None = None
    """The second transaction of a command that has two: the outcome of the work between them."""


class SystemCommand(msgspec.Struct, frozen=True, eq=False):
    """A step that the daemon does of itself, with a row of its own in the log, under ``name``."""

    name: str
    do: Callable[[Transaction], bool]
    """Returns whether there was anything to do; if not, no row is written."""


class AccessRecord(msgspec.Struct, frozen=True, eq=False):
    """The record that a read leaves before something sensitive is served: who looked at which objects, and
    whether the read was refused.
    """

    request: AnyRequest
    speaker: Speaker
    objects: tuple[str, ...]
    denied: bool = False


Member = Command | AccessRecord | SystemCommand


class Answer(msgspec.Struct, frozen=True, eq=False):
    """A reply line, and what whoever waits must be told of the commit."""

    reply: bytes
    sources: tuple[int, ...] = ()
    """Projects that have a new event; 0 is the realm."""
    idle: Idle | None = None
    """The command found nothing to do: the reply is for a client that waits no longer."""
    outside: Any = None
    """The first of two transactions is durable: the work to be done before the second. Nobody is answered."""
    follow_up: Callable[[Any], object] | None = None
    """File I/O to be done, now that the command is durable, before the reply goes out."""
    awaits: str | None = None
    """The errand that the reply waits for; then it is made anew."""
    problem: Problem | None = None
    """Why it was refused; the reply says so too."""
    wakes: frozenset[str] = frozenset()
    """Deployments and actors: a claim that waits under one of these names may find work now."""


RECORDED: Final = Answer(b"")
"""The answer to an access record that is durable, and to a system command that found nothing to do."""


def problem_answer(problem: Problem) -> Answer:
    """The answer to a command that was refused."""
    return Answer(encode_problem(problem), problem=problem)
