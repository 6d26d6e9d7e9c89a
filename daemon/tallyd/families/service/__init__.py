"""What the daemon says of itself, its own checks, and its end."""

from __future__ import annotations

from typing import Final

from tallyd.families.service import about, diagnose
from tallyd.families.shared.family import Family, asks, in_slices, read
from tallystick.protocol.families.service import (
    DIAGNOSE,
    HELLO,
    HELLO_BY_WORKER,
    OPERATIONS,
    PROTOCOL_INFO,
    TALLYSTICK_LIMITS,
    TALLYSTICK_SHUTDOWN,
    TALLYSTICK_STATUS,
)

FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        read(HELLO, about.hello),
        read(HELLO_BY_WORKER, about.hello),
        read(PROTOCOL_INFO, about.protocol_info),
        in_slices(DIAGNOSE, diagnose.diagnose),
        read(TALLYSTICK_LIMITS, about.served_limits),
        asks(TALLYSTICK_STATUS, about.status),
        asks(TALLYSTICK_SHUTDOWN, about.shutdown),
    ),
    checks=diagnose.CHECKS,
)
