"""What a worker tells besides contributions: events of its application's own, and model calls."""

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType, field

from tallystick.protocol import limits
from tallystick.protocol.arguments import Content, FencedArgs
from tallystick.protocol.operation import (
    CONTENT_ROWS,
    DEVELOPER_ASSISTANT,
    FENCED,
    STEP_ROW,
    WRITES,
    Emission,
    Mode,
    Socket,
)
from tallystick.protocol.problems import Kind as ProblemKind
from tallystick.protocol.records import Record
from tallystick.protocol.shapes import (
    DigestHex,
    EventType,
    Identifier,
    JsonObject,
    ModelCallState,
    ModelPrompt,
    ModelSystem,
    PositiveInt,
    SafeInt,
    Timestamp,
)


# --- records ------------------------------------------------------------------------------------------------
class EmittedEvent(Record, frozen=True, kw_only=True):
    """The result of `application_event_emit`: where the event stands. The event travels with the others."""

    event_id: Identifier
    stream_id: Identifier
    stream_sequence: SafeInt
    project_sequence: SafeInt | UnsetType = UNSET
    occurred_at: Timestamp


class UnkeyedDigestRef(Record, frozen=True, kw_only=True, tag_field="algorithm", tag="sha-256"):
    """A digest that whoever has the object can compute again (KCP 3.4)."""

    class_: Literal["structural_public", "portable_public", "disclosed_party", "ciphertext_public"] = field(
        name="class"
    )
    value_hex: DigestHex


class KeyedDigestRef(Record, frozen=True, kw_only=True, tag_field="algorithm", tag="hmac-sha-256"):
    """A digest that tells nothing once its key is gone (KCP 3.4)."""

    class_: Literal["local_erasure_safe", "scope_erasure_safe"] = field(name="class")
    key_ref: Identifier
    value_hex: DigestHex


DigestRef: TypeAlias = UnkeyedDigestRef | KeyedDigestRef
"""A digest with its class; the member `algorithm` tells which of the two it is."""


class ModelUsage(Record, frozen=True, kw_only=True):
    """What a model call used."""

    input_tokens: SafeInt
    output_tokens: SafeInt


class ModelCall(Record, frozen=True, kw_only=True):
    """The result of `model_complete`: what came of the call, and nothing that reaches its provider."""

    effect_id: Identifier
    effect_attempt_id: Identifier
    state: ModelCallState
    text: str | UnsetType = UNSET
    model: Identifier | UnsetType = UNSET
    stop_reason: Identifier | UnsetType = UNSET
    provider_ref: Identifier | UnsetType = UNSET
    usage: ModelUsage
    disclosure_manifest_ref: Identifier
    provider_context_manifest_ref: Identifier
    latency_ms: SafeInt
    retry_frozen: bool
    usage_reported: bool
    observation: Annotated[str, Meta(max_length=limits.MODEL_OBSERVATION_SCALARS_MAX)] | UnsetType = UNSET


# --- arguments ----------------------------------------------------------------------------------------------
class ModelCompleteArgs(FencedArgs, frozen=True, kw_only=True):
    """What to say to which model profile, and under which authority.

    No provider, address or credential can be named here: a worker calls a profile.
    """

    model_profile_ref: Identifier
    purpose_ref: Identifier
    classification_ref: Identifier
    prompt: Content[ModelPrompt]
    system: Content[ModelSystem] | UnsetType = UNSET
    max_output_tokens: PositiveInt
    stable_binding_key: Identifier | UnsetType = UNSET
    act_intent_ref: Identifier
    act_intent_digest: DigestRef
    act_revision: SafeInt
    subject_digest: DigestRef
    context_manifest_ref: Identifier
    context_manifest_digest: DigestRef
    stable_execution_key: Identifier
    budget_reservation_set_ref: Identifier


class ApplicationEventEmitArgs(FencedArgs, frozen=True, kw_only=True):
    """An event of the application's own type, and what it tells."""

    type: EventType
    payload: Content[JsonObject]


# --- operations ---------------------------------------------------------------------------------------------
APPLICATION_EVENT_EMIT: Final = DEVELOPER_ASSISTANT.write(
    "application_event_emit",
    ApplicationEventEmitArgs,
    EmittedEvent,
    "Write an event of the application's own type, as the attempt that speaks.",
    mode=Mode.WORKER_FENCED,
    socket=Socket.WORKER,
    problems=(*WRITES, ProblemKind.FORBIDDEN, *FENCED),
    emission=Emission.OF_CALLER,
    rows=(
        *CONTENT_ROWS,
        STEP_ROW,
    ),
)
MODEL_COMPLETE: Final = DEVELOPER_ASSISTANT.write(
    "model_complete",
    ModelCompleteArgs,
    ModelCall,
    "Say something to a model, under a permit that is spent by it.",
    mode=Mode.WORKER_FENCED,
    socket=Socket.WORKER,
    problems=(*WRITES, ProblemKind.FORBIDDEN, *FENCED),
    all_rows=(),
)

OPERATIONS: Final = (
    APPLICATION_EVENT_EMIT,
    MODEL_COMPLETE,
)
