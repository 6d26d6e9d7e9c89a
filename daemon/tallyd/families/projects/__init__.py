"""The realm, its projects and their spaces."""

from __future__ import annotations

from typing import Final

from tallyd.families.projects import projects, spaces
from tallyd.families.shared.family import Family, read, write
from tallystick.protocol.families.projects import (
    OPERATIONS,
    PROJECT_CREATE,
    PROJECT_LIST,
    PROJECT_SHOW,
    PROJECT_UPDATE_METADATA,
    REALM_SHOW,
    SPACE_ARCHIVE,
    SPACE_CREATE,
    SPACE_FREEZE,
    SPACE_LIST,
    SPACE_POLICY_NARROW,
    SPACE_REOPEN,
    SPACE_RESTRICT,
    SPACE_SHOW,
    SPACE_UPDATE_METADATA,
)

FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        read(REALM_SHOW, projects.realm_show),
        write(PROJECT_CREATE, projects.create),
        read(PROJECT_SHOW, projects.show),
        read(PROJECT_LIST, projects.list_),
        write(SPACE_CREATE, spaces.create),
        read(SPACE_SHOW, spaces.show),
        read(SPACE_LIST, spaces.list_),
        write(PROJECT_UPDATE_METADATA, projects.update_metadata),
        write(SPACE_UPDATE_METADATA, spaces.update_metadata),
        write(SPACE_FREEZE, spaces.freeze),
        write(SPACE_REOPEN, spaces.reopen),
        write(SPACE_ARCHIVE, spaces.archive),
        write(SPACE_RESTRICT, spaces.restrict),
        write(SPACE_POLICY_NARROW, spaces.policy_narrow),
    ),
    policies=("SELECT policy_set_ref FROM projects", "SELECT policy_set_ref FROM spaces"),
    classifications=(
        "SELECT default_classification_ref FROM projects",
        "SELECT default_classification_ref FROM spaces",
    ),
)
