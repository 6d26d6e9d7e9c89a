"""A task that is held: its claim, renewed by a thread while the holder works.

::

    with HeldTask(client, client.task_next(project, wait_ms=60_000).value) as task:
        task.note("totals.py done")
        task.done("rounded, and tested")

Left without an end it is released; left by an exception it fails, and may be tried again. A claim that is no
longer the current one is told by ``lost``, and raises ``StaleLease`` from whatever is asked of it. The thread
and its holder take turns on the client's connection.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tallystick.calls.tasks import AnyClaim, ClaimRef, claim_ref
from tallystick.errors import NotFound, StaleLease, TallyError

if TYPE_CHECKING:
    from tallystick.client import Client
    from tallystick.protocol.families.tasks import Task, TaskDone


class HeldTask:
    """A context manager around a claim. Raises ValueError for a claim of nothing."""

    def __init__(self, client: Client, claim: AnyClaim, *, term_seconds: int | None = None) -> None:
        """``term_seconds`` is the claim's term, where ``claim`` is not its record."""
        self.claim: ClaimRef = claim_ref(claim)
        term = term_seconds or getattr(claim, "term_seconds", None)
        if term is None:
            raise ValueError("name the claim's term_seconds, so that it is renewed in time")
        self._client = client
        self._every_seconds = term / 3
        self._stop = threading.Event()
        self._lost = threading.Event()
        self._ended = False
        self._thread = threading.Thread(target=self._renew, name="tallystick-renew", daemon=True)

    @property
    def task_id(self) -> str:
        return self.claim.task_id

    @property
    def lost(self) -> bool:
        """Whether somebody else may hold the task by now: stop working on it."""
        return self._lost.is_set()

    def note(self, text: str) -> Task:
        """Say what is to be known about the task."""
        return self._client.task_note(self.claim.project_id, self.claim.task_id, text).value

    def done(self, receipt: str) -> TaskDone:
        """The task is done; ``receipt`` says what was done. Raises ``StaleLease``."""
        ended = self._client.task_done(self.claim, receipt).value
        self._ended = True
        return ended

    def fail(self, text: str, *, retryable: bool) -> Task:
        """This attempt failed. Raises ``StaleLease``."""
        ended = self._client.task_fail(self.claim, text, retryable=retryable).value
        self._ended = True
        return ended

    def release(self, note: str | None = None) -> Task:
        """Give the task back. Raises ``StaleLease``."""
        ended = self._client.task_release(self.claim, note).value
        self._ended = True
        return ended

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        if self._ended or self.lost:
            return
        if error is None:
            self.release()
            return
        try:
            self.fail(f"{type(error).__name__} ended the holder's work", retryable=True)
        except TallyError as failure:
            error.add_note(f"and its task could not be failed: {failure}")

    def _renew(self) -> None:
        """On the thread: renews at a third of the term, until the work ends or the claim is lost. What goes
        wrong on the way is tried again at the next third.
        """
        while not self._stop.wait(self._every_seconds):
            try:
                self._client.task_renew(self.claim)
            except (StaleLease, NotFound):
                self._lost.set()
                return
            except TallyError:
                continue
