"""Tallystick's SDK: a durable record that programs, agents and people share.

::

    from tallystick import Client

    with Client() as tally:
        project = tally.project_create("kitchen").value

``Client`` is the blocking client, ``WorkerClient`` the one for workers; ``Assistant``, ``run_one`` and
``ask`` are agent loops that survive the death of the daemon and their own. ``tallystick.trio_client`` has
``TrioClient``, and is imported by that name only: this package never imports trio. Names are loaded when
they are first used, so that a program at the shell pays for what it uses alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tallystick.assistant import (
        Asked,
        Assistant,
        InvocationContext,
        ask,
    )
    from tallystick.base import Resumed
    from tallystick.calls import SpaceRef
    from tallystick.client import Client, WorkerClient
    from tallystick.core import Reply, Try, new_key
    from tallystick.errors import (
        Ambiguous,
        AssistantExited,
        AuthorizationStale,
        BadReply,
        BudgetExceeded,
        ClientClosed,
        CursorExpired,
        CursorStoreError,
        Cycle,
        DeadlineExceeded,
        Forbidden,
        ForbiddenSurface,
        IdempotencyMismatch,
        IdempotencyResultExpired,
        Internal,
        Invalid,
        InvocationEnded,
        KeyStoreError,
        LeaseHeld,
        LeaseLost,
        NotFound,
        NotSendable,
        OtherStore,
        OutcomeUnknown,
        ProblemError,
        RateLimited,
        SandboxBlocked,
        SnapshotExpired,
        StaleLease,
        StaleRevision,
        TallyError,
        TimedOut,
        TransportError,
        Unauthenticated,
        Unavailable,
        UnknownOp,
        Unreachable,
        UnsupportedVersion,
        WrongActor,
    )
    from tallystick.follow import Gap
    from tallystick.keystore import KeyStore, Pending
    from tallystick.runner import run_one, serve

__version__ = "0.1.0"

__all__ = [
    "Ambiguous",
    "Asked",
    "Assistant",
    "AssistantExited",
    "AuthorizationStale",
    "BadReply",
    "BudgetExceeded",
    "Client",
    "ClientClosed",
    "CursorExpired",
    "CursorStoreError",
    "Cycle",
    "DeadlineExceeded",
    "Forbidden",
    "ForbiddenSurface",
    "Gap",
    "IdempotencyMismatch",
    "IdempotencyResultExpired",
    "Internal",
    "Invalid",
    "InvocationContext",
    "InvocationEnded",
    "KeyStore",
    "KeyStoreError",
    "LeaseHeld",
    "LeaseLost",
    "NotFound",
    "NotSendable",
    "OtherStore",
    "OutcomeUnknown",
    "Pending",
    "ProblemError",
    "RateLimited",
    "Reply",
    "Resumed",
    "SandboxBlocked",
    "SnapshotExpired",
    "SpaceRef",
    "StaleLease",
    "StaleRevision",
    "TallyError",
    "TimedOut",
    "TransportError",
    "Try",
    "Unauthenticated",
    "Unavailable",
    "UnknownOp",
    "Unreachable",
    "UnsupportedVersion",
    "WorkerClient",
    "WrongActor",
    "ask",
    "new_key",
    "run_one",
    "serve",
]

_ELSEWHERE: Final = {
    "Asked": "assistant",
    "Assistant": "assistant",
    "Client": "client",
    "Gap": "follow",
    "InvocationContext": "assistant",
    "KeyStore": "keystore",
    "Pending": "keystore",
    "Reply": "core",
    "Resumed": "base",
    "SpaceRef": "calls",
    "Try": "core",
    "WorkerClient": "client",
    "ask": "assistant",
    "new_key": "core",
    "run_one": "runner",
    "serve": "runner",
}
"""The module of each name that is not an error."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'tallystick' has no attribute {name!r}")
    value: object = getattr(import_module(f"tallystick.{_ELSEWHERE.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
