"""Records of the realm, its projects, and the prepared changes of a project's access policy."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.shapes import (
    DigestHex,
    DisplayName,
    EffectiveChange,
    Identifier,
    PreparedChangeState,
    ProjectStatus,
    SafeInt,
    StatusToken,
    Timestamp,
)

from ._base import Page, Record


class Realm(Record, frozen=True, kw_only=True):
    """The one realm of an installation."""

    realm_id: Identifier
    installation_id: Identifier
    revision: SafeInt
    name: DisplayName
    status: StatusToken
    home_region: Identifier
    auth_policy_ref: Identifier
    retention_policy_ref: Identifier
    encryption_key_ref: Identifier
    created_at: Timestamp


class Project(Record, frozen=True, kw_only=True):
    """A project: what spaces, events and invocations belong to."""

    project_id: Identifier
    realm_id: Identifier
    revision: SafeInt
    name: DisplayName
    status: ProjectStatus
    default_classification_ref: Identifier
    policy_set_ref: Identifier
    created_by: Identifier
    created_at: Timestamp


class ProjectPage(Page, frozen=True, kw_only=True):
    """The result of `project_list`."""

    items: Annotated[tuple[Project, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


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
