"""The steps of a start: what a family has to put right before the daemon is ready.

Each is a system command that is taken again until it finds nothing left to do. A start that is killed
between two leaves the rest to the next one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from tallyd.clerk import Clerk, SystemCommand
from tallyd.clerk.members import RECORDED
from tallyd.families.shared.family import Step

logger = logging.getLogger("tallyd")


def take_steps(clerk: Clerk, steps: Iterable[Step]) -> None:
    """Takes them all, before the clerk has a thread of its own. One that fails is logged, and left to the
    next start: what it was to end is of an earlier epoch, and may do nothing anyway.
    """
    for step in steps:
        while (answer := clerk.run([SystemCommand(step.name, step.do)])[0]) is not RECORDED:
            if answer.problem is not None:
                logger.error("%s: %s", step.name, answer.problem.detail)
                break
