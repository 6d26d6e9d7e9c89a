"""Invocations as clients see them: an assistant is asked, looked at, listed, canceled."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from tallystick.protocol import limits
from tallystick.protocol.arguments import Args, Content, DualArgs, PageArgs
from tallystick.protocol.operation import (
    DEVELOPER_ASSISTANT,
    FENCED,
    GUARDED_WRITES,
    LISTS,
    Mode,
    RowEffect,
    Socket,
)
from tallystick.protocol.problems import Kind as ProblemKind
from tallystick.protocol.records import Page, Record
from tallystick.protocol.shapes import (
    DigestHex,
    FreeText,
    Identifier,
    InvocationState,
    SafeInt,
    SecurityProfile,
    StatusToken,
    Timestamp,
)


# --- records ------------------------------------------------------------------------------------------------
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


# --- arguments ----------------------------------------------------------------------------------------------
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
    reason: Content[FreeText] | UnsetType = UNSET


# --- operations ---------------------------------------------------------------------------------------------
_ENDED: Final = ("state", "revision", "terminal_ms")
_ATTEMPT_ENDED: Final = ("state", "ending")

INVOCATION_CREATE: Final = DEVELOPER_ASSISTANT.write(
    "invocation_create",
    InvocationCreateArgs,
    Invocation,
    "Ask an assistant's deployment, about an assembly or none.",
    mode=Mode.INVOKE,
    problems=(*GUARDED_WRITES, ProblemKind.DEADLINE_EXCEEDED),
    event="dev.kovee.invocation.created.v1",
    rows=(RowEffect("invocations", "insert"),),
)
INVOCATION_SHOW: Final = DEVELOPER_ASSISTANT.read(
    "invocation_show",
    InvocationShowArgs,
    Invocation,
    "One invocation.",
    mode=Mode.READ_PROJECT,
)
INVOCATION_LIST: Final = DEVELOPER_ASSISTANT.read(
    "invocation_list",
    InvocationListArgs,
    InvocationPage,
    "The project's invocations, a page at a time, in order of creation.",
    mode=Mode.READ_PROJECT,
    problems=LISTS,
)
INVOCATION_CANCEL: Final = DEVELOPER_ASSISTANT.write(
    "invocation_cancel",
    InvocationCancelArgs,
    Invocation,
    "End an invocation that has not ended, and fence its worker.",
    mode=Mode.INVOKE,
    problems=(*GUARDED_WRITES, ProblemKind.FORBIDDEN_SURFACE),
    event="dev.kovee.invocation.canceled.v1",
    rows=(
        RowEffect("bodies", "insert", None),
        RowEffect("object_keys", "insert", None),
        RowEffect("attempts", "update", None, _ATTEMPT_ENDED),
        RowEffect("invocations", "update", 1, _ENDED),
    ),
)
INVOCATION_CANCEL_BY_WORKER: Final = replace(
    INVOCATION_CANCEL,
    surface="worker",
    socket=Socket.WORKER,
    mode=Mode.WORKER_FENCED,
    problems=(*INVOCATION_CANCEL.problems, *FENCED),
    rows=(),  # an attempt has no children yet, so it is refused whatever it names
    summary="End a child of the attempt's own invocation.",
)

OPERATIONS: Final = (
    INVOCATION_CREATE,
    INVOCATION_SHOW,
    INVOCATION_LIST,
    INVOCATION_CANCEL,
    INVOCATION_CANCEL_BY_WORKER,
)
