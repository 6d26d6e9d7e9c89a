"""Agents' directories of sockets: they appear and go with their agents, while the daemon runs.

What there should be follows from the rows of the agents, and is compared with what there is: at start, and
whenever the realm's stream was written to. An agent that was revoked loses its sockets, its directory and its
connections; one that has expired is refused by admission at once, and its sockets go at the next comparison.

An agent with a uid of its own reaches its sockets through directories that others may pass and not list
(0711), and the kernel says who it is; all other directories and sockets are the owner's alone. With the last
such agent the directories above are closed again.

An agent's directory outlives the daemon, empty: whoever mounted it into a sandbox finds the sockets of the
next one in it.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Collection, Sequence
from typing import Final

import trio

from tallyd.door import Channel, Door, ListenRefused
from tallyd.door.channel import PRIVATE_SOCKET_MODE
from tallyd.families.agents import PARENT, directory
from tallyd.ledger import agents, ids
from tallyd.ledger.agents import AgentRow
from tallyd.readers.reads import LoopReader
from tallyd.service.lines import Parsed
from tallystick.paths import CLIENT_ALIAS, CLIENT_SOCKET, WORKER_ALIAS, WORKER_SOCKET
from tallystick.protocol.operation import Socket

logger = logging.getLogger("tallyd.agents")

STRENGTH: Final = "agent-socket"
_PASSABLE: Final = 0o711
_PRIVATE: Final = 0o700
_OPEN_SOCKET: Final = 0o666


class AgentSockets:
    """On the loop."""

    def __init__(self, door: Door[Parsed], reader: LoopReader, runtime_dir: str) -> None:
        self._door = door
        self._reader = reader
        self._runtime_dir = runtime_dir
        self._listening: dict[str, tuple[Channel, ...]] = {}
        self._failed: dict[str, str] = {}
        """Why agents have no sockets, as it was logged."""
        self._due = trio.Event()
        self._begun = False
        self._passable: bool | None = None

    def compare(self) -> None:
        """Makes what there is what there should be; when the gate opens, where it is closed."""
        seen = self._reader.try_look(agents.active)
        if seen is None:
            self._due.set()
        else:
            self._apply(seen.value())

    async def run(self) -> None:
        """Until canceled: makes the comparisons that a closed gate kept back."""
        while True:
            await self._due.wait()
            self._due = trio.Event()
            self._apply(await self._reader.read(agents.active))

    def _apply(self, rows: Sequence[AgentRow]) -> None:
        wanted = {row.agent_id: row for row in rows}
        if not self._begun:
            self._sweep(wanted.keys())
        for agent_id in self._listening.keys() - wanted.keys():
            self._remove(agent_id)
        self._open_ways(any(row.peer_uid is not None for row in rows))
        for agent_id, row in wanted.items():
            if agent_id not in self._listening:
                self._add(row)
            elif not os.path.isdir(self._path(agent_id)):
                self._make_directory(row)  # its sockets are bound anew when they are found lost
        self._failed = {name: why for name, why in self._failed.items() if name in wanted}
        self._begun = True

    def _path(self, agent_id: str) -> str:
        return os.path.join(self._runtime_dir, directory(agent_id))

    def _sweep(self, wanted: Collection[str]) -> None:
        """At the beginning: directories of agents that were revoked when an earlier daemon died."""
        parent = os.path.join(self._runtime_dir, PARENT)
        try:
            names = os.listdir(parent)
        except FileNotFoundError:
            return
        for name in names:
            if ids.digits(agents.PREFIX, name) is not None and name not in wanted:
                for left in (CLIENT_SOCKET, WORKER_SOCKET, CLIENT_ALIAS, WORKER_ALIAS):
                    with contextlib.suppress(OSError):
                        os.unlink(os.path.join(parent, name, left))
                with contextlib.suppress(OSError):
                    os.rmdir(os.path.join(parent, name))

    def _open_ways(self, passable: bool) -> None:
        """Others pass through the directories above the agents' while there is somebody whom that serves."""
        if passable == self._passable:
            return
        parent = os.path.join(self._runtime_dir, PARENT)
        if passable:
            with contextlib.suppress(FileExistsError):
                os.mkdir(parent, _PRIVATE)
        for above in (self._runtime_dir, parent):
            with contextlib.suppress(FileNotFoundError):
                os.chmod(above, _PASSABLE if passable else _PRIVATE)
        self._passable = passable

    def _add(self, row: AgentRow) -> None:
        path = self._path(row.agent_id)
        channels = tuple(
            _channel(row, socket, os.path.join(path, name))
            for socket, name in ((Socket.CLIENT, CLIENT_SOCKET), (Socket.WORKER, WORKER_SOCKET))
        )
        try:
            self._make_directory(row)
            for channel in channels:
                self._door.listen(channel)
        except (OSError, ListenRefused) as failure:
            for channel in channels:
                self._door.unlisten(channel)
            if self._failed.get(row.agent_id) != str(failure):
                self._failed[row.agent_id] = str(failure)
                logger.error("agent %s has no sockets: %s", row.agent_id, failure)
            return
        self._failed.pop(row.agent_id, None)
        self._listening[row.agent_id] = channels
        logger.info("agent %s listens in %s", row.agent_id, path)

    def _make_directory(self, row: AgentRow) -> None:
        path = self._path(row.agent_id)
        for made in (os.path.dirname(path), path):
            with contextlib.suppress(FileExistsError):
                os.mkdir(made, _PRIVATE)
        if row.peer_uid is not None:
            os.chmod(path, _PASSABLE)

    def _remove(self, agent_id: str) -> None:
        for channel in self._listening.pop(agent_id):
            self._door.unlisten(channel)
            self._door.disconnect(channel)
        with contextlib.suppress(OSError):
            os.rmdir(self._path(agent_id))
        logger.info("agent %s listens no more", agent_id)


def _channel(row: AgentRow, socket: Socket, path: str) -> Channel:
    own = row.peer_uid is not None
    return Channel(
        socket=socket,
        actor=row.agent_id,
        strength=STRENGTH,
        path=path,
        allowed_uid=os.geteuid() if row.peer_uid is None else row.peer_uid,
        mode=_OPEN_SOCKET if own else PRIVATE_SOCKET_MODE,
        guest=row.agent_id,
    )
