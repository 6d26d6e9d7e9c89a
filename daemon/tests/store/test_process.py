"""What the process gives up, seen from a real process."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from store.helpers import process, said

HARDEN = """
import os, resource, stat, sys
from tallyd.store.process import harden
print(harden(), resource.getrlimit(resource.RLIMIT_CORE), oct(os.umask(0)), flush=True)
sys.stdin.readline()
os.abort()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
def test_no_core_dump_and_still_a_signal() -> None:
    """Core dumps are off, nothing is missing, and os.abort still ends the process by SIGABRT."""
    with process(HARDEN) as child:
        assert said(child) == "[] (0, 0) 0o77"
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.wait() == -signal.SIGABRT


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
def test_the_process_is_not_dumpable() -> None:
    """The kernel's own answer, after the call."""
    code = (
        "import ctypes; from tallyd.store.process import harden; harden();"
        "print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"
    )
    with process(code) as child:
        assert said(child) == "0"


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs a second uid, so root")
def test_a_peer_of_the_same_user_cannot_read_its_memory() -> None:
    """Two processes of one uid: the other's memory is refused."""
    code = """
import os, sys
os.setgid(12345); os.setuid(12345)
from tallyd.store.process import harden
harden()
print("up", flush=True)
sys.stdin.read()
"""
    peer = """
import os, sys
os.setgid(12345); os.setuid(12345)
try:
    open(f"/proc/{sys.argv[1]}/mem", "rb")
    print("read")
except PermissionError:
    print("refused")
"""
    with process("import tallyd.store.process\n" + code) as child:
        assert said(child) == "up"
        with process(peer, str(child.pid)) as other:
            assert said(other) == "refused"
