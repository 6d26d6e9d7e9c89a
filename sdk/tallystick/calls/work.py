"""A worker's operations: take an invocation, read under its lease, renew the lease, and end the attempt.

What an attempt does takes its claim first. What a client can do as well (``append``, ``invocation_cancel``…)
stands in its own family, and is made a worker's by ``attempts.as_worker``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from tallystick.calls.attempts import attempt
from tallystick.calls.descriptors import read, write
from tallystick.calls.values import DEPLOYMENT, Named, ReadOptions, WriteOptions, identifier
from tallystick.core import Read, Write
from tallystick.protocol import limits

if TYPE_CHECKING:
    from tallystick.protocol.families.artifacts import ArtifactBytes
    from tallystick.protocol.families.invocations import Invocation
    from tallystick.protocol.families.work import (
        InvocationClaim,
        InvocationItem,
        InvocationNext,
        InvocationProgress,
        LeaseTerm,
    )


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
    claim: InvocationClaim,
    reason_class: str,
    *,
    retryable: bool,
    reason: str | None = None,
    **options: Unpack[WriteOptions],
) -> Write[Invocation]:
    """This attempt has failed; a retryable failure makes the invocation claimable while attempts remain.

    ``reason_class`` is a label that is never erased; ``reason`` says what happened, in at most 4,096
    characters.
    """
    arguments = {
        **attempt(claim), "reason_class": reason_class, "retryable": retryable, "reason": reason
    }  # fmt: skip
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


# --- methods ----------------------------------------------------------------------------------------------
class WorkWorkerMethods:
    """The methods of the workers' clients."""

    next = write(next_)
    claim = write(claim)
    complete = write(complete)
    fail = write(fail)
    progress = read(progress)
    item = read(item)
    artifact = read(artifact)
    renew = read(renew)
