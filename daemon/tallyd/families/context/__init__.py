"""Context: branches, the frontiers that pin them, and the assemblies that pin what an assistant may read."""

from __future__ import annotations

from typing import Final

from tallyd.families.context import assemblies, branches, frontiers
from tallyd.families.shared.family import Family, read, write
from tallyd.families.shared.fence import step
from tallystick.protocol.families.context import (
    CONTEXT_ASSEMBLY_CREATE,
    CONTEXT_ASSEMBLY_CREATE_BY_WORKER,
    CONTEXT_ASSEMBLY_SHOW,
    FRONTIER_PIN,
    FRONTIER_SHOW,
    OPERATIONS,
    TALLYSTICK_ASSEMBLY_LIST,
    TALLYSTICK_BRANCH_SHOW,
    TALLYSTICK_FRONTIER_LIST,
)

FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        write(FRONTIER_PIN, frontiers.pin),
        read(FRONTIER_SHOW, frontiers.show),
        write(CONTEXT_ASSEMBLY_CREATE, assemblies.create),
        read(CONTEXT_ASSEMBLY_SHOW, assemblies.show),
        write(CONTEXT_ASSEMBLY_CREATE_BY_WORKER, step(assemblies.create)),
        read(TALLYSTICK_FRONTIER_LIST, frontiers.frontier_list, scans=True),
        read(TALLYSTICK_ASSEMBLY_LIST, assemblies.assembly_list, scans=True),
        read(TALLYSTICK_BRANCH_SHOW, branches.branch_show),
    ),
)
