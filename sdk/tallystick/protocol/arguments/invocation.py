"""Arguments of invocations, on both sockets, and the extension that names a lease's term."""

from msgspec import UNSET, UnsetType

from tallystick.protocol.shapes import (
    ArtifactReadBytes,
    DigestHex,
    FreeText,
    Identifier,
    InvocationState,
    LeaseTermSeconds,
    SafeInt,
    StatusToken,
    Timestamp,
)

from ._base import Args, AttemptArgs, DualArgs, PageArgs

LEASE_EXTENSION = "dev.tallystick.lease"


class LeaseExtension(Args, frozen=True, kw_only=True):
    """`ext` ``dev.tallystick.lease``: how long a silent worker keeps the invocation."""

    term_seconds: LeaseTermSeconds


class InvocationCreateArgs(Args, frozen=True, kw_only=True):
    """Which deployment is asked, about what, and until when."""

    assistant_deployment_id: Identifier
    assistant_deployment_revision: SafeInt
    space_id: Identifier | UnsetType = UNSET
    branch_id: Identifier | UnsetType = UNSET
    context_assembly_ref: Identifier | UnsetType = UNSET
    context_assembly_digest: DigestHex | UnsetType = UNSET
    budget_reservation_set_ref: Identifier | UnsetType = UNSET
    disclosure_rules_digest: DigestHex | UnsetType = UNSET
    priority: SafeInt | UnsetType = UNSET
    not_before: Timestamp | UnsetType = UNSET
    max_attempts: SafeInt | UnsetType = UNSET
    deadline: Timestamp


class InvocationShowArgs(Args, frozen=True, kw_only=True):
    """Which invocation."""

    invocation_id: Identifier


class InvocationListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of the project's invocations, of one deployment, space or state where they are named."""

    assistant_deployment_id: Identifier | UnsetType = UNSET
    space_id: Identifier | UnsetType = UNSET
    state: InvocationState | UnsetType = UNSET


class InvocationCancelArgs(DualArgs, frozen=True, kw_only=True):
    """Which invocation to end, how far that reaches, and why."""

    invocation_id: Identifier
    cancellation_scope: StatusToken | UnsetType = UNSET
    reason: FreeText | UnsetType = UNSET


class InvocationClaimArgs(Args, frozen=True, kw_only=True):
    """Which invocation a worker takes."""

    invocation_id: Identifier


class InvocationCompleteArgs(DualArgs, frozen=True, kw_only=True):
    """The attempt succeeded; `result_ref` names what came of it. The attempt is named as in what both sockets
    have: KCP has a schema of neither.
    """

    invocation_id: Identifier
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
    """The attempt failed: of which class its reason is, and whether another attempt may help."""

    reason_class: StatusToken
    retryable: bool
