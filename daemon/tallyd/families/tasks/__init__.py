"""Tasks: created with what they need first, claimed under a lease behind a fence, ended with a receipt.

``rows`` is how they are stored and shown, ``commands`` what their creator, stewards and writers do,
``claiming`` which may be claimed and how, ``holding`` what a holder does, ``reads`` what is read.

What holds: a task has one running claim at most; it is ready, claimed or done only while nothing that it
needs is left; its claim's id is stored nowhere. What reserves paths and what holds tasks beside their needs
are other families': they are called (``ledger.calls``).
"""

from __future__ import annotations

from typing import Final

from tallyd.families.shared.family import Family, Pending, fenced_read, read, write
from tallyd.families.shared.fence import step
from tallyd.families.tasks import claiming, commands, holding, reads
from tallystick.protocol.envelope import Request
from tallystick.protocol.families.tasks import (
    OPERATIONS,
    TALLYSTICK_TASK_CANCEL,
    TALLYSTICK_TASK_CLAIM,
    TALLYSTICK_TASK_CREATE,
    TALLYSTICK_TASK_CREATE_BY_WORKER,
    TALLYSTICK_TASK_DONE,
    TALLYSTICK_TASK_FAIL,
    TALLYSTICK_TASK_FREE,
    TALLYSTICK_TASK_LIST,
    TALLYSTICK_TASK_NEXT,
    TALLYSTICK_TASK_NOTE,
    TALLYSTICK_TASK_READY,
    TALLYSTICK_TASK_RELEASE,
    TALLYSTICK_TASK_RENEW,
    TALLYSTICK_TASK_REOPEN,
    TALLYSTICK_TASK_SHOW,
    TALLYSTICK_TASK_UPDATE,
    TallystickTaskNextArgs,
)


def _where(request: Request[TallystickTaskNextArgs]) -> tuple[str, ...]:
    """What a task becomes ready in: the space that is named, or the project."""
    named = (request.args.space_id, request.project_id)
    return tuple(each for each in named if isinstance(each, str))[:1]


FAMILY: Final = Family(
    operations=OPERATIONS,
    handlers=(
        write(TALLYSTICK_TASK_CREATE, commands.create),
        write(TALLYSTICK_TASK_UPDATE, commands.update),
        write(TALLYSTICK_TASK_CANCEL, commands.cancel),
        write(TALLYSTICK_TASK_REOPEN, commands.reopen),
        write(TALLYSTICK_TASK_FREE, commands.free),
        write(TALLYSTICK_TASK_CLAIM, claiming.claim),
        write(
            TALLYSTICK_TASK_NEXT,
            claiming.next_,
            pending=Pending(names=_where, wait_ms=lambda args: args.wait_ms),
        ),
        fenced_read(TALLYSTICK_TASK_RENEW, holding.renew),
        write(TALLYSTICK_TASK_DONE, holding.done),
        write(TALLYSTICK_TASK_FAIL, holding.fail),
        write(TALLYSTICK_TASK_RELEASE, holding.release),
        write(TALLYSTICK_TASK_NOTE, commands.note),
        read(TALLYSTICK_TASK_SHOW, reads.show),
        read(TALLYSTICK_TASK_LIST, reads.list_, scans=True),
        read(TALLYSTICK_TASK_READY, reads.ready),
        write(TALLYSTICK_TASK_CREATE_BY_WORKER, step(commands.create)),
    ),
    at_start=holding.FENCE_EARLIER,
)
