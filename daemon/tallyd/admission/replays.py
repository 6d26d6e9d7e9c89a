"""Whether an actor may have the stored reply of a command that it sends again.

A replay is judged by what the actor may now, not by what it could when the command first ran.

* A client's command was admitted a moment ago, and its key's scope holds its actor. An agent must also still
  see what the command wrote, and have the rights for it there, even where the command names the space only
  through another object.
* A worker gets the receipts of its attempt while that attempt is current. The command that ended an attempt
  is answered to that attempt afterwards too: a reply that was lost on the way must be recoverable.
* A claim, of an invocation or of a task, is answered again while what it made is current.
* What a holder did under its claim is answered again while the claim is current; the command that ended it,
  always.
"""

from __future__ import annotations

from tallyd.admission.prelude import Admission, check_space, may_claim
from tallyd.admission.visibility import shows
from tallyd.ledger import attempts, claims
from tallyd.ledger.attempts import AttemptRow, InvocationRow
from tallyd.ledger.log import LogRow
from tallyd.ledger.view import View
from tallystick.protocol.envelope import AnyRequest
from tallystick.protocol.operation import Socket
from tallystick.protocol.problems import not_found, stale_lease


def authorize_replay(
    view: View, first: LogRow, request: AnyRequest, admission: Admission
) -> AttemptRow | None:
    """Judges a request whose key leads to the command of row ``first``.

    Returns the attempt whose lease the replay renews, if it renews one. Raises Refusal ``stale-lease``,
    ``not-found`` or ``forbidden``.
    """
    if request.operation.socket is not Socket.WORKER:
        _authorize_client(view, first, request, admission)
        _authorize_holder(view, first, admission)
        return None
    if admission.attempt is None:
        _authorize_claim(view, first, admission)
        return None
    return _authorize_attempt(view, first, request, admission.attempt)


def _authorize_client(view: View, first: LogRow, request: AnyRequest, admission: Admission) -> None:
    if first.stream is None:
        return
    if not shows(view, admission, first):
        raise not_found("result of this command", "that this actor may still see")
    if admission.agent is not None:
        space = view.space_at(first.stream)
        if space is not None:
            check_space(view, request, admission, space)


def _authorize_holder(view: View, first: LogRow, admission: Admission) -> None:
    claim = admission.claim or claims.made_by(view, first)
    if claim is None or claim.is_current(view) or claim.ending == first.position:
        return
    task = claims.task_at(view, claim.task)
    assert task is not None, "a claim without its task"
    raise claims.refuse(view, task, "this claim is no longer the current one")


def _authorize_claim(view: View, first: LogRow, admission: Admission) -> None:
    attempt = attempts.latest(view, _claimed(view, first, admission).position)
    if (
        attempt is None
        or attempt.claim != first.position
        or not attempts.is_current(view, attempt, attempt.fence)
    ):
        raise stale_lease("the claim's attempt is no longer the current one; claim again with a new key")


def _authorize_attempt(
    view: View, first: LogRow, request: AnyRequest, attempt: AttemptRow
) -> AttemptRow | None:
    fence = getattr(request.args, "fence_epoch", None)
    if isinstance(fence, int) and fence == attempt.fence:
        if attempt.ending == first.position:
            return None
        if attempts.is_current(view, attempt, fence):
            return attempt
    raise stale_lease(
        "this attempt is no longer the current one; what it did stands, and it gets no more receipts"
    )


def _claimed(view: View, first: LogRow, admission: Admission) -> InvocationRow:
    """The invocation that a claim took, if this actor may still have it: the one that the claim named, or,
    where it took the next one, that of its event. Raises Refusal ``not-found``.
    """
    if admission.invocation is not None:
        return admission.invocation
    assert first.stream is not None, "a claim has an event, in its invocation's stream"
    invocation = attempts.invocation_at(view, first.stream)
    assert invocation is not None, "an event of an invocation that is not there"
    if not may_claim(view, admission, invocation):
        raise not_found("invocation that this claim took", "for this actor any more")
    return invocation
