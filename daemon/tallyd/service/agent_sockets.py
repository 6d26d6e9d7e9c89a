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

import apsw
import trio

from tallyd.door import Channel, Door, ListenRefused, room_for_guest
from tallyd.door.channel import PRIVATE_SOCKET_MODE
from tallyd.families.agents import PARENT, directory
from tallyd.ledger import agents, ids
from tallyd.ledger.agents import AgentRow
from tallyd.readers.reads import LoopReader
from tallyd.service.lines import Parsed
from tallystick.paths import CLIENT_ALIAS, CLIENT_SOCKET, SOCKET_PATH_BYTES_MAX, WORKER_ALIAS, WORKER_SOCKET
from tallystick.protocol.operation import Socket

logger = logging.getLogger("tallyd.agents")

STRENGTH: Final = "agent-socket"
_PASSABLE: Final = 0o711
_PRIVATE: Final = 0o700
_OPEN_SOCKET: Final = 0o666
_NAMES: Final = (CLIENT_SOCKET, WORKER_SOCKET, CLIENT_ALIAS, WORKER_ALIAS)
"""What lies in an agent's directory."""
_TRIED: Final = "room"
"""Beside the agents' directories, for a moment: whether another one could be made."""


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
        """Makes what there is what there should be; a little later, where the gate is closed or the rows
        cannot be read.
        """
        try:
            seen = self._reader.try_look(agents.active)
        except apsw.Error as failure:
            logger.error("the agents cannot be read, and are a little later: %s", type(failure).__name__)
            seen = None
        if seen is None:
            self._due.set()
        else:
            self._apply(seen.value())

    async def run(self) -> None:
        """Until canceled: makes the comparisons that could not be made at once. Raises apsw.Error, and then
        another run goes on with it.
        """
        while True:
            await self._due.wait()
            self._apply(await self._reader.read(agents.active))
            self._due = trio.Event()

    def no_room(self, others: int) -> str | None:
        """Why one more agent beside so many could not be served; None where it could. Any thread.

        Its directory and what lies in it are made once under another name and taken away again.
        """
        longest = os.path.join(self._path(ids.text(agents.PREFIX, bytes(16))), WORKER_SOCKET)
        if len(os.fsencode(longest)) > SOCKET_PATH_BYTES_MAX:
            return "the path of its sockets is too long: set TALLY_RUNTIME_DIR to a shorter directory"
        if not room_for_guest(others):
            return (
                f"beside {others} others the daemon has no descriptors for its sockets and connections: "
                f"raise its limit (LimitNOFILE, ulimit -n), or revoke an agent that is not needed"
            )
        return self._tried(os.path.join(self._runtime_dir, PARENT))

    def _tried(self, parent: str) -> str | None:
        tried = os.path.join(parent, _TRIED)
        names = [os.path.join(tried, name) for name in _NAMES]
        try:
            for made in (parent, tried):
                with contextlib.suppress(FileExistsError):
                    os.mkdir(made, _PRIVATE)
            for name in names:
                with contextlib.suppress(FileExistsError):
                    os.symlink("nowhere", name)
        except OSError as failure:
            return f"its sockets cannot be made in {parent}: {failure.strerror}"
        finally:
            _take_away(tried)
        return None

    def _apply(self, rows: Sequence[AgentRow]) -> None:
        """What cannot be made for one agent is logged, and keeps nothing from the others."""
        wanted = {row.agent_id: row for row in rows}
        if not self._begun:
            self._sweep(wanted.keys())
        for agent_id in self._listening.keys() - wanted.keys():
            self._remove(agent_id)
        try:
            self._open_ways(any(row.peer_uid is not None for row in rows))
        except OSError as failure:
            self._failing(PARENT, f"agents with a uid of their own cannot connect: {failure}")
        else:
            self._failed.pop(PARENT, None)
        for agent_id, row in wanted.items():
            if agent_id not in self._listening:
                self._add(row)
            elif not os.path.isdir(self._path(agent_id)):
                self._renew(row)
        kept = {PARENT, *wanted}
        self._failed = {name: why for name, why in self._failed.items() if name in kept}
        self._begun = True

    def _path(self, agent_id: str) -> str:
        return os.path.join(self._runtime_dir, directory(agent_id))

    def _sweep(self, wanted: Collection[str]) -> None:
        """At the beginning: directories of agents that were revoked when an earlier daemon died."""
        parent = os.path.join(self._runtime_dir, PARENT)
        try:
            names = os.listdir(parent)
        except OSError:  # it is not there, or is no directory: whoever makes one in it says so
            return
        for name in names:
            left_over = ids.digits(agents.PREFIX, name) is not None and name not in wanted
            if left_over or name == _TRIED:
                _take_away(os.path.join(parent, name))

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
            self._failing(row.agent_id, f"agent {row.agent_id} has no sockets: {failure}")
            return
        self._failed.pop(row.agent_id, None)
        self._listening[row.agent_id] = channels
        logger.info("agent %s listens in %s", row.agent_id, path)

    def _renew(self, row: AgentRow) -> None:
        """Its directory was tidied away. Its sockets are bound anew when they are found lost."""
        try:
            self._make_directory(row)
        except OSError as failure:
            self._failing(row.agent_id, f"agent {row.agent_id} cannot be reached: {failure}")

    def _failing(self, name: str, sentence: str) -> None:
        """Logs what is tried again and again, each new sentence once."""
        if self._failed.get(name) != sentence:
            self._failed[name] = sentence
            logger.error("%s; it is tried again", sentence)

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


def _take_away(path: str) -> None:
    """An agent's directory with what the daemon makes in one."""
    for name in _NAMES:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(path, name))
    with contextlib.suppress(OSError):
        os.rmdir(path)


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
