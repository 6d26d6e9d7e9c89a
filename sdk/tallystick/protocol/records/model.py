"""Records of calls to a model."""

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType, field

from tallystick.protocol import limits
from tallystick.protocol.shapes import DigestHex, Identifier, ModelCallState, SafeInt

from ._base import Record


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
