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
import socket
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial, wraps
from time import monotonic
from typing import TYPE_CHECKING, BinaryIO, Concatenate, Final, ParamSpec, Self, TypeVar, Unpack

from tallystick import calls
from tallystick.artifacts import Conversation, UploadOptions, download, upload
from tallystick.base import ClientBase, PageOf, Resumed, has_news
from tallystick.calls.any_operation import by_name
from tallystick.core import Answer, Call, Credential, Exchange, Read, Reply, ReplyBuffer, Request, Write
from tallystick.errors import ClientClosed, CursorExpired, ProblemError, TransportError

if TYPE_CHECKING:
    from types import TracebackType

    from tallystick.follow import Follower, Gap
    from tallystick.keystore import Slot
    from tallystick.protocol.families.artifacts import Artifact
    from tallystick.protocol.families.events import Event
    from tallystick.protocol.families.work import InvocationClaim
    from tallystick.protocol.ijson import JsonValue

P = ParamSpec("P")
T = TypeVar("T")

RECEIVE_BYTES: Final = 65_536
_NO_SIGNAL: Final = getattr(socket, "MSG_NOSIGNAL", 0)
"""A daemon that has gone must not end a program that has set SIGPIPE back to its default."""


class Connection:
    """One connection, used for one request after the other. Raises OSError from everything."""

    def __init__(self, path: str, seconds: float) -> None:
        self.is_admitted = False
        """It was shown a credential, and took it."""
        self._pid = os.getpid()
        self._buffer = ReplyBuffer()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.settimeout(seconds)
            self._socket.connect(path)
        except BaseException:
            self._socket.close()
            raise

    def is_usable(self) -> bool:
        """Whether the next line that comes will be the answer to the next request; not so after a fork."""
        return self._pid == os.getpid() and self._buffer.is_empty() and not has_news(self._socket.fileno())

    def round_trip(self, line: bytes, remaining: Callable[[], float]) -> bytes:
        """Send a line, and return the next. Raises ValueError where what comes cannot be a reply."""
        try:
            self._socket.settimeout(remaining())
            self._socket.sendall(line + b"\n", _NO_SIGNAL)
        except (BrokenPipeError, ConnectionResetError) as error:
            return self._last_words(error, remaining)
        return self._receive(remaining)

    def _last_words(self, error: OSError, remaining: Callable[[], float]) -> bytes:
        """A daemon that refuses a connection says why before it closes it, and may not read what we send."""
        try:
            return self._receive(remaining)
        except OSError:
            raise error from None

    def _receive(self, remaining: Callable[[], float]) -> bytes:
        while True:
            self._socket.settimeout(remaining())
            data = self._socket.recv(RECEIVE_BYTES)
            if not data:
                raise ConnectionResetError(0, "the daemon closed the connection before its reply")
            line = self._buffer.feed(data)
            if line is not None:
                return line

    def wake(self) -> None:
        """End what another thread waits for here."""
        with suppress(OSError):  # it may have ended already
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the descriptor only: after a fork the connection is also the parent's."""
        self._socket.close()


class Lane:
    """One connection to one socket, made when it is needed, and one request at a time on it."""

    def __init__(self, path: str, credential: Credential | None = None) -> None:
        self._path = path
        self._credential = credential
        self._pid = os.getpid()
        self._turn = threading.Lock()
        self._closed = threading.Event()
        self._connection: Connection | None = None

    def run(self, exchange: Exchange) -> Answer:
        """The answer to the exchange's request, however many tries it takes."""
        if self._closed.is_set():
            raise ClientClosed("this client is closed; open another one")
        if self._pid != os.getpid():
            self._after_fork()
        if not self._turn.acquire(timeout=exchange.remaining(monotonic())):
            exchange.give_up()
        try:
            while not self._closed.is_set():
                line = self._try(exchange)
                answer = None if line is None else exchange.answered(line, monotonic())
                if answer is not None:
                    return answer
                self._closed.wait(exchange.pause(monotonic()))
            exchange.give_up()
        finally:
            self._turn.release()

    def close(self) -> None:
        """End it, also for a thread that is waiting on it; it cannot be used again."""
        self._closed.set()
        connection = self._connection
        if connection is not None and self._pid == os.getpid():
            connection.wake()
        if self._turn.acquire(blocking=False):
            self._drop()
            self._turn.release()

    def _after_fork(self) -> None:
        """The child has one thread; another one of the parent may have held the lock when it was copied."""
        self._drop()
        self._turn, self._closed, self._pid = threading.Lock(), threading.Event(), os.getpid()

    def _try(self, exchange: Exchange) -> bytes | None:
        """The reply line of one try, None where the connection failed."""

        def remaining() -> float:
            return exchange.remaining(monotonic())

        try:
            connection = self._connect(remaining)
        except OSError as error:
            exchange.connect_failed(error)
            return None
        try:
            if not self._is_admitted(connection, exchange, remaining):
                self._drop()
                return None
            exchange.sending()
            return connection.round_trip(exchange.request.line, remaining)
        except ValueError as fault:
            self._drop()
            exchange.garbled(fault)
        except OSError as error:
            self._drop()
            exchange.broken(error)
            return None
        except BaseException:  # an interrupt: the reply that is on its way must not answer the next request
            self._drop()
            raise

    def _is_admitted(
        self, connection: Connection, exchange: Exchange, remaining: Callable[[], float]
    ) -> bool:
        """Shows the credential, where there is one, on a connection that has not been shown it."""
        credential = self._credential
        if credential is None or connection.is_admitted:
            return True
        line = connection.round_trip(credential.line, remaining)
        connection.is_admitted = exchange.admitted(line, credential, monotonic())
        return connection.is_admitted

    def _connect(self, remaining: Callable[[], float]) -> Connection:
        if self._connection is not None and not self._connection.is_usable():
            self._drop()
        if self._connection is None:
            self._connection = Connection(self._path, remaining())
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


# --- methods out of calls ---------------------------------------------------------------------------------
def _write(build: Callable[P, Write[T]]) -> Callable[Concatenate[BlockingClient, P], Reply[T]]:
    @wraps(build)
    def method(self: BlockingClient, /, *args: P.args, **kwargs: P.kwargs) -> Reply[T]:
        return self.reply(build(*args, **kwargs))

    return method


def _read(build: Callable[P, Read[T]]) -> Callable[Concatenate[BlockingClient, P], T]:
    @wraps(build)
    def method(self: BlockingClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.reply(build(*args, **kwargs)).value

    return method


def _items(build: Callable[P, Read[PageOf[T]]]) -> Callable[Concatenate[BlockingClient, P], Iterator[T]]:
    @wraps(build)
    def method(self: BlockingClient, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        """All items of a list, page by page over one snapshot: what is added meanwhile does not shift them.
        """
        call = build(*args, **kwargs)
        while True:
            page = self.reply(call).value
            yield from page.items
            if not page.next:
                return
            call.arguments = {**call.arguments, "after": page.next, "snapshot": page.snapshot}

    return method


class BlockingClient(ClientBase):
    """What ``Client`` and ``WorkerClient`` share.

    ``runtime_dir`` is the directory with the daemon's sockets, ``data_dir`` that of its data; where neither
    is given the environment decides, as ``tally paths`` shows it. ``actor`` is who is meant to speak: it
    names the key store, and authority comes from the socket, or from the ``credential`` that is shown on
    each connection (``Unauthenticated`` where it is refused, ``WrongActor`` where it is somebody else's).
    ``deadline_seconds`` is for one call with all its tries. ``key_store``: where keys are kept before the
    first try; ``"default"`` is this actor's in the state directory, None leaves the keeping of keys to the
    caller, who must then give the same ``key`` again after a restart, or accept that a command is done
    twice. ``text_policy``: ``"refuse"`` or ``"replace"`` lone surrogates. ``observer`` is told each sending
    of a request.

    Raises ``paths.PathError`` where the places cannot be computed.
    """

    def _set_up(self) -> None:
        self._lane = Lane(self.path, self._credential)
        self._waiting_lane = Lane(self.path, self._credential)
        self._lanes = {self._lane, self._waiting_lane}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections and the key store; also ends what another thread waits for on this client."""
        for lane in list(self._lanes):
            lane.close()
        if self._key_store is not None:
            self._key_store.close()

    hello = _read(calls.service.hello)

    def call(
        self,
        operation: str,
        arguments: Mapping[str, object],
        *,
        project_id: str | None = None,
        **options: Unpack[calls.WriteOptions],
    ) -> Reply[JsonValue]:
        """Any operation of this socket by its name, its arguments and result as parsed JSON."""
        call = by_name(operation, arguments, surface=self.surface, project_id=project_id, **options)
        return self.reply(call)

    def reply(self, call: Call[T]) -> Reply[T]:
        """What a call is answered; the methods of this class are this, for the calls of ``calls``."""
        request = self._prepare(call)
        answer, tries = self._run(request, call.deadline_seconds, own_key=call.key is not None)
        return self._reply(call, request, answer, tries)

    def raw(self, call: Call[T]) -> Reply[JsonValue]:
        """The same with the result as parsed JSON: without importing the types of records."""
        request = self._prepare(call)
        answer, tries = self._run(request, call.deadline_seconds, own_key=call.key is not None)
        return self._raw(request, answer, tries)

    def _converse(self, conversation: Conversation[T]) -> T:
        step = partial(next, conversation)
        while True:
            try:
                call = step()
            except StopIteration as done:
                value: T = done.value
                return value
            try:
                step = partial(conversation.send, self.reply(call).value)
            except ProblemError as problem:
                step = partial(conversation.throw, problem)

    def resume(self) -> list[Resumed]:
        """Send again what is pending: the same bytes under the same keys, as the same actor.

        Each is answered as it would have been, once; what was refused has its problem in ``error``. Raises
        ``TransportError`` where the daemon does not answer: what was not answered stays pending.
        """
        resumed = []
        for pending in self.pending():
            slot = self._slot(pending)
            if slot is None:
                continue  # answered meanwhile
            try:
                answer, tries = self._send(pending.request, None, slot)
            except ProblemError as error:
                resumed.append(Resumed(pending, None, error))
            else:
                resumed.append(Resumed(pending, self._raw(pending.request, answer, tries), None))
        return resumed

    def _run(self, request: Request, seconds: float | None, *, own_key: bool) -> tuple[Answer, int]:
        return self._send(request, seconds, self._begin(request, own_key=own_key))

    def _send(
        self, request: Request, seconds: float | None, slot: Slot | None, lane: Lane | None = None
    ) -> tuple[Answer, int]:
        exchange = self._exchange(request, slot, now=monotonic(), seconds=seconds)
        try:
            answer = (lane or self._lane_for(request)).run(exchange)
        except (ProblemError, TransportError) as error:
            self._finish(slot, error.outcome)
            raise
        except BaseException:
            self._interrupted(slot, exchange)
            raise
        self._finish(slot, "applied")
        return answer, exchange.tries

    def _lane_for(self, request: Request) -> Lane:
        return self._waiting_lane if request.wait_seconds else self._lane


class Client(BlockingClient):
    """The daemon's main socket, for its owner (or for an agent, on the agent's own sockets).

    Writes give a ``Reply``, whose ``value`` is the record; reads give the record. Every method is described
    where its call is, in the modules of ``tallystick.calls``; beside its own arguments it takes the options
    of ``calls.ReadOptions`` or ``calls.WriteOptions``.
    """

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

    def upload(
        self, source: BinaryIO, media_type: str = calls.artifacts.OCTETS, **options: Unpack[UploadOptions]
    ) -> Artifact:
        """Send what a file holds, and seal it (``artifacts.upload``): the artifact that it is from then on.

        Raises ``UploadRejected`` where the file changed on the way.
        """
        return self._converse(upload(source, media_type, **options))

    def download(self, artifact_id: str, target: BinaryIO, *, offset: int = 0) -> int:
        """Write an artifact's bytes from ``offset`` on to a file, and return its size in all."""
        return self._converse(download(artifact_id, target, offset=offset))

    def head_cursor(self, project: calls.AnyProject) -> str:
        """The position after the last event that a project has now: where to follow what is to come."""
        return self.space_list(project, limit=1).boundary_event_cursor

    def events(
        self, source: calls.AnyProject, *, after_cursor: str | None = None, type_prefixes: Sequence[str] = ()
    ) -> Iterator[Event]:
        """All events of a project up to its head, from the first or after a cursor."""
        while True:
            page = self.events_read(source, after_cursor=after_cursor, type_prefixes=type_prefixes)
            yield from page.events
            if page.next_cursor == after_cursor:
                return  # a page may be empty before the end: a filter left out all that was looked through
            after_cursor = page.next_cursor

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
            answer, tries = self._send(request, seconds, None, lane)
        except CursorExpired as problem:
            return [follower.gap(problem)]
        return follower.news(self._reply(call, request, answer, tries).value)


class WorkerClient(BlockingClient):
    """The workers' socket: claim an invocation, and write under its lease.

    What writes takes the claim first, then what the client's operation of that name takes. Its keys are the
    caller's to choose (the runner derives them from invocation and step, so that a later attempt finds them
    done), and it keeps none on disk: a request of a dead attempt would be refused, and its attempt id is a
    secret.
    """

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

    def download(self, claim: InvocationClaim, artifact_id: str, target: BinaryIO, *, offset: int = 0) -> int:
        """Write a file that an item of the claim's assembly carries to a file, and return its size in all."""
        return self._converse(download(artifact_id, target, offset=offset, claim=claim))

    def _default_store(self) -> None:
        return None
