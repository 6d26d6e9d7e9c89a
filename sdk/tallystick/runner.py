"""The runner: takes an invocation, keeps its lease, runs an assistant on it, and says how it ended.

``run_one`` takes the invocation that it is told, ``serve`` one after the other, as they come.

What is promised: the assistant's steps are each done once over all attempts of the invocation (``assistant``
says how). While it runs, a thread renews the lease at a third of its term, on a connection of its own. When
another attempt takes the invocation over, the next step raises ``LeaseLost``, and nothing more is written.

A runner that is started again while the lease of its dead predecessor still lives is refused
(``StaleLease``) until that lease has run out; it asks again for as long as the caller says.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, Final, Self, TypedDict, Unpack

from tallystick.assistant import Assistant, InvocationContext
from tallystick.calls import DEPLOYMENT
from tallystick.client import WorkerClient
from tallystick.core import DEADLINE_SECONDS, OWNER, Observer, TextPolicy, jitter, new_key
from tallystick.errors import LeaseLost, StaleLease, TallyError, TransportError
from tallystick.protocol import limits

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from tallystick.protocol.families.invocations import Invocation
    from tallystick.protocol.families.work import InvocationClaim

CLAIM_AGAIN_SECONDS_MAX: Final = 2.0
"""Longest pause before a refused claim is tried again: a lease runs out without telling anybody."""
RENEWALS_PER_TERM: Final = 3
"""Two renewals may fail before the lease does."""
ASSISTANT_ERROR: Final = "assistant_error"
"""The reason class of an attempt whose assistant raised an exception."""


class RunOptions(TypedDict, total=False):
    """What both runners take.

    ``runtime_dir``, ``data_dir``, ``actor``, ``credential``, ``deadline_seconds`` (for each call of the
    daemon), ``text_policy`` and ``observer`` are as ``WorkerClient`` takes them. ``term_seconds`` is the
    lease's term. ``retryable``: whether an attempt whose assistant raised an exception may be followed by
    another one.
    """

    runtime_dir: str | None
    data_dir: str | None
    actor: str
    credential: str | None
    deadline_seconds: float
    term_seconds: int
    retryable: bool
    text_policy: TextPolicy
    observer: Observer | None


def run_one(
    assistant: Assistant,
    invocation_id: str,
    *,
    claim_seconds: float | None = None,
    **options: Unpack[RunOptions],
) -> Invocation:
    """Run an assistant on an invocation; returns the invocation as it is when the assistant has succeeded.

    ``claim_seconds``: for how long a live lease of another attempt is waited for (as long as one call, where
    it is not said). Where the assistant raises an exception, the attempt is failed, and the exception is
    raised again. Raises ``StaleLease`` where the invocation cannot be claimed, ``LeaseLost`` where it was
    taken over, and ``TransportError`` where the daemon stays away: the lease then runs out by itself.
    """
    run = _Run(assistant, options)
    with run.connect(run.deadline_seconds) as worker:
        until = monotonic() + (run.deadline_seconds if claim_seconds is None else claim_seconds)
        return run.answer(worker, _claim(worker, invocation_id, run.term_seconds, until))


def serve(
    assistant: Assistant,
    deployments: Sequence[str] = (DEPLOYMENT,),
    *,
    wait_ms: int = limits.WAIT_MS_MAX,
    stop: threading.Event | None = None,
    on_failure: Callable[[Invocation, Exception], None] | None = None,
    **options: Unpack[RunOptions],
) -> None:
    """Run an assistant on the invocations of these deployments, the oldest first, as they come.

    It sleeps in the daemon while there is none, and survives the daemon's restarts as ``run_one`` does. What
    an assistant raises ends its attempt and not the loop: ``on_failure`` is told, with the invocation as it
    was claimed; without it the error is logged. Returns when ``stop`` is set, which is looked at between two
    invocations and after each ``wait_ms``. Raises ``TransportError`` where the daemon stays away longer than
    ``deadline_seconds``, and ``ProblemError`` where it refuses to give anything.
    """
    run = _Run(assistant, options)
    tell = on_failure or _log_failure
    with run.connect(run.deadline_seconds) as worker:
        while stop is None or not stop.is_set():
            claim = _next(worker, deployments, wait_ms, run.term_seconds)
            if claim is None:
                continue
            try:
                run.answer(worker, claim)
            except TransportError:
                raise
            except Exception as error:
                tell(claim.invocation, error)


class _Run:
    """One assistant, and how it is run."""

    def __init__(self, assistant: Assistant, options: RunOptions) -> None:
        self._assistant = assistant
        self._options = options
        self.deadline_seconds = options.get("deadline_seconds", DEADLINE_SECONDS)
        self.term_seconds = options.get("term_seconds", limits.LEASE_TERM_SECONDS_SDK)

    def connect(self, seconds: float) -> WorkerClient:
        """A client whose calls may take so long."""
        options = self._options
        return WorkerClient(
            options.get("runtime_dir"),
            options.get("data_dir"),
            actor=options.get("actor", OWNER),
            credential=options.get("credential"),
            deadline_seconds=seconds,
            text_policy=options.get("text_policy", "refuse"),
            observer=options.get("observer"),
        )

    def answer(self, worker: WorkerClient, claim: InvocationClaim) -> Invocation:
        """Runs the assistant under the claim; the invocation as it is when it has succeeded."""
        ctx = InvocationContext(worker, claim, worker.progress(claim))
        retryable = self._options.get("retryable", True)
        with Renewal(self.connect, ctx, claim, self.term_seconds):
            _run(self._assistant, ctx, worker, claim, retryable=retryable)
            return _complete(ctx, worker, claim)


def _next(
    worker: WorkerClient, deployments: Sequence[str], wait_ms: int, term_seconds: int
) -> InvocationClaim | None:
    """A claim under a new key, or None; also where the claim that was made was lost again on the way here."""
    key = f"next.{new_key()}"
    try:
        found = worker.next(deployments, wait_ms=wait_ms, term_seconds=term_seconds, key=key)
    except StaleLease:
        return None
    return found.value.claim


def _log_failure(invocation: Invocation, error: Exception) -> None:
    import logging

    logging.getLogger("tallystick.runner").error(
        "the assistant failed on %s", invocation.invocation_id, exc_info=error
    )


def _claim(worker: WorkerClient, invocation_id: str, term_seconds: int, until: float) -> InvocationClaim:
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
    claim: InvocationClaim,
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


def _complete(ctx: InvocationContext, worker: WorkerClient, claim: InvocationClaim) -> Invocation:
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
        claim: InvocationClaim,
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
