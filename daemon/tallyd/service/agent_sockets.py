"""Agents' directories of sockets: they appear and go with their agents, while the daemon runs.

What there should be follows from the rows of the agents, and is compared with what there is: at start, and
whenever the realm's stream was written to. An agent that was revoked loses its sockets, its directory and its
connections; one that has expired is refused by admission at once, and its sockets go at the next comparison.

An agent with a uid of its own reaches its sockets through directories that others may pass and not list
(0711), and the kernel says who it is; all other directories and sockets are the owner's alone.
"""

from __future__ import annotations

import contextlib
import logging
import os
from typing import Final

from tallyd.door import Channel, Door, ListenRefused
from tallyd.ledger import agents
from tallyd.ledger.agents import AgentRow
from tallyd.operations.agents import directory
from tallyd.readers.reads import Reader
from tallyd.service.dispatcher import Parsed
from tallystick.paths import CLIENT_SOCKET, WORKER_SOCKET
from tallystick.protocol.registry import Socket

logger = logging.getLogger("tallyd.agents")

STRENGTH: Final = "agent-socket"
_PASSABLE: Final = 0o711
_PRIVATE: Final = 0o700
_OPEN_SOCKET: Final = 0o666


class AgentSockets:
    """On the loop."""

    def __init__(self, door: Door[Parsed], reader: Reader, runtime_dir: str) -> None:
        self._door = door
        self._reader = reader
        self._runtime_dir = runtime_dir
        self._listening: dict[str, tuple[Channel, ...]] = {}
        self._due = False

    def compare(self) -> None:
        """Makes what there is what there should be."""
        rows = self._reader.try_read(agents.active)
        self._due = rows is None
        if rows is None:
            return
        wanted = {row.agent_id: row for row in rows}
        for agent_id in self._listening.keys() - wanted.keys():
            self._remove(agent_id)
        for agent_id in wanted.keys() - self._listening.keys():
            self._add(wanted[agent_id])

    def reopened(self) -> None:
        """The gate is open again: a comparison that it kept back is made now."""
        if self._due:
            self.compare()

    def _add(self, row: AgentRow) -> None:
        path = os.path.join(self._runtime_dir, directory(row.agent_id))
        channels = tuple(
            _channel(row, socket, os.path.join(path, name))
            for socket, name in ((Socket.CLIENT, CLIENT_SOCKET), (Socket.WORKER, WORKER_SOCKET))
        )
        try:
            self._make_directories(path, passable=row.peer_uid is not None)
            for channel in channels:
                self._door.listen(channel)
        except (OSError, ListenRefused) as failure:
            logger.error("agent %s has no sockets: %s", row.agent_id, failure)
            for channel in channels:
                self._door.unlisten(channel)
            return
        self._listening[row.agent_id] = channels
        logger.info("agent %s listens in %s", row.agent_id, path)

    def _make_directories(self, path: str, *, passable: bool) -> None:
        parent = os.path.dirname(path)
        for made in (parent, path):
            with contextlib.suppress(FileExistsError):
                os.mkdir(made, _PRIVATE)
        if passable:
            for opened in (self._runtime_dir, parent, path):
                os.chmod(opened, _PASSABLE)

    def _remove(self, agent_id: str) -> None:
        for channel in self._listening.pop(agent_id):
            self._door.unlisten(channel)
            self._door.disconnect(channel)
        with contextlib.suppress(OSError):
            os.rmdir(os.path.join(self._runtime_dir, directory(agent_id)))
        logger.info("agent %s listens no more", agent_id)


def _channel(row: AgentRow, socket: Socket, path: str) -> Channel:
    if row.peer_uid is None:
        return Channel(
            socket=socket, actor=row.agent_id, strength=STRENGTH, path=path, allowed_uid=os.geteuid()
        )
    return Channel(
        socket=socket,
        actor=row.agent_id,
        strength=STRENGTH,
        path=path,
        allowed_uid=row.peer_uid,
        mode=_OPEN_SOCKET,
    )
