"""Where a store may lie, tried on mounts of the machine's own kernel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Final

import pytest
from harness.wire import Wire, request
from world import CLIENT

from .process import Place, command_of, environment_of

_MOUNT: Final = """
set -e
mkdir lower upper work d
mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work d
chmod 700 d
exec "$@"
"""
"""In a mount namespace of its own, so that nothing is left of it when the daemon has ended."""


def _can_mount() -> bool:
    """Whether this user may mount an overlay here."""
    if sys.platform != "linux" or shutil.which("unshare") is None or os.geteuid() != 0:
        return False
    tried = "cd $(mktemp -d) && mkdir l u w m && mount -t overlay o -o lowerdir=l,upperdir=u,workdir=w m"
    return (
        subprocess.run(["unshare", "-m", "sh", "-c", tried], check=False, capture_output=True).returncode == 0
    )


@pytest.mark.skipif(not _can_mount(), reason="mounting an overlay takes privileges that are not given here")
def test_case_035_a_containers_layer_is_named_as_such(home: Place) -> None:
    """On an overlay the daemon runs, and says that the store goes with its container and what to mount."""
    reads, writes = os.pipe()
    command = ["unshare", "-m", "sh", "-c", _MOUNT, "sh", *command_of(home.paths, "--ready-fd", str(writes))]
    process = subprocess.Popen(
        command, env=environment_of(home) | {"PATH": os.environ["PATH"]}, cwd=home.root, pass_fds=(writes,)
    )
    os.close(writes)
    try:
        with open(reads, "rb") as word:
            assert word.readline().startswith(b"ready ")
        with Wire(home.paths) as wire:
            status = wire.ask(request(CLIENT, "tallystick_status", {})).result
            diagnosed = wire.ask(request(CLIENT, "diagnose", {"checks": ["container_layer"]})).result
    finally:
        process.terminate()
        assert process.wait(60) == 0
    [check] = diagnosed["checks"]
    assert (diagnosed["status"], check["status"]) == ("warn", "warn")
    assert status["file_system"] == {"name": "overlay", "container_layer": True, "note": check["detail"]}
    for words in ("a container's own layer (overlay)", "mount a volume", "TALLY_DATA_DIR"):
        assert words in check["detail"]
