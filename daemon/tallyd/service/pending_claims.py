"""Commands that wait for work: asleep until there may be something for them to do.

Such a command is given to the clerk, and where it finds nothing (``Idle``) it sleeps. It is given to the
clerk again each time it may find something: when a commit wakes one of its names, and when the time comes at
which the command itself said that it might. In between it costs a task that sleeps.

Commits are heard of in the order in which the clerk made them. A request still queued runs after a commit
that is heard of now, and will see it; so only sleepers are woken, in the order in which they came.
"""

from __future__ import annotations

from collections.abc import Collection

import trio

from tallyd.clerk import Answer, Command
from tallyd.door import Exchange
from tallyd.families.shared.family import Pending
from tallyd.service.commands import Commands
from tallyd.service.driver import Promise
from tallystick.protocol.arguments import Args


class PendingClaim(Promise):
    """One command that waits: in the clerk's hands, or asleep."""

    __slots__ = ("asleep", "command", "names", "resubmitted")

    def __init__(self, command: Command, names: frozenset[str]) -> None:
        super().__init__()
        self.command = command
        self.names = names
        """Under which it is woken."""
        self.asleep = False
        """Its last answer was that there is nothing to do, and it was not given to the clerk again."""
        self.resubmitted = trio.Event()

    def keep(self, answer: Answer) -> None:
        """The clerk has looked. It is asleep from this moment on, and not only when its task runs next."""
        self.asleep = answer.idle is not None
        super().keep(answer)

    def begin_again(self) -> None:
        """It is given to the clerk once more."""
        self.asleep = False
        self.renew()
        self.resubmitted.set()
        self.resubmitted = trio.Event()


class PendingClaims:
    """All of them. On the loop."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._claims: dict[PendingClaim, None] = {}

    def __len__(self) -> int:
        return len(self._claims)

    async def serve(self, command: Command, pending: Pending[Args], exchange: Exchange) -> bytes:
        """The reply, when there is something to do or the time is over. What the clerk may yet claim for a
        client that is gone is found by the same key, or runs out.
        """
        request = command.request
        claim = PendingClaim(command, frozenset((*pending.names(request), command.speaker.actor)))
        ends = trio.current_time() + pending.wait_ms(request.args) / 1000
        self._claims[claim] = None
        try:
            self._commands.submit(command, claim)
            while True:
                answer = await claim.answer()
                if answer.idle is None or _is_over(exchange, ends):
                    return answer.reply
                again = answer.idle.again_seconds
                due = ends if again is None else min(ends, trio.current_time() + again)
                with trio.move_on_at(due) as scope:
                    exchange.wake = scope.cancel
                    if claim.asleep:
                        await claim.resubmitted.wait()
                if claim.asleep:
                    if _is_over(exchange, ends):
                        return answer.reply
                    self._try(claim)
        finally:
            exchange.wake = None
            del self._claims[claim]

    def woken(self, names: Collection[str]) -> None:
        """What was committed may give work to whoever waits under one of these names."""
        for claim in self._claims:
            if claim.asleep and not claim.names.isdisjoint(names):
                self._try(claim)

    def _try(self, claim: PendingClaim) -> None:
        claim.begin_again()
        self._commands.submit(claim.command, claim)


def _is_over(exchange: Exchange, ends: float) -> bool:
    return exchange.abandoned or exchange.finishing_early or trio.current_time() >= ends
