"""Workers that wait for work: asleep until an invocation may be theirs.

A waiting ``tallystick_invocation_next`` is a command that has found nothing yet. It is given to the clerk
again each time it may find something: when a commit was durable that makes an invocation claimable, by its
deployment or for its actor, and when the earliest lease runs out or the earliest ``not_before`` comes. In
between it costs a row in a table and a timer in the door's heap; nobody looks again and again.

Commits are heard of in the order in which the clerk made them. So a claim that is still with the clerk when a
commit is heard of runs after that commit and sees it: only claims that sleep are woken, in the order in which
they came.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import trio

from tallyd.clerk import Answer, Command
from tallyd.door import Exchange, Timer
from tallyd.ledger.transaction import Idle
from tallystick.protocol.families.work import TallystickInvocationNextArgs


class PendingClaim(msgspec.Struct, eq=False):
    """A claim of whatever comes next: with the clerk, or asleep until there may be something."""

    command: Command
    exchange: Exchange
    names: frozenset[str]
    """The deployments and the actor under which it is woken."""
    ends: float
    over: Callable[[PendingClaim], None]
    nothing: bytes | None = None
    """Set while it sleeps."""
    timer: Timer | None = None

    def reply(self, line: bytes) -> None:
        """The clerk's last word: a claim, or a refusal."""
        self.over(self)
        self.exchange.reply(line)


class WorkWaits:
    """All of them. On the loop."""

    def __init__(
        self,
        submit: Callable[[Command, PendingClaim], None],
        call_at: Callable[[float, Callable[[], None]], Timer],
    ) -> None:
        self._submit = submit
        self._call_at = call_at
        self._pending: dict[int, PendingClaim] = {}

    def __len__(self) -> int:
        return len(self._pending)

    def begin(self, command: Command, exchange: Exchange) -> None:
        """Gives the command to the clerk for the first time."""
        args = command.request.args
        assert isinstance(args, TallystickInvocationNextArgs)
        names = frozenset((*args.deployments, command.speaker.actor))
        ends = trio.current_time() + args.wait_ms / 1000
        claim = PendingClaim(command, exchange, names, ends, self._over)
        self._pending[id(exchange)] = claim
        self._submit(command, claim)

    def found_nothing(self, claim: PendingClaim, answer: Answer) -> None:
        """The clerk has nothing for it: it sleeps, or was answered too late already."""
        assert isinstance(answer.after, Idle)
        if self._pending.get(id(claim.exchange)) is not claim:
            return
        claim.nothing = answer.reply
        now = trio.current_time()
        if claim.exchange.finishing_early or now >= claim.ends:
            self._end(claim)
            return
        again = answer.after.again_seconds
        due = claim.ends if again is None else min(claim.ends, now + again)
        claim.timer = self._call_at(due, lambda: self._due(claim))

    def woken(self, names: frozenset[str]) -> None:
        """What was committed may give work to whoever waits under one of these names."""
        for claim in list(self._pending.values()):
            if claim.nothing is not None and not names.isdisjoint(claim.names):
                self._try(claim)

    def finish_early(self, exchange: Exchange) -> None:
        """A request stands behind it, or the daemon stops: it is answered now, or as soon as the clerk has
        looked.
        """
        claim = self._pending.get(id(exchange))
        if claim is not None and claim.nothing is not None:
            self._end(claim)

    def abandon(self, exchange: Exchange) -> None:
        """Its client is gone. What the clerk may yet claim for it is found by the same key, or runs out."""
        claim = self._pending.get(id(exchange))
        if claim is not None:
            self._over(claim)

    def _due(self, claim: PendingClaim) -> None:
        if trio.current_time() >= claim.ends:
            self._end(claim)
        else:
            self._try(claim)

    def _try(self, claim: PendingClaim) -> None:
        claim.nothing = None
        if claim.timer is not None:
            claim.timer.cancel()
        self._submit(claim.command, claim)

    def _end(self, claim: PendingClaim) -> None:
        nothing = claim.nothing
        assert nothing is not None, "a waiting request is answered before the clerk has looked"
        claim.reply(nothing)

    def _over(self, claim: PendingClaim) -> None:
        self._pending.pop(id(claim.exchange), None)
        if claim.timer is not None:
            claim.timer.cancel()
