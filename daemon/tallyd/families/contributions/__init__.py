"""Contributions, which are appended to a space, and relations, which are asserted between them."""

from __future__ import annotations

from typing import Final

from tallyd.families.contributions import contributions, lists, relations
from tallyd.families.shared.family import Family, read, write
from tallyd.families.shared.fence import step
from tallystick.protocol.families.contributions import (
    CONTRIBUTION_APPEND,
    CONTRIBUTION_APPEND_BY_WORKER,
    CONTRIBUTION_LIST,
    CONTRIBUTION_SHOW,
    OPERATIONS,
    RELATION_ASSERT,
    RELATION_ASSERT_BY_WORKER,
    TALLYSTICK_CONTRIBUTION_LIST,
    TALLYSTICK_RELATION_LIST,
    TALLYSTICK_RELATION_SHOW,
)

FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        write(CONTRIBUTION_APPEND, contributions.append),
        read(CONTRIBUTION_SHOW, contributions.show),
        read(CONTRIBUTION_LIST, contributions.list_, scans=("kind",)),
        write(RELATION_ASSERT, relations.assert_),
        write(CONTRIBUTION_APPEND_BY_WORKER, step(contributions.append)),
        write(RELATION_ASSERT_BY_WORKER, step(relations.assert_)),
        read(TALLYSTICK_CONTRIBUTION_LIST, lists.contribution_list, scans=True),
        read(TALLYSTICK_RELATION_SHOW, lists.relation_show),
        read(TALLYSTICK_RELATION_LIST, lists.relation_list, scans=True),
    ),
    classifications=("SELECT classification FROM contributions", "SELECT classification FROM relations"),
)
