"""Invocations as workers see them: claimed under a lease, worked on behind a fence, completed or failed."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.arguments import Args, AttemptArgs, Content
from tallystick.protocol.families.artifacts import ArtifactBytes
from tallystick.protocol.families.context import Assembly, Frontier
from tallystick.protocol.families.contributions import Contribution, Relation
from tallystick.protocol.families.dispositions import Disposition
from tallystick.protocol.families.invocations import Invocation
from tallystick.protocol.operation import (
    DEVELOPER_ASSISTANT,
    FENCED,
    READS,
    TALLYSTICK_WORKER,
    WRITES,
    Kind,
    Mode,
    Placement,
    RowEffect,
    Socket,
)
from tallystick.protocol.problems import Kind as ProblemKind
from tallystick.protocol.records import Record
from tallystick.protocol.shapes import (
    AnyJson,
    ArtifactReadBytes,
    Cursor,
    FreeText,
    Identifier,
    LeaseTermSeconds,
    SafeInt,
    StatusToken,
    WaitMs,
    refuse_repeats,
)


# --- records ------------------------------------------------------------------------------------------------
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


class InvocationNext(Record, frozen=True, kw_only=True):
    """The result of `tallystick_invocation_next`: a claim's members, or, where nothing was to be claimed in
    time, null for each of them and no items.
    """

    invocation: Invocation | None
    attempt_id: Identifier | None
    fence_epoch: SafeInt | None
    assembly: Assembly | None
    frontier: Frontier | None
    items: tuple[Contribution, ...]

    @property
    def claim(self) -> InvocationClaim | None:
        """The claim, as `invocation_claim` gives it; None where there is none."""
        if self.invocation is None or self.attempt_id is None or self.fence_epoch is None:
            return None
        return InvocationClaim(
            invocation=self.invocation,
            attempt_id=self.attempt_id,
            fence_epoch=self.fence_epoch,
            assembly=self.assembly,
            frontier=self.frontier,
            items=self.items,
        )

    def __repr__(self) -> str:
        """Without the attempt's id, which is a secret, and without content."""
        return f"InvocationNext({self.claim!r})"


class InvocationItem(Record, frozen=True, kw_only=True):
    """A contribution or a relation that an invocation's assembly names, and what became of it."""

    contribution: Contribution | UnsetType = UNSET
    relation: Relation | UnsetType = UNSET
    dispositions: tuple[Disposition, ...]


# --- arguments ----------------------------------------------------------------------------------------------
LEASE_EXTENSION = "dev.tallystick.lease"


class LeaseExtension(Args, frozen=True, kw_only=True):
    """`ext` ``dev.tallystick.lease``: how long a silent worker keeps the invocation."""

    term_seconds: LeaseTermSeconds


class InvocationClaimArgs(Args, frozen=True, kw_only=True):
    """Which invocation a worker takes."""

    invocation_id: Identifier


class InvocationCompleteArgs(AttemptArgs, frozen=True, kw_only=True):
    """The attempt succeeded; `result_ref` names what came of it."""

    result_ref: Identifier | UnsetType = UNSET


class TallystickInvocationProgressArgs(AttemptArgs, frozen=True, kw_only=True):
    """Whose done steps to list."""


class TallystickInvocationItemArgs(AttemptArgs, frozen=True, kw_only=True):
    """Which object that the invocation's assembly names."""

    object_ref: Identifier


class TallystickInvocationArtifactArgs(AttemptArgs, frozen=True, kw_only=True):
    """Which bytes of which file that an item carries; without a length, as many as a reply takes."""

    artifact_id: Identifier
    offset: SafeInt
    length: ArtifactReadBytes | UnsetType = UNSET


class TallystickInvocationRenewArgs(AttemptArgs, frozen=True, kw_only=True):
    """Whose lease to renew."""


class TallystickInvocationFailArgs(AttemptArgs, frozen=True, kw_only=True):
    """The attempt failed: of which class its reason is, whether another may help, and in words why."""

    reason_class: StatusToken
    retryable: bool
    reason: Content[FreeText] | UnsetType = UNSET


class TallystickInvocationNextArgs(Args, frozen=True, kw_only=True):
    """Of which deployments, how long to wait for one, and how long a silent worker would keep it."""

    deployments: Annotated[tuple[Identifier, ...], Meta(min_length=1, max_length=limits.LIST_ITEMS_MAX)]
    wait_ms: WaitMs
    term_seconds: LeaseTermSeconds

    def __post_init__(self) -> None:
        refuse_repeats("deployments", self.deployments)


# --- operations ---------------------------------------------------------------------------------------------
_ENDED: Final = ("state", "revision", "terminal_ms")
_ATTEMPT_ENDED: Final = ("state", "ending")

INVOCATION_CLAIM: Final = DEVELOPER_ASSISTANT.write(
    "invocation_claim",
    InvocationClaimArgs,
    InvocationClaim,
    "Take an invocation: a new attempt, its binding, and all it may read.",
    mode=Mode.WORKER_CLAIM,
    socket=Socket.WORKER,
    project=Placement.OPTIONAL,
    compares_project=False,
    problems=(*WRITES, ProblemKind.FORBIDDEN, *FENCED),
    event="dev.kovee.invocation.claimed.v1",
    ids=None,  # of the participant too, where it is new in the space
    rows=(
        RowEffect("attempts", "insert"),
        RowEffect("attempts", "update", None, _ATTEMPT_ENDED),
        RowEffect("participants", "insert", None),
        RowEffect("invocations", "update", 1, ("state", "revision", "lapsed_attempts")),
    ),
    extensions={LEASE_EXTENSION: LeaseExtension},
)
INVOCATION_COMPLETE: Final = DEVELOPER_ASSISTANT.write(
    "invocation_complete",
    InvocationCompleteArgs,
    Invocation,
    "End the attempt's invocation as succeeded.",
    mode=Mode.WORKER_FENCED,
    socket=Socket.WORKER,
    project=Placement.OPTIONAL,
    compares_project=False,
    problems=(*WRITES, ProblemKind.FORBIDDEN_SURFACE, *FENCED),
    event="dev.kovee.invocation.succeeded.v1",
    rows=(
        RowEffect("attempts", "update", 1, _ATTEMPT_ENDED),
        RowEffect("invocations", "update", 1, _ENDED),
    ),
)
TALLYSTICK_INVOCATION_PROGRESS: Final = TALLYSTICK_WORKER.read(
    "tallystick_invocation_progress",
    TallystickInvocationProgressArgs,
    InvocationProgress,
    "What was done under this invocation so far, by this attempt and earlier ones.",
    kind=Kind.FENCED_READ,
    mode=Mode.WORKER_FENCED,
    socket=Socket.WORKER,
    project=Placement.FORBIDDEN,
    problems=(*READS, *FENCED),
)
TALLYSTICK_INVOCATION_ITEM: Final = TALLYSTICK_WORKER.read(
    "tallystick_invocation_item",
    TallystickInvocationItemArgs,
    InvocationItem,
    "One object that the invocation's assembly names, and what became of it.",
    mode=Mode.WORKER_FENCED,
    socket=Socket.WORKER,
    project=Placement.FORBIDDEN,
    problems=(*READS, *FENCED),
)
TALLYSTICK_INVOCATION_ARTIFACT: Final = TALLYSTICK_WORKER.read(
    "tallystick_invocation_artifact",
    TallystickInvocationArtifactArgs,
    ArtifactBytes,
    "Bytes of a file that an item of the invocation's assembly carries, from an offset on.",
    mode=Mode.WORKER_FENCED,
    socket=Socket.WORKER,
    project=Placement.FORBIDDEN,
    problems=(*READS, *FENCED, ProblemKind.STALE_REVISION),
)
TALLYSTICK_INVOCATION_RENEW: Final = TALLYSTICK_WORKER.read(
    "tallystick_invocation_renew",
    TallystickInvocationRenewArgs,
    LeaseTerm,
    "Keep the lease for another term.",
    kind=Kind.FENCED_READ,
    mode=Mode.WORKER_FENCED,
    socket=Socket.WORKER,
    project=Placement.FORBIDDEN,
    problems=(*READS, *FENCED),
)
TALLYSTICK_INVOCATION_FAIL: Final = TALLYSTICK_WORKER.write(
    "tallystick_invocation_fail",
    TallystickInvocationFailArgs,
    Invocation,
    "End the attempt as failed: back to the queue while attempts remain.",
    mode=Mode.WORKER_FENCED,
    socket=Socket.WORKER,
    project=Placement.FORBIDDEN,
    problems=(*WRITES, *FENCED),
    event="dev.tallystick.invocation.failed.v1",
    rows=(
        RowEffect("attempts", "update", 1, _ATTEMPT_ENDED),
        RowEffect("invocations", "update", 1, (*_ENDED, "failed_attempts")),
    ),
)
TALLYSTICK_INVOCATION_NEXT: Final = TALLYSTICK_WORKER.write(
    "tallystick_invocation_next",
    TallystickInvocationNextArgs,
    InvocationNext,
    "Take the oldest invocation of some deployments that can be taken, or wait for one.",
    mode=Mode.WORKER_NEXT,
    socket=Socket.WORKER,
    project=Placement.FORBIDDEN,
    waits=True,
    problems=(*WRITES, ProblemKind.STALE_LEASE),
    event="dev.kovee.invocation.claimed.v1",
    ids=None,  # of the participant too, where it is new in the space
    rows=(
        RowEffect("attempts", "insert"),
        RowEffect("attempts", "update", None, ("state", "ending")),
        RowEffect("participants", "insert", None),
        RowEffect("invocations", "update", 1, ("state", "revision", "lapsed_attempts")),
    ),
)

OPERATIONS: Final = (
    INVOCATION_CLAIM,
    INVOCATION_COMPLETE,
    TALLYSTICK_INVOCATION_PROGRESS,
    TALLYSTICK_INVOCATION_ITEM,
    TALLYSTICK_INVOCATION_ARTIFACT,
    TALLYSTICK_INVOCATION_RENEW,
    TALLYSTICK_INVOCATION_FAIL,
    TALLYSTICK_INVOCATION_NEXT,
)
