"""Invocations as workers see them: ``attempts`` claims and ends them, ``reads`` is what is read meanwhile,
``overdue`` ends those that no worker will.
"""

from __future__ import annotations

from typing import Final

from tallyd.families.shared.family import Family, Pending, asks, fenced_read, read, write
from tallyd.families.shared.fence import fenced
from tallyd.families.work import attempts, overdue, reads
from tallystick.protocol.families.work import (
    INVOCATION_CLAIM,
    INVOCATION_COMPLETE,
    OPERATIONS,
    TALLYSTICK_INVOCATION_ARTIFACT,
    TALLYSTICK_INVOCATION_FAIL,
    TALLYSTICK_INVOCATION_ITEM,
    TALLYSTICK_INVOCATION_NEXT,
    TALLYSTICK_INVOCATION_PROGRESS,
    TALLYSTICK_INVOCATION_RENEW,
)

FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        write(INVOCATION_CLAIM, attempts.claim),
        write(INVOCATION_COMPLETE, fenced(attempts.complete)),
        fenced_read(TALLYSTICK_INVOCATION_PROGRESS, attempts.progress),
        read(TALLYSTICK_INVOCATION_ITEM, reads.item),
        asks(TALLYSTICK_INVOCATION_ARTIFACT, reads.artifact),
        fenced_read(TALLYSTICK_INVOCATION_RENEW, attempts.renew),
        write(TALLYSTICK_INVOCATION_FAIL, fenced(attempts.fail)),
        write(
            TALLYSTICK_INVOCATION_NEXT,
            attempts.next_,
            pending=Pending(
                names=lambda request: request.args.deployments, wait_ms=lambda args: args.wait_ms
            ),
        ),
    ),
    errands=(overdue.OVERDUE,),
)
