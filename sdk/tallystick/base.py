"""What the blocking client and the trio client share beside ``core``: their settings, and their key store.

Nothing here reads or writes a socket. What touches the disk (``begin``, ``finish``, ``pending``) blocks for
one write and one sync; the trio client calls it on a thread.
"""

from __future__ import annotations

import select
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar, Final, Literal, NamedTuple, TypeVar

from tallystick.core import (
    DEADLINE_SECONDS,
    OWNER,
    Answer,
    Call,
    Credential,
    Exchange,
    Observer,
    Patience,
    Reply,
    Request,
    Surface,
    TextPolicy,
    prepare,
)
from tallystick.errors import BadReply, KeyStoreError, Outcome, ProblemError, TallyError
from tallystick.paths import resolve

if TYPE_CHECKING:
    from tallystick.keystore import KeyStore, Pending, Slot
    from tallystick.protocol.ijson import JsonValue

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

DEFAULT_STORE: Final = "default"
"""The key store of this actor and daemon, in the state directory."""


class Resumed(NamedTuple):
    """A request that was pending, and what it was answered now: a reply, or the problem that refused it.

    The reply's value is parsed JSON: the request may be of another version's making.
    """

    pending: Pending
    reply: Reply[JsonValue] | None
    error: ProblemError | None


class ClientBase:
    """See ``Client``."""

    surface: ClassVar[Surface] = "client"

    def __init__(
        self,
        runtime_dir: str | None = None,
        data_dir: str | None = None,
        *,
        actor: str = OWNER,
        credential: str | None = None,
        deadline_seconds: float = DEADLINE_SECONDS,
        key_store: KeyStore | Literal["default"] | None = DEFAULT_STORE,
        text_policy: TextPolicy = "refuse",
        observer: Observer | None = None,
        patience: Patience | None = None,
    ) -> None:
        self.paths = resolve(data_dir, runtime_dir)
        self.path = self.paths.worker_socket if self.surface == "worker" else self.paths.client_socket
        self.actor = actor
        self._credential = None if credential is None else Credential(credential, actor)
        self.deadline_seconds = deadline_seconds
        self.text_policy: TextPolicy = text_policy
        self._observer = observer
        self._patience = patience
        self._key_store = self._default_store() if key_store == DEFAULT_STORE else key_store
        self._set_up()

    def _set_up(self) -> None:
        """What a client makes for itself beside its settings; it connects to nothing."""

    def _default_store(self) -> KeyStore | None:
        from tallystick.keystore import KeyStore, path_for

        return KeyStore(path_for(self.paths, self.actor), actor=self.actor)

    # --- one command and its key
    def _exchange(
        self, request: Request, slot: Slot | None, *, now: float, seconds: float | None
    ) -> Exchange:
        return Exchange(
            request,
            path=self.path,
            now=now,
            seconds=self.deadline_seconds if seconds is None else seconds,
            sent_before=slot is not None and slot.was_there,
            observer=self._observer,
            patience=self._patience,
        )

    def _prepare(self, call: Call[T]) -> Request:
        return prepare(call, self.text_policy)

    def _begin(self, request: Request, *, own_key: bool) -> Slot | None:
        """Make a write durable before its first try; None for a read, or without a key store."""
        if self._key_store is None or request.key is None:
            return None
        return self._key_store.record(request, may_be_there=own_key)

    def _finish(self, slot: Slot | None, outcome: Outcome) -> None:
        """What is known now need not be sent again; what is unknown stays pending."""
        if slot is not None and outcome != "unknown" and self._key_store is not None:
            with suppress(KeyStoreError):  # then it is sent once more by resume, and answered from the store
                self._key_store.settle(slot)

    def _interrupted(self, slot: Slot | None, exchange: Exchange) -> None:
        """The caller does not wait for the end: what was never sent is not pending, the rest is."""
        if slot is not None and not slot.was_there and not exchange.tries:
            self._finish(slot, "not_applied")

    def _slot(self, pending: Pending) -> Slot | None:
        return None if self._key_store is None else self._key_store.slot(pending.request)

    def pending(self) -> list[Pending]:
        """Requests of this actor to this daemon that were stored and never answered, oldest first.

        Among them are those that other processes wait for just now. ``resume`` sends them again.
        """
        if self._key_store is None:
            return []
        return [each for each in self._key_store.pending() if each.request.surface == self.surface]

    def abandon(self, pending: Pending) -> None:
        """Forget a pending request: it is not sent again, and its content leaves the key store.

        Whether it was applied stays unknown.
        """
        self._finish(self._slot(pending), "not_applied")

    # --- what comes back
    def _reply(self, call: Call[T], request: Request, answer: Answer, tries: int) -> Reply[T]:
        try:
            value = call.value(answer.result)
        except ValueError as fault:
            raise self._unreadable(request, fault) from fault
        return Reply(value, answer.revision, answer.event_cursor, request.key, tries)

    def _raw(self, request: Request, answer: Answer, tries: int) -> Reply[JsonValue]:
        return Reply(answer.result, answer.revision, answer.event_cursor, request.key, tries)

    def _unreadable(self, request: Request, fault: ValueError) -> TallyError:
        error = BadReply(
            f"{request.operation}: it was done, and its result is not what this SDK knows: {fault}. Use"
            " the SDK of the daemon's version.",
            path=self.path,
            operation=request.operation,
            key=request.key,
        )
        error.outcome = "applied" if request.key is not None else "not_applied"
        return error


def has_news(descriptor: int) -> bool:
    """Whether something can be read from a socket now, its end among it.

    On a connection with no request under way that is either the daemon's farewell or something that came
    unasked, which must not be taken for the answer to the next request.
    """
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
