"""A worker's operations: take an invocation, act under its lease, and end it.

What an attempt does takes its claim first. What a client can do as well (``append``, ``invocation_cancel`` …)
is the client's call, made a worker's by ``as_worker``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeAlias, TypeVar, Unpack

from tallystick.calls.values import (
    DEPLOYMENT,
    Named,
    ReadOptions,
    SpaceRef,
    WriteOptions,
    identifier,
)
from tallystick.core import Read, Write
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol.families.artifacts import ArtifactBytes
    from tallystick.protocol.families.emissions import (
        EmittedEvent,
        KeyedDigestRef,
        ModelCall,
        UnkeyedDigestRef,
    )
    from tallystick.protocol.families.invocations import Invocation
    from tallystick.protocol.families.work import (
        InvocationClaim,
        InvocationItem,
        InvocationNext,
        InvocationProgress,
        LeaseTerm,
    )
    from tallystick.protocol.ijson import JsonValue

P = ParamSpec("P")
T = TypeVar("T")

# In quotes, since the records are not imported before they are needed.
Digest: TypeAlias = "UnkeyedDigestRef | KeyedDigestRef | Mapping[str, JsonValue]"


def claim(
    invocation_id: str,
    *,
    term_seconds: int = limits.LEASE_TERM_SECONDS_SDK,
    **options: Unpack[WriteOptions],
) -> Write[InvocationClaim]:
    """Take an invocation to run it, under a lease of ``term_seconds`` (10 to 86,400).

    ``StaleLease`` while another attempt's lease lives, and for an invocation that has ended.
    """
    arguments = {"invocation_id": invocation_id}
    options["ext"] = {"dev.tallystick.lease": {"term_seconds": term_seconds}, **options.get("ext", {})}
    return Write("invocation_claim", arguments, "work.InvocationClaim", surface="worker", **options)


def next_(
    deployments: Sequence[str] = (DEPLOYMENT,),
    *,
    wait_ms: int = limits.WAIT_MS_MAX,
    term_seconds: int = limits.LEASE_TERM_SECONDS_SDK,
    **options: Unpack[WriteOptions],
) -> Write[InvocationNext]:
    """Take the oldest invocation of these deployments that can be taken; waits for one up to ``wait_ms``.

    The value's ``claim`` is what ``claim`` gives, or None where nothing came in time: then nothing was
    written, and the same key asks anew. A key that gave a claim gives the same one while its attempt is the
    current one, and ``StaleLease`` after that.
    """
    arguments = {"deployments": list(deployments), "wait_ms": wait_ms, "term_seconds": term_seconds}
    return Write(
        "tallystick_invocation_next",
        arguments,
        "work.InvocationNext",
        surface="worker",
        wait_seconds=wait_ms / 1000,
        **options,
    )


def complete(
    claim: InvocationClaim, *, result: Named | None = None, **options: Unpack[WriteOptions]
) -> Write[Invocation]:
    """The invocation has succeeded, with this result if there is one."""
    arguments = {**attempt(claim), "result_ref": None if result is None else identifier(result)}
    return Write("invocation_complete", arguments, "invocations.Invocation", surface="worker", **options)


def fail(
    claim: InvocationClaim, reason_class: str, *, retryable: bool, **options: Unpack[WriteOptions]
) -> Write[Invocation]:
    """This attempt has failed; a retryable failure makes the invocation claimable while attempts remain."""
    arguments = {**attempt(claim), "reason_class": reason_class, "retryable": retryable}
    return Write(
        "tallystick_invocation_fail", arguments, "invocations.Invocation", surface="worker", **options
    )


def progress(claim: InvocationClaim, **options: Unpack[ReadOptions]) -> Read[InvocationProgress]:
    """What was done so far under this invocation, by this attempt and those before it, with the replies."""
    return Read(
        "tallystick_invocation_progress",
        attempt(claim),
        "work.InvocationProgress",
        surface="worker",
        **options,
    )


def item(claim: InvocationClaim, ref: Named, **options: Unpack[ReadOptions]) -> Read[InvocationItem]:
    """A contribution or relation that the assembly names, as it is now, and what became of it."""
    arguments = {**attempt(claim), "object_ref": identifier(ref)}
    return Read("tallystick_invocation_item", arguments, "work.InvocationItem", surface="worker", **options)


def artifact(
    claim: InvocationClaim,
    artifact_id: str,
    offset: int = 0,
    length: int | None = None,
    **options: Unpack[ReadOptions],
) -> Read[ArtifactBytes]:
    """Bytes of a file that an item of the assembly carries, in base64; as many as a reply takes."""
    arguments = {**attempt(claim), "artifact_id": artifact_id, "offset": offset, "length": length}
    return Read(
        "tallystick_invocation_artifact", arguments, "artifacts.ArtifactBytes", surface="worker", **options
    )


def renew(claim: InvocationClaim, **options: Unpack[ReadOptions]) -> Read[LeaseTerm]:
    """The lease begins its term anew, as it does with each command of the attempt."""
    return Read("tallystick_invocation_renew", attempt(claim), "work.LeaseTerm", surface="worker", **options)


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
    """Say something to a model profile, under a permit that is spent by it; no provider is named.

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


# --- an attempt -------------------------------------------------------------------------------------------
def as_worker(
    build: Callable[P, Write[T]],
) -> Callable[Concatenate[InvocationClaim, P], Write[T]]:
    """A client's write as a worker makes it: the claim first, then the same arguments."""

    @wraps(build)
    def bound(claim: InvocationClaim, /, *args: P.args, **kwargs: P.kwargs) -> Write[T]:
        call = build(*args, **kwargs)
        call.arguments = {**call.arguments, **binding(claim)}
        call.surface = "worker"
        return call

    return bound


def binding(claim: InvocationClaim) -> dict[str, object]:
    """What names an attempt: who speaks, and under which fence."""
    return {"attempt_id": claim.attempt_id, "fence_epoch": claim.fence_epoch}


def attempt(claim: InvocationClaim) -> dict[str, object]:
    """An attempt with the invocation that it is of."""
    return {"invocation_id": claim.invocation.invocation_id, **binding(claim)}


def space_of(claim: InvocationClaim) -> SpaceRef | None:
    """The space that a claimed invocation belongs to, None where it has none."""
    invocation, assembly = claim.invocation, claim.assembly
    if invocation.space_id and invocation.branch_id:
        return SpaceRef(invocation.project_id, invocation.space_id, invocation.branch_id)
    if assembly is not None:
        return SpaceRef(assembly.project_id, assembly.space_id, assembly.branch_id)
    return None
