"""The realm, its projects and their spaces: made, shown, renamed, closed, opened, restricted, narrowed."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from tallystick.protocol import limits
from tallystick.protocol.arguments import Args, Content, NoArgs, PageArgs
from tallystick.protocol.operation import CONTENT_ROWS, LISTS, SHARED_SPACE, Mode, Placement, RowEffect
from tallystick.protocol.records import Page, Record
from tallystick.protocol.shapes import (
    DisplayName,
    Identifier,
    ProjectStatus,
    SafeInt,
    SpaceStatus,
    SpaceVisibility,
    StatusToken,
    Timestamp,
)


# --- records ------------------------------------------------------------------------------------------------
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


class Space(Record, frozen=True, kw_only=True):
    """A space: one conversation with one main branch."""

    space_id: Identifier
    realm_id: Identifier
    project_id: Identifier
    revision: SafeInt
    title: DisplayName
    purpose_contribution_ref: Identifier | UnsetType = UNSET
    visibility: SpaceVisibility
    status: SpaceStatus
    main_branch_id: Identifier
    next_space_sequence: SafeInt
    default_classification_ref: Identifier
    policy_set_ref: Identifier
    created_by: Identifier
    created_at: Timestamp


class SpacePage(Page, frozen=True, kw_only=True):
    """The result of `space_list`."""

    items: Annotated[tuple[Space, ...], Meta(max_length=limits.PAGE_ITEMS_MAX)]


# --- arguments ----------------------------------------------------------------------------------------------
class ProjectUpdateMetadataArgs(Args, frozen=True, kw_only=True):
    """The project's new name."""

    name: Content[DisplayName]


class SpaceUpdateMetadataArgs(Args, frozen=True, kw_only=True):
    """Which space, and its new title and purpose where they are named."""

    space_id: Identifier
    title: Content[DisplayName] | UnsetType = UNSET
    purpose_contribution_ref: Identifier | UnsetType = UNSET


class SpaceFreezeArgs(Args, frozen=True, kw_only=True):
    """Which space."""

    space_id: Identifier


class SpaceReopenArgs(Args, frozen=True, kw_only=True):
    """Which space."""

    space_id: Identifier


class SpaceArchiveArgs(Args, frozen=True, kw_only=True):
    """Which space."""

    space_id: Identifier


class SpaceRestrictArgs(Args, frozen=True, kw_only=True):
    """Which space."""

    space_id: Identifier


class SpacePolicyNarrowArgs(Args, frozen=True, kw_only=True):
    """Which space, and its narrower policy and default classification where they are named."""

    space_id: Identifier
    policy_set_ref: Identifier | UnsetType = UNSET
    default_classification_ref: Identifier | UnsetType = UNSET


class RealmShowArgs(NoArgs, frozen=True, kw_only=True):
    """None: the envelope names the realm."""


class ProjectCreateArgs(Args, frozen=True, kw_only=True):
    """A new project's name, and what its spaces are classified and governed by unless they say otherwise."""

    name: Content[DisplayName]
    default_classification_ref: Identifier | UnsetType = UNSET
    policy_set_ref: Identifier | UnsetType = UNSET


class ProjectShowArgs(NoArgs, frozen=True, kw_only=True):
    """None: the envelope names the project."""


class ProjectListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of the realm's projects."""


class SpaceCreateArgs(Args, frozen=True, kw_only=True):
    """A new space; its main branch and its built-in lenses come with it."""

    title: Content[DisplayName]
    visibility: SpaceVisibility
    purpose_contribution_ref: Identifier | UnsetType = UNSET
    default_classification_ref: Identifier | UnsetType = UNSET
    policy_set_ref: Identifier | UnsetType = UNSET


class SpaceShowArgs(Args, frozen=True, kw_only=True):
    """Which space."""

    space_id: Identifier


class SpaceListArgs(PageArgs, frozen=True, kw_only=True):
    """A page of the project's spaces."""


# --- operations ---------------------------------------------------------------------------------------------
REALM_SHOW: Final = SHARED_SPACE.read(
    "realm_show",
    RealmShowArgs,
    Realm,
    "The realm.",
    mode=Mode.READ_REALM,
    project=Placement.FORBIDDEN,
)
PROJECT_CREATE: Final = SHARED_SPACE.write(
    "project_create",
    ProjectCreateArgs,
    Project,
    "Begin a project.",
    mode=Mode.WRITE_REALM,
    project=Placement.FORBIDDEN,
    event="dev.kovee.project.created.v1",
    rows=(
        *CONTENT_ROWS,
        RowEffect("projects", "insert"),
    ),
)
PROJECT_SHOW: Final = SHARED_SPACE.read(
    "project_show",
    ProjectShowArgs,
    Project,
    "One project.",
    mode=Mode.READ_PROJECT,
)
PROJECT_LIST: Final = SHARED_SPACE.read(
    "project_list",
    ProjectListArgs,
    ProjectPage,
    "The projects, a page at a time, in order of creation.",
    mode=Mode.READ_REALM,
    project=Placement.FORBIDDEN,
    problems=LISTS,
)
SPACE_CREATE: Final = SHARED_SPACE.write(
    "space_create",
    SpaceCreateArgs,
    Space,
    "Begin a space, with its main branch.",
    mode=Mode.WRITE_PROJECT,
    event="dev.kovee.space.created.v1",
    ids=3,  # space, branch, first participant
    rows=(
        *CONTENT_ROWS,
        RowEffect("spaces", "insert"),
        RowEffect("participants", "insert"),
    ),
)
SPACE_SHOW: Final = SHARED_SPACE.read(
    "space_show",
    SpaceShowArgs,
    Space,
    "One space.",
    mode=Mode.READ_SPACE,
)
SPACE_LIST: Final = SHARED_SPACE.read(
    "space_list",
    SpaceListArgs,
    SpacePage,
    "The project's spaces, a page at a time, in order of creation.",
    mode=Mode.READ_PROJECT,
    problems=LISTS,
)
PROJECT_UPDATE_METADATA: Final = SHARED_SPACE.write(
    "project_update_metadata",
    ProjectUpdateMetadataArgs,
    Project,
    "Rename a project.",
    mode=Mode.WRITE_PROJECT,
    event="dev.kovee.project.updated.v1",
    rows=(
        *CONTENT_ROWS,
        RowEffect("projects", "update", columns=("revision", "name")),
    ),
)
SPACE_UPDATE_METADATA: Final = SHARED_SPACE.write(
    "space_update_metadata",
    SpaceUpdateMetadataArgs,
    Space,
    "Give a space another title or purpose.",
    mode=Mode.STEWARD,
    event="dev.kovee.space.updated.v1",
    rows=(
        RowEffect("bodies", "insert", None),  # of the title, where there is another
        RowEffect("object_keys", "insert", None),
        RowEffect("spaces", "update", columns=("revision", "title", "purpose_contribution_ref")),
    ),
)
SPACE_FREEZE: Final = SHARED_SPACE.write(
    "space_freeze",
    SpaceFreezeArgs,
    Space,
    "Let nothing further be written in a space until it is reopened.",
    mode=Mode.STEWARD,
    event="dev.kovee.space.frozen.v1",
    rows=(RowEffect("spaces", "update", columns=("revision", "status")),),
)
SPACE_REOPEN: Final = SHARED_SPACE.write(
    "space_reopen",
    SpaceReopenArgs,
    Space,
    "Let a frozen space be written in again.",
    mode=Mode.STEWARD,
    event="dev.kovee.space.reopened.v1",
    rows=(RowEffect("spaces", "update", columns=("revision", "status")),),
)
SPACE_ARCHIVE: Final = SHARED_SPACE.write(
    "space_archive",
    SpaceArchiveArgs,
    Space,
    "Close a space for good.",
    mode=Mode.STEWARD,
    event="dev.kovee.space.archived.v1",
    rows=(RowEffect("spaces", "update", columns=("revision", "status")),),
)
SPACE_RESTRICT: Final = SHARED_SPACE.write(
    "space_restrict",
    SpaceRestrictArgs,
    Space,
    "Show a space to its participants and nobody else.",
    mode=Mode.STEWARD,
    event="dev.kovee.space.restricted.v1",
    rows=(RowEffect("spaces", "update", columns=("revision", "visibility")),),
)
SPACE_POLICY_NARROW: Final = SHARED_SPACE.write(
    "space_policy_narrow",
    SpacePolicyNarrowArgs,
    Space,
    "Narrow a space's policy or default classification.",
    mode=Mode.STEWARD,
    event="dev.kovee.space.policy-narrowed.v1",
    rows=(
        RowEffect("spaces", "update", columns=("revision", "policy_set_ref", "default_classification_ref")),
    ),
)

OPERATIONS: Final = (
    REALM_SHOW,
    PROJECT_CREATE,
    PROJECT_SHOW,
    PROJECT_LIST,
    SPACE_CREATE,
    SPACE_SHOW,
    SPACE_LIST,
    PROJECT_UPDATE_METADATA,
    SPACE_UPDATE_METADATA,
    SPACE_FREEZE,
    SPACE_REOPEN,
    SPACE_ARCHIVE,
    SPACE_RESTRICT,
    SPACE_POLICY_NARROW,
)
