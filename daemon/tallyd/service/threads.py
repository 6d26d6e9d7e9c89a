"""The one place that starts the daemon's own threads: the clerk's and the checkpointer's.

Both guard each of their turns themselves, and go on after an error. A thread that ends in spite of that takes
the process with it: whoever waits for it would wait for ever, and the next start answers.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from tallyd.service import logs
from tallyd.store.lacks import lack_of
from tallyd.store.refusals import ExitCode, StartRefused

logger = logging.getLogger("tallyd.threads")


def start(name: str, run: Callable[[], None]) -> threading.Thread:
    """A thread that runs ``run`` and does not hold the process up. Raises StartRefused where none can be
    had.
    """

    def guarded() -> None:
        try:
            run()
        except BaseException:
            logger.critical("the %s thread ended, which is a defect", name, exc_info=True)
            logs.exit_at_once(ExitCode.DEFECT)

    thread = threading.Thread(target=guarded, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        raise StartRefused(
            ExitCode.RESOURCES_LACKING, f"the {name} thread could not be started: {lack_of(error) or error}"
        ) from None
    return thread
