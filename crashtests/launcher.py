"""``tallyd`` with a clock and a disk that a test owns: the arguments are ``tallyd``'s own.

The environment says where the control file is (``harness.control``), and on which descriptor the disk tells
of its syncs.
"""

from __future__ import annotations

import os
import sys

from harness.control import (
    CONTROL_VARIABLE,
    SYNC_PIPE_VARIABLE,
    VFS_NAME,
    ArmedDisk,
    Control,
    MappedAmbient,
)

from tallyd.service.main import run


def main() -> int:
    """Runs the daemon to its end."""
    control = Control(os.environ[CONTROL_VARIABLE])
    pipe = os.environ.get(SYNC_PIPE_VARIABLE)
    disk = ArmedDisk(control, None if pipe is None else int(pipe))
    code = run(sys.argv[1:], MappedAmbient(control), VFS_NAME)
    del disk  # it must live as long as the daemon does
    return code


if __name__ == "__main__":
    sys.exit(main())
