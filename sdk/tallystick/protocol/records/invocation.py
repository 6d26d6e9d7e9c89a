"""Records of invocations: the invocation, a worker's claim, and what was done under it."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.shapes import (
    AnyJson,
    Cursor,
    DigestHex,
    Identifier,
    InvocationState,
    SafeInt,
    SecurityProfile,
    Timestamp,
)

from ._base import Page, Record
from .context import Assembly, Frontier
from .contribution import Contribution


class Invocation(Record, frozen=True, kw_only=True):
    """A request to an assistant's deployment, and how far it is."""

    invocation_id: Identifier
    realm_id: Identifier
    project_id: Identifier
    space_id: Identifier | UnsetType = UNSET
    branch_id: Identifier | UnsetType = UNSET
    assistant_deployment_id: Identifier
    assistant_deployment_revision: SafeInt
    assistant_revision_id: Identifier
    effective_config_ref: Identifier
    effective_config_digest: DigestHex
    secret_binding_set_ref: Identifier
    secret_binding_set_digest: DigestHex
    effective_policy_digest: DigestHex
    effective_security_profile: SecurityProfile
    rollout_decision_ref: Identifier
    trigger_ref: Identifier
    trigger_digest: DigestHex
    context_assembly_ref: Identifier | UnsetType = UNSET
    context_assembly_digest: DigestHex | UnsetType = UNSET
    input_manifest_ref: Identifier
    input_digest: DigestHex
    correlation_ref: Identifier
    causation_ref: Identifier | UnsetType = UNSET
    commitment_ref: Identifier | UnsetType = UNSET
    work_realization_ref: Identifier | UnsetType = UNSET
    state: InvocationState
    revision: SafeInt
    priority: SafeInt
    not_before: Timestamp
    deadline: Timestamp
    max_attempts: SafeInt
    budget_reservation_set_ref: Identifier | UnsetType = UNSET
    created_at: Timestamp
    terminal_at: Timestamp | UnsetType = UNSET


class InvocationPage(Page, frozen=True, kw_only=True):
    """The result of `invocation_list`."""

    items: Annotated[tuple[Invocation, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


class InvocationClaim(Record, frozen=True, kw_only=True):
    """The result of `invocation_claim`: the invocation, the attempt's binding, and what it may read.

    `assembly` and `frontier` are null where the invocation has no assembly; `items` are the whole
    contributions that the assembly names, in its order.
    """

    invocation: Invocation
    attempt_id: Identifier
    fence_epoch: SafeInt
    assembly: Assembly | None
    frontier: Frontier | None
    items: tuple[Contribution, ...]

    def __repr__(self) -> str:
        """Without the attempt's id, which is a secret, and without content."""
        return f"InvocationClaim({self.invocation.invocation_id} fence={self.fence_epoch})"


class StepReply(Record, frozen=True, kw_only=True):
    """What a step of an invocation was answered, as its reply has it."""

    result: AnyJson
    revision: SafeInt | UnsetType = UNSET
    event_cursor: Cursor | UnsetType = UNSET


class Step(Record, frozen=True, kw_only=True):
    """One command done under an invocation: its operation, its idempotency key, and its reply.

    The replies of all steps may not fit one reply: a step without its own is done all the same, and whoever
    sends its command again under the same key gets it.
    """

    operation: Identifier
    operation_key: Identifier
    reply: StepReply | UnsetType = UNSET


class InvocationProgress(Record, frozen=True, kw_only=True):
    """The result of `tallystick_invocation_progress`: what was done so far, in the order of doing."""

    invocation_id: Identifier
    steps: tuple[Step, ...]


class LeaseTerm(Record, frozen=True, kw_only=True):
    """The result of `tallystick_invocation_renew`: the lease's term and what is left of it, in seconds."""

    term_seconds: SafeInt
    remaining_seconds: SafeInt
