"""Calls under an attempt's lease: how a worker's call names its claim, and which space a claim is in.

A worker's call says which attempt speaks, and under which fence; the daemon refuses it (``StaleLease``) once
another attempt has taken the invocation over.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from tallystick.calls.values import SpaceRef
from tallystick.core import Write

if TYPE_CHECKING:
    from tallystick.protocol.families.work import InvocationClaim

P = ParamSpec("P")
T = TypeVar("T")


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
    """The arguments that name an attempt and its fence."""
    return {"attempt_id": claim.attempt_id, "fence_epoch": claim.fence_epoch}


def attempt(claim: InvocationClaim) -> dict[str, object]:
    """The arguments that name an attempt, its fence and its invocation."""
    return {"invocation_id": claim.invocation.invocation_id, **binding(claim)}


def space_of(claim: InvocationClaim) -> SpaceRef | None:
    """The space that a claimed invocation belongs to, None where it has none."""
    invocation, assembly = claim.invocation, claim.assembly
    if invocation.space_id and invocation.branch_id:
        return SpaceRef(invocation.project_id, invocation.space_id, invocation.branch_id)
    if assembly is not None:
        return SpaceRef(assembly.project_id, assembly.space_id, assembly.branch_id)
    return None
