"""The runner: takes an invocation, keeps its lease, runs an assistant on it, and says how it ended.

``run_one`` takes the invocation that it is told, ``serve`` one after the other, as they come.

What is promised: the assistant's steps are each done once over all attempts of the invocation (``assistant``
says how). While it runs, a thread renews the lease at a third of its term, on a connection of its own. When
another attempt takes the invocation over, the next step raises ``LeaseLost``, and nothing more is written.

Each attempt ends in an outcome. It succeeds when the assistant returns. It is failed, with the reason on
record, when the assistant raises anything, asks for the end of the process (``SystemExit``), or is
interrupted (Ctrl-C). Where nobody can say so any more, because the process was killed or the daemon stays
away, its lease runs out, and the daemon counts it as lapsed.

A runner that is started again while the lease of its dead predecessor still lives is refused (``LeaseHeld``)
until that lease has run out; it asks again for as long as the caller says.
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
from tallystick.core import (
    DEADLINE_SECONDS,
    OWNER,
    Observer,
    Patience,
    SecretPolicy,
    TextPolicy,
    jitter,
    new_key,
)
from tallystick.errors import (
    AssistantExited,
    InvocationEnded,
    LeaseHeld,
    StaleLease,
    TallyError,
    TransportError,
)
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
ASSISTANT_EXITED: Final = "assistant_exited"
"""That of an attempt whose assistant asked for the end of the process."""
INTERRUPTED: Final = "interrupted"
"""That of an attempt that was interrupted from the keyboard."""
INTERRUPTED_SECONDS_MAX: Final = 5.0
"""Whoever interrupts waits no longer than this for the daemon to be told."""


class RunOptions(TypedDict, total=False):
    """What both runners take.

    ``runtime_dir``, ``data_dir``, ``actor``, ``credential``, ``deadline_seconds`` (for each call of the
    daemon), ``text_policy``, ``secrets``, ``observer`` and ``patience`` are as ``WorkerClient`` takes them.
    ``term_seconds`` is the lease's term. ``retryable``: whether an attempt whose assistant raised an
    exception may be followed by another one.
    """

    runtime_dir: str | None
    data_dir: str | None
    actor: str
    credential: str | None
    deadline_seconds: float
    term_seconds: int
    retryable: bool
    text_policy: TextPolicy
    secrets: SecretPolicy
    observer: Observer | None
    patience: Patience | None


def run_one(
    assistant: Assistant,
    invocation_id: str,
    *,
    claim_seconds: float | None = None,
    on_held: Callable[[int], None] | None = None,
    **options: Unpack[RunOptions],
) -> Invocation:
    """Run an assistant on an invocation; returns the invocation as it is when the assistant has succeeded.

    ``claim_seconds``: for how long a live lease of another attempt is waited for (as long as one call, where
    it is not said); ``on_held`` is told the seconds that it still runs, again and again. Where the assistant
    raises an exception, the attempt is failed, and the exception is raised again; where it asks for the end
    of the process, that is ``AssistantExited``. Raises ``LeaseHeld`` or ``InvocationEnded`` where the
    invocation cannot be claimed, ``LeaseLost`` where it was taken over, and ``TransportError`` where the
    daemon stays away: the lease then runs out by itself.
    """
    run = _Run(assistant, options)
    with run.connect(run.deadline_seconds) as worker:
        until = monotonic() + (run.deadline_seconds if claim_seconds is None else claim_seconds)
        return run.answer(worker, _claim(worker, invocation_id, run.term_seconds, until, on_held))


def serve(
    assistant: Assistant,
    deployments: Sequence[str] = (DEPLOYMENT,),
    *,
    wait_ms: int = limits.WAIT_MS_MAX,
    stop: threading.Event | None = None,
    on_success: Callable[[Invocation], None] | None = None,
    on_failure: Callable[[Invocation, Exception], None] | None = None,
    **options: Unpack[RunOptions],
) -> None:
    """Run an assistant on the invocations of these deployments, the oldest first, as they come.

    It sleeps in the daemon while there is none, and survives the daemon's restarts as ``run_one`` does. What
    an assistant raises ends its attempt and not the loop, and so does its wish to end the process:
    ``on_failure`` is told, with the invocation as it was claimed; without it the error is logged.
    ``on_success`` is told each invocation that was answered. An
    interrupt from the keyboard ends both. Returns when ``stop`` is set, which is looked at between two
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
                answered = run.answer(worker, claim)
            except Exception as error:
                if error is run.away:
                    raise
                tell(claim.invocation, error)
            else:
                if on_success is not None:
                    on_success(answered)


class _Run:
    """One assistant, and how it is run."""

    def __init__(self, assistant: Assistant, options: RunOptions) -> None:
        self._assistant = assistant
        self._options = options
        self.deadline_seconds = options.get("deadline_seconds", DEADLINE_SECONDS)
        self.term_seconds = options.get("term_seconds", limits.LEASE_TERM_SECONDS_SDK)
        self.away: TransportError | None = None
        """What was raised last because the daemon did not answer; an assistant may raise such errors too."""

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
            secrets=options.get("secrets", "redact"),
            observer=options.get("observer"),
            patience=options.get("patience"),
        )

    def answer(self, worker: WorkerClient, claim: InvocationClaim) -> Invocation:
        """Runs the assistant under the claim; the invocation as it is when it has succeeded."""
        ctx = InvocationContext(worker, claim)
        with Renewal(self.connect, ctx, claim, self.term_seconds):
            try:
                ctx.learn(ctx.while_held(lambda: worker.progress(claim)))
                self._assistant.run(ctx)
                return _complete(ctx, worker, claim)
            except BaseException as error:
                self.away = ctx.away
                if not (error is ctx.lost or error is ctx.away):  # then nobody can be told, or need be
                    self._report(worker, claim, error)
                if isinstance(error, Exception | KeyboardInterrupt):
                    raise
                raise AssistantExited(
                    f"the assistant asked for the end of the process ({_words(error)}) and its attempt of"
                    f" {claim.invocation.invocation_id} has failed; end it by returning, or by an exception"
                ) from error

    def _report(self, worker: WorkerClient, claim: InvocationClaim, error: BaseException) -> None:
        """Tell the daemon that the attempt has failed, and why. The error has a note where that fails."""
        retryable = self._options.get("retryable", True)
        seconds = self.deadline_seconds
        if isinstance(error, KeyboardInterrupt):
            seconds = min(seconds, INTERRUPTED_SECONDS_MAX)
        # The fence tells one attempt's failure from the next one's: each is a command of its own.
        key = f"{claim.invocation.invocation_id}.fail.{claim.fence_epoch}"
        try:
            worker.fail(
                claim,
                _reason_class(error),
                retryable=retryable,
                reason=_words(error),
                key=key,
                deadline_seconds=seconds,
            )
        except TallyError as unreported:
            error.add_note(f"the daemon could not be told that the attempt failed: {unreported}")


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


def _claim(
    worker: WorkerClient,
    invocation_id: str,
    term_seconds: int,
    until: float,
    on_held: Callable[[int], None] | None,
) -> InvocationClaim:
    """A claim under a new key: this is another attempt than any that came before."""
    key = f"{invocation_id}.claim.{os.urandom(16).hex()}"
    pause = threading.Event()
    while True:
        left = until - monotonic()
        try:
            return worker.claim(invocation_id, term_seconds=term_seconds, key=key).value
        except InvocationEnded:
            raise
        except StaleLease as problem:
            if left <= 0:
                raise
            if on_held is not None and isinstance(problem, LeaseHeld):
                on_held(problem.remaining_seconds)
        pause.wait(min(left, CLAIM_AGAIN_SECONDS_MAX * jitter()))


def _reason_class(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    return ASSISTANT_ERROR if isinstance(error, Exception) else ASSISTANT_EXITED


def _words(error: BaseException) -> str:
    """What was raised, as a reason that the daemon takes: within its limit, and without lone surrogates."""
    try:
        said = str(error)
    except Exception:  # an exception's own words may fail too
        said = ""
    words = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return words.encode("utf-8", "replace").decode()[: limits.FREE_TEXT_SCALARS_MAX]


def _complete(ctx: InvocationContext, worker: WorkerClient, claim: InvocationClaim) -> Invocation:
    key = f"{claim.invocation.invocation_id}.complete"
    return ctx.while_held(lambda: worker.complete(claim, result=ctx.last_contribution, key=key)).value


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
