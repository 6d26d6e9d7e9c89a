"""Lenses: ways to look at a space. ``lenses`` keeps them; ``query`` knows what is seen through one."""

from __future__ import annotations

from typing import Final

from tallyd.families.lenses import lenses
from tallyd.families.shared.family import Family, read, write
from tallystick.protocol.families.lenses import (
    LENS_CREATE,
    LENS_LIST,
    LENS_READ,
    LENS_REVOKE,
    LENS_SHOW,
    LENS_UPDATE,
    OPERATIONS,
)

FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        write(LENS_CREATE, lenses.create),
        read(LENS_SHOW, lenses.show),
        read(LENS_LIST, lenses.list_),
        write(LENS_UPDATE, lenses.update),
        write(LENS_REVOKE, lenses.revoke),
        read(LENS_READ, lenses.read, scans=True),
    ),
    event_shown=lenses.event_shown,
)
