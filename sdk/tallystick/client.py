"""The blocking clients: ``Client`` for the daemon's main socket, ``WorkerClient`` for its workers' socket.

::

    with Client() as tally:
        project = tally.project_create("kitchen").value
        space = tally.space_create(project, "why does the tap drip").value
        said = tally.append(space, "question", "Why does the tap drip?")
        for item in tally.follow(project, cursor_store="/var/lib/me/kitchen.cursor"):
            ...

What is promised: a call returns when its command is durable. It is applied once, however often the
connection breaks, the daemon restarts, or this process does (``pending``, ``resume``). It ends by its
deadline, and where it then is not known what became of the command, the error is ``OutcomeUnknown`` and
holds the key.

One connection is kept and used for one request after the other; threads may share a client and take turns.
Waits (``events_wait``, ``follow``) have connections of their own. After a fork, the child lets go of its
copy of the connection and makes its own. Only the standard library's ``socket`` is used; trio is not
imported.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from tallystick import calls
from tallystick.artifacts import TransferMethods, WorkerTransferMethods
from tallystick.blocking import BlockingClient, Lane
from tallystick.calls.methods import ClientMethods, WorkerMethods
from tallystick.errors import CursorExpired

if TYPE_CHECKING:
    from tallystick.follow import Follower, Gap
    from tallystick.protocol.families.events import Event


class Client(ClientMethods, TransferMethods, BlockingClient):
    """The daemon's main socket, for its owner (or for an agent, on the agent's own sockets).

    Writes give a ``Reply``, whose ``value`` is the record; reads give the record. Every method is described
    where its call is, in the modules of ``tallystick.calls``; beside its own arguments it takes the options
    of ``calls.ReadOptions`` or ``calls.WriteOptions``.
    """

    def follow(
        self,
        source: calls.AnyProject,
        *,
        cursor_store: str | os.PathLike[str] | None = None,
        after_cursor: str | None = None,
        type_prefixes: Sequence[str] = (),
        deadline_seconds: float | None = None,
    ) -> Generator[Event | Gap, None, None]:
        """A project's events as they come, for ever, each at least once; see ``tallystick.follow``.

        ``cursor_store`` is the file in which the place is kept: where it holds one, it is there that
        following goes on; else after ``after_cursor``, else from the first event. ``type_prefixes`` filters
        by event type. A ``Gap`` comes in the place of an event after the store was restored.
        ``deadline_seconds``: how long the daemon may be away (``Unreachable`` after it; follow again from
        the same file).
        """
        from tallystick.follow import CursorStore, Follower

        store = None if cursor_store is None else CursorStore(cursor_store)
        follower = Follower(source, after_cursor=after_cursor, type_prefixes=type_prefixes, store=store)
        lane = Lane(self.path, self._credential)
        self._lanes.add(lane)
        try:
            while True:
                for item in self._follow_page(follower, lane, deadline_seconds):
                    yield item
                    follower.took(item)
                follower.page_done()
        finally:
            self._lanes.discard(lane)
            lane.close()
            follower.close()

    def _follow_page(self, follower: Follower, lane: Lane, seconds: float | None) -> Sequence[Event | Gap]:
        call = follower.next_call()
        request = self._prepare(call)
        try:
            answer, tries = self._send(request, seconds, None, lane, follower.store)
        except CursorExpired as problem:
            return [follower.gap(problem)]
        finally:
            follower.store = self.store
        return follower.news(self._reply(call, request, answer, tries).value)


class WorkerClient(WorkerMethods, WorkerTransferMethods, BlockingClient):
    """The workers' socket: claim an invocation, and write under its lease.

    What writes takes the claim first, then what the client's operation of that name takes. Its keys are the
    caller's to choose (the runner derives them from invocation and step, so that a later attempt finds them
    done), and it keeps none on disk: a request of a dead attempt would be refused, and its attempt id is a
    secret.
    """

    surface = "worker"

    def _default_store(self) -> None:
        return None
