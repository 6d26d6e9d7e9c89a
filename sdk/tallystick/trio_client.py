"""The clients for programs on trio: ``TrioClient`` and ``TrioWorkerClient``, the blocking ones' surface,
async.

::

    async with TrioClient() as tally:
        project = (await tally.project_create("kitchen")).value
        async with aclosing(tally.follow(project)) as events:
            async for event in events:
                ...

The promises are those of ``tallystick.client``. Besides: a call that is cancelled closes its connection, so
that the reply which is on its way is never taken for the next call's; a cancelled write stays pending in
the key store, since nobody knows whether it was applied. Tasks may share a client and take turns. The key
store's writes run on a thread. Time is trio's, so that a test's mock clock moves it.
"""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Self, TypeVar, Unpack

import trio

from tallystick import calls
from tallystick.artifacts import TransferMethods, WorkerTransferMethods
from tallystick.base import ClientBase, Keeping, Resumed, has_news
from tallystick.calls.any_operation import by_name
from tallystick.calls.descriptors import Async
from tallystick.calls.methods import ClientMethods, WorkerMethods
from tallystick.core import Answer, Call, Credential, Exchange, Reply, ReplyBuffer, Request
from tallystick.errors import ClientClosed, CursorExpired, OtherStore, ProblemError

if TYPE_CHECKING:
    from types import TracebackType

    from tallystick.follow import Follower, Gap
    from tallystick.keystore import Pending
    from tallystick.protocol.families.events import Event
    from tallystick.protocol.ijson import JsonValue

T = TypeVar("T")

RECEIVE_BYTES = 65_536


class Connection:
    """One connection, used for one request after the other. Raises OSError from everything."""

    def __init__(self, path: str) -> None:
        self.is_admitted = False
        """It was shown a credential, and took it."""
        self.store: str | None = None
        """The id of the daemon's store, once it was asked."""
        # A Unix socket connects at once or not at all, so there is nothing to wait for.
        plain = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            plain.setblocking(False)
            plain.connect(path)
        except BaseException:
            plain.close()
            raise
        self._buffer = ReplyBuffer()
        self._socket = trio.socket.from_stdlib_socket(plain)

    def is_usable(self) -> bool:
        """Whether the next line that comes will be the answer to the next request."""
        return self._buffer.is_empty() and not has_news(self._socket.fileno())

    async def round_trip(self, line: bytes) -> bytes:
        """Send a line, and return the next. Raises ValueError where what comes cannot be a reply."""
        try:
            await self._send(line + b"\n")
        except (BrokenPipeError, ConnectionResetError) as error:
            return await self._last_words(error)
        return await self._receive()

    async def _send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[await self._socket.send(view) :]

    async def _last_words(self, error: OSError) -> bytes:
        """A daemon that refuses a connection says why before it closes it, and may not read what we send."""
        try:
            return await self._receive()
        except OSError:
            raise error from None

    async def _receive(self) -> bytes:
        while True:
            data = await self._socket.recv(RECEIVE_BYTES)
            if not data:
                raise ConnectionResetError(0, "the daemon closed the connection before its reply")
            line = self._buffer.feed(data)
            if line is not None:
                return line

    def close(self) -> None:
        """Close it, also for a task that is waiting on it."""
        self._socket.close()


class Lane:
    """One connection to one socket, made when it is needed, and one request at a time on it."""

    def __init__(self, path: str, credential: Credential | None = None) -> None:
        self._path = path
        self._credential = credential
        self._turn = trio.Lock()
        self._is_closed = False
        self._connection: Connection | None = None

    async def run(self, exchange: Exchange) -> Answer:
        """The answer to the exchange's request, however many tries it takes."""
        if self._is_closed:
            raise ClientClosed("this client is closed; open another one")
        with trio.move_on_after(exchange.remaining(trio.current_time())) as scope:
            await self._turn.acquire()
        if scope.cancelled_caught:
            exchange.give_up()
        try:
            while not self._is_closed:
                line = await self._try(exchange)
                answer = None if line is None else exchange.answered(line, trio.current_time())
                if answer is not None:
                    return answer
                await trio.sleep(exchange.pause(trio.current_time()))
            exchange.give_up()
        finally:
            self._turn.release()

    def close(self) -> None:
        """End it, also for a task that is waiting on it; it cannot be used again."""
        self._is_closed = True
        self._drop()

    async def _try(self, exchange: Exchange) -> bytes | None:
        """The reply line of one try, None where the connection failed."""
        try:
            connection = self._connect()
        except OSError as error:
            exchange.connect_failed(error)
            return None
        line = None
        with trio.move_on_after(exchange.remaining(trio.current_time())) as scope:
            line = await self._round_trip(connection, exchange)
        if scope.cancelled_caught:
            exchange.give_up()
        return line

    async def _round_trip(self, connection: Connection, exchange: Exchange) -> bytes | None:
        try:
            if not await self._is_ready(connection, exchange):
                self._drop()
                return None
            exchange.sending()
            return await connection.round_trip(exchange.request.line)
        except ValueError as fault:
            self._drop()
            exchange.garbled(fault)
        except OSError as error:
            self._drop()
            exchange.broken(error)
            return None
        except trio.ClosedResourceError:
            exchange.give_up()
        except BaseException:  # cancelled: the reply on its way must not answer the next request
            self._drop()
            raise

    async def _is_ready(self, connection: Connection, exchange: Exchange) -> bool:
        """Whether the request may be sent here: to the store that it is for, and when it is written down."""
        if not await self._is_admitted(connection, exchange):
            return False
        if connection.store is None:
            from tallystick.calls.service import GREETING

            connection.store = exchange.introduced(await connection.round_trip(GREETING), trio.current_time())
        if connection.store is None:
            return False
        exchange.meets(connection.store)
        if not exchange.is_kept:
            await trio.to_thread.run_sync(exchange.keep, connection.store)
        return True

    async def _is_admitted(self, connection: Connection, exchange: Exchange) -> bool:
        """Shows the credential, where there is one, on a connection that has not been shown it."""
        credential = self._credential
        if credential is None or connection.is_admitted:
            return True
        line = await connection.round_trip(credential.line)
        connection.is_admitted = exchange.admitted(line, credential, trio.current_time())
        return connection.is_admitted

    def _connect(self) -> Connection:
        if self._connection is not None and not self._connection.is_usable():
            self._drop()
        if self._connection is None:
            self._connection = Connection(self._path)
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


# --- the clients ------------------------------------------------------------------------------------------
class AsyncClient(ClientBase, Async):
    """What ``TrioClient`` and ``TrioWorkerClient`` share; the settings are ``BlockingClient``'s."""

    def _set_up(self) -> None:
        self._lane = Lane(self.path, self._credential)
        self._waiting_lane = Lane(self.path, self._credential)
        self._lanes = {self._lane, self._waiting_lane}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections and the key store; also ends what other tasks wait for on this client."""
        for lane in list(self._lanes):
            lane.close()
        if self._key_store is not None:
            self._key_store.close()

    async def call(
        self,
        operation: str,
        arguments: Mapping[str, object],
        *,
        project_id: str | None = None,
        **options: Unpack[calls.WriteOptions],
    ) -> Reply[JsonValue]:
        """Any operation of this socket by its name, its arguments and result as parsed JSON."""
        call = by_name(operation, arguments, surface=self.surface, project_id=project_id, **options)
        return await self.reply(call)

    async def reply(self, call: Call[T]) -> Reply[T]:
        """What a call is answered; the methods of this class are this, for the calls of ``calls``."""
        return await self._reply_on(call, self._lane_for(call.wait_seconds))

    async def _checkpoint(self) -> None:
        await trio.lowlevel.checkpoint()

    async def resume(self) -> list[Resumed]:
        """Send again what is pending; see ``BlockingClient.resume``."""
        resumed = []
        for pending in await trio.to_thread.run_sync(self.pending):
            keeping = await trio.to_thread.run_sync(self._kept, pending)
            if keeping is not None:
                resumed.append(await self._resume_one(pending, keeping))
        return resumed

    async def _resume_one(self, pending: Pending, keeping: Keeping) -> Resumed:
        lane = self._lane_for(pending.request.wait_seconds)
        try:
            answer, tries = await self._send(pending.request, None, keeping, lane, pending.store)
        except (ProblemError, OtherStore) as error:
            return Resumed(pending, None, error)
        return Resumed(pending, self._raw(pending.request, answer, tries), None)

    async def _reply_on(self, call: Call[T], lane: Lane, store: str | None = None) -> Reply[T]:
        request = self._prepare(call)
        words = await self._erased(call, lane)
        keeping = self._keeping(request, own_key=call.key is not None)
        answer, tries = await self._send(request, call.deadline_seconds, keeping, lane, store)
        reply = self._reply(call, request, answer, tries)
        if words is None:
            return reply
        return reply._replace(forgotten=await trio.to_thread.run_sync(self._forget, words))

    async def _erased(self, call: Call[T], lane: Lane) -> frozenset[str] | None:
        """The words that a call is about to erase; None where it erases nothing."""
        if call.erases is None:
            return None
        from tallystick.forgetting import strings

        request = self._prepare(call.erases)
        try:
            answer, _ = await self._send(request, call.deadline_seconds, None, lane, None)
        except ProblemError:
            return frozenset()
        return frozenset(strings(answer.result))

    async def _send(
        self,
        request: Request,
        seconds: float | None,
        keeping: Keeping | None,
        lane: Lane,
        store: str | None,
    ) -> tuple[Answer, int]:
        exchange = self._exchange(request, keeping, now=trio.current_time(), seconds=seconds, store=store)
        # Neither ending is on a thread: a cancellation must not come between the answer and what is written
        # of it.
        try:
            answer = await lane.run(exchange)
        except BaseException as error:
            self._unanswered(error, keeping, exchange)
            raise
        self._answered(keeping, exchange)
        return answer, exchange.tries

    def _lane_for(self, wait_seconds: float) -> Lane:
        return self._waiting_lane if wait_seconds else self._lane


class TrioClient(ClientMethods, TransferMethods, AsyncClient):
    """The daemon's main socket; every method is ``Client``'s of that name, async."""

    async def follow(
        self,
        source: calls.AnyProject,
        *,
        cursor_store: str | os.PathLike[str] | None = None,
        after_cursor: str | None = None,
        type_prefixes: Sequence[str] = (),
        deadline_seconds: float | None = None,
    ) -> AsyncGenerator[Event | Gap, None]:
        """``Client.follow``, async: use it inside ``contextlib.aclosing``, so that its connection is
        closed."""
        from tallystick.follow import CursorStore, Follower

        store = None if cursor_store is None else CursorStore(cursor_store)
        follower = Follower(source, after_cursor=after_cursor, type_prefixes=type_prefixes, store=store)
        lane = Lane(self.path, self._credential)
        self._lanes.add(lane)
        try:
            while True:
                for item in await self._follow_page(follower, lane, deadline_seconds):
                    yield item
                    follower.took(item)
                    await trio.lowlevel.checkpoint()
                await trio.to_thread.run_sync(follower.page_done)
        finally:
            self._lanes.discard(lane)
            lane.close()
            follower.close()

    async def _follow_page(
        self, follower: Follower, lane: Lane, seconds: float | None
    ) -> Sequence[Event | Gap]:
        call = follower.next_call()
        call.deadline_seconds = seconds
        try:
            page = await self._reply_on(call, lane, follower.store)
        except CursorExpired as problem:
            return [follower.gap(problem)]
        finally:
            follower.store = self.store
        return follower.news(page.value)


class TrioWorkerClient(WorkerMethods, WorkerTransferMethods, AsyncClient):
    """The workers' socket; every method is ``WorkerClient``'s of that name, async."""

    surface = "worker"

    def _default_store(self) -> None:
        return None
