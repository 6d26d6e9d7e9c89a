"""What holds for every run: the whole suite runs every test that the page of promises names; and an interrupt
reaches tests and what they start, also where the run was started in the background.
"""

import signal
import sys
from pathlib import Path

import pytest

# What suites share: KCP's data as a judge, the harness, and what is expected of each family.
sys.path.extend(str(Path(__file__).parent / shared) for shared in ("sdk/tests", "crashtests"))

from promises import Keeper, is_whole


def pytest_configure(config: pytest.Config) -> None:
    """Watches a whole run, and no other. A shell has what it runs in the background ignore SIGINT, and that
    is inherited; a handler is not.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if is_whole(config):
        config.pluginmanager.register(Keeper(), "keeper-of-promises")
