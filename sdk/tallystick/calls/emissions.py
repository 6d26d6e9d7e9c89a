"""What an attempt sends out beside contributions: the application's own events, and calls of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias, Unpack

from tallystick.calls.attempts import binding
from tallystick.calls.descriptors import write
from tallystick.calls.values import WriteOptions
from tallystick.core import Write

if TYPE_CHECKING:
    from tallystick.protocol.families.emissions import (
        EmittedEvent,
        KeyedDigestRef,
        ModelCall,
        UnkeyedDigestRef,
    )
    from tallystick.protocol.families.work import InvocationClaim
    from tallystick.protocol.ijson import JsonValue

# In quotes, since the records are not imported before they are needed.
Digest: TypeAlias = "UnkeyedDigestRef | KeyedDigestRef | Mapping[str, JsonValue]"


def application_event_emit(
    claim: InvocationClaim,
    event_type: str,
    payload: Mapping[str, JsonValue],
    **options: Unpack[WriteOptions],
) -> Write[EmittedEvent]:
    """Write an event of the application's own type (``Forbidden`` for the system's, ``dev.kovee.`` and
    ``dev.tallystick.``) into the stream of the invocation's space, or the invocation's own.

    The payload, at most 65,536 bytes in canonical form, is content and can be erased; the type is a label,
    and cannot. ``StaleLease`` where another attempt has taken over.
    """
    return Write(
        "application_event_emit",
        {**binding(claim), "type": event_type, "payload": payload},
        "emissions.EmittedEvent",
        surface="worker",
        project_id=claim.invocation.project_id,
        **options,
    )


def model_complete(
    claim: InvocationClaim,
    model_profile_ref: str,
    prompt: str,
    *,
    max_output_tokens: int,
    purpose_ref: str,
    classification_ref: str,
    act_intent_ref: str,
    act_intent_digest: Digest,
    act_revision: int,
    subject_digest: Digest,
    context_manifest_ref: str,
    context_manifest_digest: Digest,
    stable_execution_key: str,
    budget_reservation_set_ref: str,
    system: str | None = None,
    stable_binding_key: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[ModelCall]:
    """Send a prompt to a model profile, under a permit that this uses up; no provider is named.

    ``prompt`` has 1 to 131,072 characters, ``system`` at most 16,384. Digests are records or objects with
    ``algorithm``, ``class`` and ``value_hex`` (KCP 3.4). ``Unavailable`` while no egress authority is
    configured, which this version cannot do: nothing was sent to anybody then.
    """
    arguments = {
        **binding(claim),
        "model_profile_ref": model_profile_ref,
        "purpose_ref": purpose_ref,
        "classification_ref": classification_ref,
        "prompt": prompt,
        "system": system,
        "max_output_tokens": max_output_tokens,
        "stable_binding_key": stable_binding_key,
        "act_intent_ref": act_intent_ref,
        "act_intent_digest": act_intent_digest,
        "act_revision": act_revision,
        "subject_digest": subject_digest,
        "context_manifest_ref": context_manifest_ref,
        "context_manifest_digest": context_manifest_digest,
        "stable_execution_key": stable_execution_key,
        "budget_reservation_set_ref": budget_reservation_set_ref,
    }
    return Write(
        "model_complete",
        arguments,
        "emissions.ModelCall",
        surface="worker",
        project_id=claim.invocation.project_id,
        **options,
    )


# --- methods ----------------------------------------------------------------------------------------------
class EmissionsWorkerMethods:
    """The methods of the workers' clients."""

    application_event_emit = write(application_event_emit)
    model_complete = write(model_complete)
