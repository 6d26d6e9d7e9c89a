"""Workers that wait for work: asleep until an invocation may be theirs.

A waiting ``tallystick_invocation_next`` is a command that has found nothing yet. It is given to the clerk
again each time it may find something: when a commit was durable that makes an invocation claimable, by its
deployment or for its actor, and when the earliest lease runs out or the earliest ``not_before`` comes. In
between it costs a row in a table and a timer in the door's heap; nobody looks again and again.

Commits are heard of in the order in which the clerk made them. So whoever was in the clerk's hands when a
commit is heard of comes after it, and has seen it already: only sleepers are woken, in the order in which
they came.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import trio

from tallyd.clerk.clerk import Answer, Command
from tallyd.door import Exchange, Timer
from tallyd.ledger.transaction import Idle
from tallystick.protocol.families.work import TallystickInvocationNextArgs


class Sleeper(msgspec.Struct, eq=False):
    """One request that waits: in the clerk's hands, or asleep with what it is answered when it is over."""

    command: Command
    exchange: Exchange
    names: frozenset[str]
    """The deployments and the actor under which it is woken."""
    ends: float
    over: Callable[[Sleeper], None]
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
        submit: Callable[[Command, Sleeper], None],
        call_at: Callable[[float, Callable[[], None]], Timer],
    ) -> None:
        self._submit = submit
        self._call_at = call_at
        self._sleepers: dict[int, Sleeper] = {}

    def __len__(self) -> int:
        return len(self._sleepers)

    def begin(self, command: Command, exchange: Exchange) -> None:
        """Gives the command to the clerk for the first time."""
        args = command.request.args
        assert isinstance(args, TallystickInvocationNextArgs)
        names = frozenset((*args.deployments, command.speaker.actor))
        ends = trio.current_time() + args.wait_ms / 1000
        sleeper = Sleeper(command, exchange, names, ends, self._over)
        self._sleepers[id(exchange)] = sleeper
        self._submit(command, sleeper)

    def found_nothing(self, sleeper: Sleeper, answer: Answer) -> None:
        """The clerk has nothing for it: it sleeps, or was answered too late already."""
        assert isinstance(answer.after, Idle)
        if self._sleepers.get(id(sleeper.exchange)) is not sleeper:
            return
        sleeper.nothing = answer.reply
        now = trio.current_time()
        if sleeper.exchange.finishing_early or now >= sleeper.ends:
            self._end(sleeper)
            return
        again = answer.after.again_seconds
        due = sleeper.ends if again is None else min(sleeper.ends, now + again)
        sleeper.timer = self._call_at(due, lambda: self._due(sleeper))

    def woken(self, names: frozenset[str]) -> None:
        """What was committed may give work to whoever waits under one of these names."""
        for sleeper in list(self._sleepers.values()):
            if sleeper.nothing is not None and not names.isdisjoint(sleeper.names):
                self._try(sleeper)

    def finish_early(self, exchange: Exchange) -> None:
        """A request stands behind it, or the daemon stops: it is answered now, or as soon as the clerk has
        looked.
        """
        sleeper = self._sleepers.get(id(exchange))
        if sleeper is not None and sleeper.nothing is not None:
            self._end(sleeper)

    def abandon(self, exchange: Exchange) -> None:
        """Its client is gone. What the clerk may yet claim for it is found by the same key, or runs out."""
        sleeper = self._sleepers.get(id(exchange))
        if sleeper is not None:
            self._over(sleeper)

    def _due(self, sleeper: Sleeper) -> None:
        if trio.current_time() >= sleeper.ends:
            self._end(sleeper)
        else:
            self._try(sleeper)

    def _try(self, sleeper: Sleeper) -> None:
        sleeper.nothing = None
        if sleeper.timer is not None:
            sleeper.timer.cancel()
        self._submit(sleeper.command, sleeper)

    def _end(self, sleeper: Sleeper) -> None:
        nothing = sleeper.nothing
        assert nothing is not None, "a waiting request is answered before the clerk has looked"
        sleeper.reply(nothing)

    def _over(self, sleeper: Sleeper) -> None:
        self._sleepers.pop(id(sleeper.exchange), None)
        if sleeper.timer is not None:
            sleeper.timer.cancel()
