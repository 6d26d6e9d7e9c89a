"""Gates: the rules by which something is let through, and who may change them.

| state  | may become |
|--------|------------|
| active | retired    |

A retired name is not used again. ``definitions`` defines, changes and retires; ``rows`` is what is stored.
"""

from __future__ import annotations

from typing import Final

from tallyd.families.gates import definitions
from tallyd.families.shared.family import Family, read, write
from tallystick.protocol.families.gates import (
    OPERATIONS,
    TALLYSTICK_GATE_DEFINE,
    TALLYSTICK_GATE_LIST,
    TALLYSTICK_GATE_RETIRE,
)

FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        write(TALLYSTICK_GATE_DEFINE, definitions.define),
        write(TALLYSTICK_GATE_RETIRE, definitions.retire),
        read(TALLYSTICK_GATE_LIST, definitions.list_),
    ),
    gated=definitions.gated,
)
