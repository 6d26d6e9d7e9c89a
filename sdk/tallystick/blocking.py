"""The blocking client without a method for each operation: its connections, and how a call is answered.

``client`` says what is promised, and has the clients that programs use; this is what they stand on. The
command line uses it by itself: it builds its calls with ``tallystick.calls``, and need not load the methods
of all operations. Only the standard library's ``socket`` is used; trio is not imported.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Final, Self, TypeVar, Unpack

from tallystick import calls
from tallystick.base import ClientBase, Keeping, Resumed, has_news
from tallystick.calls.any_operation import by_name
from tallystick.calls.descriptors import Blocking
from tallystick.core import Answer, Call, Credential, Exchange, Reply, ReplyBuffer, Request
from tallystick.errors import ClientClosed, OtherStore, ProblemError

if TYPE_CHECKING:
    from types import TracebackType

    from tallystick.protocol.ijson import JsonValue

T = TypeVar("T")

RECEIVE_BYTES: Final = 65_536
_NO_SIGNAL: Final = getattr(socket, "MSG_NOSIGNAL", 0)
"""A daemon that has gone must not end a program that has set SIGPIPE back to its default."""


class Connection:
    """One connection, used for one request after the other. Raises OSError from everything."""

    def __init__(self, path: str, seconds: float) -> None:
        self.is_admitted = False
        """It was shown a credential, and took it."""
        self.store: str | None = None
        """The id of the daemon's store, once it was asked."""
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
            if not self._is_ready(connection, exchange, remaining):
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

    def _is_ready(
        self, connection: Connection, exchange: Exchange, remaining: Callable[[], float]
    ) -> bool:
        """Whether the request may be sent here: to the store that it is for, and when it is written down."""
        if not self._is_admitted(connection, exchange, remaining):
            return False
        if connection.store is None:
            from tallystick.calls.service import GREETING

            connection.store = exchange.introduced(connection.round_trip(GREETING, remaining), monotonic())
        if connection.store is None:
            return False
        exchange.meets(connection.store)
        if not exchange.is_kept:
            exchange.keep(connection.store)
        return True

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


# --- the clients ------------------------------------------------------------------------------------------
class BlockingClient(ClientBase, Blocking):
    """What ``Client`` and ``WorkerClient`` share.

    ``runtime_dir`` is the directory with the daemon's sockets, ``data_dir`` that of its data; where neither
    is given the environment decides, as ``tally paths`` shows it. ``actor`` is who is meant to speak: it
    names the key store, and authority comes from the socket, or from the ``credential`` that is shown on
    each connection (``Unauthenticated`` where it is refused, ``WrongActor`` where it is somebody else's).
    ``deadline_seconds`` is for one call with all its tries. ``key_store``: where keys are kept before the
    first try; ``"default"`` is this actor's in the state directory, None leaves the keeping of keys to the
    caller, who must then give the same ``key`` again after a restart, or accept that a command is done
    twice. ``text_policy``: ``"refuse"`` or ``"replace"`` lone surrogates. ``secrets``: what becomes of
    a secret in content before it is written down or sent, ``"redact"``, ``"refuse"`` or ``"keep"``; the
    daemon does as it was set up, whatever a client does. ``observer`` is told each sending
    of a request, and ``patience`` each pause before a further one: where it says no, the call ends.

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
        words = self._erased(call)
        answer, tries = self._run(request, call.deadline_seconds, own_key=call.key is not None)
        return self._reply(call, request, answer, tries)._replace(forgotten=self._forget(words))

    def raw(self, call: Call[T]) -> Reply[JsonValue]:
        """The same with the result as parsed JSON: without importing the types of records."""
        request = self._prepare(call)
        words = self._erased(call)
        answer, tries = self._run(request, call.deadline_seconds, own_key=call.key is not None)
        return self._raw(request, answer, tries)._replace(forgotten=self._forget(words))

    def _erased(self, call: Call[T]) -> frozenset[str] | None:
        """The words that a call is about to erase; None where it erases nothing."""
        if call.erases is None:
            return None
        from tallystick.forgetting import strings

        try:
            return frozenset(strings(self.raw(call.erases).value))
        except ProblemError:
            return frozenset()

    def resume(self) -> list[Resumed]:
        """Send again what is pending: the same bytes under the same keys, as the same actor.

        Each is answered as it would have been, once; what was refused has its problem in ``error``. Raises
        ``TransportError`` where the daemon does not answer: what was not answered stays pending.
        """
        resumed = []
        for pending in self.pending():
            keeping = self._kept(pending)
            if keeping is None:
                continue  # answered meanwhile
            try:
                answer, tries = self._send(pending.request, None, keeping, store=pending.store)
            except (ProblemError, OtherStore) as error:
                resumed.append(Resumed(pending, None, error))
            else:
                resumed.append(Resumed(pending, self._raw(pending.request, answer, tries), None))
        return resumed

    def _run(self, request: Request, seconds: float | None, *, own_key: bool) -> tuple[Answer, int]:
        return self._send(request, seconds, self._keeping(request, own_key=own_key))

    def _send(
        self,
        request: Request,
        seconds: float | None,
        keeping: Keeping | None,
        lane: Lane | None = None,
        store: str | None = None,
    ) -> tuple[Answer, int]:
        exchange = self._exchange(request, keeping, now=monotonic(), seconds=seconds, store=store)
        try:
            answer = (lane or self._lane_for(request)).run(exchange)
        except BaseException as error:
            self._unanswered(error, keeping, exchange)
            raise
        self._answered(keeping, exchange)
        return answer, exchange.tries

    def _lane_for(self, request: Request) -> Lane:
        return self._waiting_lane if request.wait_seconds else self._lane
