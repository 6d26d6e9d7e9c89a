"""The fence: what a worker's command goes through before its handler.

A fence is state, not authority: a worker that lost its attempt is told ``stale-lease``, whatever it sends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tallyd.admission import Admission, refuse_stale
from tallyd.ledger.attempts import AttemptRow, InvocationRow
from tallyd.ledger.transaction import Applied, Transaction
from tallyd.ledger.view import View
from tallystick.protocol.arguments import Args
from tallystick.protocol.envelope import AnyRequest, Request
from tallystick.protocol.problems import deadline_exceeded

A = TypeVar("A", bound=Args)


def fenced(
    handler: Callable[[Transaction, Request[A], Admission], Applied],
) -> Callable[[Transaction, Request[A], Admission], Applied]:
    """The handler behind its fence: the attempt that speaks is the current one, and the deadline has not
    passed. The command renews the lease.
    """

    def behind_the_fence(tx: Transaction, request: Request[A], admission: Admission) -> Applied:
        pass_fence(tx, request, admission)
        return handler(tx, request, admission)

    return behind_the_fence


def step(
    handler: Callable[[Transaction, Request[A], Admission], Applied],
) -> Callable[[Transaction, Request[A], Admission], Applied]:
    """The same for a step of the work: a later attempt of the same invocation finds it done."""

    def behind_the_fence(tx: Transaction, request: Request[A], admission: Admission) -> Applied:
        tx.step_of = pass_fence(tx, request, admission).position
        return handler(tx, request, admission)

    return behind_the_fence


def pass_fence(tx: Transaction, request: AnyRequest, admission: Admission) -> InvocationRow:
    """The invocation of the attempt that speaks, whose lease the command renews when it is in. Raises Refusal
    ``stale-lease`` or ``deadline-exceeded``.
    """
    attempt, invocation = check_fence(tx, request, admission)
    if tx.now_ms > invocation.deadline_ms:
        raise deadline_exceeded(
            f"invocation {invocation.invocation_id} was to be done by its deadline, which passed"
        )
    tx.lease_changes.append(lambda: tx.leases.renew(attempt.invocation, attempt.term_seconds))
    return invocation


def check_fence(view: View, request: AnyRequest, admission: Admission) -> tuple[AttemptRow, InvocationRow]:
    """Raises Refusal ``stale-lease`` unless the attempt that speaks is the current one."""
    attempt, invocation = admission.attempt, admission.invocation
    assert attempt is not None
    assert invocation is not None
    refuse_stale(view, request, attempt, invocation)
    return attempt, invocation
