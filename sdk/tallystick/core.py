"""The SDK without its sockets: what is sent, when it is sent again, and what an answer means.

Bytes and times go in, decisions come out; nothing here opens a socket, sleeps or locks. The blocking client
and the trio client both use these three things:

- ``Call``, what a caller wants: an operation, its arguments, the type of its result. ``calls`` builds them.
- ``Request``, that same thing as one line of JSON, fixed before the first try. Every further try, also by
  another process after a crash, sends exactly these bytes: so the daemon finds the same command again.
- ``Exchange``, one request's life: how often it was sent, whether it may have been applied, how long to wait
  before it is sent again, and with which error it ends.

When is a request sent again? When the connection was refused, reset or closed before the reply; when the
daemon says ``rate-limited``, or ``unavailable`` with an outcome (unknown, or not applied). The wait before
the n-th further try is drawn between nothing and ``RETRY_FIRST_SECONDS * 2**n`` ("full jitter"), so that a
thousand clients of a restarted daemon do not come back in the same instant. No other problem is retried: it
would be answered the same again. When the caller's deadline has passed, the error says what became of the
request, and where that is not known, says so.

Importing this module imports neither msgspec nor trio: an append from the shell may take a tenth of a second
in all. What needs the protocol's types imports them where it needs them.
"""

from __future__ import annotations

import errno
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final, Generic, Literal, NamedTuple, NoReturn, TypeVar, cast

from tallystick.errors import (
    BadReply,
    NotSendable,
    OtherStore,
    Outcome,
    OutcomeUnknown,
    ProblemError,
    RateLimited,
    SandboxBlocked,
    TimedOut,
    TransportError,
    Unreachable,
    WrongActor,
    problem_error,
)
from tallystick.protocol import limits
from tallystick.protocol.uuid7 import Uuid7

if TYPE_CHECKING:
    from tallystick.forgetting import Forgotten
    from tallystick.protocol.ijson import JsonValue
    from tallystick.protocol.problems import Problem
    from tallystick.protocol.secrets import Find

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

VERSION: Final = "0.1"
REALM: Final = "realm-personal"
OWNER: Final = "prin-owner"
Surface = Literal["client", "worker"]
"""Which of the daemon's two sockets an operation is asked on."""
TextPolicy = Literal["refuse", "replace"]
"""What happens to a lone surrogate in a text: refused with its place, or replaced by U+FFFD."""
SecretPolicy = Literal["redact", "refuse", "keep"]
"""What happens to a secret in content, before it is written down or sent: it is replaced by
``[REDACTED:<rule>]``, or nothing is sent, or it goes as it is."""

DEADLINE_SECONDS: Final = 30.0
"""For one call, all its tries together: a daemon under a service manager is back well within it."""
RETRY_FIRST_SECONDS: Final = 0.02
"""Longest wait before the first further try: a few times what a command takes."""
RETRY_SECONDS_MAX: Final = 1.0
"""Longest wait before any further try: a person should not notice that the daemon was back earlier."""


# --- keys -------------------------------------------------------------------------------------------------
_new_uuid: Final = Uuid7(time.time_ns, os.urandom)


def new_key() -> str:
    """A new idempotency key: the 32 hex digits of a UUIDv7 (RFC 9562), so that keys sort by their time.

    In one process each key is greater than the one before. Two processes do not meet: 62 bits are random.
    """
    return _new_uuid().hex()


def jitter() -> float:
    """A random number from 0 up to 1; from the kernel, so that a forked child draws its own."""
    return int.from_bytes(os.urandom(4), "big") / 2**32


# --- what a caller wants ----------------------------------------------------------------------------------
class Call(Generic[T_co]):
    """An operation with its arguments, not yet bytes.

    ``result`` names the type of the result, as ``family.Record`` in ``tallystick.protocol.families``; ""
    leaves it as parsed JSON.
    ``arguments`` and ``ext`` hold JSON values, records and tuples allowed; arguments that are None are left
    out.
    ``wait_seconds`` is how long the daemon may take by design (``events_wait``).
    """

    __slots__ = (
        "arguments",
        "causation_event_ref",
        "deadline_seconds",
        "erases",
        "expected_revision",
        "ext",
        "key",
        "operation",
        "project_id",
        "realm_id",
        "result",
        "surface",
        "traceparent",
        "wait_seconds",
    )

    def __init__(
        self,
        operation: str,
        arguments: Mapping[str, object],
        result: str,
        *,
        surface: Surface = "client",
        realm_id: str | None = REALM,
        project_id: str | None = None,
        key: str | None = None,
        expected_revision: int | None = None,
        causation_event_ref: str | None = None,
        traceparent: str | None = None,
        ext: Mapping[str, object] | None = None,
        deadline_seconds: float | None = None,
        wait_seconds: float = 0.0,
    ) -> None:
        self.operation = operation
        self.arguments = arguments
        self.result = result
        self.surface: Surface = surface
        self.realm_id = realm_id
        self.project_id = project_id
        self.key = key
        self.expected_revision = expected_revision
        self.causation_event_ref = causation_event_ref
        self.traceparent = traceparent
        self.ext = ext
        self.deadline_seconds = deadline_seconds
        self.wait_seconds = wait_seconds
        self.erases: Read[object] | None = None
        """What reads the content that this call erases: it is to leave the key stores too."""

    def value(self, result: JsonValue) -> T_co:
        """The result as its type. Raises ``Misshapen`` (a ValueError) where it does not have that shape."""
        return cast(T_co, typed(result, self.result))


class Read(Call[T_co]):
    """A call that changes nothing: it has no key, and can be sent again at any time."""

    __slots__ = ()


class Write(Call[T_co]):
    """A call that is one command: with a key, and applied once however often it is sent."""

    __slots__ = ()


class Reply(NamedTuple, Generic[T]):
    """What a write was answered.

    ``value`` is the record. ``revision`` is that of the aggregate that the command changed (an append's is
    the space's) and ``event_cursor`` the position just after the command's last event, each None where the
    operation has none. ``key`` is the idempotency key that it went under, ``tries`` how often this call
    sent it. ``forgotten`` is what of erased content was cleared in this user's key stores. ``redacted`` is
    which secrets were taken out of the content before it was sent: rule and count.
    """

    value: T
    revision: int | None
    event_cursor: str | None
    key: str | None
    tries: int
    forgotten: Forgotten | None = None
    redacted: tuple[Find, ...] = ()


class Try(NamedTuple):
    """One sending of a request, as an observer sees it: ``number`` counts from 1."""

    operation: str
    key: str | None
    number: int


Observer = Callable[[Try], None]


class Wait(NamedTuple):
    """A request that is about to be sent again, after a pause: ``why`` is what became of the try before."""

    operation: str
    why: OSError | ProblemError | None


Patience = Callable[[Wait], bool]
"""Whether to go on waiting; where it says no, the call ends as it does when its deadline has passed."""


def typed(result: JsonValue, name: str) -> object:
    """Parsed JSON as a record, named as ``family.Record``; "" leaves it as it is. Raises ValueError."""
    if not name:
        return result
    family, _, record = name.partition(".")
    page = import_module(f"tallystick.protocol.families.{family}")
    shapes = import_module("tallystick.protocol.shapes")
    value: object = shapes.convert(result, getattr(page, record))
    return value


# --- what goes over the wire ------------------------------------------------------------------------------
class Request(NamedTuple):
    """One request as it goes over the wire; ``line`` has no newline.

    ``key`` is None for what carries no meta. ``redacted`` is what was taken out of it.
    """

    surface: Surface
    operation: str
    key: str | None
    line: bytes
    wait_seconds: float = 0.0
    redacted: tuple[Find, ...] = ()

    def __repr__(self) -> str:
        """Without the content."""
        return f"Request({self.surface} {self.operation} key={self.key} bytes={len(self.line)})"


def prepare(
    call: Call[T], text_policy: TextPolicy = "refuse", secret_policy: SecretPolicy = "redact"
) -> Request:
    """The call as the bytes that every try will send. Raises ``NotSendable``.

    They depend on the call, its key and the list of secrets alone: who gives the same key and arguments
    again, in another process, sends the same line.
    """
    envelope: dict[str, object] = {"version": VERSION, "op": call.operation}
    if call.realm_id is not None:
        envelope["realm_id"] = call.realm_id
    if call.project_id is not None:
        envelope["project_id"] = call.project_id
    key = None
    if isinstance(call, Write):
        key = new_key() if call.key is None else call.key
        if not key:
            raise NotSendable("$.meta.idempotency_key", "an empty key; leave it out, and one is made")
        envelope["meta"] = _present(
            request_id=request_id(key),
            idempotency_key=key,
            expected_revision=call.expected_revision,
            causation_event_ref=call.causation_event_ref,
            traceparent=call.traceparent,
        )
    envelope["args"] = _present(**call.arguments)
    if call.ext:
        envelope["ext"] = call.ext
    clean = cast("dict[str, object]", _sendable(envelope, "$", text_policy, 1))
    redacted = _without_secrets(call, clean, secret_policy) if key is not None else ()
    return Request(call.surface, call.operation, key, _line(clean), call.wait_seconds, redacted)


def _without_secrets(call: Call[T], envelope: dict[str, object], policy: SecretPolicy) -> tuple[Find, ...]:
    """Takes the secrets out of a write's content, and says what they were. Raises ``NotSendable``.

    The registry, which says what is content, takes a while to load: it is asked where anything was found.
    """
    if policy == "keep":
        return ()
    from tallystick.protocol import secrets

    arguments = cast("dict[str, object]", envelope["args"])
    if not secrets.redact_value(arguments)[1]:
        return ()
    clean, found = secrets.redact_arguments(arguments, _texts_of(call.surface, call.operation))
    if found and policy == "refuse":
        words = f"its content holds what looks like a secret: {secrets.words(found)}. Take it out"
        raise NotSendable("$.args", f"{words}, or open the client with secrets='redact' or 'keep'.")
    envelope["args"] = clean
    return found


def _texts_of(surface: Surface, name: str) -> tuple[str, ...]:
    """The arguments of an operation in which secrets are looked for; none where this SDK does not know it:
    the daemon looks as well.
    """
    from tallystick.protocol.operation import Socket
    from tallystick.protocol.registry import BY_SOCKET

    operation = BY_SOCKET.get((Socket(surface), name))
    return () if operation is None else operation.texts


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def encode(value: object, text_policy: TextPolicy = "refuse") -> bytes:
    """One line of strict JSON within the limits of a request. Raises ``NotSendable``."""
    return _line(_sendable(value, "$", text_policy, 1))


def _line(clean: object) -> bytes:
    """Builtins as one line of JSON. Raises ``NotSendable`` where it is too long."""
    line = _ENCODER.encode(clean).encode()
    if len(line) > limits.REQUEST_BYTES_MAX:
        raise NotSendable(
            "$",
            f"the request has {len(line)} bytes, and {limits.REQUEST_BYTES_MAX} is the most that one may"
            " have. Split the content over several contributions.",
        )
    return line


def _present(**members: object) -> dict[str, object]:
    return {name: value for name, value in members.items() if value is not None}


def request_id(key: str) -> str:
    """From the key, so that a retry by another process sends the same bytes."""
    if len(key) <= limits.IDENTIFIER_BYTES_MAX - 4:
        return f"req-{key}"
    import hashlib  # three milliseconds, and most keys are short

    return f"req-{hashlib.sha256(key.encode()).hexdigest()}"


def _sendable(value: object, place: str, policy: TextPolicy, depth: int) -> object:
    """The value as builtins that ``json`` writes without changing them. Raises ``NotSendable``."""
    if isinstance(value, str):
        return value if value.isascii() else _text(value, place, policy)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if abs(value) > limits.SAFE_INTEGER_MAX:
            raise NotSendable(place, f"an integer outside ±{limits.SAFE_INTEGER_MAX}; send it as a string")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotSendable(place, "a number that is not finite; leave it out, or send it as a string")
        return value
    if depth > limits.DEPTH_MAX:
        raise NotSendable(place, f"nested deeper than {limits.DEPTH_MAX} containers; flatten the value")
    if isinstance(value, Mapping):
        return dict(_members(value, place, policy, depth))
    if isinstance(value, list | tuple):
        return [_sendable(item, f"{place}[{index}]", policy, depth + 1) for index, item in enumerate(value)]
    if hasattr(value, "__struct_fields__"):  # a record of the protocol
        return _sendable(import_module("msgspec").to_builtins(value), place, policy, depth)
    raise NotSendable(place, f"{type(value).__name__} is no JSON type; send text, numbers, lists and dicts")


def _members(
    value: Mapping[object, object], place: str, policy: TextPolicy, depth: int
) -> Iterator[tuple[str, object]]:
    for name, member in value.items():
        if not isinstance(name, str):
            raise NotSendable(place, f"a member's name is a {type(name).__name__}; JSON has only text there")
        yield _text(name, place, policy), _sendable(member, f"{place}.{name}", policy, depth + 1)


def _text(text: str, place: str, policy: TextPolicy) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        if policy == "replace":  # halves that belong together are joined, a lone one becomes U+FFFD
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        raise NotSendable(
            place.encode("ascii", "backslashreplace").decode(),
            f"character {error.start} is half of a surrogate pair (U+{ord(text[error.start]):04X}), which"
            " UTF-8 cannot hold. Repair the text, or open the client with text_policy='replace'.",
        ) from None
    return text


# --- who speaks -------------------------------------------------------------------------------------------
class Credential:
    """A secret that is shown on each connection before anything else, and the actor that it must be of.

    Its ``repr`` does not show it.
    """

    __slots__ = ("actor", "line")

    def __init__(self, secret: str, actor: str) -> None:
        self.actor = actor
        self.line = encode({"op": "tallystick_authenticate", "args": {"credential": secret}})

    def __repr__(self) -> str:
        return f"Credential({self.actor}, redacted)"


# --- framing ----------------------------------------------------------------------------------------------
class ReplyBuffer:
    """Bytes of one connection on their way to being a reply line; no byte is scanned twice."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._scanned = 0

    def feed(self, data: bytes) -> bytes | None:
        """A whole line without its newline, once there is one. Raises ValueError past the reply limit."""
        self._bytes += data
        end = self._bytes.find(b"\n", self._scanned)
        if end < 0:
            self._scanned = len(self._bytes)
            if self._scanned > limits.REPLY_BYTES_MAX:
                raise ValueError(f"a reply of more than {limits.REPLY_BYTES_MAX} bytes")
            return None
        line = bytes(self._bytes[:end])
        del self._bytes[: end + 1]
        self._scanned = 0
        return line

    def is_empty(self) -> bool:
        """Whether nothing stands behind the line that came out last: what does was not asked for."""
        return not self._bytes


# --- one request's life -----------------------------------------------------------------------------------
class Answer(NamedTuple):
    """A reply whose outcome is ok, as parsed JSON."""

    result: JsonValue
    revision: int | None
    event_cursor: str | None


_RESTART_EXPLAINS: Final = frozenset(
    {errno.ENOENT, errno.ECONNREFUSED, errno.EAGAIN, errno.ECONNRESET, errno.ECONNABORTED, errno.EPIPE}
)
"""Failures to connect that pass when a daemon starts; EAGAIN is a Unix socket whose backlog is full."""
_UNNAMED: Final = "that an older SDK did not name"
_FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM})
_TELLS_NOT_APPLIED: Final = frozenset({"stale-revision", "idempotency-mismatch", "cycle"})
"""Problems found only after no result stood under the key: so no earlier try was applied either."""


class Exchange:
    """One request, from its first try to its answer or its error.

    The driver does this, until ``answered`` gives an answer or something is raised::

        connect             on OSError: connect_failed(error), then wait pause()
        introduced(line)    on a new connection: the reply to GREETING; None: wait pause()
        meets(store)        before each try; then, where is_kept is false, keep(store)
        sending()           before the first byte leaves
        send, receive       on OSError or end of file: broken(error), then wait pause()
        answered(line)      None: wait pause()

    Times are seconds of one monotonic clock of the driver's choice.
    """

    def __init__(
        self,
        request: Request,
        *,
        path: str,
        now: float,
        seconds: float,
        sent_before: bool = False,
        store: str | None = None,
        keep: Callable[[str], bool] | None = None,
        observer: Observer | None = None,
        patience: Patience | None = None,
        random: Callable[[], float] = jitter,
    ) -> None:
        """``sent_before``: an earlier process may have sent it, and nothing has told what became of it.

        ``store``: the id of the store that it is for, where that is known. ``keep`` writes the request down
        before the first try, with the store's id, and says whether it was there already; it may block.
        """
        self.request = request
        self.store = store
        self.is_kept = keep is None
        self._keep = keep
        self.path = path
        self.tries = 0
        self._seconds = seconds + request.wait_seconds
        self._ends = now + self._seconds
        self._observer = observer
        self._patience = patience
        self._random = random
        self._failures = 0
        self._earliest = now
        self._unknown = self._unknown_before = sent_before
        self._last: OSError | ProblemError | None = None
        self._is_connected = True

    # --- what the driver tells
    def connect_failed(self, error: OSError) -> None:
        """The connection was not made. Raises where trying again is of no use."""
        self._last, self._is_connected = error, False
        if error.errno in _FORBIDDEN:
            self._fail(SandboxBlocked, blocked(self.path, error), error)
        if error.errno not in _RESTART_EXPLAINS and not isinstance(error, TimeoutError):
            self._fail(Unreachable, unreachable(self.path, error), error)

    def introduced(self, line: bytes, now: float) -> str | None:
        """The reply to ``calls.service.GREETING``: the id of the daemon's store, None where it said to come
        again. Raises any other problem.
        """
        try:
            reply = parse_reply(line)
            if isinstance(reply, Answer):
                return _store_of(reply)
        except ValueError as fault:
            self.garbled(fault)
        self._put_off(reply, now)
        return None

    def meets(self, store: str) -> None:
        """The daemon on this connection has that store. Raises ``OtherStore`` where the request is for
        another.
        """
        if self.store not in (None, store):
            words = (
                f"this is for the store {self.store or _UNNAMED}, and the daemon at {self.path} has the store"
                f" {store}. It was not sent there. TALLY_DATA_DIR and TALLY_RUNTIME_DIR name a daemon; a"
                " client that was opened before the store was replaced is to be opened anew."
            )
            self._fail(OtherStore, words, None)
        self.store = store

    def keep(self, store: str) -> None:
        """Make the request durable before the first try. Raises ``KeyStoreError``."""
        self.is_kept = True
        if self._keep is not None and self._keep(store):
            self._unknown = self._unknown_before = True

    def sending(self) -> None:
        """The bytes are about to leave: from here on the request may be applied."""
        self.tries += 1
        self._is_connected = True
        self._unknown_before, self._unknown = self._unknown, True
        if self._observer is not None:
            self._observer(Try(self.request.operation, self.request.key, self.tries))

    def admitted(self, line: bytes, credential: Credential, now: float) -> bool:
        """What the credential was answered, on a connection where nothing else was sent yet: whether the
        request may follow. Raises its refusal, and ``WrongActor``.
        """
        try:
            reply = parse_reply(line)
        except ValueError as fault:
            self.garbled(fault)
        if isinstance(reply, Answer):
            self._check_actor(reply, credential)
            return True
        self._put_off(reply, now)
        return False

    def _put_off(self, problem: Problem, now: float) -> None:
        """A problem before the request could be sent: it is tried again where that may help, else raised."""
        failure = problem_error(problem, operation=self.request.operation, key=self.request.key)
        failure.outcome = "unknown" if self._may_be_applied() else "not_applied"
        if isinstance(failure, RateLimited):
            self._earliest = now + (failure.retry_after_seconds or 0)
        elif failure.kind != "unavailable":
            raise failure
        self._last = failure

    def _check_actor(self, reply: Answer, credential: Credential) -> None:
        actor = reply.result.get("actor") if isinstance(reply.result, dict) else None
        if actor != credential.actor:
            words = (
                f"the credential is {actor}'s, and this client was opened as {credential.actor}: its keys"
                f" are that actor's alone. Open it with actor={actor!r}, or show the other credential."
            )
            self._fail(WrongActor, words, None)

    def broken(self, error: OSError) -> None:
        """The connection ended, or time ran out, between the first byte sent and the whole reply."""
        self._last = error

    def garbled(self, fault: ValueError) -> NoReturn:
        """What came back is no reply of this protocol. Raises ``BadReply``."""
        self._fail(BadReply, bad_reply(self.path, fault), fault)

    def answered(self, line: bytes, now: float) -> Answer | None:
        """What the reply means: an answer, or None to send the request again. Raises any other problem."""
        try:
            reply = parse_reply(line)
            state: str | None = None if isinstance(reply, Answer) else _stated_outcome(reply)
        except ValueError as fault:
            self.garbled(fault)
        if isinstance(reply, Answer):
            return reply
        failure = problem_error(reply, operation=self.request.operation, key=self.request.key)
        if isinstance(failure, RateLimited):
            state = "not_applied"
            self._earliest = now + (failure.retry_after_seconds or 0)
        if state is None:
            failure.outcome = self._outcome_of(failure)
            raise failure
        if state == "not_applied":
            self._unknown = self._unknown_before
        self._last = failure
        return None

    # --- what the driver asks
    def remaining(self, now: float) -> float:
        """Seconds left of the caller's deadline. Raises the final error where there are none."""
        if now >= self._ends:
            self.give_up()
        return self._ends - now

    def pause(self, now: float) -> float:
        """Seconds to wait before the next try. Raises the final error where that cannot be in time."""
        left = self.remaining(now)
        if self._earliest >= self._ends or not self._is_patient():
            self.give_up()
        ceiling = min(RETRY_SECONDS_MAX, RETRY_FIRST_SECONDS * 2.0 ** min(self._failures, 16))
        self._failures += 1
        return min(max(self._earliest - now, 0.0) + ceiling * self._random(), left)

    def _is_patient(self) -> bool:
        return self._patience is None or self._patience(Wait(self.request.operation, self._last))

    # --- how it ends
    def give_up(self) -> NoReturn:
        """The caller waits no longer. Raises what stands in the place of an answer."""
        last = self._last
        if self._may_be_applied():
            self._fail(OutcomeUnknown, self._unknown_words(), last)
        if isinstance(last, ProblemError):
            raise last
        if isinstance(last, OSError) and not self._is_connected:
            self._fail(Unreachable, unreachable(self.path, last, self._seconds), last)
        words = f"no reply from {self.path} within {self._seconds:g} s. Ask again, with a longer deadline."
        self._fail(TimedOut, words, last)

    def _may_be_applied(self) -> bool:
        return self._unknown and self.request.key is not None

    def _fail(self, kind: type[TransportError], words: str, cause: Exception | None) -> NoReturn:
        operation, key = self.request.operation, self.request.key
        error = kind(f"{operation}: {words}", path=self.path, operation=operation, key=key)
        if self._may_be_applied():
            error.outcome = "unknown"
        raise error from cause

    def _unknown_words(self) -> str:
        times = "once" if self.tries == 1 else f"{self.tries} times now"
        told = f"nothing has told within {self._seconds:g} s whether it was applied"
        if isinstance(self._last, ProblemError):
            told = f"the answer does not tell whether it was applied: {self._last.detail}"
        return (
            f"sent {times} to {self.path}, and {told}. Call again with key={self.request.key!r} and the same"
            " arguments, or resume(): it is applied once, however often it is sent."
        )

    def _outcome_of(self, failure: ProblemError) -> Outcome:
        """What a problem tells of the request; ``_unknown_before`` is whether an earlier try went
        unanswered."""
        if failure.kind == "idempotency-result-expired":
            return "applied"
        if self.request.key is None or not self._unknown_before or failure.kind in _TELLS_NOT_APPLIED:
            return "not_applied"
        return "unknown"


# --- what a reply means -----------------------------------------------------------------------------------
_OK_MEMBERS: Final = frozenset({"outcome", "result", "revision", "event_cursor"})


def parse_reply(line: bytes) -> Answer | Problem:
    """A reply line (KCP 1.5) as strict JSON: its outcome is ok, or a problem. Raises ValueError."""
    from tallystick.protocol.ijson import Cap, parse

    reply = parse(line, Cap.REPLY)
    if not isinstance(reply, dict):
        raise ValueError("a reply that is no object")
    if reply.get("outcome") == "problem" and reply.keys() == {"outcome", "problem"}:
        from tallystick.protocol.problems import decode_problem

        return decode_problem(reply["problem"], "$.problem")
    if reply.get("outcome") == "ok" and "result" in reply and reply.keys() <= _OK_MEMBERS:
        revision, cursor = reply.get("revision"), reply.get("event_cursor")
        if isinstance(revision, bool) or not isinstance(revision, int | None):
            raise ValueError("a revision that is no integer")
        if not isinstance(cursor, str | None):
            raise ValueError("an event cursor that is no text")
        return Answer(reply["result"], revision, cursor)
    raise ValueError("a reply whose members are not those of KCP 1.5")


def _store_of(greeting: Answer) -> str:
    """The id of the store behind a greeting (KCP 1.9). Raises ValueError."""
    found = greeting.result.get("installation_id") if isinstance(greeting.result, dict) else None
    if not isinstance(found, str):
        raise ValueError("a greeting that does not name its installation")
    return found


def _stated_outcome(problem: Problem) -> str | None:
    """What the daemon says became of the command, where the same request may be sent again for it."""
    return problem.outcome if problem.kind == "unavailable" else None


# --- words ------------------------------------------------------------------------------------------------
def unreachable(path: str, error: OSError, seconds: float | None = None) -> str:
    """What to tell and what to do, where nobody answers at ``path``."""
    waited = "" if seconds is None else f" for {seconds:g} s"
    return (
        f"nobody answers at {path}{waited} ({error.strerror or error}). Start the daemon with `tally up`, or"
        " run `tallyd`. If one runs: `tally paths` prints where this program looks, and TALLY_RUNTIME_DIR"
        " names the directory with the daemon's sockets."
    )


def bad_reply(path: str, fault: ValueError) -> str:
    """What to tell and what to do, where something else than this protocol is spoken at ``path``."""
    return (
        f"what listens at {path} does not answer as the protocol demands: {fault}. Check that it is tallyd,"
        " and that its version fits this SDK's."
    )


def blocked(path: str, error: OSError) -> str:
    """What to tell and what to do, where the operating system forbids the socket."""
    directory = os.path.dirname(path)
    return (
        f"the sandbox blocks this socket: {path} ({error.strerror or error}). Nothing is wrong with the"
        " daemon; this process may not connect to it. Claude Code, in settings.json: list the path under"
        " sandbox.network.allowUnixSockets (macOS), or set sandbox.network.allowAllUnixSockets (Linux)."
        f" Codex, in config.toml: list {directory} under permissions.<profile>.network.unix_sockets (macOS),"
        " or set sandbox_workspace_write.network_access = true (Linux). In a container: mount the directory"
        " into it. Outside of any sandbox: the directory or the socket belongs to another user."
    )
