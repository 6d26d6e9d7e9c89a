"""Records of access: a read of something sensitive is on record before any of it is served."""

from __future__ import annotations

from collections.abc import Collection

from tallyd.admission import Speaker
from tallyd.clerk import AccessRecord
from tallyd.service.commands import Commands
from tallystick.protocol.envelope import AnyRequest
from tallystick.protocol.problems import Refusal, unavailable


class AccessRecords:
    """On the loop."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    async def write(
        self, request: AnyRequest, speaker: Speaker, objects: Collection[str], *, denied: bool
    ) -> None:
        """Returns when the record is durable. Raises Refusal where it cannot be made: without it nothing is
        served.
        """
        if self._commands.stopping:
            raise unavailable("the daemon is stopping, and keeps no record of a read")
        answer = await self._commands.run(AccessRecord(request, speaker, tuple(objects), denied=denied))
        if answer.problem is not None:
            raise Refusal(answer.problem)
