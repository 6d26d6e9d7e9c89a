"""Who is at the other end, as the kernel says."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import msgspec
import pytest

from tallyd.door import Channel, Peer
from tallyd.door.listeners import Listener
from tallyd.door.peer import peer_of

STRANGER = """
import os, socket, sys
os.setgid(54_321)
os.setuid(12_345)
connected = socket.socket(socket.AF_UNIX)
connected.connect(sys.argv[1])
sys.stdin.read()
"""


def test_the_peer_of_a_pair() -> None:
    """The peer of a socket of our own is this process."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert peer_of(ours) == Peer(os.getpid(), os.geteuid(), os.getegid())


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another uid")
def test_the_peer_of_another_uid(channel: Channel) -> None:
    """A process of another uid is named with its uid and pid, as of its connect."""
    os.chmod(os.path.dirname(channel.path), 0o711)
    listener = Listener(msgspec.structs.replace(channel, mode=0o666))
    with subprocess.Popen([sys.executable, "-c", STRANGER, channel.path], stdin=subprocess.PIPE) as stranger:
        listener.socket.setblocking(True)
        connected, _ = listener.socket.accept()
        with connected:
            assert peer_of(connected) == Peer(stranger.pid, 12_345, 54_321)
        stranger.communicate()
    listener.close_and_remove()
