"""The runner: takes one invocation, keeps its lease, runs an assistant on it, and says how it ended.

What is promised: the assistant's steps are each done once over all attempts of the invocation (``assistant``
says how). While it runs, a thread renews the lease at a third of its term, on a connection of its own. When
another attempt takes the invocation over, the next step raises ``LeaseLost``, and nothing more is written.

A runner that is started again while the lease of its dead predecessor still lives is refused
(``StaleLease``) until that lease has run out; it asks again for as long as the caller says.
"""

from __future__ import annotations

import os
import threading
from time import monotonic
from typing import TYPE_CHECKING, Final, Self

from tallystick.assistant import Assistant, InvocationContext
from tallystick.client import WorkerClient
from tallystick.core import DEADLINE_SECONDS, Observer, TextPolicy, jitter
from tallystick.errors import LeaseLost, StaleLease, TallyError, TransportError
from tallystick.protocol import limits

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from tallystick.protocol import records

CLAIM_AGAIN_SECONDS_MAX: Final = 2.0
"""Longest pause before a refused claim is tried again: a lease runs out without telling anybody."""
RENEWALS_PER_TERM: Final = 3
"""Two renewals may fail before the lease does."""
ASSISTANT_ERROR: Final = "assistant_error"
"""The reason class of an attempt whose assistant raised an exception."""


def run_one(
    assistant: Assistant,
    invocation_id: str,
    *,
    runtime_dir: str | None = None,
    data_dir: str | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
    claim_seconds: float | None = None,
    term_seconds: int = limits.LEASE_TERM_SECONDS_SDK,
    retryable: bool = True,
    text_policy: TextPolicy = "refuse",
    observer: Observer | None = None,
) -> records.Invocation:
    """Run an assistant on an invocation; returns the invocation as it is when the assistant has succeeded.

    ``deadline_seconds`` is for each call of the daemon, ``claim_seconds`` for how long a live lease of
    another attempt is waited for (as long as one call, where it is not said). ``term_seconds`` is the
    lease's term. Where the assistant raises an exception, the attempt is failed, ``retryable`` or not, and
    the exception is raised again. Raises ``StaleLease`` where the invocation cannot be claimed,
    ``LeaseLost`` where it was taken over, and ``TransportError`` where the daemon stays away: the lease
    then runs out by itself.
    """

    def connect(seconds: float) -> WorkerClient:
        return WorkerClient(
            runtime_dir,
            data_dir,
            deadline_seconds=seconds,
            text_policy=text_policy,
            observer=observer,
        )

    with connect(deadline_seconds) as worker:
        until = monotonic() + (deadline_seconds if claim_seconds is None else claim_seconds)
        claim = _claim(worker, invocation_id, term_seconds, until)
        ctx = InvocationContext(worker, claim, worker.progress(claim))
        with Renewal(connect, ctx, claim, term_seconds):
            _run(assistant, ctx, worker, claim, retryable=retryable)
            return _complete(ctx, worker, claim)


def _claim(
    worker: WorkerClient, invocation_id: str, term_seconds: int, until: float
) -> records.InvocationClaim:
    """A claim under a new key: this is another attempt than any that came before."""
    key = f"{invocation_id}.claim.{os.urandom(16).hex()}"
    pause = threading.Event()
    while True:
        left = until - monotonic()
        try:
            return worker.claim(invocation_id, term_seconds=term_seconds, key=key).value
        except StaleLease:
            if left <= 0:
                raise
        pause.wait(min(left, CLAIM_AGAIN_SECONDS_MAX * jitter()))


def _run(
    assistant: Assistant,
    ctx: InvocationContext,
    worker: WorkerClient,
    claim: records.InvocationClaim,
    *,
    retryable: bool,
) -> None:
    try:
        assistant.run(ctx)
    except (LeaseLost, TransportError):
        raise  # not the assistant's doing
    except Exception as error:
        # The fence tells one attempt's failure from the next one's: each is a command of its own.
        key = f"{claim.invocation.invocation_id}.fail.{claim.fence_epoch}"
        try:
            worker.fail(claim, ASSISTANT_ERROR, retryable=retryable, key=key)
        except TallyError as unreported:
            error.add_note(f"the daemon could not be told that the attempt failed: {unreported}")
        raise


def _complete(
    ctx: InvocationContext, worker: WorkerClient, claim: records.InvocationClaim
) -> records.Invocation:
    if ctx.lost is not None:
        raise ctx.lost
    key = f"{claim.invocation.invocation_id}.complete"
    try:
        return worker.complete(claim, result=ctx.last_contribution, key=key).value
    except StaleLease as problem:
        raise ctx.lose(problem) from problem


class Renewal:
    """Renews a lease on a thread of its own, from ``with`` to the end of its block."""

    def __init__(
        self,
        connect: Callable[[float], WorkerClient],
        ctx: InvocationContext,
        claim: records.InvocationClaim,
        term_seconds: int,
    ) -> None:
        self._period_seconds = term_seconds / RENEWALS_PER_TERM
        self._client = connect(self._period_seconds)
        self._ctx = ctx
        self._claim = claim
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="tallystick-renewal", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._client.close()
        self._thread.join()

    def _renew(self) -> None:
        while not self._ended.wait(self._period_seconds):
            try:
                term = self._client.renew(self._claim)
            except StaleLease as problem:
                self._ctx.lose(problem)
                return
            except TallyError:
                continue  # a daemon that is away, or stops: it gives each lease its full term when it is back
            self._period_seconds = term.term_seconds / RENEWALS_PER_TERM
