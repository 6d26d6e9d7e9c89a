"""Changes that give more people access. ``prepared`` knows what both kinds have in common."""

from __future__ import annotations

from typing import Final

from tallyd.families.access_changes import policies, widenings
from tallyd.families.shared.family import Family, read, write
from tallystick.protocol.families.access_changes import (
    OPERATIONS,
    PROJECT_ACCESS_POLICY_CHANGE_CANCEL,
    PROJECT_ACCESS_POLICY_CHANGE_CONFIRM,
    PROJECT_ACCESS_POLICY_CHANGE_LIST,
    PROJECT_ACCESS_POLICY_CHANGE_PREPARE,
    PROJECT_ACCESS_POLICY_CHANGE_SHOW,
    SPACE_ACCESS_WIDEN_CANCEL,
    SPACE_ACCESS_WIDEN_CONFIRM,
    SPACE_ACCESS_WIDEN_LIST,
    SPACE_ACCESS_WIDEN_PREPARE,
    SPACE_ACCESS_WIDEN_SHOW,
)

FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        write(PROJECT_ACCESS_POLICY_CHANGE_PREPARE, policies.prepare),
        read(PROJECT_ACCESS_POLICY_CHANGE_SHOW, policies.show),
        read(PROJECT_ACCESS_POLICY_CHANGE_LIST, policies.list_),
        write(PROJECT_ACCESS_POLICY_CHANGE_CONFIRM, policies.confirm),
        write(PROJECT_ACCESS_POLICY_CHANGE_CANCEL, policies.cancel),
        write(SPACE_ACCESS_WIDEN_PREPARE, widenings.prepare),
        read(SPACE_ACCESS_WIDEN_SHOW, widenings.show),
        read(SPACE_ACCESS_WIDEN_LIST, widenings.list_),
        write(SPACE_ACCESS_WIDEN_CONFIRM, widenings.confirm),
        write(SPACE_ACCESS_WIDEN_CANCEL, widenings.cancel),
    ),
    event_shown=policies.event_shown,
)
