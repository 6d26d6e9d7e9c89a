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
    SecretPolicy,
    Surface,
    TextPolicy,
    prepare,
)
from tallystick.errors import (
    BadReply,
    KeyStoreError,
    OtherStore,
    Outcome,
    ProblemError,
    TallyError,
    TransportError,
)
from tallystick.paths import resolve

if TYPE_CHECKING:
    from tallystick.forgetting import Forgotten
    from tallystick.keystore import KeyStore, Pending, Slot
    from tallystick.protocol.ijson import JsonValue

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

DEFAULT_STORE: Final = "default"
"""The key store of this actor and daemon, in the state directory."""


class Resumed(NamedTuple):
    """A request that was pending, and what it was answered now: a reply, or the problem that refused it; or
    why it was not sent: it is for another store.

    The reply's value is parsed JSON: the request may be of another version's making.
    """

    pending: Pending
    reply: Reply[JsonValue] | None
    error: ProblemError | OtherStore | None


class Keeping:
    """One write in the key store: written down before its first try, settled when its fate is known."""

    def __init__(self, key_store: KeyStore, request: Request, *, own_key: bool = False) -> None:
        """``own_key``: the key is the caller's, who may have used it before."""
        self.slot: Slot | None = None
        self._key_store = key_store
        self._request = request
        self._own_key = own_key

    def keep(self, store: str) -> bool:
        """Durable for that store when it returns; whether it was there before. Touches the disk."""
        self.slot = self._key_store.record(self._request, store=store, may_be_there=self._own_key)
        return self.slot.was_there

    def finish(self, outcome: Outcome) -> None:
        """Settle the request in the key store; one whose outcome is unknown stays pending, to be resumed."""
        if self.slot is not None and outcome != "unknown":
            with suppress(KeyStoreError):  # then resume sends it once more, and it is answered from the store
                self._key_store.settle(self.slot)

    def interrupted(self, exchange: Exchange) -> None:
        """The caller was interrupted: what was never sent is settled, what was sent stays pending."""
        if self.slot is not None and not self.slot.was_there and not exchange.tries:
            self.finish("not_applied")


class ClientBase:
    """The settings of a client, its keys and its replies, without a connection; ``BlockingClient`` says what
    each setting is.
    """

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
        secrets: SecretPolicy = "redact",
        observer: Observer | None = None,
        patience: Patience | None = None,
    ) -> None:
        self.paths = resolve(data_dir, runtime_dir)
        self.path = self.paths.worker_socket if self.surface == "worker" else self.paths.client_socket
        self.actor = actor
        self._credential = None if credential is None else Credential(credential, actor)
        self.deadline_seconds = deadline_seconds
        self.text_policy: TextPolicy = text_policy
        self.secrets: SecretPolicy = secrets
        self._observer = observer
        self._patience = patience
        self._key_store = self._default_store() if key_store == DEFAULT_STORE else key_store
        self.store: str | None = None
        """The id of the daemon's store (KCP's installation id), once a connection was made."""
        self._set_up()

    def _set_up(self) -> None:
        """Make what a kind of client needs beside its settings. Connects to nothing."""

    def _default_store(self) -> KeyStore | None:
        from tallystick.keystore import KeyStore, path_for

        return KeyStore(path_for(self.paths, self.actor), actor=self.actor)

    # --- one command and its key
    def _exchange(
        self,
        request: Request,
        keeping: Keeping | None,
        *,
        now: float,
        seconds: float | None,
        store: str | None,
    ) -> Exchange:
        slot = None if keeping is None else keeping.slot
        return Exchange(
            request,
            path=self.path,
            now=now,
            seconds=self.deadline_seconds if seconds is None else seconds,
            sent_before=slot is not None and slot.was_there,
            store=self.store if store is None else store,
            keep=None if keeping is None or slot is not None else keeping.keep,
            observer=self._observer,
            patience=self._patience,
        )

    def _prepare(self, call: Call[T]) -> Request:
        return prepare(call, self.text_policy, self.secrets)

    def _keeping(self, request: Request, *, own_key: bool) -> Keeping | None:
        """What makes a write durable before its first try; None for a read, or without a key store."""
        if self._key_store is None or request.key is None:
            return None
        return Keeping(self._key_store, request, own_key=own_key)

    def _answered(self, keeping: Keeping | None, exchange: Exchange) -> None:
        self.store = self.store or exchange.store
        if keeping is not None:
            keeping.finish("applied")

    def _unanswered(self, error: BaseException, keeping: Keeping | None, exchange: Exchange) -> None:
        """What stays pending, where an exchange ended without an answer."""
        if isinstance(error, ProblemError) and exchange.tries:
            self.store = self.store or exchange.store
        if keeping is None:
            return
        if isinstance(error, OtherStore):
            return  # it says nothing of what became of it there
        if isinstance(error, ProblemError | TransportError):
            keeping.finish(error.outcome)
        else:
            keeping.interrupted(exchange)

    def _kept(self, pending: Pending) -> Keeping | None:
        """A pending request as it stands in the key store; None where it was settled meanwhile."""
        slot = None if self._key_store is None else self._key_store.slot(pending)
        if slot is None or self._key_store is None:
            return None
        keeping = Keeping(self._key_store, pending.request)
        keeping.slot = slot
        return keeping

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
        if (keeping := self._kept(pending)) is not None:
            keeping.finish("not_applied")

    # --- what comes back
    def _reply(self, call: Call[T], request: Request, answer: Answer, tries: int) -> Reply[T]:
        try:
            value = call.value(answer.result)
        except ValueError as fault:
            raise self._unreadable(request, fault) from fault
        return Reply(value, answer.revision, answer.event_cursor, request.key, tries, None, request.redacted)

    def _forget(self, words: frozenset[str] | None) -> Forgotten | None:
        """What was erased leaves this user's key stores. Touches the disk."""
        if words is None:
            return None
        from tallystick.forgetting import Forgotten, forget

        if not words:
            return Forgotten(0, ("no key store was looked through: the words could not be read any more",))
        return forget(self.paths.state_dir, words, self.store)

    def _raw(self, request: Request, answer: Answer, tries: int) -> Reply[JsonValue]:
        return Reply(
            answer.result, answer.revision, answer.event_cursor, request.key, tries, None, request.redacted
        )

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
    """Whether something can be read from a socket now; that it was closed counts as well.

    On a connection with no request under way that is either the daemon's farewell or something that came
    unasked, which must not be taken for the answer to the next request.
    """
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
