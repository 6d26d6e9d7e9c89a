"""Changes that give more people access: prepared first, and confirmed by a decision afterwards.

A policy change is a project's, a widening a space's. Both are prepared, and end confirmed, canceled or stale.
"""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.arguments import Args, PageArgs
from tallystick.protocol.operation import LISTS, SHARED_SPACE, Mode, RowEffect
from tallystick.protocol.records import Page, Record
from tallystick.protocol.shapes import (
    DigestHex,
    EffectiveChange,
    Identifier,
    PreparedChangeState,
    SafeInt,
    SpaceVisibility,
    Timestamp,
)


# --- records ------------------------------------------------------------------------------------------------
class SpaceAccessWidening(Record, frozen=True, kw_only=True):
    """A prepared widening of who may see a space, and what became of it.

    It binds what its confirmation is about: the space's revision and, by a digest, its every contribution.
    `decision_receipt_ref` and `terminal_at` are there once it has ended.
    """

    widening_id: Identifier
    space_id: Identifier
    expected_space_revision: SafeInt
    prior_visibility: SpaceVisibility
    proposed_visibility: SpaceVisibility
    prior_policy_set_ref: Identifier
    proposed_policy_set_ref: Identifier
    prior_default_classification_ref: Identifier
    proposed_default_classification_ref: Identifier
    affected_frontier_refs: tuple[Identifier, ...]
    affected_item_set_digest: DigestHex
    classification_join_ref: Identifier
    destination_audience_digest: DigestHex
    subject_digest: DigestHex
    prepared_by_principal: Identifier
    decision_receipt_ref: Identifier | UnsetType = UNSET
    state: PreparedChangeState
    revision: SafeInt
    created_at: Timestamp
    terminal_at: Timestamp | UnsetType = UNSET


class SpaceAccessWideningPage(Page, frozen=True, kw_only=True):
    """The result of `space_access_widen_list`."""

    items: Annotated[tuple[SpaceAccessWidening, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


class ProjectAccessPolicyChange(Record, frozen=True, kw_only=True):
    """A prepared change of a project's policy and default classification, and what became of it.

    It binds what its confirmation is about: the project's revision and, by a digest, every contribution of
    the spaces that it reaches. `decision_receipt_ref` and `terminal_at` are there once it has ended.
    """

    change_id: Identifier
    project_id: Identifier
    expected_project_revision: SafeInt
    prior_policy_set_ref: Identifier
    proposed_policy_set_ref: Identifier
    prior_default_classification_ref: Identifier
    proposed_default_classification_ref: Identifier
    affected_space_frontier_refs: tuple[Identifier, ...]
    affected_item_set_digest: DigestHex
    effective_change: EffectiveChange
    classification_join_ref: Identifier
    destination_audience_digest: DigestHex
    subject_digest: DigestHex
    prepared_by_principal: Identifier
    decision_receipt_ref: Identifier | UnsetType = UNSET
    state: PreparedChangeState
    revision: SafeInt
    created_at: Timestamp
    terminal_at: Timestamp | UnsetType = UNSET


class ProjectAccessPolicyChangePage(Page, frozen=True, kw_only=True):
    """The result of `project_access_policy_change_list`."""

    items: Annotated[tuple[ProjectAccessPolicyChange, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


# --- arguments ----------------------------------------------------------------------------------------------
class ProjectAccessPolicyChangePrepareArgs(Args, frozen=True, kw_only=True):
    """What the project is to be governed and classified by; what is left out stays."""

    proposed_policy_set_ref: Identifier | UnsetType = UNSET
    proposed_default_classification_ref: Identifier | UnsetType = UNSET


class ProjectAccessPolicyChangeShowArgs(Args, frozen=True, kw_only=True):
    """Which change."""

    change_id: Identifier


class ProjectAccessPolicyChangeListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of the project's changes."""


class ProjectAccessPolicyChangeConfirmArgs(Args, frozen=True, kw_only=True):
    """Which change, and by which decision."""

    change_id: Identifier
    decision_receipt_ref: Identifier


class ProjectAccessPolicyChangeCancelArgs(Args, frozen=True, kw_only=True):
    """Which change."""

    change_id: Identifier


class SpaceAccessWidenPrepareArgs(Args, frozen=True, kw_only=True):
    """Which space, and what it is to be; what is left out stays."""

    space_id: Identifier
    proposed_visibility: SpaceVisibility | UnsetType = UNSET
    proposed_policy_set_ref: Identifier | UnsetType = UNSET
    proposed_default_classification_ref: Identifier | UnsetType = UNSET


class SpaceAccessWidenShowArgs(Args, frozen=True, kw_only=True):
    """Which widening."""

    widening_id: Identifier


class SpaceAccessWidenListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of the project's widenings, of one space where it is named."""

    space_id: Identifier | UnsetType = UNSET


class SpaceAccessWidenConfirmArgs(Args, frozen=True, kw_only=True):
    """Which widening, and by which decision."""

    widening_id: Identifier
    decision_receipt_ref: Identifier


class SpaceAccessWidenCancelArgs(Args, frozen=True, kw_only=True):
    """Which widening."""

    widening_id: Identifier


# --- operations ---------------------------------------------------------------------------------------------
ENDED: Final = RowEffect("prepared_changes", "update", columns=("state", "revision", "terminal_ms"))
FOUND_STALE: Final = RowEffect("prepared_changes", "update", columns=("state", "terminal_ms"))
"""Of a refusal, which tells nobody: the revision stays."""
CONFIRMED: Final = RowEffect(
    "prepared_changes", "update", columns=("state", "revision", "decision_receipt_ref", "terminal_ms")
)

PROJECT_ACCESS_POLICY_CHANGE_PREPARE: Final = SHARED_SPACE.write(
    "project_access_policy_change_prepare",
    ProjectAccessPolicyChangePrepareArgs,
    ProjectAccessPolicyChange,
    "Prepare another access policy for a project, bound to all that it reaches.",
    mode=Mode.OWNER,
    event="dev.kovee.project.policy-change-prepared.v1",
    rows=(RowEffect("prepared_changes", "insert"),),
)
PROJECT_ACCESS_POLICY_CHANGE_SHOW: Final = SHARED_SPACE.read(
    "project_access_policy_change_show",
    ProjectAccessPolicyChangeShowArgs,
    ProjectAccessPolicyChange,
    "One prepared change.",
    mode=Mode.READ_PROJECT,
)
PROJECT_ACCESS_POLICY_CHANGE_LIST: Final = SHARED_SPACE.read(
    "project_access_policy_change_list",
    ProjectAccessPolicyChangeListArgs,
    ProjectAccessPolicyChangePage,
    "The project's prepared changes, a page at a time, in order of creation.",
    mode=Mode.READ_PROJECT,
    problems=LISTS,
)
PROJECT_ACCESS_POLICY_CHANGE_CONFIRM: Final = SHARED_SPACE.write(
    "project_access_policy_change_confirm",
    ProjectAccessPolicyChangeConfirmArgs,
    ProjectAccessPolicyChange,
    "Put a prepared change into force, if nothing that it is bound to has moved.",
    mode=Mode.OWNER,
    event="dev.kovee.project.policy-change-confirmed.v1",
    rows=(
        CONFIRMED,
        RowEffect(
            "projects",
            "update",
            columns=("revision", "policy_set_ref", "default_classification_ref"),
        ),
    ),
    refusal_rows=(RowEffect("log", "insert"), FOUND_STALE),
)
PROJECT_ACCESS_POLICY_CHANGE_CANCEL: Final = SHARED_SPACE.write(
    "project_access_policy_change_cancel",
    ProjectAccessPolicyChangeCancelArgs,
    ProjectAccessPolicyChange,
    "Drop a prepared change.",
    mode=Mode.OWNER,
    event="dev.kovee.project.policy-change-canceled.v1",
    rows=(ENDED,),
)
SPACE_ACCESS_WIDEN_PREPARE: Final = SHARED_SPACE.write(
    "space_access_widen_prepare",
    SpaceAccessWidenPrepareArgs,
    SpaceAccessWidening,
    "Prepare the widening of a space, bound to all that it shows.",
    mode=Mode.STEWARD,
    event="dev.kovee.space.access-widening-prepared.v1",
    rows=(RowEffect("prepared_changes", "insert"),),
)
SPACE_ACCESS_WIDEN_SHOW: Final = SHARED_SPACE.read(
    "space_access_widen_show",
    SpaceAccessWidenShowArgs,
    SpaceAccessWidening,
    "One prepared widening.",
    mode=Mode.READ_SPACE,
)
SPACE_ACCESS_WIDEN_LIST: Final = SHARED_SPACE.read(
    "space_access_widen_list",
    SpaceAccessWidenListArgs,
    SpaceAccessWideningPage,
    "The prepared widenings, a page at a time, in order of creation.",
    mode=Mode.READ_PROJECT,
    problems=LISTS,
)
SPACE_ACCESS_WIDEN_CONFIRM: Final = SHARED_SPACE.write(
    "space_access_widen_confirm",
    SpaceAccessWidenConfirmArgs,
    SpaceAccessWidening,
    "Put a prepared widening into force, if nothing that it is bound to has moved.",
    mode=Mode.STEWARD,
    event="dev.kovee.space.access-widening-confirmed.v1",
    rows=(
        CONFIRMED,
        RowEffect(
            "spaces",
            "update",
            columns=("revision", "visibility", "policy_set_ref", "default_classification_ref"),
        ),
    ),
    refusal_rows=(RowEffect("log", "insert"), FOUND_STALE),
)
SPACE_ACCESS_WIDEN_CANCEL: Final = SHARED_SPACE.write(
    "space_access_widen_cancel",
    SpaceAccessWidenCancelArgs,
    SpaceAccessWidening,
    "Drop a prepared widening.",
    mode=Mode.STEWARD,
    event="dev.kovee.space.access-widening-canceled.v1",
    rows=(ENDED,),
)

OPERATIONS: Final = (
    PROJECT_ACCESS_POLICY_CHANGE_PREPARE,
    PROJECT_ACCESS_POLICY_CHANGE_SHOW,
    PROJECT_ACCESS_POLICY_CHANGE_LIST,
    PROJECT_ACCESS_POLICY_CHANGE_CONFIRM,
    PROJECT_ACCESS_POLICY_CHANGE_CANCEL,
    SPACE_ACCESS_WIDEN_PREPARE,
    SPACE_ACCESS_WIDEN_SHOW,
    SPACE_ACCESS_WIDEN_LIST,
    SPACE_ACCESS_WIDEN_CONFIRM,
    SPACE_ACCESS_WIDEN_CANCEL,
)
