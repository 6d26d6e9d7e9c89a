"""Decisions: what was decided, where it holds, what it replaces and what contradicts it."""

from __future__ import annotations

from typing import Final

from tallyd.families.decisions import commands, reads
from tallyd.families.decisions.rules import disposed
from tallyd.families.shared.family import Family, read, write
from tallyd.families.shared.fence import step
from tallystick.protocol.families.decisions import (
    OPERATIONS,
    TALLYSTICK_DECISION_ADOPT,
    TALLYSTICK_DECISION_CURRENT,
    TALLYSTICK_DECISION_LIST,
    TALLYSTICK_DECISION_RECORD,
    TALLYSTICK_DECISION_RECORD_BY_WORKER,
    TALLYSTICK_DECISION_SHOW,
    TALLYSTICK_DECISION_SHOW_BY_WORKER,
)

FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        write(TALLYSTICK_DECISION_RECORD, commands.record),
        write(TALLYSTICK_DECISION_ADOPT, commands.adopt),
        read(TALLYSTICK_DECISION_CURRENT, reads.current, scans=True),
        read(TALLYSTICK_DECISION_SHOW, reads.show),
        read(TALLYSTICK_DECISION_LIST, reads.list_, scans=True),
        write(TALLYSTICK_DECISION_RECORD_BY_WORKER, step(commands.record)),
        read(TALLYSTICK_DECISION_SHOW_BY_WORKER, reads.show_to_worker),
    ),
    disposed=disposed,
)
