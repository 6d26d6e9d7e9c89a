"""Requests: from a line of bytes to a typed request, or to the problem that refuses it (KCP 1.3, 1.4).

`decode_request` is all that a door needs to know about a line. It checks in the protocol's order, so that two
implementations refuse the same line for the same reason: size, strict JSON, the envelope's shape, the
version, the operation on that socket, the placement of meta, realm and project, the arguments' shape, the
attempt binding, ext. Every refusal's detail names the place as a JSON path and says what is allowed there.

Replies live in `replies` and can be had here too. What this does not do: know whether a realm or an object
exists or who may see it, or digest a request (`digests` does, from `Request.raw`).
"""

from typing import Any, Final, Generic, TypeAlias, TypeVar

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from tallystick.protocol.arguments import APPEND_EXTENSION, Args, DualArgs, HeadArgs
from tallystick.protocol.operation import AnyOperation, Operation, Placement, Socket
from tallystick.protocol.registry import BY_SOCKET

from . import ijson
from .problems import (
    Ext,
    forbidden_surface,
    invalid,
    misshapen,
    unknown_op,
    unsupported_version,
)
from .replies import Reply, decode_reply, encode_ok, encode_problem
from .secrets import Find, Policy, redact_arguments, words
from .shapes import (
    AnyJson,
    Identifier,
    Misshapen,
    ProtocolVersion,
    SafeInt,
    Traceparent,
    convert,
    shown,
)

__all__ = [
    "OWN_NAMESPACE",
    "PROTOCOL_VERSION",
    "AnyRequest",
    "Envelope",
    "Meta",
    "Reply",
    "Request",
    "check_placement",
    "decode_arguments",
    "decode_envelope",
    "decode_extensions",
    "decode_reply",
    "decode_request",
    "encode_ok",
    "encode_problem",
    "find_operation",
    "without_secrets",
]

A = TypeVar("A", bound=Args)
T = TypeVar("T")

PROTOCOL_VERSION: Final = "0.1"
OWN_NAMESPACE: Final = "dev.tallystick"
OWN_EXTENSIONS: Final = frozenset(name for operation in BY_SOCKET.values() for name in operation.extensions)
"""Members of ext that mean something to us. An operation that does not know one of them refuses it."""


# --- requests ---------------------------------------------------------------------------------------------
class Meta(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a write says about itself: the key names the intent, the request id and the rest are telemetry."""

    request_id: Identifier
    idempotency_key: Identifier
    expected_revision: SafeInt | UnsetType = UNSET
    causation_event_ref: Identifier | UnsetType = UNSET
    traceparent: Traceparent | UnsetType = UNSET


class Envelope(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A request before its operation is known: closed, each member of its type."""

    version: ProtocolVersion
    op: str
    meta: Meta | UnsetType = UNSET
    realm_id: Identifier | UnsetType = UNSET
    project_id: Identifier | UnsetType = UNSET
    args: dict[str, AnyJson]
    ext: Ext | UnsetType = UNSET


class Request(Struct, Generic[A], frozen=True, kw_only=True):
    """A request whose shape is right for its operation on its socket, with its typed arguments.

    `meta`, `realm_id` and `project_id` are none where they are absent. `ext` is as it was sent, `extensions`
    its members of ours, typed. `raw` is the whole parsed envelope, from which the request is digested: it is
    as it came. `redacted` is what secrets were taken out of `args` since.
    """

    operation: Operation[A, Any]
    meta: Meta | None
    realm_id: str | None
    project_id: str | None
    args: A
    ext: dict[str, AnyJson]
    extensions: dict[str, Args]
    raw: dict[str, AnyJson]
    redacted: tuple[Find, ...] = ()

    def extension(self, name: str) -> Args | None:
        """The typed member `name` of ext, if the request carries it."""
        return self.extensions.get(name)


AnyRequest: TypeAlias = Request[Any]


def decode_request(line: bytes, socket: Socket) -> AnyRequest:
    """The request in `line` (without its newline), as it came on `socket`. Raises `Refusal`, nothing else."""
    try:
        return request_of(ijson.parse(line, ijson.Cap.REQUEST), socket)
    except ijson.NotStrict as fault:
        raise invalid(fault.detail) from None


def request_of(raw: ijson.JsonValue, socket: Socket) -> AnyRequest:
    """The same from a line's value, as `ijson` gives it."""
    try:
        envelope = decode_envelope(raw)
        operation = find_operation(envelope, socket)
        check_placement(envelope, operation)
        args = decode_arguments(envelope, operation)
        extensions = decode_extensions(envelope, operation, args)
    except Misshapen as fault:
        raise misshapen(fault) from None
    assert isinstance(raw, dict), "an envelope is an object"
    return Request(
        operation=operation,
        meta=_or_none(envelope.meta),
        realm_id=_or_none(envelope.realm_id),
        project_id=_or_none(envelope.project_id),
        args=args,
        ext=_or_none(envelope.ext) or {},
        extensions=extensions,
        raw=raw,
    )


def without_secrets(request: AnyRequest, policy: Policy) -> AnyRequest:
    """The request with the secrets in its content dealt with as the policy says. Raises `Refusal`.

    Its `raw` stays as it came, so that it is digested as before: a list of rules that changed makes no other
    request of it.
    """
    if policy == "keep" or not request.operation.texts:
        return request
    clean, found = redact_arguments(request.raw["args"], request.operation.texts)
    if not found:
        return request
    if policy == "refuse":
        raise invalid(
            f"$.args: its content holds what looks like a secret: {words(found)}. Take it out. The owner has "
            'tallyd refuse such content: write = "refuse" under [secrets] in tallyd.toml.'
        )
    try:
        args: Args = convert(clean, request.operation.arguments, "$.args")
    except Misshapen as fault:
        raise misshapen(
            Misshapen(fault.path, f"{fault.detail}; so it is with its secrets redacted")
        ) from None
    return replace(request, args=args, redacted=found)


def decode_envelope(value: object) -> Envelope:
    """`value`, parsed JSON, as an envelope. Raises `Misshapen`."""
    return convert(value, Envelope)


def find_operation(envelope: Envelope, socket: Socket) -> AnyOperation:
    """The operation that `envelope` asks for on `socket`. Raises `Refusal`: another version, no such one."""
    if envelope.version != PROTOCOL_VERSION:
        raise unsupported_version(
            f"$.version: this daemon speaks {PROTOCOL_VERSION}, the request {shown(envelope.version)}. "
            f"Send version {PROTOCOL_VERSION}; hello settles it beforehand."
        )
    operation = BY_SOCKET.get((socket, envelope.op))
    if operation is None:
        raise unknown_op(envelope.op, socket)
    return operation


def check_placement(envelope: Envelope, operation: AnyOperation) -> None:
    """Whether meta, realm and project are there as the operation has it. Raises `Misshapen`."""
    for member, present, placement in (
        ("meta", envelope.meta is not UNSET, operation.meta),
        ("realm_id", envelope.realm_id is not UNSET, operation.realm),
        ("project_id", envelope.project_id is not UNSET, operation.project),
    ):
        if present and placement is Placement.FORBIDDEN:
            raise Misshapen(f"$.{member}", f"{operation.name} takes no {member}; leave the member out")
        if not present and placement is Placement.REQUIRED:
            raise Misshapen("$", f"{operation.name} needs the member {member}")


def decode_arguments(envelope: Envelope, operation: AnyOperation) -> Args:
    """The typed arguments. Raises `Misshapen`, and `Refusal` where the binding does not fit the socket."""
    args: Args = convert(envelope.args, operation.arguments, "$.args")
    if isinstance(args, HeadArgs) and args.expected_head_digest is UNSET and not _at_head(envelope):
        raise Misshapen(
            "$.args",
            "the member expected_head_digest is missing; it must be 64 lowercase hexadecimal digits, or in "
            f'its place the request must carry the ext member {APPEND_EXTENSION}: {{"at_head": true}}',
        )
    if isinstance(args, DualArgs):
        _check_binding(args, operation)
    return args


def _at_head(envelope: Envelope) -> bool:
    return envelope.ext is not UNSET and APPEND_EXTENSION in envelope.ext


def _check_binding(args: DualArgs, operation: AnyOperation) -> None:
    present = [
        name
        for name, value in (("attempt_id", args.attempt_id), ("fence_epoch", args.fence_epoch))
        if value is not UNSET
    ]
    if operation.binding is Placement.FORBIDDEN and present:
        raise forbidden_surface(
            f"$.args.{present[0]}: an attempt speaks on the worker socket only. Leave attempt_id and "
            "fence_epoch out, or send the request there."
        )
    if operation.binding is Placement.REQUIRED and len(present) < 2:
        raise forbidden_surface(
            "$.args: on the worker socket the arguments name the attempt that speaks. Add attempt_id and "
            "fence_epoch as the claim's result has them, or send the request on the client socket."
        )


def decode_extensions(envelope: Envelope, operation: AnyOperation, args: Args) -> dict[str, Args]:
    """The ext members of ours, typed. Raises `Misshapen` for one that the operation does not know.

    Members of others are left alone, and so is a name under ours that no operation of this version knows: a
    client may carry what a later version reads, and it is part of what the request means either way.
    """
    if envelope.ext is UNSET:
        return {}
    extensions: dict[str, Args] = {}
    for name, value in envelope.ext.items():
        if name not in OWN_EXTENSIONS:
            continue
        shape = operation.extensions.get(name)
        if shape is None:
            known = ", ".join(operation.extensions) or "none"
            raise Misshapen(
                "$.ext",
                f"{operation.name} knows no member {shown(name)}; under {OWN_NAMESPACE} it knows {known}",
            )
        extensions[name] = convert(value, shape, f"$.ext['{name}']")
    if (
        APPEND_EXTENSION in extensions
        and isinstance(args, HeadArgs)
        and args.expected_head_digest is not UNSET
    ):
        raise Misshapen(
            "$.args.expected_head_digest",
            f"it compares the head, and the ext member {APPEND_EXTENSION} takes any; leave one of them out",
        )
    return extensions


def _or_none(member: T | UnsetType) -> T | None:
    return None if member is UNSET else member
