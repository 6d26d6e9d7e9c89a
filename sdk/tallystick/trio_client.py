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
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, BinaryIO, Concatenate, ParamSpec, Self, TypeVar, Unpack

import trio

from tallystick import calls
from tallystick.artifacts import Conversation, UploadOptions, download, upload
from tallystick.base import ClientBase, PageOf, Resumed, has_news
from tallystick.calls.any_operation import by_name
from tallystick.core import Answer, Call, Credential, Exchange, Read, Reply, ReplyBuffer, Request, Write
from tallystick.errors import ClientClosed, CursorExpired, ProblemError, TransportError

if TYPE_CHECKING:
    from types import TracebackType

    from tallystick.follow import Follower, Gap
    from tallystick.keystore import Pending, Slot
    from tallystick.protocol.families.artifacts import Artifact
    from tallystick.protocol.families.events import Event
    from tallystick.protocol.families.work import InvocationClaim
    from tallystick.protocol.ijson import JsonValue

P = ParamSpec("P")
T = TypeVar("T")

RECEIVE_BYTES = 65_536


class Connection:
    """One connection, used for one request after the other. Raises OSError from everything."""

    def __init__(self, path: str) -> None:
        self.is_admitted = False
        """It was shown a credential, and took it."""
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
            if not await self._is_admitted(connection, exchange):
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


# --- methods out of calls ---------------------------------------------------------------------------------
def _write(
    build: Callable[P, Write[T]],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, Reply[T]]]:
    @wraps(build)
    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> Reply[T]:
        return await self.reply(build(*args, **kwargs))

    return method


def _read(build: Callable[P, Read[T]]) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    @wraps(build)
    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return (await self.reply(build(*args, **kwargs))).value

    return method


def _items(build: Callable[P, Read[PageOf[T]]]) -> Callable[Concatenate[AsyncClient, P], AsyncIterator[T]]:
    @wraps(build)
    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        """All items of a list, page by page over one snapshot: what is added meanwhile does not shift them.
        """
        call = build(*args, **kwargs)
        while True:
            page = (await self.reply(call)).value
            for item in page.items:
                yield item
            if not page.next:
                return
            call.arguments = {**call.arguments, "after": page.next, "snapshot": page.snapshot}

    return method


class AsyncClient(ClientBase):
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

    hello = _read(calls.service.hello)

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

    async def _converse(self, conversation: Conversation[T]) -> T:
        step = partial(next, conversation)
        while True:
            try:
                call = step()
            except StopIteration as done:
                value: T = done.value
                return value
            try:
                step = partial(conversation.send, (await self.reply(call)).value)
            except ProblemError as problem:
                step = partial(conversation.throw, problem)

    async def resume(self) -> list[Resumed]:
        """Send again what is pending; see ``BlockingClient.resume``."""
        resumed = []
        for pending in await trio.to_thread.run_sync(self.pending):
            slot = await trio.to_thread.run_sync(self._slot, pending)
            if slot is not None:
                resumed.append(await self._resume_one(pending, slot))
        return resumed

    async def _resume_one(self, pending: Pending, slot: Slot) -> Resumed:
        lane = self._lane_for(pending.request.wait_seconds)
        try:
            answer, tries = await self._send(pending.request, None, slot, lane)
        except ProblemError as error:
            return Resumed(pending, None, error)
        return Resumed(pending, self._raw(pending.request, answer, tries), None)

    async def _reply_on(self, call: Call[T], lane: Lane) -> Reply[T]:
        request = self._prepare(call)
        slot = None
        if request.key is not None and self._key_store is not None:
            begin = partial(self._begin, request, own_key=call.key is not None)
            slot = await trio.to_thread.run_sync(begin)
        answer, tries = await self._send(request, call.deadline_seconds, slot, lane)
        return self._reply(call, request, answer, tries)

    async def _send(
        self, request: Request, seconds: float | None, slot: Slot | None, lane: Lane
    ) -> tuple[Answer, int]:
        exchange = self._exchange(request, slot, now=trio.current_time(), seconds=seconds)
        try:
            answer = await lane.run(exchange)
        except (ProblemError, TransportError) as error:
            self._finish(slot, error.outcome)
            raise
        except BaseException:
            self._interrupted(slot, exchange)
            raise
        # Not on a thread: a cancellation must not come between the answer and what is written of it.
        self._finish(slot, "applied")
        return answer, exchange.tries

    def _lane_for(self, wait_seconds: float) -> Lane:
        return self._waiting_lane if wait_seconds else self._lane


class TrioClient(AsyncClient):
    """The daemon's main socket; every method is ``Client``'s of that name, async."""

    protocol_info = _read(calls.service.protocol_info)
    diagnose = _read(calls.service.diagnose)
    limits = _read(calls.service.served_limits)
    status = _read(calls.service.status)
    shutdown = _read(calls.service.shutdown)

    realm_show = _read(calls.projects.realm_show)
    project_create = _write(calls.projects.project_create)
    project_show = _read(calls.projects.project_show)
    project_list = _read(calls.projects.project_list)
    projects = _items(calls.projects.project_list)
    project_update_metadata = _write(calls.projects.project_update_metadata)
    project_access_policy_change_prepare = _write(calls.projects.project_access_policy_change_prepare)
    project_access_policy_change_show = _read(calls.projects.project_access_policy_change_show)
    project_access_policy_change_list = _read(calls.projects.project_access_policy_change_list)
    project_access_policy_changes = _items(calls.projects.project_access_policy_change_list)
    project_access_policy_change_confirm = _write(calls.projects.project_access_policy_change_confirm)
    project_access_policy_change_cancel = _write(calls.projects.project_access_policy_change_cancel)

    space_create = _write(calls.spaces.space_create)
    space_show = _read(calls.spaces.space_show)
    space_list = _read(calls.spaces.space_list)
    spaces = _items(calls.spaces.space_list)
    space_update_metadata = _write(calls.spaces.space_update_metadata)
    space_freeze = _write(calls.spaces.space_freeze)
    space_reopen = _write(calls.spaces.space_reopen)
    space_archive = _write(calls.spaces.space_archive)
    space_restrict = _write(calls.spaces.space_restrict)
    space_policy_narrow = _write(calls.spaces.space_policy_narrow)
    space_access_widen_prepare = _write(calls.spaces.space_access_widen_prepare)
    space_access_widen_show = _read(calls.spaces.space_access_widen_show)
    space_access_widen_list = _read(calls.spaces.space_access_widen_list)
    space_access_widenings = _items(calls.spaces.space_access_widen_list)
    space_access_widen_confirm = _write(calls.spaces.space_access_widen_confirm)
    space_access_widen_cancel = _write(calls.spaces.space_access_widen_cancel)

    space_participant_add = _write(calls.participants.space_participant_add)
    space_participant_activate = _write(calls.participants.space_participant_activate)
    space_participant_update = _write(calls.participants.space_participant_update)
    space_participant_remove = _write(calls.participants.space_participant_remove)
    space_participant_list = _read(calls.participants.space_participant_list)
    space_participants = _items(calls.participants.space_participant_list)
    space_access_grant_create = _write(calls.participants.space_access_grant_create)
    space_access_grant_revoke = _write(calls.participants.space_access_grant_revoke)
    space_access_grant_list = _read(calls.participants.space_access_grant_list)
    space_access_grants = _items(calls.participants.space_access_grant_list)

    append = _write(calls.contributions.append)
    contribution_show = _read(calls.contributions.contribution_show)
    contribution_list = _read(calls.contributions.contribution_list)
    contributions = _items(calls.contributions.contribution_list)
    disposed_contribution_list = _read(calls.contributions.disposed_contribution_list)
    disposed_contributions = _items(calls.contributions.disposed_contribution_list)
    relation_assert = _write(calls.contributions.relation_assert)
    relation_show = _read(calls.contributions.relation_show)
    relation_list = _read(calls.contributions.relation_list)
    relations = _items(calls.contributions.relation_list)

    contribution_withdraw = _write(calls.dispositions.contribution_withdraw)
    contribution_supersede = _write(calls.dispositions.contribution_supersede)
    contribution_redact = _write(calls.dispositions.contribution_redact)
    erase = _write(calls.dispositions.erase)
    relation_retract = _write(calls.dispositions.relation_retract)
    reaction_set = _write(calls.dispositions.reaction_set)
    disposition_list = _read(calls.dispositions.disposition_list)
    dispositions = _items(calls.dispositions.disposition_list)

    branch_show = _read(calls.context.branch_show)
    frontier_pin = _write(calls.context.frontier_pin)
    frontier_show = _read(calls.context.frontier_show)
    frontier_list = _read(calls.context.frontier_list)
    frontiers = _items(calls.context.frontier_list)
    context_assembly_create = _write(calls.context.context_assembly_create)
    context_assembly_show = _read(calls.context.context_assembly_show)
    assembly_list = _read(calls.context.assembly_list)
    assemblies = _items(calls.context.assembly_list)

    lens_create = _write(calls.lenses.lens_create)
    lens_show = _read(calls.lenses.lens_show)
    lens_list = _read(calls.lenses.lens_list)
    lenses = _items(calls.lenses.lens_list)
    lens_update = _write(calls.lenses.lens_update)
    lens_revoke = _write(calls.lenses.lens_revoke)
    lens_read = _read(calls.lenses.lens_read)
    lens_items = _items(calls.lenses.lens_read)
    snapshot_read = _read(calls.lenses.snapshot_read)

    assistant_create = _write(calls.assistants.assistant_create)
    assistant_show = _read(calls.assistants.assistant_show)
    assistant_list = _read(calls.assistants.assistant_list)
    assistants = _items(calls.assistants.assistant_list)
    assistant_revision_register = _write(calls.assistants.assistant_revision_register)
    assistant_revision_show = _read(calls.assistants.assistant_revision_show)
    assistant_revision_list = _read(calls.assistants.assistant_revision_list)
    assistant_revisions = _items(calls.assistants.assistant_revision_list)
    deployment_create = _write(calls.assistants.deployment_create)
    deployment_show = _read(calls.assistants.deployment_show)
    deployment_list = _read(calls.assistants.deployment_list)
    deployments = _items(calls.assistants.deployment_list)
    deployment_activate = _write(calls.assistants.deployment_activate)
    deployment_drain = _write(calls.assistants.deployment_drain)
    assistant_alias_bind = _write(calls.assistants.assistant_alias_bind)
    assistant_alias_show = _read(calls.assistants.assistant_alias_show)
    assistant_alias_list = _read(calls.assistants.assistant_alias_list)
    assistant_aliases = _items(calls.assistants.assistant_alias_list)
    assistant_alias_update = _write(calls.assistants.assistant_alias_update)
    assistant_alias_revoke = _write(calls.assistants.assistant_alias_revoke)

    invocation_create = _write(calls.invocations.invocation_create)
    invocation_show = _read(calls.invocations.invocation_show)
    invocation_list = _read(calls.invocations.invocation_list)
    invocations = _items(calls.invocations.invocation_list)
    invocation_cancel = _write(calls.invocations.invocation_cancel)

    artifact_begin = _write(calls.artifacts.artifact_begin)
    artifact_put = _read(calls.artifacts.artifact_put)
    artifact_get = _read(calls.artifacts.artifact_get)
    artifact_list = _read(calls.artifacts.artifact_list)
    artifacts = _items(calls.artifacts.artifact_list)
    artifact_show = _read(calls.artifacts.artifact_show)
    disclosure_manifest_show = _read(calls.artifacts.disclosure_manifest_show)
    artifact_upload_begin = _write(calls.artifacts.artifact_upload_begin)
    artifact_upload_show = _read(calls.artifacts.artifact_upload_show)
    artifact_upload_credential = _read(calls.artifacts.artifact_upload_credential)
    artifact_upload_finalize = _write(calls.artifacts.artifact_upload_finalize)
    artifact_upload_abort = _write(calls.artifacts.artifact_upload_abort)

    events_read = _read(calls.events.events_read)
    accounted_events_read = _read(calls.events.accounted_events_read)
    events_wait = _read(calls.events.events_wait)
    event_payload = _read(calls.events.event_payload)

    agent_add = _write(calls.agents.agent_add)
    agent_show = _read(calls.agents.agent_show)
    agent_list = _read(calls.agents.agent_list)
    agents = _items(calls.agents.agent_list)
    agent_revoke = _write(calls.agents.agent_revoke)

    async def upload(
        self, source: BinaryIO, media_type: str = calls.artifacts.OCTETS, **options: Unpack[UploadOptions]
    ) -> Artifact:
        """As ``Client.upload``; the file is read between two calls, on this thread."""
        return await self._converse(upload(source, media_type, **options))

    async def download(self, artifact_id: str, target: BinaryIO, *, offset: int = 0) -> int:
        """As ``Client.download``."""
        return await self._converse(download(artifact_id, target, offset=offset))

    async def head_cursor(self, project: calls.AnyProject) -> str:
        """The position after the last event that a project has now: where to follow what is to come."""
        return (await self.space_list(project, limit=1)).boundary_event_cursor

    async def events(
        self, source: calls.AnyProject, *, after_cursor: str | None = None, type_prefixes: Sequence[str] = ()
    ) -> AsyncIterator[Event]:
        """All events of a project up to its head, from the first or after a cursor."""
        while True:
            page = await self.events_read(source, after_cursor=after_cursor, type_prefixes=type_prefixes)
            for event in page.events:
                yield event
            if page.next_cursor == after_cursor:
                return  # a page may be empty before the end: a filter left out all that was looked through
            after_cursor = page.next_cursor

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
            page = await self._reply_on(call, lane)
        except CursorExpired as problem:
            return [follower.gap(problem)]
        return follower.news(page.value)


class TrioWorkerClient(AsyncClient):
    """The workers' socket; every method is ``WorkerClient``'s of that name, async."""

    surface = "worker"

    next = _write(calls.workers.next_)
    claim = _write(calls.workers.claim)
    complete = _write(calls.workers.complete)
    fail = _write(calls.workers.fail)
    progress = _read(calls.workers.progress)
    item = _read(calls.workers.item)
    artifact = _read(calls.workers.artifact)
    renew = _read(calls.workers.renew)
    append = _write(calls.workers.as_worker(calls.contributions.append))
    relation_assert = _write(calls.workers.as_worker(calls.contributions.relation_assert))
    context_assembly_create = _write(calls.workers.as_worker(calls.context.context_assembly_create))
    invocation_cancel = _write(calls.workers.as_worker(calls.invocations.invocation_cancel))
    application_event_emit = _write(calls.workers.application_event_emit)
    model_complete = _write(calls.workers.model_complete)

    async def download(
        self, claim: InvocationClaim, artifact_id: str, target: BinaryIO, *, offset: int = 0
    ) -> int:
        """As ``WorkerClient.download``."""
        return await self._converse(download(artifact_id, target, offset=offset, claim=claim))

    def _default_store(self) -> None:
        return None
